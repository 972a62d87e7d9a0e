//! The SQL of SQLite where it differs.

use crate::sql::{Cell, Dialect};

/// The SQL of SQLite. A store has one project.
pub(super) const DIALECT: Dialect = Dialect {
    column: "",
    value: "",
    own: "",
    single: ("id", "1"),
    least: "min",
    greatest: "max",
    position: "instr",
    now: "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
    key_order: "rowid",
    has_index_hints: true,
    indexes_prefixes: false,
    head: "SELECT seq, hash, actions, stopped FROM audit ORDER BY seq DESC LIMIT 1",
    slices_with_prefix: "SELECT key, value FROM slices WHERE session = ?1 AND key >= ?2 ORDER BY key",
    keys_between: "SELECT key FROM slices WHERE session = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4",
    sessions: sessions_query,
    session_id: |name| Cell::from(name),
    // Clocks differ, so some records between the first and the last of a period can be outside of it. A unary plus keeps
    // a term away from the indexes.
    period: |since, until| {
        let ends = format!("FROM audit INDEXED BY audit_time WHERE time >= {since} AND time < {until}");
        format!(
            "seq >= (SELECT min(seq) {ends}) AND seq <= (SELECT max(seq) {ends})
             AND +time >= {since} AND +time < {until}"
        )
    },
};

/// The query for sessions. It walks from name to name along the index, so that its cost depends on the number of
/// sessions; records and slices are counted for the returned sessions only.
pub(super) fn sessions_query(is_named: bool) -> String {
    let names = if is_named {
        "SELECT ?1"
    } else {
        "SELECT min(session) FROM audit
         UNION ALL
         SELECT (SELECT min(session) FROM audit WHERE session > names.session)
         FROM names WHERE names.session IS NOT NULL"
    };
    format!(
        "WITH RECURSIVE names (session) AS ({names}),
         latest (session, seq) AS (
           SELECT session, (SELECT max(seq) FROM audit WHERE audit.session = names.session)
           FROM names WHERE (?1 IS NULL OR session = ?1) AND (?2 IS NULL OR instr(session, ?2) > 0)
         ),
         shown (session, seq) AS (SELECT session, seq FROM latest WHERE seq < ?3 ORDER BY seq DESC LIMIT ?4)
         SELECT shown.session, shown.seq, audit.time,
           (SELECT count(*) FROM audit WHERE audit.session = shown.session),
           (SELECT count(*) FROM slices WHERE slices.session = shown.session
            AND substr(slices.key, 1, 7) <> 'shared/')
         FROM shown CROSS JOIN audit ON audit.seq = shown.seq
         ORDER BY shown.seq DESC"
    )
}
