//! Slices and sessions.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::Result;
use crate::slice_keys::{SHARED_SESSION, is_shared};
use crate::sql::{SqlStore, decode};
use crate::store::{SessionFilter, SessionInfo, Slice, Slices};

impl<S: SqlStore> Slices for S {
    fn load(&self, session: &str, keys: &[&str]) -> Result<Vec<Slice>> {
        self.load_slices(session, keys)
    }

    fn load_prefix(&self, session: &str, prefix: &str) -> Result<BTreeMap<String, Value>> {
        let wants_shared = is_shared(prefix);
        let storage = if wants_shared { SHARED_SESSION } else { session };
        self.select(|connection| {
            let mut slices = BTreeMap::new();
            let cells = [storage.into(), prefix.into()];
            connection.each(S::DIALECT.slices_with_prefix, &cells, &mut |row| {
                let key = row.string(0)?;
                if !key.starts_with(prefix) {
                    return Ok(false);
                }
                if is_shared(&key) == wants_shared {
                    let value = decode(&row.string(1)?, || format!("slice `{key}` of session `{session}`"))?;
                    slices.insert(key, value);
                }
                Ok(true)
            })?;
            Ok(slices)
        })
    }

    fn shared_keys(&self, from: &str, before: &str, most: usize) -> Result<Vec<String>> {
        let cells = [SHARED_SESSION.into(), from.into(), before.into(), most.into()];
        let mut keys: Vec<String> =
            self.select(|connection| connection.rows(S::DIALECT.keys_between, &cells, |row| row.string(0)))?;
        keys.retain(|key| is_shared(key));
        Ok(keys)
    }

    fn find_sessions(&self, filter: &SessionFilter) -> Result<Vec<SessionInfo>> {
        let select = (S::DIALECT.sessions)(filter.named.is_some());
        let cells = [
            filter.named.as_deref().map(S::DIALECT.session_id).into(),
            filter.containing.as_ref().into(),
            filter.before_seq.unwrap_or(u64::MAX).into(),
            filter.limit.unwrap_or(usize::MAX).into(),
        ];
        self.select(|connection| {
            connection.rows(&select, &cells, |row| {
                Ok(SessionInfo {
                    session: row.string(0)?,
                    last_seq: row.number(1)?,
                    last_active: row.time(2)?,
                    records: row.number(3)?,
                    slices: row.number(4)?,
                })
            })
        })
    }
}
