//! Makes the tables, and brings those of an older version up to date.

use std::path::PathBuf;

use tokio_postgres::Error;

use crate::error::{Result, StoreError};
use crate::postgres::failure::Trouble;
use crate::postgres::family::Family;

/// What leads from one version to the next.
const MIGRATIONS: &[&str] = &[include_str!("001.sql"), include_str!("002.sql")];

/// The lock that who changes tables holds: "MDRL".
pub(super) const TABLES: i64 = 1_296_323_148;

fn known() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Makes sure that the tables are those that this program knows.
pub(super) async fn up_to_date(family: &Family) -> Result<()> {
    let told = |trouble: Trouble| trouble.told(&family.server);
    let (encoding, version) = family
        .read(async |client| {
            let encoding: String = client.query_one("SHOW server_encoding", &[]).await?.try_get(0)?;
            Ok((encoding, version(client).await?))
        })
        .await
        .map_err(told)?;
    if encoding != "UTF8" {
        let what = format!("its encoding is {encoding}, and UTF8 is needed");
        return Err(StoreError::Database { server: family.server.clone(), what });
    }
    if check(family, version)? {
        return Ok(());
    }
    let mut client = family.client().await.map_err(told)?;
    let work = async {
        let transaction = client.transaction().await?;
        transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&TABLES]).await?;
        // Another process may have been quicker.
        let at = self::version(&transaction).await?;
        if at < known() {
            let lacks = "SELECT NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = 'midrail')";
            if transaction.query_one(lacks, &[]).await?.try_get(0)? {
                transaction.batch_execute("CREATE SCHEMA midrail").await?;
            }
            for step in MIGRATIONS.iter().skip(usize::try_from(at).unwrap_or(0)) {
                transaction.batch_execute(step).await?;
            }
            transaction.execute("UPDATE version SET version = $1", &[&known()]).await?;
        }
        transaction.commit().await?;
        Ok::<_, Error>(at)
    };
    let at = family.in_time(work).await.map_err(told)?.map_err(|error| told(Trouble::of(&error)))?;
    check(family, at.max(known())).map(|_| ())
}

/// Whether nothing is to be done. A newer version is refused.
fn check(family: &Family, version: i32) -> Result<bool> {
    if version > known() {
        return Err(StoreError::Newer {
            path: PathBuf::from(&family.server),
            found: u32::try_from(version).unwrap_or(u32::MAX),
            known: u32::try_from(known()).unwrap_or(u32::MAX),
        });
    }
    Ok(version == known())
}

/// Whether there is a table. `to_regclass` is not asked: in a transaction it can remember what there was before.
pub(super) const IS_THERE: &str =
    "SELECT EXISTS (SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE nspname = 'midrail' AND relname = $1)";

/// The version of the tables, 0 where there are none.
async fn version(client: &impl deadpool_postgres::GenericClient) -> Result<i32, Error> {
    if !client.query_one(IS_THERE, &[&"version"]).await?.try_get(0)? {
        return Ok(0);
    }
    client.query_one("SELECT max(version) FROM midrail.version", &[]).await?.try_get(0)
}
