//! The functions of other languages that start, remove, read, write, fetch or decode something.

mod functions;

use super::Language::{self, AppleScript, Awk, Elixir, Groovy, Julia, Lua, Node, Perl, Php, Python, R, Ruby};
use functions::CALLS;

/// What calling a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Runs its first argument: a command line, or a list of a program and its arguments.
    Line,
    /// Runs its arguments: one is a command line, several are a program and its arguments.
    Argv,
    /// Runs the program of its first argument with the list of its second.
    Spawn,
    /// As the `exec` family of C: a program, then its arguments from the zeroth on.
    Exec,
    /// As the `spawn` family of C: a mode, a program, then its arguments from the zeroth on.
    Spawned,
    /// Removes files.
    Remove,
    /// Removes folders with all that lies in them.
    RemoveTree,
    /// Removes; a setting `recursive` decides how much.
    RemoveBySetting,
    /// Walks through all that lies below a folder: the folder, its folders and its files.
    Walk,
    /// Hands all that lies below its later arguments to the function of its first.
    Search,
    /// The names of what lies in a folder.
    Listing,
    /// What the program reads.
    Input,
    /// The folder that a path lies in.
    Parent,
    /// A folder or file that is made for a while.
    Temporary,
    /// The folder in which such are made.
    TemporaryFolder,
    /// Connects to a database.
    Database,
    /// Hands a statement to a database.
    Statement,
    /// Hands the statement of its second argument to a database.
    SecondStatement,
    /// Replaces the content of the file of its first argument.
    Overwrite,
    /// Reads the file of its first argument.
    Read,
    /// Writes the file of its first argument.
    Write,
    /// Opens a file; the mode decides.
    Open,
    /// Moves its first argument to its second.
    Move,
    /// Copies its first argument to its second.
    Copy,
    /// Fetches a URL.
    Fetch,
    /// Connects to a host.
    Connect,
    /// Runs its first argument as code of the same language.
    Code,
    /// Hands open descriptors to another program.
    HandOver,
    /// A module by its name.
    Module,
    /// The member of its first argument that its second names.
    Member,
    /// Its first argument.
    Same,
    /// Calls the function that its first argument names, with the others.
    Apply,
    /// Decodes its first argument.
    Decode(Decoder),
    /// Joins parts of a path.
    JoinPath,
    /// Joins parts of a path, of which the last that begins at the root counts.
    ResolvePath,
    /// Joins a list.
    Join,
    /// Characters by their numbers.
    Characters,
    /// The user's home.
    Home,
    /// Splits a text into words.
    Split,
}

/// A way of decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decoder {
    /// Base64.
    Base64,
    /// Hexadecimal digits.
    Hex,
    /// Percent-encoding.
    Percent,
    /// Rot13.
    Rot13,
    /// From end to start.
    Reverse,
    /// The second argument names it.
    Named,
    /// Compression and the like: the result is not known.
    Unknown,
}

/// Methods of values whose kind does not matter, by language and name.
const METHODS: &[(Language, &[&str], Effect)] = &[
    (Python, &["connect"], Effect::Connect),
    (Node, &["connect"], Effect::Connect),
    (Php, &["connect"], Effect::Connect),
    (Lua, &["connect"], Effect::Connect),
    (Perl, &["system"], Effect::Argv),
    // `ctypes.CDLL(None).system(…)`
    (Python, &["system"], Effect::Line),
    (Python, &["execute", "executescript", "executemany", "execute_sql"], Effect::Statement),
    (Node, &["query", "execute", "run", "exec", "$executeRawUnsafe", "raw"], Effect::Statement),
    (Ruby, &["execute", "query", "exec_query", "execute_batch"], Effect::Statement),
    (Php, &["query", "exec", "multi_query"], Effect::Statement),
    (Perl, &["do", "prepare"], Effect::Statement),
];

/// Methods of paths: the path is the receiver.
const PATH_METHODS: &[(&str, Effect)] = &[
    ("unlink", Effect::Remove),
    ("rmdir", Effect::Remove),
    ("delete", Effect::Remove),
    ("rmtree", Effect::RemoveTree),
    ("deleteDir", Effect::RemoveTree),
    ("write_text", Effect::Overwrite),
    ("write_bytes", Effect::Overwrite),
    ("touch", Effect::Write),
    ("read_text", Effect::Read),
    ("read_bytes", Effect::Read),
    ("open", Effect::Open),
    ("rename", Effect::Move),
    ("replace", Effect::Move),
];

/// What calling the function of this full name does.
pub(super) fn effect(language: Language, name: &str) -> Option<Effect> {
    let last = name.rsplit('.').next().unwrap_or(name);
    // The functions of Perl and PHP are known without their modules; those of Ruby's Kernel need none.
    let short = match language {
        Perl | Php => last,
        Ruby => name.strip_prefix("Kernel.").unwrap_or(name),
        // `__import__('urllib.request')` is the package, and not the module in it.
        Python if name.starts_with("urllib.request.request.") => {
            name.get("urllib.request.".len()..).unwrap_or(name)
        }
        Python => name.strip_prefix("builtins.").unwrap_or(name),
        Node | Awk | Lua | AppleScript | R | Julia | Elixir | Groovy => {
            name.strip_prefix("globalThis.").unwrap_or(name)
        }
    };
    let is_row = |row: &&(Language, &[&str], Effect)| {
        row.0 == language && (row.1.contains(&short) || row.1.contains(&name))
    };
    CALLS.iter().find(is_row).map(|row| row.2)
}

/// What calling a method of this name does, whatever its receiver.
pub(super) fn method(language: Language, name: &str) -> Option<Effect> {
    METHODS.iter().find(|row| row.0 == language && row.1.contains(&name)).map(|row| row.2)
}

/// What calling a method of a path does.
pub(super) fn path_method(name: &str) -> Option<Effect> {
    PATH_METHODS.iter().find(|row| row.0 == name).map(|row| row.1)
}

/// Constructors of paths, whose methods [`path_method`] knows.
pub(super) fn makes_path(name: &str) -> bool {
    matches!(name, "pathlib.Path" | "pathlib.PosixPath" | "Path" | "Pathname.new" | "Pathname" | "File")
}

/// Interpreter names by language; versions are cut off before.
pub(super) const PROGRAMS: &[(&str, Language)] = &[
    ("python", Python),
    ("pypy", Python),
    ("ipython", Python),
    ("perl", Perl),
    ("ruby", Ruby),
    ("jruby", Ruby),
    ("node", Node),
    ("nodejs", Node),
    ("deno", Node),
    ("bun", Node),
    ("tsx", Node),
    ("ts-node", Node),
    ("php", Php),
    ("awk", Awk),
    ("gawk", Awk),
    ("mawk", Awk),
    ("nawk", Awk),
    ("lua", Lua),
    ("luajit", Lua),
    ("osascript", AppleScript),
    ("rscript", R),
    ("r", R),
    ("littler", R),
    ("julia", Julia),
    ("elixir", Elixir),
    ("iex", Elixir),
    ("groovy", Groovy),
];
