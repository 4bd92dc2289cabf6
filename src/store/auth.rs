//! Keys and tokens that `interpreter login` keeps: `auth.json` of the home, for the user's eyes
//! only. What a provider's key is used for is the business of `model`.

use super::StoreError;
use super::paths::{private_file, private_replace};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The most bytes of the file.
const MOST_BYTES: u64 = 1 << 20;

/// How long another process may hold the file.
const LOCK_LIMIT: Duration = Duration::from_secs(20);

/// What is kept for one provider.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Credential {
    /// A key that the user pasted.
    ApiKey {
        /// The key.
        key: String,
    },
    /// What a sign-in gave.
    Tokens(Tokens),
}

/// Tokens of OAuth 2.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Goes out with requests.
    pub access_token: String,
    /// Gets the next ones; a server may change it each time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<String>,
    /// When they were given, in seconds since 1970.
    pub issued_at: i64,
    /// When the access token ends, in seconds since 1970; `None`: not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<i64>,
    /// Where they came from and are renewed.
    pub token_url: String,
    /// The client that they were given to.
    pub client_id: String,
}

impl Tokens {
    /// True when they should be renewed: in the last five minutes of their life, or its last half
    /// where that is shorter.
    pub fn is_old(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|end| {
            let early = (end.saturating_sub(self.issued_at) / 2).clamp(0, 300);
            now >= end - early
        })
    }
}

/// The secrets themselves are never shown.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Credential::ApiKey { .. } => "ApiKey(…)",
            Credential::Tokens(_) => "Tokens(…)",
        })
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(…)")
    }
}

/// The file.
#[derive(Debug, Clone)]
pub struct AuthFile {
    path: PathBuf,
}

/// Held while the file is changed, by this process alone.
#[derive(Debug)]
pub struct Locked(#[expect(dead_code, reason = "closing the file gives the lock back")] File);

impl AuthFile {
    /// The file of this home.
    pub fn of(home: &Path) -> Self {
        AuthFile {
            path: home.join("auth.json"),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything that is kept, by the provider's id.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn all(&self) -> Result<BTreeMap<String, Credential>, StoreError> {
        let failed = |why: String| StoreError::Read {
            path: self.path.clone(),
            why,
        };
        let mut text = String::new();
        match File::open(&self.path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(e) => return Err(StoreError::read(&self.path, &e)),
            Ok(file) => file
                .take(MOST_BYTES)
                .read_to_string(&mut text)
                .map_err(|e| StoreError::read(&self.path, &e))?,
        };
        // The text of the error would quote the file.
        serde_json::from_str(&text).map_err(|_| {
            failed(
                "it is not the JSON that `interpreter login` writes; remove it and log in again"
                    .into(),
            )
        })
    }

    /// What is kept for one provider.
    ///
    /// # Errors
    /// The same.
    pub fn get(&self, provider: &str) -> Result<Option<Credential>, StoreError> {
        Ok(self.all()?.remove(provider))
    }

    /// Keeps this for a provider.
    ///
    /// # Errors
    /// When the file cannot be read or written, or another process holds it too long.
    pub fn put(&self, provider: &str, credential: &Credential) -> Result<(), StoreError> {
        let locked = self.lock()?;
        self.put_locked(&locked, provider, credential)
    }

    /// The same for who holds the lock.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub fn put_locked(
        &self,
        _: &Locked,
        provider: &str,
        credential: &Credential,
    ) -> Result<(), StoreError> {
        let mut all = self.all()?;
        all.insert(provider.to_owned(), credential.clone());
        self.write(&all)
    }

    /// Forgets a provider's; false when there was nothing.
    ///
    /// # Errors
    /// When the file cannot be read or written, or another process holds it too long.
    pub fn remove(&self, provider: &str) -> Result<bool, StoreError> {
        let _locked = self.lock()?;
        let mut all = self.all()?;
        let found = all.remove(provider).is_some();
        if found {
            self.write(&all)?;
        }
        Ok(found)
    }

    fn write(&self, all: &BTreeMap<String, Credential>) -> Result<(), StoreError> {
        let text = serde_json::to_string_pretty(all).unwrap_or_default();
        private_replace(&self.path, format!("{text}\n").as_bytes())
    }

    /// Waits until no other process changes the file: a refresh token may be good for one use, so
    /// two processes must not use it at once.
    ///
    /// # Errors
    /// When another process holds it too long, or the home cannot be written.
    pub fn lock(&self) -> Result<Locked, StoreError> {
        let path = self.path.with_extension("lock");
        let file = private_file(&path, false)?;
        let until = Instant::now() + LOCK_LIMIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Locked(file)),
                Err(std::fs::TryLockError::WouldBlock) if Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(std::fs::TryLockError::WouldBlock) => {
                    return Err(StoreError::Read {
                        path,
                        why: "another interpreter has held it for 20 s; end that one first".into(),
                    });
                }
                // A file system without locks: one process at a time is the user's affair there.
                Err(std::fs::TryLockError::Error(_)) => return Ok(Locked(file)),
            }
        }
    }

    /// True when others than the user may read the file.
    pub fn is_open_to_others(&self) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::metadata(&self.path).is_ok_and(|m| m.permissions().mode() & 0o077 != 0)
        }
        #[cfg(not(unix))]
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str) -> Credential {
        Credential::ApiKey { key: key.into() }
    }

    #[test]
    fn keys_are_kept_for_the_users_eyes_and_forgotten_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let file = AuthFile::of(&dir.path().join("home"));
        assert_eq!(file.get("a"), Ok(None));
        assert_eq!(file.remove("a"), Ok(false));
        file.put("a", &key("secret-a")).unwrap();
        file.put("b", &key("secret-b")).unwrap();
        file.put("a", &key("newer")).unwrap();
        assert_eq!(file.get("a"), Ok(Some(key("newer"))));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            assert!(!file.is_open_to_others());
            std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o644)).unwrap();
            assert!(file.is_open_to_others());
        }
        assert_eq!(file.remove("a"), Ok(true));
        assert_eq!(file.get("a"), Ok(None));
        assert_eq!(file.get("b"), Ok(Some(key("secret-b"))));
    }

    #[test]
    fn a_broken_file_is_said_and_not_quoted() {
        let dir = tempfile::tempdir().unwrap();
        let file = AuthFile::of(dir.path());
        std::fs::write(
            file.path(),
            "{\"a\": {\"type\": \"api_key\", \"key\": \"hunter2\"",
        )
        .unwrap();
        let why = file.get("a").unwrap_err().to_string();
        assert!(
            why.contains("log in again") && !why.contains("hunter2"),
            "{why}"
        );
        assert!(!format!("{:?}", key("hunter2")).contains("hunter2"));
        // What cannot be read is not written over.
        assert!(file.put("b", &key("x")).is_err());
    }

    #[test]
    fn tokens_grow_old_before_they_end() {
        let tokens = |life: Option<i64>| Tokens {
            access_token: "a".into(),
            refresh_token: None,
            issued_at: 1_000,
            expires_at: life.map(|l| 1_000 + l),
            token_url: String::new(),
            client_id: String::new(),
        };
        assert!(!tokens(Some(3_600)).is_old(4_299));
        assert!(tokens(Some(3_600)).is_old(4_300));
        assert!(!tokens(Some(60)).is_old(1_029));
        assert!(tokens(Some(60)).is_old(1_030));
        assert!(!tokens(None).is_old(i64::MAX));
    }

    #[test]
    fn only_one_changes_the_file_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let file = AuthFile::of(dir.path());
        let held = file.lock().unwrap();
        let other = file.clone();
        let begun = Instant::now();
        let writer = std::thread::spawn(move || other.put("a", &key("x")));
        std::thread::sleep(Duration::from_millis(150));
        drop(held);
        writer.join().unwrap().unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(150));
        assert_eq!(file.get("a"), Ok(Some(key("x"))));
    }
}
