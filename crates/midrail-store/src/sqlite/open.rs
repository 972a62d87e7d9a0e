//! Opens a database: patiently, because many processes may start at once, and with as few steps as can be, because
//! most of them live for two milliseconds.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Result, StoreError};
use crate::sqlite::failure::{failure, is_busy};
use crate::sqlite::files;
use crate::sqlite::transaction::Transaction;

/// How long to wait for other processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Each step brings a store from the version of its place in the list to the next.
const MIGRATIONS: &[&str] = &[include_str!("001.sql"), include_str!("002.sql"), include_str!("003.sql")];

const APPLICATION: i64 = 0x4d44_524c;

/// A write-ahead log that is longer is written back by the next process that opens the store. Short processes leave
/// the log behind (writing it back at the end of each would cost more than all else), and whoever finds no other
/// process at work has to read it through, so it is kept short.
const LONG_LOG: u64 = 256 << 10;

pub(super) fn for_writing(path: &Path) -> Result<Connection> {
    files::make(path)?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let fail = |error| failure(path, error);
    let found = version(&connection, path).map_err(|error| match error {
        StoreError::Sqlite { .. } => files::why_not(path).unwrap_or(error),
        error => error,
    })?;
    if found < known() {
        migrate(&connection, path)?;
    }
    // Not before it is known to be a store.
    files::keep_private(path)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    if log_length(path) > LONG_LOG {
        write_back(&mut connection).map_err(fail)?;
    }
    Ok(connection)
}

pub(super) fn for_reading(path: &Path) -> Result<Connection> {
    files::is_file(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let (connection, found) = match version(&connection, path) {
        Ok(found) => (connection, found),
        Err(StoreError::ReadOnly { .. } | StoreError::Sqlite { .. }) if log_length(path) == 0 => {
            // The folder cannot be written, so there is no room for the log's index; and there is no log to read.
            let connection = connect_immutable(path)?;
            let found = version(&connection, path)?;
            (connection, found)
        }
        Err(error) => return Err(error),
    };
    match (found, known()) {
        (0, _) => Err(StoreError::Corrupt { path: path.to_owned(), what: "it is no store yet".to_owned() }),
        (found, known) if found < known => Err(StoreError::Older { path: path.to_owned(), found, known }),
        _ => Ok(connection),
    }
}

/// One more connection to a store that this process has open for writing. It is never one that takes the file for
/// unchanging.
pub(super) fn to_read_beside(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    version(&connection, path)?;
    Ok(connection)
}

/// Does something again for as long as other processes are in the way.
pub(super) fn patiently<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let started = Instant::now();
    loop {
        match work() {
            Err(error) if is_busy(&error) && started.elapsed() < PATIENCE => {
                thread::sleep(Duration::from_millis(2));
            }
            outcome => return outcome,
        }
    }
}

fn connect(path: &Path, mode: OpenFlags) -> Result<Connection> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| failure(path, error))?;
    prepare(connection).map_err(|error| failure(path, error))
}

fn connect_immutable(path: &Path) -> Result<Connection> {
    let encoded = path.as_os_str().as_encoded_bytes().iter().fold(String::new(), |mut uri, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
        uri
    });
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{encoded}?immutable=1"), flags)
        .and_then(prepare)
        .map_err(|error| failure(path, error))
}

fn prepare(mut connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_handler(Some(wait))?;
    // A plan never goes by the values that are bound. Else a statement that a partial index serves is compiled anew for
    // every value, and each decision asks one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Waits for another process, `attempt` times so far. SQLite's own waiting grows to 100 ms a step; a commit takes a
/// fraction of one.
fn wait(attempt: i32) -> bool {
    let micros: u64 = match attempt {
        ..4 => 100,
        4..20 => 500,
        20..500 => 2_000,
        _ => 5_000,
    };
    // Processes that started to wait together do not come back together.
    let spread = u64::from(std::process::id()).wrapping_mul(31) % 16;
    thread::sleep(Duration::from_micros(micros + micros * spread / 16));
    attempt < 2_200
}

fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// The version of a store, 0 for an empty database.
fn version(connection: &Connection, path: &Path) -> Result<u32> {
    let fail = |error| failure(path, error);
    let number =
        |name: &str| patiently(|| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)));
    let version = number("user_version").map_err(fail)?;
    let is_ours = match version {
        0 => {
            let count = "SELECT count(*) FROM sqlite_schema";
            patiently(|| connection.query_row(count, [], |row| row.get::<_, i64>(0))).map_err(fail)? == 0
                // Another process may have made it just now.
                || number("application_id").map_err(fail)? == APPLICATION
        }
        _ => number("application_id").map_err(fail)? == APPLICATION,
    };
    if !is_ours {
        let what = "it is the database of another program".to_owned();
        return Err(StoreError::Corrupt { path: path.to_owned(), what });
    }
    match u32::try_from(version) {
        Ok(version) if version <= known() => Ok(version),
        newer => {
            let found = newer.unwrap_or(u32::MAX);
            Err(StoreError::Newer { path: path.to_owned(), found, known: known() })
        }
    }
}

fn migrate(connection: &Connection, path: &Path) -> Result<()> {
    let fail = |error| failure(path, error);
    // This switch does not wait by itself, and is kept in the file. Where a file system has no shared memory it is
    // refused in silence, and the store works, with less at once.
    patiently(|| connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())))
        .map_err(fail)?;
    let transaction = begin(connection).map_err(fail)?;
    // Another process may have been quicker.
    let at = version(connection, path)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(at).unwrap_or(usize::MAX)) {
        transaction.execute_batch(step).map_err(fail)?;
    }
    transaction.pragma_update(None, "user_version", known()).map_err(fail)?;
    transaction.commit().map_err(fail)
}

/// Takes the write lock.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    patiently(|| Transaction::writing(connection))
}

/// Writes the log back, unless others are at work: then they, or the next one, will.
fn write_back(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(Duration::ZERO)?;
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_handler(Some(wait))
}

fn log_length(path: &Path) -> u64 {
    files::beside(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
}
