//! A store in one SQLite file that survives the end of the process, also a violent one.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::{Deletion, Entry, Store, StoreError, TokenHash, same_hash};

/// `secure_delete` overwrites what is deleted, so that an expired result is gone from the file too.
const SET_UP: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    CREATE TABLE IF NOT EXISTS result (
        id         TEXT    PRIMARY KEY NOT NULL,
        token_hash BLOB    NOT NULL,
        expires    INTEGER NOT NULL, -- seconds since 1970-01-01 UTC
        packed     BLOB    NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS result_expires ON result (expires);
    PRAGMA user_version = 1;
";

/// Results in an SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    connection: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens the file, or makes it, readable by its owner only.
    ///
    /// # Errors
    /// When the file cannot be made or is not a database of ours.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file_error = |source| StoreError::File {
            path: path.display().to_string(),
            source,
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(file_error)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        drop(options.open(path).map_err(file_error)?);
        let connection = Connection::open(path)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SET_UP)?;
        Ok(Self {
            connection: Mutex::new(connection),
        })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Empties the write-ahead log, in which deleted content would otherwise stay for a while.
fn forget_log(connection: &Connection) -> Result<(), StoreError> {
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(())
}

impl Store for SqliteStore {
    fn put(&self, entry: &Entry, now: i64, quota_bytes: u64) -> Result<(), StoreError> {
        let mut connection = self.connection();
        let transaction = connection.transaction()?;
        transaction.execute("DELETE FROM result WHERE expires <= ?1", params![now])?;
        let used: i64 =
            transaction.query_row("SELECT coalesce(sum(length(packed)), 0) FROM result", [], |row| {
                row.get(0)
            })?;
        let used = u64::try_from(used).unwrap_or(u64::MAX);
        if used.saturating_add(entry.packed.len() as u64) > quota_bytes {
            return Err(StoreError::Full);
        }
        transaction.execute(
            "INSERT INTO result (id, token_hash, expires, packed) VALUES (?1, ?2, ?3, ?4)",
            params![entry.id, entry.token_hash.as_slice(), entry.expires, entry.packed],
        )?;
        transaction.commit()?;
        Ok(())
    }

    fn get(&self, id: &str, now: i64) -> Result<Option<Vec<u8>>, StoreError> {
        let connection = self.connection();
        let mut statement =
            connection.prepare_cached("SELECT packed FROM result WHERE id = ?1 AND expires > ?2")?;
        Ok(statement
            .query_row(params![id, now], |row| row.get(0))
            .optional()?)
    }

    fn delete(&self, id: &str, token_hash: &TokenHash, now: i64) -> Result<Deletion, StoreError> {
        let connection = self.connection();
        let stored: Option<Vec<u8>> = connection
            .query_row(
                "SELECT token_hash FROM result WHERE id = ?1 AND expires > ?2",
                params![id, now],
                |row| row.get(0),
            )
            .optional()?;
        let Some(stored) = stored else {
            return Ok(Deletion::Absent);
        };
        if !same_hash(&stored, token_hash) {
            return Ok(Deletion::WrongToken);
        }
        connection.execute("DELETE FROM result WHERE id = ?1", params![id])?;
        forget_log(&connection)?;
        Ok(Deletion::Deleted)
    }

    fn sweep(&self, now: i64) -> Result<u64, StoreError> {
        let connection = self.connection();
        let removed = connection.execute("DELETE FROM result WHERE expires <= ?1", params![now])?;
        if removed > 0 {
            forget_log(&connection)?;
        }
        Ok(removed as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            id: "kept".into(),
            token_hash: [1; 32],
            expires: 100,
            packed: b"a text that is easily found again".to_vec(),
        }
    }

    #[test]
    fn what_was_stored_is_there_after_opening_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/results.sqlite");
        SqliteStore::open(&path).unwrap().put(&entry(), 0, 1000).unwrap();
        let again = SqliteStore::open(&path).unwrap();
        assert_eq!(again.get("kept", 0).unwrap(), Some(entry().packed));
    }

    #[test]
    fn nothing_of_a_deleted_or_expired_result_stays_in_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("results.sqlite")).unwrap();
        let found = || {
            std::fs::read_dir(folder.path()).unwrap().any(|file| {
                let bytes = std::fs::read(file.unwrap().path()).unwrap();
                bytes.windows(6).any(|window| window == b"easily")
            })
        };
        store.put(&entry(), 0, 1000).unwrap();
        assert!(found(), "the test looks in the right place");
        store.delete("kept", &[1; 32], 0).unwrap();
        assert!(!found(), "deleted");
        store.put(&entry(), 0, 1000).unwrap();
        store.sweep(100).unwrap();
        assert!(!found(), "expired");
    }

    #[cfg(unix)]
    #[test]
    fn the_file_is_its_owners_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.sqlite");
        drop(SqliteStore::open(&path).unwrap());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0);
    }
}
