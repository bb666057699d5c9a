//! The rules of storing results: sizes, expiry, tokens; and the way to the store off the serving threads.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use shared::{Document, StoredResult};
use thiserror::Error;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::{Deletion, Entry, PackError, Store, StoreError, TokenHash, pack, unpack};
use crate::id;

/// Days after which a result may expire, as offered to the user.
pub const EXPIRY_CHOICES_DAYS: [u32; 4] = [1, 7, 30, 90];

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

/// What may be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest result, compressed, in bytes.
    pub result_bytes: u64,
    /// All results together, compressed, in bytes.
    pub total_bytes: u64,
    /// Days until a result expires when none are asked for.
    pub default_days: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            result_bytes: 1 << 20,
            total_bytes: 1 << 30,
            default_days: 30,
        }
    }
}

/// Why a result could not be stored, read or deleted.
#[derive(Debug, Error)]
pub enum ResultsError {
    /// Nothing is stored under this id: it never was, or was deleted, or has expired. All three look alike.
    #[error("no result under this address")]
    Absent,
    /// The token does not belong to the result.
    #[error("the token does not belong to this result")]
    WrongToken,
    /// Not one of the offered days.
    #[error("must be one of {EXPIRY_CHOICES_DAYS:?}")]
    Expiry,
    /// The result alone is too large.
    #[error("the result has {bytes} bytes compressed; at most {limit} are stored")]
    TooLarge {
        /// Its compressed size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// The store failed or is full.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The document could not be packed, or a stored one is damaged.
    #[error(transparent)]
    Pack(#[from] PackError),
    /// The operating system has no random numbers, or the work was cut off by the end of the process.
    #[error("{0}")]
    System(String),
}

/// Stores, reads and deletes results.
#[derive(Clone)]
pub struct Results {
    store: Arc<dyn Store>,
    limits: Limits,
}

impl std::fmt::Debug for Results {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Results")
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Results {
    /// Results in `store`.
    pub fn new(store: Arc<dyn Store>, limits: Limits) -> Self {
        Self { store, limits }
    }

    /// What may be stored.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Stores a document under a new id, which is also written into it.
    ///
    /// # Errors
    /// When it is too large, the store is full or fails, or `expires_days` is not one of [`EXPIRY_CHOICES_DAYS`].
    pub async fn save(
        &self,
        mut document: Document,
        expires_days: Option<u32>,
        now: i64,
    ) -> Result<StoredResult, ResultsError> {
        let days = expires_days.unwrap_or(self.limits.default_days);
        if !EXPIRY_CHOICES_DAYS.contains(&days) {
            return Err(ResultsError::Expiry);
        }
        let expires = now + i64::from(days) * SECONDS_PER_DAY;
        let system = |error: getrandom::Error| ResultsError::System(error.to_string());
        let (id, delete_token) = (
            id::unguessable().map_err(system)?,
            id::unguessable().map_err(system)?,
        );
        document.id = Some(id.clone());
        let stored = StoredResult {
            expires: rfc3339(expires)?,
            delete_token,
            id,
        };
        let (limits, kept) = (self.limits, stored.clone());
        self.blocking(move |store| {
            let packed = pack(&document)?;
            let bytes = packed.len() as u64;
            if bytes > limits.result_bytes {
                let limit = limits.result_bytes;
                return Err(ResultsError::TooLarge { bytes, limit });
            }
            let entry = Entry {
                token_hash: hash(&kept.delete_token),
                id: kept.id,
                expires,
                packed,
            };
            Ok(store.put(&entry, now, limits.total_bytes)?)
        })
        .await?;
        Ok(stored)
    }

    /// The JSON of a stored document.
    ///
    /// # Errors
    /// [`ResultsError::Absent`], or the store's failure.
    pub async fn load(&self, id: String, now: i64) -> Result<Vec<u8>, ResultsError> {
        if !id::is_well_formed(&id) {
            return Err(ResultsError::Absent);
        }
        self.blocking(move |store| match store.get(&id, now)? {
            Some(packed) => Ok(unpack(&packed)?),
            None => Err(ResultsError::Absent),
        })
        .await
    }

    /// Deletes a result with its token.
    ///
    /// # Errors
    /// [`ResultsError::Absent`], [`ResultsError::WrongToken`], or the store's failure.
    pub async fn delete(&self, id: String, token: String, now: i64) -> Result<(), ResultsError> {
        if !id::is_well_formed(&id) {
            return Err(ResultsError::Absent);
        }
        self.blocking(move |store| match store.delete(&id, &hash(&token), now)? {
            Deletion::Deleted => Ok(()),
            Deletion::Absent => Err(ResultsError::Absent),
            Deletion::WrongToken => Err(ResultsError::WrongToken),
        })
        .await
    }

    /// Removes what has expired, and returns how many results that were.
    ///
    /// # Errors
    /// The store's failure.
    pub async fn sweep(&self, now: i64) -> Result<u64, ResultsError> {
        self.blocking(move |store| Ok(store.sweep(now)?)).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, ResultsError> + Send + 'static,
    ) -> Result<T, ResultsError> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || work(store.as_ref())).await {
            Ok(done) => done,
            Err(error) => Err(ResultsError::System(error.to_string())),
        }
    }
}

fn hash(token: &str) -> TokenHash {
    Sha256::digest(token.as_bytes()).into()
}

fn rfc3339(unix_seconds: i64) -> Result<String, ResultsError> {
    OffsetDateTime::from_unix_timestamp(unix_seconds)
        .map_err(|error| error.to_string())
        .and_then(|time| time.format(&Rfc3339).map_err(|error| error.to_string()))
        .map_err(ResultsError::System)
}

#[cfg(test)]
mod tests {
    use shared::{Nanos, Plan, Tool, Vantage, VantageKind};

    use super::super::MemoryStore;
    use super::*;

    fn document() -> Document {
        Document {
            schema: shared::document::SCHEMA,
            id: None,
            created: "2026-01-01T00:00:00Z".into(),
            tool: Tool::default(),
            plan: Plan::new("https://example.org/"),
            vantage: Vantage {
                kind: VantageKind::Probe,
                clock_step_ns: Nanos(1),
                description: None,
                same_machine: None,
            },
            browser_vantage: None,
            dns: None,
            address: None,
            arms: Vec::new(),
            comparisons: Vec::new(),
            findings: Vec::new(),
        }
    }

    fn results(limits: Limits) -> Results {
        Results::new(Arc::new(MemoryStore::default()), limits)
    }

    #[tokio::test]
    async fn a_stored_document_comes_back_with_its_id_until_it_expires() {
        let results = results(Limits::default());
        let stored = results.save(document(), Some(1), 0).await.unwrap();
        assert_eq!(stored.expires, "1970-01-02T00:00:00Z");
        let json = results
            .load(stored.id.clone(), SECONDS_PER_DAY - 1)
            .await
            .unwrap();
        let read: Document = serde_json::from_slice(&json).unwrap();
        let expected = Document {
            id: Some(stored.id.clone()),
            ..document()
        };
        assert_eq!(read, expected);
        let gone = results.load(stored.id, SECONDS_PER_DAY).await;
        assert!(matches!(gone, Err(ResultsError::Absent)));
    }

    #[tokio::test]
    async fn only_the_token_deletes() {
        let results = results(Limits::default());
        let stored = results.save(document(), None, 0).await.unwrap();
        let wrong = results.delete(stored.id.clone(), stored.id.clone(), 0).await;
        assert!(matches!(wrong, Err(ResultsError::WrongToken)));
        results
            .delete(stored.id.clone(), stored.delete_token, 0)
            .await
            .unwrap();
        assert!(matches!(
            results.load(stored.id, 0).await,
            Err(ResultsError::Absent)
        ));
    }

    #[tokio::test]
    async fn sizes_and_expiries_are_bounded() {
        let small = results(Limits {
            result_bytes: 10,
            ..Limits::default()
        });
        let refused = small.save(document(), None, 0).await;
        assert!(matches!(refused, Err(ResultsError::TooLarge { limit: 10, .. })));
        let refused = small.save(document(), Some(31), 0).await;
        assert!(matches!(refused, Err(ResultsError::Expiry)));
    }
}
