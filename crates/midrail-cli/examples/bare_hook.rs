//! The least that a hook with a durable record can be: reads JSON, commits it as one row to SQLite. `cargo bench`
//! measures `midrail hook` next to it; it decides nothing.
//!
//! `bare_hook FILE` keeps SQLite's own defaults. `bare_hook FILE log` writes ahead, as Midrail's store does, and closes the
//! file as SQLite does by itself, which writes the log back each time. `bare_hook FILE keep-log` leaves the log to the next
//! one, as the store does, and writes it back when it is as long as the store lets it be.

use std::error::Error;
use std::io::Read;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("name a file")?;
    let log = args.next();
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let event: serde_json::Value = serde_json::from_str(&text)?;
    let connection = Connection::open(&path)?;
    if log.is_some() {
        connection.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL")?;
    }
    connection.execute_batch("CREATE TABLE IF NOT EXISTS events (body TEXT)")?;
    if log.as_deref() == Some("keep-log") {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        if std::fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > 256 << 10) {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
    }
    connection.execute("INSERT INTO events VALUES (?1)", [event.to_string()])?;
    println!("{{}}");
    Ok(())
}
