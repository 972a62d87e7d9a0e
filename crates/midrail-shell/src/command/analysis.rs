//! The findings about a command line, and the files that it can read.

use midrail_core::{Danger, FileCopy, RepositoryCall};

/// What a command line does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    /// What it might destroy. Dangers whose targets are harmless are included, with `is_inside`.
    pub dangers: Vec<Danger>,
    /// Files that it reads, relative to the folder that it starts in.
    pub reads: Vec<String>,
    /// Files that it creates, changes or removes.
    pub writes: Vec<String>,
    /// Files among those whose whole content it replaces, by `>` and by the like of it in code.
    pub overwrites: Vec<String>,
    /// Places among those that are folders, or become some.
    pub folders: Vec<String>,
    /// Folders and patterns of files that it changes or removes without naming them: by what `find` finds there, by what
    /// `xargs` is handed, by what is unpacked into them.
    pub sweeps: Vec<String>,
    /// Files among those that it reads or writes of which it only uses the name, or which it hands to a program as a key:
    /// their content is neither shown nor changed.
    pub named: Vec<String>,
    /// Hosts that it talks to.
    pub hosts: Vec<String>,
    /// Programs that it starts.
    pub programs: Vec<String>,
    /// Files that it runs as scripts or programs, and whose content is not known.
    pub scripts: Vec<String>,
    /// Files that it runs on the way, where they are there: the hooks of git.
    pub hooks: Vec<String>,
    /// Files that it reads where something runs what it reads, or takes its targets from there.
    pub feeds: Vec<String>,
    /// Files that it writes with what comes from the network. One that ends with `/` is a folder, with all that is in it.
    pub fetched: Vec<String>,
    /// Files whose content the agent knows afterwards: it was shown all of them, or wrote all of them.
    pub seen: Vec<String>,
    /// Files that get the content of others.
    pub copies: Vec<FileCopy>,
    /// Its calls of git and of the programs of forges, in order.
    pub repository: Vec<RepositoryCall>,
    /// It is longer, deeper or more work than Midrail analyses: the findings are incomplete.
    pub is_partial: bool,
}

/// A file of which it is known what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// As command lines spell it, seen from the folder that they start in.
    pub path: String,
    /// Its text. None: it came from the network and was not reviewed.
    pub text: Option<String>,
}
