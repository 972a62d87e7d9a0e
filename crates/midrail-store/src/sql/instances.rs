//! The running instances of the service.

use std::time::Duration;

use crate::error::Result;
use crate::instance::{Instance, Instances, micros};
use crate::sql::{Cell, Connection, Dialect, Row, SqlStore};

const COLUMNS: &str = "id, revision, address, started";

impl<S: SqlStore> Instances for S {
    fn join(&self, instance: &Instance, live_for: Duration, is_confirmed: bool) -> Result<Vec<Instance>> {
        let Dialect { own, now, .. } = S::DIALECT;
        let select = format!(
            "SELECT {COLUMNS} FROM instances
             WHERE {own}id <> ?1 AND revision <> ?2 AND seen >= {now} - ?3 ORDER BY id"
        );
        let cells = [(&instance.id).into(), (&instance.revision).into(), micros(live_for).into()];
        let remove = format!("DELETE FROM instances WHERE {own}seen < {now} - ?1");
        // The lock of all writers, so that one of two instances that start at the same time sees the other.
        self.transact(|connection| {
            let others: Vec<Instance> = connection.rows(&select, &cells, read)?;
            if others.is_empty() || is_confirmed {
                connection.execute(&remove, &[micros(live_for).into()])?;
                write::<S>(connection, instance)?;
            }
            Ok(others)
        })
    }

    fn renew(&self, instance: &Instance) -> Result<()> {
        self.update(|connection| write::<S>(connection, instance))
    }

    fn live_instances(&self, live_for: Duration) -> Result<Vec<Instance>> {
        let Dialect { own, now, .. } = S::DIALECT;
        let select = format!("SELECT {COLUMNS} FROM instances WHERE {own}seen >= {now} - ?1 ORDER BY id");
        self.select(|connection| connection.rows(&select, &[micros(live_for).into()], read))
    }

    fn leave(&self, id: &str) -> Result<()> {
        let remove = format!("DELETE FROM instances WHERE {}id = ?1", S::DIALECT.own);
        self.update(|connection| connection.execute(&remove, &[id.into()]).map(drop))
    }
}

fn write<S: SqlStore>(connection: &dyn Connection, instance: &Instance) -> Result<()> {
    let Dialect { column, value, now, .. } = S::DIALECT;
    let insert = format!(
        "INSERT INTO instances ({column}{COLUMNS}, seen) VALUES ({value}?1, ?2, ?3, ?4, {now})
         ON CONFLICT ({column}id) DO UPDATE SET revision = excluded.revision, seen = excluded.seen"
    );
    let Instance { id, revision, address, started } = instance;
    let cells: [Cell; 4] = [id.into(), revision.into(), address.into(), (*started).into()];
    connection.execute(&insert, &cells).map(drop)
}

fn read(row: &dyn Row) -> Result<Instance> {
    let (id, revision, address) = (row.string(0)?, row.string(1)?, row.string(2)?);
    Ok(Instance { id, revision, address, started: row.time(3)? })
}
