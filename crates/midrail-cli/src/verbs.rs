//! The verbs, one file each: arguments in, calls of the libraries, output.

pub(crate) mod approvals;
pub(crate) mod approver;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod detect;
pub(crate) mod explain;
pub(crate) mod lint;
pub(crate) mod locks;
pub(crate) mod man;
pub(crate) mod notices;
pub(crate) mod policy;
pub(crate) mod quarantine;
pub(crate) mod redact;
pub(crate) mod replay;
pub(crate) mod schema;
pub(crate) mod script;
pub(crate) mod shadow;
pub(crate) mod stats;
pub(crate) mod tasks;
pub(crate) mod test;
