//! The keys of a store, and the replacement of the one that signs. Fingerprints, the hashes of approvers and the anchor keep their keys.

use jiff::Timestamp;

use crate::checkpoint::{KeyChange, PublicKey};
use crate::error::{Result, StoreError};
use crate::key::StoreKey;
use crate::sql::{SqlStore, log};
use crate::store::Keys;

impl<S: SqlStore> Keys for S {
    fn fingerprint_key(&self) -> Result<[u8; 32]> {
        self.store_key().map(StoreKey::fingerprint_key)
    }

    fn public_key(&self) -> Result<PublicKey> {
        self.store_key().map(|key| key.public().clone())
    }

    fn replace_signing_key(&self, time: Timestamp) -> Result<KeyChange> {
        replace_signing_key(self, time)
    }
}

/// The old key signs the last record and the statement that the new one follows; the new one states the same, so that a
/// log can be verified with either of them.
fn replace_signing_key<S: SqlStore>(store: &S, time: Timestamp) -> Result<KeyChange> {
    store.store_key()?;
    let change = store.transact(|connection| {
        let Some(head) = log::head(connection, &S::DIALECT)? else {
            return Err(StoreError::Refused {
                what: "the log has no records that a key has signed".to_owned(),
            });
        };
        let stored = store.signing_key(connection)?.with_next()?;
        let Some(next) = stored.next() else { return Err(StoreError::Abandoned) };
        // Before the log has the new key. Afterwards it would be lost if this process ended.
        store.write_key(connection, &stored)?;
        log::sign_head(connection, &S::DIALECT, &stored, &head, time)?;
        let (old, new) = (&stored.public().id, &next.public().id);
        let change = stored.sign_change(head.seq, old, new);
        connection.execute_all([
            log::insert_key(&S::DIALECT, stored.public()),
            log::insert_key(&S::DIALECT, next.public()),
            log::insert_key_change(&S::DIALECT, change.clone()),
            log::insert_key_change(&S::DIALECT, next.sign_change(head.seq, old, new)),
        ])?;
        Ok(change)
    })?;
    // The old key is not needed any more.
    store.transact(|connection| store.write_key(connection, &store.signing_key(connection)?))?;
    Ok(change)
}
