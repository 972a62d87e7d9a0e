//! Someone changes the tables by hand: the triggers refuse, and past the triggers `verify` names the record.

use midrail_store::{
    ApprovalChange, ApprovalState, ApproverChange, AuditLog, Commit, MisfitKind, NewApprover, Policies,
    PostgresOptions, PostgresStore, Store,
};

use crate::common::{blocked, fill, request, verify};
use crate::server::{self, Server};

/// A database with 150 records, of which record 100 is a block, and as many in another project.
fn store() -> Option<(&'static Server, String, PostgresStore)> {
    let server = server::own()?;
    let database = server.database();
    let store = PostgresStore::connect(&PostgresOptions::new(server.url_of(&database))).unwrap();
    for store in [&store, &store.project("other")] {
        fill(store, 99);
        store.commit(&Commit::new(&blocked("s", 100, "safety-001"))).unwrap();
        fill(store, 150);
    }
    assert_eq!((verify(&store).misfit, verify(&store).records), (None, 150));
    Some((server, database, store))
}

#[test]
fn changes_that_bypass_the_triggers_are_reported() {
    let Some((server, database, store)) = store() else { return };
    let other = store.project("other");
    use MisfitKind::{Changed, Head, Labels, Missing, NoCheckpoint, Reordered, Signature, Truncated};
    for (sql, seq, kind) in [
        ("UPDATE audit SET body = replace(body, 'Read', 'Raed') WHERE project = $ AND seq = 40", 40, Changed),
        ("UPDATE audit SET body = '{' WHERE project = $ AND seq = 41", 41, Changed),
        ("UPDATE audit SET hash = prev WHERE project = $ AND seq = 40", 40, Changed),
        ("DELETE FROM audit WHERE project = $ AND seq = 40", 40, Missing),
        ("DELETE FROM audit WHERE project = $ AND seq = 1", 1, Missing),
        ("DELETE FROM audit WHERE project = $ AND seq = 64", 64, Missing),
        ("UPDATE audit SET seq = CASE seq WHEN 40 THEN 45 ELSE 40 END WHERE project = $ AND seq IN (40, 45)", 40, Reordered),
        ("UPDATE audit SET time = time + 1 WHERE project = $ AND seq = 100", 100, Labels),
        ("UPDATE audit SET session = 't' WHERE project = $ AND seq = 100", 100, Labels),
        ("UPDATE audit SET tool = NULL WHERE project = $ AND seq = 100", 100, Labels),
        ("UPDATE audit SET effect = 'allow' WHERE project = $ AND seq = 100", 100, Labels),
        ("UPDATE audit SET guardrails = 'no list' WHERE project = $ AND seq = 100", 100, Labels),
        ("DELETE FROM audit WHERE project = $ AND seq > 120", 121, Truncated),
        ("DELETE FROM audit WHERE project = $ AND seq > 120; DELETE FROM checkpoints WHERE project = $ AND seq > 120", 121, Truncated),
        ("DELETE FROM audit WHERE project = $", 1, Truncated),
        ("DELETE FROM checkpoints WHERE project = $ AND seq = 64", 64, NoCheckpoint),
        ("UPDATE checkpoints SET signature = 'ab' WHERE project = $ AND seq = 64", 64, Signature),
        ("UPDATE projects SET seq = 140, hash = (SELECT hash FROM audit WHERE project = $ AND seq = 140) WHERE id = $", 141, Reordered),
        ("UPDATE projects SET hash = 'x' WHERE id = $", 150, Head),
        // The log of another project, with its checkpoints and its keys, in the place of this one.
        ("DELETE FROM audit WHERE project = $; DELETE FROM checkpoints WHERE project = $;
          INSERT INTO audit SELECT $, seq, time, session, kind, tool, effect, guardrails, prev, hash, body, batch, changes,
              actions, stopped
            FROM audit WHERE project <> $;
          INSERT INTO checkpoints SELECT $, seq, hash, time, key, signature FROM checkpoints WHERE project <> $", 64, Signature),
    ] {
        // Every table as it was, afterwards.
        let project = "(SELECT id FROM projects WHERE name = 'default')";
        let tables = "SET search_path = midrail; SET session_replication_role = replica;";
        let keep = "CREATE TABLE kept_audit AS TABLE audit; CREATE TABLE kept_checkpoints AS TABLE checkpoints;
            CREATE TABLE kept_projects AS TABLE projects;";
        let back = "DELETE FROM audit; INSERT INTO audit TABLE kept_audit; DELETE FROM checkpoints;
            INSERT INTO checkpoints TABLE kept_checkpoints;
            UPDATE projects SET seq = kept.seq, hash = kept.hash FROM kept_projects AS kept WHERE kept.id = projects.id;
            DROP TABLE kept_audit, kept_checkpoints, kept_projects;";
        server.sql_in(&database, &format!("{tables} {keep} {}", sql.replace('$', project))).unwrap();
        let misfit = verify(&store).misfit.map(|misfit| (misfit.seq, misfit.kind));
        assert_eq!(misfit, Some((seq, kind)), "{sql}");
        assert_eq!(verify(&other).misfit, None, "{sql}: the other project is as it was");
        server.sql_in(&database, &format!("{tables} {back}")).unwrap();
        assert_eq!(verify(&store).misfit, None);
    }
}

#[test]
fn triggers_refuse_changes() {
    let Some((server, database, store)) = store() else { return };
    let record = blocked("s", 200, "safety-001");
    let mut commit = Commit::new(&record);
    let mut denied = request("denied", "s", 1);
    denied.state = ApprovalState::Denied;
    commit.approvals = vec![ApprovalChange::create(denied), ApprovalChange::create(request("asked", "s", 1))];
    let ada = NewApprover { name: "ada".to_owned(), roles: Vec::new(), key: "0123456789abcdef".repeat(2) };
    commit.approvers.push(ApproverChange::Add(ada));
    store.commit(&commit).unwrap();
    store.save_policy("sha256:1", "{}").unwrap();
    for sql in [
        "UPDATE audit SET body = '' WHERE seq = 3",
        "UPDATE audit_2026_11 SET body = '' WHERE seq = 3",
        "DELETE FROM audit WHERE seq = 3",
        "DELETE FROM audit_2026_11 WHERE seq = 3",
        "TRUNCATE audit",
        "UPDATE checkpoints SET signature = ''",
        "DELETE FROM checkpoints",
        "DELETE FROM keys",
        "UPDATE keys SET public = ''",
        "UPDATE policies SET body = ''",
        "DELETE FROM policies",
        "UPDATE secrets SET seed = ''",
        "DELETE FROM approvals",
        "UPDATE approvals SET state = 'approved' WHERE id = 'denied'",
        "UPDATE approvers SET hash = 'x'",
        "DELETE FROM approvers",
        "UPDATE projects SET seq = 1",
        "DELETE FROM projects",
    ] {
        let outcome = server.sql_in(&database, &format!("SET search_path = midrail; {sql}"));
        assert!(
            outcome.is_err_and(|error| error.contains("cannot")
                || error.contains("can be")
                || error.contains("only goes")),
            "{sql}"
        );
    }
    assert_eq!(store.head().unwrap().unwrap().seq, 151);
    assert_eq!(verify(&store).misfit, None);
}
