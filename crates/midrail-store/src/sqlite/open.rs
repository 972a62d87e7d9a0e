//! Opens a database. It waits for locks, because many processes may start at once, and takes few steps, because most of
//! them run for two milliseconds.

use std::cell::Cell;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::anchor::{AnchorFile, with_suffix};
use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::sql::log;
use crate::sqlite::dialect::DIALECT;
use crate::sqlite::failure::{failure, is_busy};
use crate::sqlite::files;
use crate::sqlite::schema::{self, known};
use crate::sqlite::session::Session;
use crate::sqlite::transaction::Transaction;

/// How long to wait for other processes. A commit takes milliseconds, so a process that holds the lock for longer is stuck
/// or suspended, and the call is blocked with that reason.
const LOCK_TIMEOUT: Duration = Duration::from_secs(4);

/// The first version whose stores have an anchor.
const ANCHORED: u32 = 4;

const APPLICATION: i64 = 0x4d44_524c;

/// The next process that opens the store writes back a longer write-ahead log. Short processes do not (that would cost
/// more than everything else they do), and the first process that opens the store has to read the log.
const MAX_LOG: u64 = 256 << 10;

pub(super) fn for_writing(path: &Path, anchor: &AnchorFile) -> Result<Connection> {
    files::create(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let fail = |error| failure(path, error);
    let found = version(&connection, path).map_err(|error| match error {
        StoreError::Sqlite { .. } => files::creation_error(path).unwrap_or(error),
        error => error,
    })?;
    if found < known() {
        migrate(&connection, path, anchor)?;
    }
    // Not before it is known to be a store.
    files::make_private(path)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(fail)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fail)?;
    Ok(connection)
}

/// Writes back a long write-ahead log, unless other processes use it: then one of them, or the next one, does. Not before
/// the store is known to be intact, because this removes what a person might still find in the log.
pub(super) fn write_back(connection: &mut Connection, path: &Path) -> Result<()> {
    if log_length(path) <= MAX_LOG {
        return Ok(());
    }
    let fail = |error| failure(path, error);
    connection.busy_timeout(Duration::ZERO).map_err(fail)?;
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    connection.busy_handler(Some(wait)).map_err(fail)
}

pub(super) fn for_reading(path: &Path) -> Result<Connection> {
    files::file_metadata(path)?;
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let (connection, found) = match version(&connection, path) {
        Ok(found) => (connection, found),
        Err(StoreError::ReadOnly { .. } | StoreError::Sqlite { .. }) if log_length(path) == 0 => {
            // The folder is read-only, so SQLite cannot create the index of the log; and there is no log to read.
            let connection = connect_immutable(path)?;
            let found = version(&connection, path)?;
            (connection, found)
        }
        Err(error) => return Err(error),
    };
    match (found, known()) {
        (0, _) => {
            Err(StoreError::Corrupt { path: path.to_owned(), what: "it is not a store yet".to_owned() })
        }
        (found, known) if found < known => Err(StoreError::Older { path: path.to_owned(), found, known }),
        _ => Ok(connection),
    }
}

/// Opens one more connection to a store that this process has open for writing. It never assumes that the file does
/// not change.
pub(super) fn additional_reader(path: &Path) -> Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    version(&connection, path)?;
    Ok(connection)
}

/// Retries while other processes hold a lock.
pub(super) fn retry_while_busy<T>(mut work: impl FnMut() -> rusqlite::Result<T>) -> rusqlite::Result<T> {
    let started = Instant::now();
    loop {
        match work() {
            Err(error) if is_busy(&error) && started.elapsed() < LOCK_TIMEOUT => {
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
    // Plans do not depend on bound values. Otherwise a statement with a partial index is compiled again for every value,
    // and each decision runs one.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Waits for another process. SQLite's own handler waits up to 100 ms per step; a commit takes a fraction of one.
fn wait(attempt: i32) -> bool {
    thread_local! {
        static STARTED: Cell<Instant> = Cell::new(Instant::now());
    }
    if attempt == 0 {
        STARTED.set(Instant::now());
    }
    let micros: u64 = match attempt {
        ..4 => 100,
        4..20 => 500,
        20..500 => 2_000,
        _ => 5_000,
    };
    // Processes that started to wait together do not retry together.
    let spread = u64::from(std::process::id()).wrapping_mul(31) % 16;
    thread::sleep(Duration::from_micros(micros + micros * spread / 16));
    STARTED.get().elapsed() < LOCK_TIMEOUT
}

/// The version of a store, 0 for an empty database.
fn version(connection: &Connection, path: &Path) -> Result<u32> {
    let fail = |error| failure(path, error);
    let number = |name: &str| {
        retry_while_busy(|| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)))
    };
    let version = number("user_version").map_err(fail)?;
    let is_ours = match version {
        0 => {
            let count = "SELECT count(*) FROM sqlite_schema";
            retry_while_busy(|| connection.query_row(count, [], |row| row.get::<_, i64>(0))).map_err(fail)? == 0
                // Another process may have created it just now.
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

fn migrate(connection: &Connection, path: &Path, anchor: &AnchorFile) -> Result<()> {
    let fail = |error| failure(path, error);
    // This setting does not wait for locks, and is stored in the file. A file system without shared memory rejects it
    // silently, and the store works with less concurrency.
    retry_while_busy(|| connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())))
        .map_err(fail)?;
    let transaction = begin(connection).map_err(fail)?;
    // Another process may have upgraded it meanwhile.
    let at = version(connection, path)?;
    if at < known() {
        schema::upgrade(&transaction, at).map_err(fail)?;
    }
    if (1..ANCHORED).contains(&at) {
        start_anchor(&transaction, path, anchor)?;
    }
    transaction.commit().map(drop).map_err(fail)
}

/// Gives a store of an older version its anchor. What it contains is trusted, and so are the keys that have signed it.
fn start_anchor(transaction: &Transaction<'_>, path: &Path, anchor: &AnchorFile) -> Result<()> {
    let session = Session::writing(transaction, path);
    let connection: &dyn crate::sql::Connection = &session;
    let Some(head) = log::head(connection, &DIALECT)? else { return Ok(()) };
    let key = match files::read_key(path)? {
        Some(key) => key,
        None => {
            let key = StoreKey::random()?;
            files::write_key(path, &key)?;
            key
        }
    };
    connection.execute_all(log::accept_keys(connection, &DIALECT, &key, head.seq)?)?;
    anchor.reset(&key, Some(&head))
}

/// Takes the write lock.
pub(super) fn begin(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    begin_with(connection, false)
}

/// The same, with savepoints or without.
pub(super) fn begin_with(connection: &Connection, has_savepoints: bool) -> rusqlite::Result<Transaction<'_>> {
    retry_while_busy(|| Transaction::writing(connection, has_savepoints))
}

fn log_length(path: &Path) -> u64 {
    with_suffix(path, "-wal").metadata().map_or(0, |metadata| metadata.len())
}
