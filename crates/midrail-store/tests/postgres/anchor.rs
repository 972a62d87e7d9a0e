//! A database that was set back or replaced: each instance has an anchor next to its key file, which reveals it.

use std::fs;
use std::path::Path;

use midrail_store::{Commit, Keys, PostgresOptions, PostgresStore, Store, StoreError};

use crate::common::{at, fill, record, verify};
use crate::server::{self, Server};

/// A key file in a folder of its own.
fn key_file(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("midrail.key");
    fs::write(&path, format!("midrail-key-v1\n{}\n", "07".repeat(32))).unwrap();
    path
}

fn connect(server: &Server, database: &str, folder: &Path) -> PostgresStore {
    let key_file = Some(folder.join("midrail.key"));
    PostgresStore::connect(&PostgresOptions { key_file, ..PostgresOptions::new(server.url_of(database)) })
        .unwrap()
}

/// Removes all records after one, with everything in the database that shows that they existed.
fn set_back(server: &Server, database: &str, seq: u64) {
    let sql = format!(
        "SET search_path = midrail; SET session_replication_role = replica;
         DELETE FROM audit WHERE seq > {seq}; DELETE FROM checkpoints WHERE seq > {seq};
         UPDATE projects SET (seq, hash, actions, stopped) =
             (SELECT seq, hash, actions, stopped FROM audit WHERE seq = {seq});"
    );
    server.sql_in(database, &sql).unwrap();
}

#[test]
fn database_that_is_set_back_blocks_commits_until_it_is_acknowledged() {
    let Some(server) = server::own() else { return };
    let (database, folder) = (server.database(), tempfile::tempdir().unwrap());
    key_file(folder.path());
    let store = connect(server, &database, folder.path());
    fill(&store, 70);
    let anchor = fs::read_to_string(folder.path().join("midrail.key.default.head")).unwrap();
    assert!(anchor.contains("midrail-head-v1 70 "), "{anchor}");
    assert_eq!(store.own_files().len(), 2);
    drop(store);
    set_back(server, &database, 50);

    let store = connect(server, &database, folder.path());
    let damage = store.damage().unwrap().unwrap();
    assert_eq!(damage.what, "it ends with record 50, and record 70 was acknowledged");
    let failed = store.commit(&Commit::new(&record("s", 1))).unwrap_err();
    assert!(matches!(failed, StoreError::Damaged { .. }), "{failed:?}");
    assert!(!verify(&store).is_intact());
    // Other projects are not affected.
    store.project("a/b").commit(&Commit::new(&record("s", 1))).unwrap();
    assert!(folder.path().join("midrail.key.a%2Fb.head").exists());

    assert_eq!(store.acknowledge_damage(&Commit::new(&record("midrail", 1))).unwrap().seq, 51);
    assert_eq!(store.damage().unwrap(), None);
    fill(&connect(server, &database, folder.path()), 60);
    assert_eq!(verify(&store).misfit, None);
}

#[test]
fn instance_that_joins_trusts_the_database_and_others_may_be_ahead() {
    let Some(server) = server::own() else { return };
    let (database, one, two) =
        (server.database(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    [&one, &two].iter().for_each(|folder| drop(key_file(folder.path())));
    fill(&connect(server, &database, one.path()), 10);
    fill(&connect(server, &database, two.path()), 20);
    // The anchor of the first is behind by what the other has written.
    let store = connect(server, &database, one.path());
    assert_eq!(store.damage().unwrap(), None);
    fill(&store, 30);
    set_back(server, &database, 25);
    assert_eq!(connect(server, &database, two.path()).damage().unwrap(), None, "it has seen 20 records only");
    assert!(connect(server, &database, one.path()).damage().unwrap().is_some());
}

#[test]
fn archives_verify_alone_and_the_store_across_the_cut() {
    let Some(store) = crate::project("archives") else { return };
    let folder = tempfile::tempdir().unwrap();
    crate::archives::archives_verify_alone_and_the_store_across_the_cut(&store, folder.path());
}

#[test]
fn erased_session_leaves_a_provable_gap() {
    let Some(store) = crate::project("erasures") else { return };
    crate::archives::erased_session_leaves_a_provable_gap(&store);
}

#[test]
fn replaced_key_signs_nothing_more() {
    let (Some(store), Some(other)) = (crate::connect(), crate::connect()) else { return };
    let (name, folder) = (server::unique("keys"), tempfile::tempdir().unwrap());
    let (store, other) = (store.project(&name), other.project(&name));
    crate::archives::replaced_key_signs_nothing_more(&store, &other, folder.path());
}

#[test]
fn shared_key_file_is_not_replaced() {
    let Some(server) = server::own() else { return };
    let (database, folder) = (server.database(), tempfile::tempdir().unwrap());
    key_file(folder.path());
    let store = connect(server, &database, folder.path());
    fill(&store, 5);
    let refused = store.replace_signing_key(at(6)).unwrap_err();
    assert!(refused.to_string().contains("several instances and projects share"), "{refused}");
    fill(&store, 70);
    assert_eq!(verify(&store).misfit, None);
}
