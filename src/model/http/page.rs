//! A page of the web, for a tool: one GET without key or cookie, bounded in bytes and time. A
//! redirect is given back, not followed.

use super::exchange::{Exchange, Message, Order};
use super::side::{drain, next};
use crate::cancel::Cancel;
use crate::model::ModelError;
use crate::model::provider::is_local;
use std::time::{Duration, Instant};

/// What a server answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// The status.
    pub status: u16,
    /// The header of that name, if it is there and readable.
    pub content_type: Option<String>,
    /// Where a redirect points, as the server wrote it.
    pub location: Option<String>,
    /// The body, as far as it came and was taken.
    pub body: Vec<u8>,
    /// Why it is not whole.
    pub lost: Option<String>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageError {
    /// The person stopped it.
    Interrupted,
    /// The server was not reached, or did not answer; why.
    Failed(String),
}

/// Asks `url` once and gives the answer, whatever its status. At most `most` bytes of the body are
/// taken; `limit` is for everything together. A server whose name says nothing of this machine or
/// its network must not be there.
///
/// # Errors
/// See [`PageError`].
pub fn get_page(
    url: &str,
    accept: &str,
    most: usize,
    limit: Duration,
    cancel: &Cancel,
) -> Result<Page, PageError> {
    let until = Instant::now() + limit;
    let near = is_local(url);
    let order = Order {
        url: url.to_owned(),
        headers: vec![("accept".to_owned(), accept.to_owned())],
        body: None,
        local: near,
        ca_file: None,
        limit: Some(limit),
        far: !near,
    };
    let exchange = Exchange::start(order).map_err(PageError::Failed)?;
    let head = match next(&exchange, cancel, until).map_err(failed)? {
        Some(Message::Head(head)) => head,
        Some(Message::Failed(failure)) => return Err(PageError::Failed(failure.why())),
        _ => {
            return Err(PageError::Failed(format!(
                "there was no answer within {} s",
                limit.as_secs_f32().ceil()
            )));
        }
    };
    if let Some(how) = &head.packed {
        return Err(PageError::Failed(super::packed(how).to_string()));
    }
    let body = match head.location {
        Some(_) if (300..400).contains(&head.status) => Default::default(),
        _ => drain(&exchange, cancel, most, until).map_err(failed)?,
    };
    Ok(Page {
        status: head.status,
        content_type: head.content_type,
        location: head.location,
        body: body.bytes,
        lost: body.lost,
    })
}

fn failed(error: ModelError) -> PageError {
    match error {
        ModelError::Interrupted => PageError::Interrupted,
        other => PageError::Failed(other.to_string()),
    }
}
