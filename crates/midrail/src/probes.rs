//! Probes beyond single files: commands that packs name, sets of files, the repository. Each is bounded in time and
//! size, and what it cannot determine is unavailable.

mod command;
mod git;
mod isolated_git;
mod project;
mod tree;
mod unsaved;

pub(crate) use command::{Exec, converse, exec, run};
pub(crate) use git::state as git;
pub(crate) use project::answer;
pub(crate) use tree::{contents, contents_in, count, count_in, digest as tree, digest_in as tree_in};
pub(crate) use unsaved::{plain, unsaved};
