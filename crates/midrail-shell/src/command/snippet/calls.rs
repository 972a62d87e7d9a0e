//! The functions of other languages that start, remove, read, write, fetch or decode something.

mod functions;

use super::effect::Effect;
use super::model::Language::{
    self, AppleScript, Awk, Elixir, Groovy, Julia, Lua, Node, Perl, Php, Python, R, Ruby,
};
use functions::CALLS;

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
