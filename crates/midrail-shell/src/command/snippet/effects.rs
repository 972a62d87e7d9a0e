//! What calls do, noted as they are followed.

use super::eval::{Args, Runner};
use super::pure::{
    SOME, below, braces, characters, decoded, effect_of, is_environment, is_home, join, makes_path, member,
    method_effect, module_name, parent, path_effect, reverse, split,
};
use super::state::{MOST, Removal};
use super::value::Value;
use crate::command::invocation::Arg;
use crate::tables::{Effect, Language};

/// A placeholder for a temporary folder that the code creates.
const MADE: &str = "/tmp/made-by-this-code";

impl Runner<'_, '_> {
    pub(super) fn call(&mut self, function: Value, args: &Args) -> Value {
        match function {
            Value::Name(name) => {
                if makes_path(&name) {
                    return Value::Path(args.text(0));
                }
                if is_home(&name) {
                    let home = Arg::known("~");
                    return if name.ends_with("Path.home") { Value::Path(home) } else { Value::Text(home) };
                }
                if self.call_own(&name, args) {
                    return Value::Unknown;
                }
                // `process.argv.slice(2)`
                if let Some(list) = name.strip_suffix(".slice")
                    && let Some(words) = self.script_arguments(list, args.plain.first())
                {
                    return words;
                }
                let mut effect = effect_of(self.language, &name);
                for module in &self.state.stars {
                    effect = effect.or_else(|| effect_of(self.language, &format!("{module}.{name}")));
                }
                if let Some(effect) = effect {
                    return self.apply(effect, args);
                }
                match name.rsplit_once('.') {
                    Some((_, "getenv")) if args.text(0).all() == Some("HOME") => Value::known("~"),
                    Some((_, last)) => self.method(&Value::Unknown, last, args),
                    None => Value::Unknown,
                }
            }
            Value::Method(on, name) => self.method(&on, &name, args),
            // `os.homedir()`: what was taken for the home already.
            Value::Text(text) if text.all() == Some("~") => Value::Text(text),
            Value::Path(text) if text.all() == Some("~") => Value::Path(text),
            // PHP calls functions by their names.
            Value::Text(text) if self.language == Language::Php => match text.all() {
                Some(name) => self.call(Value::Name(name.to_owned()), args),
                None => Value::Unknown,
            },
            Value::Fetched | Value::Decoded => function,
            _ => Value::Unknown,
        }
    }

    fn method(&mut self, on: &Value, name: &str, args: &Args) -> Value {
        if let Value::Path(path) = on
            && let Some(effect) = path_effect(name)
        {
            let mut plain = vec![Value::Text(path.clone())];
            plain.extend(args.plain.iter().cloned());
            return self.apply(effect, &Args::new(plain));
        }
        // `platform.system()` starts nothing.
        if let Some(effect) = method_effect(self.language, name).filter(|_| !args.plain.is_empty()) {
            return self.apply(effect, args);
        }
        match (on, name) {
            (Value::Any(values), _) => {
                let values = values.clone();
                Value::Any(values.iter().map(|value| self.method(value, name, args)).collect())
            }
            // Groovy: `"ls".execute()`.
            (Value::Text(_) | Value::List(_), "execute") if self.language == Language::Groovy => {
                self.start(Some(on));
                Value::Unknown
            }
            (_, "__import__") => self.apply(Effect::Module, args),
            (Value::Text(joint), "join") => join(joint, args.plain.first()),
            (Value::List(_), "join") => {
                join(&args.plain.first().map_or_else(Arg::default, Value::text), Some(on))
            }
            (Value::List(_), "map" | "each" | "to_a") => on.clone(),
            (Value::List(values), "pack") => match (args.text(0).all(), values.first()) {
                (Some("H*" | "h*"), Some(value)) => decoded(Effect::Hex, &value.text(), None),
                (Some("m" | "m0"), Some(value)) => decoded(Effect::Base64, &value.text(), None),
                (Some("c*" | "C*" | "U*"), _) => characters(values),
                _ => Value::Decoded,
            },
            (Value::Text(text), "unpack1" | "unpack") if args.text(0).all() == Some("m") => {
                decoded(Effect::Base64, text, None)
            }
            (Value::Text(_) | Value::List(_), "reverse") => reverse(on.clone()),
            (Value::Text(text), "split") => split(text, args.plain.first()),
            (Value::Text(text), "replace" | "gsub" | "sub" | "replaceAll") => {
                match (text.all(), args.text(0).all(), args.text(1).all()) {
                    (Some(text), Some(from), Some(to)) if !from.is_empty() && to.len() <= from.len() => {
                        Value::known(text.replace(from, to))
                    }
                    _ => Value::Unknown,
                }
            }
            (Value::Text(text), "format") => Value::Text(braces(text, &args.plain)),
            (Value::Number(_), "chr") => characters(std::slice::from_ref(on)),
            (
                Value::Text(_) | Value::Path(_) | Value::Fetched | Value::Decoded,
                "decode" | "encode" | "toString" | "to_s" | "strip" | "trim" | "expanduser" | "resolve"
                | "read" | "text" | "absolute" | "chomp" | "lower" | "toLowerCase" | "downcase",
            ) => on.clone(),
            (Value::Fetched | Value::Decoded, _) => on.clone(),
            (Value::Path(path), "iterdir" | "glob" | "rglob" | "joinpath" | "join") => {
                self.state.walks |= name == "rglob";
                let mut path = path.clone();
                path.add(&Arg::known("/"));
                let below = if name == "iterdir" { Arg::known("*") } else { args.text(0) };
                if name == "rglob" && !below.text.contains(['*', '?', '[']) {
                    path.add(&Arg::known("**/"));
                }
                path.add(&below);
                Value::Path(path)
            }
            _ => Value::Unknown,
        }
    }

    /// Notes what a call does, and returns its value.
    pub(super) fn apply_one(&mut self, effect: Effect, args: &Args) -> Value {
        let first = args.plain.first();
        match effect {
            Effect::Line => self.start(first.into_iter().chain(named(args, &["args", "cmd"])).next()),
            Effect::Argv if args.plain.len() == 1 => self.start(first),
            Effect::Argv => self.start(Some(&Value::List(args.plain.clone()))),
            Effect::Spawn => {
                let mut argv = vec![first.cloned().unwrap_or(Value::Unknown)];
                match args.plain.get(1).or_else(|| named(args, &["args"]).next()) {
                    Some(Value::List(rest)) => argv.extend(rest.iter().cloned()),
                    Some(Value::Unknown) => argv.push(Value::Unknown),
                    _ => {}
                }
                self.start(Some(&Value::List(argv)));
            }
            Effect::Exec => {
                let mut argv = vec![first.cloned().unwrap_or(Value::Unknown)];
                match args.plain.get(1) {
                    Some(Value::List(rest)) => argv.extend(rest.iter().skip(1).cloned()),
                    _ => argv.extend(args.plain.iter().skip(2).cloned()),
                }
                self.start(Some(&Value::List(argv)));
            }
            Effect::Spawned => {
                let plain = args.plain.get(1..).unwrap_or_default().to_vec();
                return self.apply(Effect::Exec, &Args::new(plain));
            }
            Effect::Remove => self.remove_all(&args.plain, false),
            Effect::RemoveTree => self.remove_all(args.plain.get(..1).unwrap_or_default(), true),
            Effect::RemoveBySetting => {
                self.remove_all(args.plain.get(..1).unwrap_or_default(), args.is_recursive)
            }
            Effect::Read => {
                let text = args.text(0);
                match text.all() {
                    _ if matches!(first, Some(Value::Number(0))) => return self.input(),
                    Some("/dev/stdin") => return self.input(),
                    Some(url) if url.contains("://") => return self.fetch(&text),
                    _ => self.opened(&text, false, false),
                }
            }
            Effect::Overwrite => self.opened(&args.text(0), true, true),
            Effect::Walk => {
                self.state.walks = true;
                let any = || Value::known("*");
                return Value::List(vec![Value::Text(args.text(0)), any(), any()]);
            }
            Effect::Search => {
                let folders = args.plain.iter().skip(1).map(Value::text).filter(Arg::has_known);
                self.state.searched.extend(folders.map(|folder| folder.text).take(MOST));
            }
            // Names from a folder of the project are nothing outside of it.
            Effect::Listing => {
                let folder = args.text(0);
                let is_below =
                    |folder: &str| !matches!(folder, "" | "." | "./") && !folder.starts_with(['/', '~', '.']);
                let names = if folder.all().is_some_and(is_below) { SOME } else { "*" };
                return Value::known(names);
            }
            Effect::Input => return self.input(),
            Effect::Parent => return Value::Text(parent(&args.text(0))),
            Effect::Temporary => return Value::known(MADE),
            Effect::TemporaryFolder => return Value::known("/tmp"),
            Effect::Database => {
                let place = args.text(0);
                if place.all().is_some_and(|place| place != ":memory:" && !place.contains("://")) {
                    self.opened(&place, true, false);
                }
                self.state.is_database_temporary |=
                    place.all().is_some_and(|place| place == ":memory:" || place.starts_with("/tmp/"));
            }
            Effect::Statement => self.sql(&args.text(0)),
            Effect::SecondStatement => self.sql(&args.text(1)),
            Effect::Write => self.opened(&args.text(0), true, false),
            Effect::Open => return self.open(args),
            Effect::Move | Effect::Copy => {
                let (from, to) = (args.text(0), args.text(1));
                let (from, to) = (self.placed(&from), self.placed(&to));
                note(&mut self.state.snippet.reads, &from);
                note(&mut self.state.snippet.writes, &to);
                self.state.snippet.writes_unknown |= !to.has_known();
                if effect == Effect::Move {
                    note(&mut self.state.snippet.writes, &from);
                }
                if effect == Effect::Move && !from.has_known() {
                    self.state.snippet.removes.push(Removal { path: None, is_recursive: false });
                }
                let moves = &mut self.state.snippet.moves;
                if effect == Effect::Move && from.has_known() && to.has_known() && moves.len() < MOST {
                    moves.push((from.text, to.text));
                }
            }
            Effect::Fetch => {
                let sent = args.plain.iter().skip(1).chain(args.named.iter().map(|(_, value)| value));
                self.state.snippet.sends_environment |= sent
                    .flat_map(Value::each)
                    .any(|value| matches!(value, Value::Name(name) if is_environment(name)));
                return self.fetch(&args.text(0));
            }
            Effect::Connect => {
                self.state.is_connected = true;
                let values =
                    args.plain.iter().flat_map(Value::each).chain(args.named.iter().map(|(_, value)| value));
                let is_host = |text: &str| text.contains(|letter: char| !letter.is_ascii_digit());
                if let Some(host) = values.map(Value::text).find(|text| text.all().is_some_and(is_host)) {
                    self.state.host(&host.text);
                }
            }
            Effect::Code => self.code(first),
            Effect::HandOver => self.state.hands_over = true,
            Effect::Module => {
                return args.text(0).all().map_or(Value::Unknown, |name| Value::Name(module_name(name)));
            }
            Effect::Member => {
                return match (first, args.text(1).all()) {
                    (Some(value), Some(name)) => member(value.clone(), name),
                    _ => Value::Unknown,
                };
            }
            Effect::Apply => {
                let function = match first {
                    Some(Value::Text(text)) => {
                        text.all().map_or(Value::Unknown, |name| Value::Name(name.to_owned()))
                    }
                    Some(value) => value.clone(),
                    None => Value::Unknown,
                };
                let plain = args.plain.get(1..).unwrap_or_default().to_vec();
                // A function that applies another is not followed: it could go round.
                let is_round = matches!(&function, Value::Name(name) if effect_of(self.language, name) == Some(Effect::Apply));
                return if is_round { Value::Unknown } else { self.call(function, &Args::new(plain)) };
            }
            Effect::ChangeFolder => self.change_folder(args.text(0)),
            Effect::Same => return first.cloned().unwrap_or(Value::Unknown),
            Effect::Base64
            | Effect::Hex
            | Effect::Percent
            | Effect::Rot13
            | Effect::Reverse
            | Effect::NamedDecoder
            | Effect::UnknownDecoder => {
                return match first {
                    Some(Value::Fetched) => Value::Fetched,
                    _ if self.language == Language::Perl && effect == Effect::NamedDecoder => {
                        decoded(effect, &args.text(1), args.text(0).all())
                    }
                    _ => decoded(effect, &args.text(0), args.text(1).all()),
                };
            }
            Effect::JoinPath => return join(&Arg::known("/"), Some(&Value::List(args.plain.clone()))),
            Effect::ResolvePath => {
                let parts = args.plain.iter().map(Value::text);
                return Value::Text(parts.reduce(below).unwrap_or_default());
            }
            Effect::Join => {
                return match args.plain.as_slice() {
                    [joint, list @ Value::List(_)] => join(&joint.text(), Some(list)),
                    [joint, rest @ ..] => join(&joint.text(), Some(&Value::List(rest.to_vec()))),
                    [] => Value::Unknown,
                };
            }
            Effect::Characters => {
                let values: Vec<Value> = args.plain.iter().flat_map(Value::each).cloned().collect();
                return characters(&values);
            }
            Effect::Home => return Value::known("~"),
            Effect::Split => return split(&args.text(0), None),
        }
        Value::Unknown
    }

    /// What the program reads.
    fn input(&self) -> Value {
        let start = &self.state.start;
        match &start.input {
            Some(text) => Value::known(text.trim_end_matches('\n')),
            None if start.is_fed_by_network => Value::Fetched,
            None => Value::Unknown,
        }
    }

    /// A command line, or a program with its arguments, is started. One that the text does not show can be any.
    pub(super) fn start(&mut self, value: Option<&Value>) {
        match value {
            // A program that comes over a connection, with the mode of the pipe to it.
            Some(Value::List(words))
                if self.state.is_connected && words.first().is_some_and(|word| !word.text().has_known()) =>
            {
                self.state.hands_over = true;
            }
            Some(Value::List(words))
                if words.first().is_some_and(|word| self.is_parameter(word, Effect::Line)) => {}
            Some(Value::Any(values)) => values.iter().for_each(|value| self.start(Some(value))),
            Some(Value::List(words)) => {
                let text = |word: &Value| match word {
                    Value::Name(name) => interpreter(name).map_or_else(|| word.text(), Arg::known),
                    word => word.text(),
                };
                let words: Vec<String> = words.iter().map(|word| text(word).quoted()).collect();
                self.state.command(words.join(" "));
            }
            Some(Value::Text(text) | Value::Path(text)) if text.has_known() => {
                self.state.command(text.text.clone())
            }
            Some(Value::Fetched) => self.state.snippet.runs_downloaded_code = true,
            Some(Value::Decoded) => self.state.snippet.is_opaque = true,
            Some(value) if self.is_parameter(value, Effect::Line) => {}
            _ => {
                // A command that comes over a connection makes a remote shell of the snippet.
                self.state.hands_over |= self.state.is_connected;
                self.state.snippet.starts_unknown |= value.is_some();
            }
        }
    }

    fn code(&mut self, value: Option<&Value>) {
        match value {
            Some(Value::Text(text)) => match text.all() {
                Some(code) => {
                    let code = code.to_owned();
                    self.state.run(self.language, &code);
                }
                None => self.state.runs_unknown_code = true,
            },
            Some(Value::Fetched) => self.state.snippet.runs_downloaded_code = true,
            Some(Value::Decoded) => self.state.snippet.is_opaque = true,
            Some(Value::Unknown | Value::Name(_)) => self.state.runs_unknown_code = true,
            _ => {}
        }
    }

    /// A database is given a statement.
    fn sql(&mut self, text: &Arg) {
        if text.has_known()
            && !self.state.is_database_temporary
            && self.state.snippet.statements.len() < MOST
            && crate::sql::looks_like_sql(&text.text)
        {
            self.state.snippet.statements.push(text.text.clone());
        }
    }

    fn remove_all(&mut self, values: &[Value], is_recursive: bool) {
        for value in values.iter().flat_map(Value::each) {
            // Settings and callbacks that follow the path are no paths.
            let is_setting = values.len() > 1
                && matches!(value, Value::Unknown | Value::Name(_) | Value::Number(_) | Value::Any(_));
            let effect = if is_recursive { Effect::RemoveTree } else { Effect::Remove };
            if !is_setting && !self.is_parameter(value, effect) {
                self.remove(&value.text(), is_recursive);
            }
        }
    }

    pub(super) fn remove(&mut self, path: &Arg, is_recursive: bool) {
        let path = &self.placed(path);
        // The code may remove temporary files that it creates itself.
        let is_own = path.all().is_some_and(|path| path.starts_with(MADE) && !path.contains(".."));
        if self.state.snippet.removes.len() < MOST && !is_own {
            let path = path.has_known().then(|| path.text.clone());
            let is_below = self.state.walks && path.as_ref().is_some_and(|path| path.contains('*'));
            let is_recursive = is_recursive || is_below;
            self.state.snippet.removes.push(Removal { path, is_recursive });
        }
    }

    fn fetch(&mut self, url: &Arg) -> Value {
        self.state.has_fetched = true;
        // Parts after the host may be unknown.
        let (start, _) = url.pieces().next().unwrap_or_default();
        if url.is_known() || start.split_once("://").is_some_and(|(_, rest)| rest.contains('/')) {
            self.state.host(start);
        }
        Value::Fetched
    }

    fn open(&mut self, args: &Args) -> Value {
        // Perl's first argument is the handle.
        let from = usize::from(self.language == Language::Perl);
        let (path, mode) = (args.text(from), args.text(from + 1));
        let named_mode = named(args, &["mode"]).next().map(Value::text);
        let mode = named_mode.unwrap_or(mode);
        let mode = mode.all().unwrap_or("r");
        if self.language == Language::Perl {
            let spelling = path.text.trim();
            // `open(F, "<", "f")`, `open(F, "-|", "cmd")`, and both in one: `open(F, ">f")`, `open(F, "cmd|")`.
            if matches!(spelling, "-|" | "|-") {
                self.start(args.plain.get(2));
            } else if spelling.starts_with(">&") || spelling.starts_with("<&") {
                self.state.hands_over |= self.state.is_connected;
            } else if let Some(command) = spelling.strip_suffix('|').or_else(|| spelling.strip_prefix('|')) {
                self.state.command(command.trim().to_owned());
            } else {
                let is_write = spelling.starts_with(['>', '+']);
                let is_overwrite = spelling.starts_with('>') && !spelling.starts_with(">>");
                let name = spelling.trim_start_matches(['>', '<', '+']).trim();
                let is_apart = name.is_empty() || name.starts_with(':');
                let text = if is_apart { args.text(2) } else { Arg::known(name) };
                self.opened(&text, is_write, is_overwrite);
            }
            return Value::Unknown;
        }
        if let Some(text) = path.all() {
            if text.contains("://") {
                return self.fetch(&path);
            }
            if self.language == Language::Ruby
                && let Some(command) = text.strip_prefix('|')
            {
                self.state.command(command.trim().to_owned());
                return Value::Unknown;
            }
        }
        let is_write = mode.contains(['w', 'a', 'x', '+', 'c']);
        self.opened(&path, is_write, mode.starts_with('w'));
        Value::Unknown
    }

    fn opened(&mut self, path: &Arg, is_write: bool, is_overwrite: bool) {
        let path = &self.placed(path);
        let snippet = &mut self.state.snippet;
        // `"$ARGV[0]"` in a string of Perl leaves the index.
        let is_unknown =
            !path.has_known() || path.text == "${unknown}" || path.text.starts_with("${unknown}[");
        snippet.writes_unknown |= is_write && is_unknown;
        note(if is_write { &mut snippet.writes } else { &mut snippet.reads }, path);
        if is_overwrite {
            note(&mut snippet.overwrites, path);
        }
    }

    /// A path as seen from the folder that the code started in.
    fn placed(&self, path: &Arg) -> Arg {
        match &self.state.folder {
            Some(folder) if path.has_known() && !path.text.starts_with(['/', '~']) => {
                below(folder.clone(), path.clone())
            }
            _ => path.clone(),
        }
    }
}

/// The interpreter that runs the code itself: `sys.executable`.
fn interpreter(name: &str) -> Option<&'static str> {
    match name {
        "sys.executable" => Some("python3"),
        "process.execPath" | "process.argv0" => Some("node"),
        "RbConfig.ruby" | "Gem.ruby" => Some("ruby"),
        "PHP_BINARY" => Some("php"),
        _ => None,
    }
}

fn named<'v>(args: &'v Args, names: &'v [&str]) -> impl Iterator<Item = &'v Value> {
    args.named.iter().filter(|(name, _)| names.contains(&name.as_str())).map(|(_, value)| value)
}

fn note(list: &mut Vec<String>, path: &Arg) {
    if path.has_known() && list.len() < MOST {
        list.push(path.text.clone());
    }
}
