//! The least that a hook with a durable record can be: reads JSON, commits it as one row to SQLite. `benches/hook.rs`
//! holds `midrail check` against it; it decides nothing.
//!
//! `bare_hook FILE` closes the file as SQLite does by itself, and so writes the log back each time. `bare_hook FILE keep-log`
//! leaves the log to the next one, as Midrail's store does, and writes it back when it is as long as the store lets it be.

use std::error::Error;
use std::io::Read;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("name a file")?;
    let keeps_log = args.next().is_some();
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let event: serde_json::Value = serde_json::from_str(&text)?;
    let connection = Connection::open(&path)?;
    connection.execute_batch(
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS events (body TEXT)",
    )?;
    if keeps_log {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        if std::fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > 256 << 10) {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
    }
    connection.execute("INSERT INTO events VALUES (?1)", [event.to_string()])?;
    println!("{{}}");
    Ok(())
}
