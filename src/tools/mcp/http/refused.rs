//! What it means when a server answers with a status that is no success.

use super::super::transport::McpError;
use super::exchange::text;
use super::{Session, Shared};
use crate::jsonrpc::Message;
use crate::words::head;
use std::io::Read;
use ureq::Body;
use ureq::http::Response;

/// The most bytes of an error's text, and of what is shown of it.
const MOST_ERROR: u64 = 64 << 10;
const SHOWN: usize = 300;

impl Shared {
    /// The error for such an answer.
    pub(super) fn refusal(&self, response: Response<Body>, session: &Session) -> McpError {
        let status = response.status();
        let challenge = text(response.headers(), "www-authenticate");
        let challenge = challenge.unwrap_or_default().to_owned();
        let mut body = Vec::new();
        let _ = response
            .into_body()
            .into_reader()
            .take(MOST_ERROR)
            .read_to_end(&mut body);
        let words = String::from_utf8_lossy(&body).into_owned();
        let in_session = session.id.is_some();
        match status.as_u16() {
            404 if in_session => return McpError::SessionGone,
            // Seen of servers that mean 404.
            400 if in_session && words.to_lowercase().contains("session") => {
                return McpError::SessionGone;
            }
            401 => return McpError::Login(login(&challenge, self.sends_token())),
            403 if !challenge.is_empty() => return McpError::Login(reach(&challenge)),
            _ => {}
        }
        if let Ok(messages) = Message::read_all(&body)
            && let Some(Ok(Message::Response {
                result: Err(fault), ..
            })) = messages.into_iter().next()
        {
            return McpError::Fault(fault);
        }
        let words = head(words.trim(), SHOWN);
        let words = match words.starts_with('<') || words.is_empty() {
            true => String::new(),
            false => format!(": {words}"),
        };
        McpError::Other(format!("it answered with status {status}{words}"))
    }

    fn sends_token(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.eq_ignore_ascii_case("authorization"))
    }
}

/// What to do about status 401. Only tokens are spoken, no sign-in in a browser.
fn login(challenge: &str, sent: bool) -> String {
    let why = ["error_description", "error"].map(|name| parameter(challenge, name));
    let why = why.into_iter().flatten().next();
    let why = why.map(|w| format!(" ({w})")).unwrap_or_default();
    if sent {
        return format!(
            "it refuses the token that it was sent{why}; put a valid one into the variable of bearer_token_env_var or into the header Authorization"
        );
    }
    // A server that names where to sign in has no other way for a browser.
    let oauth = match parameter(challenge, "resource_metadata") {
        Some(_) => ", since signing in with a browser (OAuth) is not supported",
        None => "",
    };
    format!(
        "it wants a login{why}: get an access token from whoever runs it{oauth}, put the token into an environment variable, and name that variable in bearer_token_env_var (`interpreter mcp add NAME --url URL --bearer-token-env-var VARIABLE`)"
    )
}

/// What to do about status 403 with a challenge: the token is known and may too little.
fn reach(challenge: &str) -> String {
    let scope = parameter(challenge, "scope");
    let scope = scope
        .map(|s| format!(" (it wants {s})"))
        .unwrap_or_default();
    format!("its token may not do this{scope}; get one with more rights")
}

/// A parameter of a `WWW-Authenticate` header, in quotes or without, as RFC 9110 has it.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge;
    loop {
        let at = rest.find(name)?;
        let before = rest[..at].chars().next_back();
        let after = &rest[at + name.len()..];
        rest = after;
        if before.is_some_and(|c| !matches!(c, ' ' | ',' | '\t')) {
            continue;
        }
        let Some(value) = after.trim_start().strip_prefix('=') else {
            continue;
        };
        let value = value.trim_start();
        let value = match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => value.split([',', ' ']).next(),
        };
        let value = head(value.unwrap_or_default().trim(), SHOWN);
        return (!value.is_empty()).then(|| value.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The headers of RFC 6750, section 3, and of the MCP specification 2025-11-25, "Authorization".
    #[test]
    fn a_challenge_says_what_to_do() {
        let expired = r#"Bearer realm="example", error="invalid_token", error_description="The access token expired""#;
        assert_eq!(
            parameter(expired, "error").as_deref(),
            Some("invalid_token")
        );
        assert!(login(expired, true).contains("(The access token expired); put a valid one"));
        let metadata = r#"Bearer resource_metadata="https://mcp.example.com/.well-known/oauth-protected-resource", scope="files:read""#;
        let why = login(metadata, false);
        assert!(
            why.contains("(OAuth) is not supported") && why.contains("--bearer-token-env-var"),
            "{why}"
        );
        assert!(!login("Bearer", false).contains("OAuth"));
        let little = r#"Bearer error="insufficient_scope", scope="files:read files:write""#;
        assert!(reach(little).contains("files:read files:write"));
        for (text, value) in [
            ("Bearer error=invalid_token, x=1", Some("invalid_token")),
            ("Bearer my_error=\"a\"", None),
            ("Bearer error=", None),
            ("Bearer error", None),
            ("", None),
        ] {
            assert_eq!(parameter(text, "error").as_deref(), value, "{text}");
        }
    }
}
