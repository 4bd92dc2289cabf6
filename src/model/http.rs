//! (room: wires)
use super::ModelError;
use crate::cancel::Cancel;
use serde_json::Value;
use std::time::Duration;
/// stub
pub fn get_json(
    url: &str,
    _: &[(String, String)],
    _: Duration,
    _: &Cancel,
) -> Result<Value, ModelError> {
    Err(ModelError::Unreachable {
        url: url.into(),
        why: "stub".into(),
    })
}
/// stub
pub fn post_json(
    url: &str,
    headers: &[(String, String)],
    _: &Value,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Value, ModelError> {
    get_json(url, headers, limit, cancel)
}
