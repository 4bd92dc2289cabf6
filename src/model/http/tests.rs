use super::super::WireApi;
use super::*;

pub(super) fn provider(base_url: &str) -> Provider {
    Provider {
        id: "test".to_owned(),
        name: "Test".to_owned(),
        base_url: base_url.to_owned(),
        wire: WireApi::Chat,
        local: None,
        headers: Vec::new(),
        query: Vec::new(),
        request_retries: 4,
        stream_retries: 5,
        idle_limit: None,
        extra_body: serde_json::Map::new(),
    }
}
