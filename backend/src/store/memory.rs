//! A store that is gone when the process ends: for tests and `--database :memory:`.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Deletion, Entry, Store, StoreError, TokenHash, same_hash};

/// Results in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    entries: Mutex<HashMap<String, Entry>>,
}

impl MemoryStore {
    /// The entries that have not expired; the others are dropped.
    fn living(&self, now: i64) -> MutexGuard<'_, HashMap<String, Entry>> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|_, entry| entry.expires > now);
        entries
    }
}

impl Store for MemoryStore {
    fn put(&self, entry: &Entry, now: i64, quota_bytes: u64) -> Result<(), StoreError> {
        let mut entries = self.living(now);
        let used: u64 = entries.values().map(|kept| kept.packed.len() as u64).sum();
        if used + entry.packed.len() as u64 > quota_bytes {
            return Err(StoreError::Full);
        }
        entries.insert(entry.id.clone(), entry.clone());
        Ok(())
    }

    fn get(&self, id: &str, now: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let living = entries.get(id).filter(|entry| entry.expires > now);
        Ok(living.map(|entry| entry.packed.clone()))
    }

    fn delete(&self, id: &str, token_hash: &TokenHash, now: i64) -> Result<Deletion, StoreError> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = entries.get(id).filter(|entry| entry.expires > now) else {
            return Ok(Deletion::Absent);
        };
        if !same_hash(&entry.token_hash, token_hash) {
            return Ok(Deletion::WrongToken);
        }
        entries.remove(id);
        Ok(Deletion::Deleted)
    }

    fn sweep(&self, now: i64) -> Result<u64, StoreError> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let before = entries.len();
        entries.retain(|_, entry| entry.expires > now);
        Ok((before - entries.len()) as u64)
    }
}
