//! The tables: made once by many, refused where they are newer, parted by months; and where the key is kept.

use std::thread;

use jiff::Timestamp;
use midrail_store::{
    ApproverChange, Approvers, AuditLog, Commit, Keys, MisfitKind, NewApprover, PostgresOptions,
    PostgresStore, Store, StoreError,
};

use crate::common::{record, verify};
use crate::server;

#[test]
fn concurrent_creation_of_tables_succeeds_once() {
    let Some(server) = server::own() else { return };
    let url = server.url_of(&server.database());
    let connect = || PostgresStore::connect(&PostgresOptions::new(url.as_str())).unwrap();
    let keys = thread::scope(|scope| {
        let connects: Vec<_> = (0..6).map(|_| scope.spawn(|| connect().public_key().unwrap().id)).collect();
        connects.into_iter().map(|connect| connect.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(keys.iter().all(|key| *key == keys[0]), "several keys were made");
}

#[test]
fn tables_of_a_newer_program_are_refused() {
    let Some(server) = server::own() else { return };
    let database = server.database();
    let options = PostgresOptions::new(server.url_of(&database));
    PostgresStore::connect(&options).unwrap();
    server.sql_in(&database, "UPDATE midrail.version SET version = 99").unwrap();
    let error = PostgresStore::connect(&options).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
}

#[test]
fn a_database_of_another_encoding_is_refused() {
    let Some(server) = server::own() else { return };
    server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    let error = PostgresStore::connect(&PostgresOptions::new(server.url_of("latin"))).unwrap_err();
    assert!(error.to_string().contains("UTF8 is needed"), "{error}");
}

#[test]
fn records_go_to_the_partition_of_their_month() {
    let Some(server) = server::own() else { return };
    let database = server.database();
    let store = PostgresStore::connect(&PostgresOptions::new(server.url_of(&database))).unwrap();
    for time in [
        "2026-10-31T23:59:59.999999999Z",
        "2026-11-01T00:00:00Z",
        "2027-12-31T10:00:00Z",
        "1971-01-01T00:00:00Z",
    ] {
        let mut record = record("s", 1);
        record.time = time.parse().unwrap();
        store.commit(&Commit::new(&record)).unwrap();
    }
    let count =
        |table: &str| server.sql_in(&database, &format!("SELECT count(*) FROM midrail.audit_{table}"));
    for (table, records) in [("2026_10", "1"), ("2026_11", "1"), ("2027_12", "1"), ("other", "1")] {
        assert_eq!(count(table).as_deref(), Ok(records), "{table}");
    }
    // The next month is there before its first record.
    for table in ["2026_12", "2028_01"] {
        assert_eq!(count(table).as_deref(), Ok("0"), "{table}");
    }
    assert!(count("2027_01").is_err());
    assert_eq!((verify(&store).misfit, verify(&store).records), (None, 4));
    // Many processes that come into a new month at once.
    thread::scope(|scope| {
        for _ in 0..4 {
            let url = server.url_of(&database);
            scope.spawn(move || {
                let store = PostgresStore::connect(&PostgresOptions::new(url)).unwrap();
                let mut record = record("s", 1);
                record.time = "2029-03-03T00:00:00Z".parse().unwrap();
                store.commit(&Commit::new(&record)).unwrap();
            });
        }
    });
    assert_eq!(count("2029_03").as_deref(), Ok("4"));
}

#[test]
fn a_key_in_a_file_is_not_in_the_database() {
    let Some(server) = server::own() else { return };
    let database = server.database();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("midrail.key");
    let seed = "ab".repeat(32);
    let options =
        PostgresOptions { key_file: Some(file.clone()), ..PostgresOptions::new(server.url_of(&database)) };
    assert!(matches!(PostgresStore::connect(&options).unwrap_err(), StoreError::NotFound { .. }));
    std::fs::write(&file, "something else").unwrap();
    assert!(matches!(PostgresStore::connect(&options).unwrap_err(), StoreError::Corrupt { .. }));
    std::fs::write(&file, format!("midrail-key-v1\n{seed}\n")).unwrap();

    let home = PostgresStore::connect(&options).unwrap();
    let key = "0123456789abcdef0123456789abcdef";
    let record = record("s", 1);
    let mut commit = Commit::new(&record);
    let ada = NewApprover { name: "ada".to_owned(), roles: Vec::new(), key: key.to_owned() };
    commit.approvers.push(ApproverChange::Add(ada));
    home.commit(&commit).unwrap();
    home.checkpoint_now(record.time).unwrap();
    let other = home.project("other");
    assert_ne!(home.public_key().unwrap(), other.public_key().unwrap());
    assert_ne!(home.fingerprint_key().unwrap(), other.fingerprint_key().unwrap());
    assert_eq!(server.sql_in(&database, "SELECT count(*) FROM midrail.secrets").unwrap(), "0");
    let again = PostgresStore::connect(&options).unwrap();
    assert_eq!(again.public_key().unwrap(), home.public_key().unwrap());
    assert_eq!(again.project("other").public_key().unwrap(), other.public_key().unwrap());
    assert!(again.check_key("ada", key).unwrap().is_some());
    // Without the file there is another key, and what was hashed with the old one is worth nothing.
    let without = PostgresStore::connect(&PostgresOptions::new(server.url_of(&database))).unwrap();
    assert_ne!(without.public_key().unwrap(), home.public_key().unwrap());
    assert!(without.check_key("ada", key).unwrap().is_none());
    // `verify` fails as well: a user who changed the key may have changed the log.
    assert_eq!(verify(&without).misfit.unwrap().kind, MisfitKind::Signature);
    assert!(verify(&again).is_intact());
}

#[test]
fn a_commit_is_durable_whatever_the_database_is_set_to() {
    let Some(server) = server::own() else { return };
    let database = server.database();
    server.sql_in(&database, &format!("ALTER DATABASE {database} SET synchronous_commit = off")).unwrap();
    let store = PostgresStore::connect(&PostgresOptions::new(server.url_of(&database))).unwrap();
    // The connection's own setting is seen by what it writes of itself.
    let trigger = "CREATE TABLE public.seen (setting TEXT);
        CREATE FUNCTION public.see() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO public.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$;
        CREATE TRIGGER see BEFORE INSERT ON midrail.audit FOR EACH ROW EXECUTE FUNCTION public.see();";
    server.sql_in(&database, trigger).unwrap();
    store.commit(&Commit::new(&record("s", 1))).unwrap();
    assert_eq!(server.sql_in(&database, "SELECT DISTINCT setting FROM public.seen").unwrap(), "on");
}

#[test]
fn detached_month_is_reported_and_can_be_attached_again() {
    let Some(server) = server::own() else { return };
    let database = server.database();
    let store = PostgresStore::connect(&PostgresOptions::new(server.url_of(&database))).unwrap();
    for time in ["2025-11-30T00:00:00Z", "2025-12-01T00:00:00Z"] {
        let mut record = record("s", 1);
        record.time = time.parse().unwrap();
        store.commit(&Commit::new(&record)).unwrap();
    }
    let detach = "ALTER TABLE midrail.audit DETACH PARTITION midrail.audit_2025_11";
    server.sql_in(&database, detach).unwrap();
    let misfit = verify(&store).misfit.unwrap();
    assert_eq!((misfit.seq, misfit.kind), (1, MisfitKind::Missing));
    assert_eq!(store.commit(&Commit::new(&record("s", 3))).unwrap().seq, 3, "it goes on");
    let micros = |time: &str| time.parse::<Timestamp>().unwrap().as_microsecond();
    let (from, to) = (micros("2025-11-01T00:00:00Z"), micros("2025-12-01T00:00:00Z"));
    let attach = format!(
        "ALTER TABLE midrail.audit ATTACH PARTITION midrail.audit_2025_11 FOR VALUES FROM ({from}) TO ({to})"
    );
    server.sql_in(&database, &attach).unwrap();
    assert_eq!((verify(&store).misfit, verify(&store).records), (None, 3));
    assert!(server.sql_in(&database, "DELETE FROM midrail.audit_2025_11").is_err(), "it is kept as before");
}
