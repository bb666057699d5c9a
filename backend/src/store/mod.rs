//! Stored results: bytes under an unguessable id, with an expiry and a token that deletes them.
//!
//! A [`Store`] knows bytes only and is told the time; what the bytes are and how long they may stay is decided by
//! [`Results`], which the API uses. Every implementation passes the one suite of tests in this file.

mod memory;
mod packed;
mod results;
mod sqlite;

pub use memory::MemoryStore;
pub use packed::{PackError, pack, unpack};
pub use results::{EXPIRY_CHOICES_DAYS, Limits, Results, ResultsError};
pub use sqlite::SqliteStore;

use subtle::ConstantTimeEq as _;
use thiserror::Error;

/// SHA-256 of a delete token: the token itself is never kept.
pub type TokenHash = [u8; 32];

/// What is to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The id it is stored under.
    pub id: String,
    /// SHA-256 of the token that deletes it.
    pub token_hash: TokenHash,
    /// When it expires, in seconds since 1970-01-01 UTC. From this second on it is gone.
    pub expires: i64,
    /// The compressed document.
    pub packed: Vec<u8>,
}

/// How an attempt to delete ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// The entry is gone.
    Deleted,
    /// No such entry, or it has expired.
    Absent,
    /// The token is not the entry's.
    WrongToken,
}

/// Why a store could not do what was asked.
#[derive(Debug, Error)]
pub enum StoreError {
    /// All results together would exceed the quota.
    #[error("the store is full")]
    Full,
    /// The database failed.
    #[error("database: {0}")]
    Database(#[from] rusqlite::Error),
    /// A file could not be made.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A place for results. The calls block; [`Results`] keeps them off the threads that serve.
pub trait Store: Send + Sync {
    /// Stores an entry, if all that is stored then stays within `quota_bytes`. Expired entries do not count.
    ///
    /// # Errors
    /// [`StoreError::Full`], or the database's error.
    fn put(&self, entry: &Entry, now: i64, quota_bytes: u64) -> Result<(), StoreError>;

    /// The compressed document, unless there is none or it has expired.
    ///
    /// # Errors
    /// The database's error.
    fn get(&self, id: &str, now: i64) -> Result<Option<Vec<u8>>, StoreError>;

    /// Deletes an entry if the token's hash is the one stored; compared in constant time.
    ///
    /// # Errors
    /// The database's error.
    fn delete(&self, id: &str, token_hash: &TokenHash, now: i64) -> Result<Deletion, StoreError>;

    /// Removes what has expired, and returns how many entries that were.
    ///
    /// # Errors
    /// The database's error.
    fn sweep(&self, now: i64) -> Result<u64, StoreError>;
}

/// Compares two hashes in a time that does not depend on where they differ.
fn same_hash(a: &[u8], b: &TokenHash) -> bool {
    a.ct_eq(b.as_slice()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUOTA: u64 = 1000;

    fn entry(id: &str, expires: i64, bytes: usize) -> Entry {
        Entry {
            id: id.into(),
            token_hash: [7; 32],
            expires,
            packed: vec![42; bytes],
        }
    }

    /// The contract: what every store must do.
    fn keeps_the_contract(store: &dyn Store) {
        let first = entry("first", 100, 300);
        store.put(&first, 0, QUOTA).unwrap();
        assert_eq!(
            store.get("first", 99).unwrap(),
            Some(first.packed.clone()),
            "what was put comes back"
        );
        assert_eq!(store.get("other", 0).unwrap(), None, "an unknown id has nothing");

        assert_eq!(store.delete("first", &[8; 32], 0).unwrap(), Deletion::WrongToken);
        assert!(
            store.get("first", 0).unwrap().is_some(),
            "a wrong token deletes nothing"
        );
        assert_eq!(store.delete("first", &[7; 32], 0).unwrap(), Deletion::Deleted);
        assert_eq!(store.get("first", 0).unwrap(), None, "deleted is gone");
        assert_eq!(
            store.delete("first", &[7; 32], 0).unwrap(),
            Deletion::Absent,
            "deleting twice"
        );

        store.put(&entry("short", 100, 300), 0, QUOTA).unwrap();
        store.put(&entry("long", 200, 300), 0, QUOTA).unwrap();
        assert!(
            matches!(
                store.put(&entry("big", 200, 401), 0, QUOTA),
                Err(StoreError::Full)
            ),
            "the quota holds"
        );
        assert_eq!(
            store.get("short", 100).unwrap(),
            None,
            "expired is gone in the second of its expiry"
        );
        assert_eq!(
            store.delete("short", &[7; 32], 100).unwrap(),
            Deletion::Absent,
            "expired cannot be deleted"
        );
        store
            .put(&entry("big", 200, 401), 100, QUOTA)
            .expect("expired entries do not count");
        store.put(&entry("early", 150, 1), 100, QUOTA).unwrap();
        assert_eq!(store.sweep(150).unwrap(), 1, "sweeping removes what has expired");
        assert_eq!(store.sweep(150).unwrap(), 0, "and nothing else");
        assert!(store.get("long", 150).unwrap().is_some());
    }

    #[test]
    fn memory_keeps_the_contract() {
        keeps_the_contract(&MemoryStore::default());
    }

    #[test]
    fn sqlite_keeps_the_contract() {
        let folder = tempfile::tempdir().unwrap();
        keeps_the_contract(&SqliteStore::open(&folder.path().join("results.sqlite")).unwrap());
    }
}
