//! The tables of a store. Those that every store has are created with it; the others when they are first written, because
//! SQLite parses all of them each time that a process opens the store.

use rusqlite::{Connection, Error};

/// The tables that every store has.
const SCHEMA: &str = include_str!("schema.sql");

/// The other tables, in groups that are created together, with the statements that create them. Tables that one statement
/// reads together are in one group.
const ON_DEMAND: &[(&[&str], &str)] = &[
    (&["keys", "checkpoints"], include_str!("on_demand/keys.sql")),
    (&["key_changes"], include_str!("on_demand/key_changes.sql")),
    (&["archives"], include_str!("on_demand/archives.sql")),
    (&["erasures"], include_str!("on_demand/erasures.sql")),
    (&["approvals"], include_str!("on_demand/approvals.sql")),
    (&["approvers"], include_str!("on_demand/approvers.sql")),
    (&["notices", "deliveries", "channels"], include_str!("on_demand/notices.sql")),
    (&["alerts"], include_str!("on_demand/alerts.sql")),
    (&["figures"], include_str!("on_demand/figures.sql")),
    (&["counters"], include_str!("on_demand/counters.sql")),
    (&["instances"], include_str!("on_demand/instances.sql")),
];

/// Each step upgrades a store from the version of its index to the next. New stores start with [`SCHEMA`].
const MIGRATIONS: &[&str] = &[
    include_str!("001.sql"),
    include_str!("002.sql"),
    include_str!("003.sql"),
    include_str!("004.sql"),
    include_str!("005.sql"),
    include_str!("006.sql"),
];

/// The current version.
pub(super) fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// Creates the tables, or upgrades those of a version. The caller has begun a transaction.
pub(super) fn upgrade(connection: &Connection, version: u32) -> rusqlite::Result<()> {
    let done = if version == 0 { known() } else { version };
    for step in MIGRATIONS.iter().skip(usize::try_from(done).unwrap_or(usize::MAX)) {
        connection.execute_batch(step)?;
    }
    connection.execute_batch(SCHEMA)?;
    if version > 0 {
        ON_DEMAND.iter().try_for_each(|(tables, sql)| {
            if is_empty(connection, tables)? {
                drop_tables(connection, tables)
            } else {
                connection.execute_batch(sql)
            }
        })?;
    }
    connection.pragma_update(None, "user_version", known())
}

/// The statements that create the table that is missing according to an error, if the store creates it on demand.
pub(super) fn missing_tables(error: &Error) -> Option<&'static str> {
    let (Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg))) = error else { return None };
    let name = msg.strip_prefix("no such table: ")?;
    let name = name.strip_prefix("main.").unwrap_or(name);
    statements(name)
}

/// Creates a table, with the others of its group, unless it exists.
pub(super) fn create(connection: &Connection, table: &str) -> rusqlite::Result<()> {
    connection.execute_batch(statements(table).unwrap_or_default())
}

fn statements(table: &str) -> Option<&'static str> {
    ON_DEMAND.iter().find(|(tables, _)| tables.contains(&table)).map(|(_, sql)| *sql)
}

fn is_empty(connection: &Connection, tables: &[&str]) -> rusqlite::Result<bool> {
    for table in tables {
        let has_rows = format!("SELECT EXISTS (SELECT 1 FROM {table})");
        match connection.query_row(&has_rows, [], |row| row.get(0)) {
            Ok(true) => return Ok(false),
            Err(error) if missing_tables(&error).is_none() => return Err(error),
            _ => {}
        }
    }
    Ok(true)
}

fn drop_tables(connection: &Connection, tables: &[&str]) -> rusqlite::Result<()> {
    tables.iter().try_for_each(|table| connection.execute_batch(&format!("DROP TABLE IF EXISTS {table}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The objects of a database, with the columns of tables and the text of triggers.
    fn objects(connection: &Connection) -> Vec<String> {
        let select = "SELECT type || ' ' || name || ' of ' || tbl_name || ' ' || CASE type
               WHEN 'trigger' THEN sql
               ELSE (SELECT group_concat(name || ' ' || type || \"notnull\" || pk) FROM pragma_table_info(s.name)) END
             FROM sqlite_schema AS s WHERE type <> 'index' ORDER BY 1";
        let mut statement = connection.prepare(select).unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }

    fn of_version(version: usize) -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        MIGRATIONS.iter().take(version).for_each(|step| connection.execute_batch(step).unwrap());
        connection
    }

    /// Adds a row to a table, whatever its columns are.
    fn add_row(connection: &Connection, table: &str) {
        let columns = format!(
            "SELECT group_concat(CASE type WHEN 'TEXT' THEN '''x''' ELSE '1' END) FROM pragma_table_info('{table}')"
        );
        let values: String = connection.query_row(&columns, [], |row| row.get(0)).unwrap();
        connection.execute(&format!("INSERT INTO {table} VALUES ({values})"), []).unwrap();
    }

    fn new_store() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        upgrade(&connection, 0).unwrap();
        connection
    }

    #[test]
    fn upgraded_store_has_the_tables_of_a_new_one() {
        let (new, old) = (new_store(), of_version(5));
        upgrade(&old, 5).unwrap();
        assert_eq!(objects(&old), objects(&new));
        let old = of_version(5);
        for (tables, sql) in ON_DEMAND {
            tables.iter().for_each(|table| add_row(&old, table));
            new.execute_batch(sql).unwrap();
        }
        upgrade(&old, 5).unwrap();
        assert_eq!(objects(&old), objects(&new));
        let indexes =
            "SELECT group_concat(name) FROM (SELECT name FROM sqlite_schema WHERE type = 'index' ORDER BY 1)";
        let [old, new] =
            [old, new].map(|it| it.query_row(indexes, [], |row| row.get::<_, String>(0)).unwrap());
        assert_eq!(old, new);
    }

    /// Every process that opens a store parses these.
    #[test]
    fn new_store_has_few_objects() {
        let count = |connection: &Connection| -> i64 {
            connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap()
        };
        assert_eq!((count(&new_store()), count(&of_version(5))), (14, 44));
    }
}
