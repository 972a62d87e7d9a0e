//! Creates the tables, and upgrades those of an older version.

use std::path::PathBuf;

use deadpool_postgres::Object;
use tokio_postgres::Error;

use crate::error::{Result, StoreError};
use crate::postgres::failure::Failure;

/// The steps from one version to the next.
const MIGRATIONS: &[&str] = &[
    include_str!("001.sql"),
    include_str!("002.sql"),
    include_str!("003.sql"),
    include_str!("instances.sql"),
];

/// The advisory lock for changing tables: "MDRL".
pub(super) const TABLE_LOCK: i64 = 1_296_323_148;

/// Whether a table exists. `to_regclass` is not used: in a transaction it can return an earlier state.
pub(super) const EXISTS: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = 'midrail' AND relname = $1)";

fn known() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Makes sure that the tables have the version of this program. The client is used for nothing else afterwards if this
/// fails.
pub(super) async fn migrate(client: &mut Object, server: &str) -> Result<()> {
    let fail = |error: Error| Failure::from(error).into_store_error(server);
    let encoding = client.query_one("SHOW server_encoding", &[]).await.and_then(|row| row.try_get(0));
    let encoding: String = encoding.map_err(fail)?;
    if encoding != "UTF8" {
        let what = format!("its encoding is {encoding}, and UTF8 is needed");
        return Err(StoreError::Database { server: server.to_owned(), what });
    }
    let mut found = version(client).await.map_err(fail)?;
    if found < known() {
        found = upgrade(client).await.map_err(fail)?;
    }
    if found > known() {
        return Err(StoreError::Newer {
            path: PathBuf::from(server),
            found: u32::try_from(found).unwrap_or(u32::MAX),
            known: u32::try_from(known()).unwrap_or(u32::MAX),
        });
    }
    Ok(())
}

/// Upgrades the tables, and returns their version.
async fn upgrade(client: &mut Object) -> Result<i32, Error> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLE_LOCK]).await?;
    // Another process may have upgraded them meanwhile.
    let found = version(&transaction).await?;
    if found >= known() {
        return Ok(found);
    }
    // `IF NOT EXISTS` would require the permission to create schemas even if it exists.
    let is_missing = "SELECT NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'midrail')";
    if transaction.query_one(is_missing, &[]).await?.try_get(0)? {
        transaction.batch_execute("CREATE SCHEMA midrail").await?;
    }
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.batch_execute(step).await?;
    }
    transaction.execute("UPDATE version SET version = $1", &[&known()]).await?;
    transaction.commit().await?;
    Ok(known())
}

/// The version of the tables; 0 if they do not exist.
async fn version(client: &impl deadpool_postgres::GenericClient) -> Result<i32, Error> {
    if !client.query_one(EXISTS, &[&"version"]).await?.try_get(0)? {
        return Ok(0);
    }
    client.query_one("SELECT max(version) FROM midrail.version", &[]).await?.try_get(0)
}
