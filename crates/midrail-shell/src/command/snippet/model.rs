//! The languages of code inside a command line, and what is found in it.

/// The languages that are looked into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// `python -c`.
    Python,
    /// `perl -e`.
    Perl,
    /// `ruby -e`.
    Ruby,
    /// JavaScript: `node -e`, `deno eval`, `bun -e`.
    Node,
    /// `php -r`.
    Php,
    /// `awk`, whose program is its first word.
    Awk,
    /// `lua -e`.
    Lua,
    /// AppleScript: `osascript -e`.
    AppleScript,
    /// `Rscript -e`.
    R,
    /// `julia -e`.
    Julia,
    /// `elixir -e`.
    Elixir,
    /// `groovy -e`.
    Groovy,
}

/// A file or folder that a snippet removes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removal {
    /// The path, with `${unknown}` for parts that the snippet does not tell; `None` where it tells nothing of it.
    pub path: Option<String>,
    /// A folder goes with all that lies in it.
    pub is_recursive: bool,
}

/// What a snippet of code does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// Shell command lines that it starts. Lists of arguments are joined with quotes; parts that the snippet does not
    /// tell stand as `${unknown}`.
    pub commands: Vec<String>,
    /// What it removes.
    pub removes: Vec<Removal>,
    /// What it moves, and where to.
    pub moves: Vec<(String, String)>,
    /// Files that it reads.
    pub reads: Vec<String>,
    /// Files that it creates or changes.
    pub writes: Vec<String>,
    /// Files among those that it writes whose content it replaces or cuts off.
    pub overwrites: Vec<String>,
    /// Statements of SQL that it hands to a database.
    pub statements: Vec<String>,
    /// It sends all of its environment, with the secrets in it, to a host.
    pub sends_environment: bool,
    /// Hosts that it talks to.
    pub hosts: Vec<String>,
    /// It connects to a host and hands the connection to a shell.
    pub is_reverse_shell: bool,
    /// It starts itself over and over.
    pub is_fork_bomb: bool,
    /// It runs code that it fetches from elsewhere.
    pub runs_downloaded_code: bool,
    /// It runs code or a command that it hides or builds from parts that are not known, and that looks destructive.
    pub is_opaque: bool,
}

/// How a snippet is started.
#[derive(Debug, Clone, Default)]
pub struct Start {
    /// The file that it stands in, seen from the folder that it runs in.
    pub script: Option<String>,
    /// The words that follow it, where they are known.
    pub args: Option<Vec<String>>,
    /// What it reads.
    pub input: Option<String>,
    /// What it reads comes from the network.
    pub is_fed_by_network: bool,
}
