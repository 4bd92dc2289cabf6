//! Which certificates are trusted, and what an error of TLS means.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// The most bytes of a file of certificates.
const MOST_BYTES: u64 = 8 << 20;

/// The certificates that a server must be signed by: those of `own`, else of `SSL_CERT_FILE`, else
/// the built-in ones of Mozilla.
///
/// # Errors
/// A sentence when the file cannot be read or holds no certificate.
pub(super) fn roots(own: Option<&Path>) -> Result<RootCerts, String> {
    let variable = std::env::var_os("SSL_CERT_FILE").filter(|v| !v.is_empty());
    let (path, who) = match (own, variable) {
        (Some(path), _) => (path.to_owned(), "ca_file"),
        (None, Some(path)) => (PathBuf::from(path), "SSL_CERT_FILE"),
        (None, None) => return Ok(RootCerts::WebPki),
    };
    let failed = |why: String| format!("the certificates of {who}, {}, {why}", path.display());
    let mut pem = Vec::new();
    File::open(&path)
        .and_then(|f| f.take(MOST_BYTES).read_to_end(&mut pem))
        .map_err(|e| failed(format!("cannot be read: {e}")))?;
    let certificates: Vec<Certificate> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    match certificates.is_empty() {
        true => Err(failed("are not there: it holds none in PEM".into())),
        false => Ok(RootCerts::new_with_certs(&certificates)),
    }
}

/// What went wrong with TLS, from the words of rustls: the certificate, the cause, the next step.
pub(super) fn explain(words: &str) -> String {
    let lower = words.to_lowercase();
    let has = |word: &str| lower.contains(word);
    let text = if has("unknownissuer") || has("unknown issuer") || has("causedasendentity") {
        "its certificate is signed by an authority that is not trusted here; put that authority's certificate into a PEM file and name it in SSL_CERT_FILE, or in ca_file of the provider"
    } else if has("notvalidyet") || has("not valid yet") || has("not valid before") {
        "its certificate is not valid yet; check the clock of this machine"
    } else if has("expired") || has("not valid after") {
        "its certificate has expired; check the clock of this machine, or ask whoever runs the server"
    } else if has("notvalidforname") || has("not valid for name") {
        "its certificate is for another name; check base_url"
    } else if has("revoked") {
        "its certificate was revoked; ask whoever runs the server"
    } else if has("corrupt message") || has("invalidcontenttype") {
        "no certificate came: the server, or a proxy before it, does not speak TLS there; is it http:// that is meant?"
    } else if has("handshakefailure") || has("protocolversion") || has("noapplicationprotocol") {
        "no certificate was agreed on: the server speaks no version of TLS from 1.2 on that is known here"
    } else {
        "its certificate or its TLS is wrong"
    };
    format!("{text} ({})", super::classify::one_line(words))
}

/// True when words of an error are about TLS.
pub(super) fn is_about(words: &str) -> bool {
    let lower = words.to_lowercase();
    [
        "certificate",
        "corrupt message",
        "invalidcontenttype",
        "received fatal alert",
        "peer misbehaved",
        "peer is incompatible",
    ]
    .iter()
    .any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words are those of rustls 0.23.
    #[test]
    fn every_error_says_certificate_and_what_to_do() {
        for (words, said) in [
            ("invalid peer certificate: UnknownIssuer", "SSL_CERT_FILE"),
            (
                "invalid peer certificate: certificate expired: verification time 1 (UNIX), but certificate is not valid after 0 (1 seconds ago)",
                "expired",
            ),
            (
                "invalid peer certificate: certificate not valid yet: verification time 1 (UNIX), but certificate is not valid before 2",
                "clock",
            ),
            (
                "invalid peer certificate: certificate not valid for name \"a\"; certificate is only valid for b",
                "base_url",
            ),
            (
                "received corrupt message of type InvalidContentType",
                "http://",
            ),
            ("received fatal alert: HandshakeFailure", "TLS"),
            ("invalid peer certificate: BadSignature", "wrong"),
        ] {
            let text = explain(words);
            assert!(
                text.contains("certificate") && text.contains(said),
                "{text}"
            );
            assert!(is_about(words), "{words}");
        }
        assert!(!is_about("connection reset by peer"));
    }

    #[test]
    fn a_file_without_certificates_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ca.pem");
        assert!(roots(Some(&file)).unwrap_err().contains("ca.pem"));
        std::fs::write(&file, "no pem").unwrap();
        assert!(roots(Some(&file)).unwrap_err().contains("holds none"));
    }
}
