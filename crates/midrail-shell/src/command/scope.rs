//! What is known at a place in a command line: the folder, variables, functions and aliases.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::invocation::{Arg, Folder, below_unknown, variable_folder};

/// A placeholder for the folder that the whole line starts in, in values that may be used after a `cd`.
pub(super) const START: char = '\u{F8FE}';

/// How many values a variable may have at once, after branches that may or may not have run.
const MAX_CANDIDATES: usize = 4;

/// How many variables are kept.
const MAX_VARIABLES: usize = 400;

/// How far names of variables are followed.
const MAX_REFERENCES: usize = 8;

/// The longest value that is kept.
const MAX_VALUE: usize = 1 << 16;

/// The longest path of a folder that is followed.
const MAX_FOLDER: usize = 4096;

/// What a variable may hold, each value with its items: the newest first.
pub(super) type Candidates = Vec<Rc<Vec<Arg>>>;

/// A function of the line itself.
#[derive(Debug, Clone)]
pub(super) struct Function {
    pub(super) body: Rc<str>,
    /// The line certainly defined it, and did not remove it since. Otherwise its name may still mean a program.
    pub(super) is_certain: bool,
}

/// The state of a shell at one place of the line.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) folder: Folder,
    /// Folders to come back to: `cd -`, `popd`.
    pub(super) folders: Vec<Folder>,
    variables: Rc<BTreeMap<String, Candidates>>,
    /// Variables that are other names of variables: `declare -n`.
    references: Rc<BTreeMap<String, String>>,
    pub(super) functions: Rc<BTreeMap<String, Function>>,
    pub(super) aliases: Rc<BTreeMap<String, Rc<str>>>,
    /// `$0`, `$1`, … where they are known.
    pub(super) positional: Option<Rc<Vec<Arg>>>,
    pub(super) is_remote: bool,
    /// `set -o pipefail`: a pipeline succeeds only if all its commands do.
    pub(super) has_pipefail: bool,
    /// Variables that were set, for [`Scope::take_assigned`]. Shared by all scopes of a line.
    assigned: Rc<RefCell<Vec<(String, Arg)>>>,
    /// Something was not remembered: what follows may be misunderstood. Shared by all scopes of a line.
    pub(super) has_forgotten: Rc<Cell<bool>>,
    /// Variables that the line sets to an unknown value: `read X < file`. Shared by all scopes of a line.
    forgotten: Rc<RefCell<BTreeSet<String>>>,
}

/// A descriptor of the program itself, by its name in the other folders that are the same as `/dev/fd`.
fn own_descriptor(path: &str) -> Option<&str> {
    ["/proc/self/fd/", "/proc/$$/fd/", "/proc/thread-self/fd/"]
        .iter()
        .find_map(|folder| path.strip_prefix(folder))
}

impl Scope {
    pub(super) fn variable(&self, name: &str) -> Option<&Candidates> {
        self.variables.get(self.referred(name))
    }

    /// Whether a variable has the value that the line inherits.
    pub(super) fn is_inherited(&self, name: &str) -> bool {
        self.variable(name).is_none()
            && !self.has_forgotten.get()
            && !self.forgotten.borrow().contains(self.referred(name))
    }

    /// The items of the newest value of a variable.
    pub(super) fn items(&self, name: &str) -> Option<&Rc<Vec<Arg>>> {
        self.variable(name)?.first()
    }

    /// The first word of the newest value of a variable.
    pub(super) fn first_value(&self, name: &str) -> Option<&Arg> {
        self.items(name)?.first()
    }

    /// All variables, each with the first word of its newest value.
    pub(super) fn values(&self) -> impl Iterator<Item = (&str, &Arg)> {
        self.variables.iter().filter_map(|(name, values)| Some((name.as_str(), values.first()?.first()?)))
    }

    /// Whether the line sets one of these variables to an unknown value.
    pub(super) fn has_forgotten_any(&self, is_it: impl Fn(&str) -> bool) -> bool {
        self.forgotten.borrow().iter().any(|name| is_it(name))
    }

    /// The folder as the value of `$PWD`.
    pub(super) fn working_folder(&self) -> Option<Arg> {
        match &self.folder {
            Folder::Known(folder) if is_absolute(folder) => Some(Arg::known(folder.clone())),
            Folder::Known(folder) if folder.is_empty() => Some(Arg::known(START.to_string())),
            Folder::Known(folder) => Some(Arg::known(format!("{START}/{folder}"))),
            Folder::Unknown(_) => None,
        }
    }

    /// Sets `$0` and the arguments after it. Returns those before.
    pub(super) fn set_positional(&mut self, name: Arg, args: &[Arg]) -> Option<Rc<Vec<Arg>>> {
        let items = std::iter::once(name).chain(args.iter().cloned());
        self.positional.replace(Rc::new(items.collect()))
    }

    /// The variable that a name refers to.
    pub(super) fn referred<'n>(&'n self, name: &'n str) -> &'n str {
        let mut name = name;
        for _ in 0..MAX_REFERENCES {
            match self.references.get(name) {
                Some(other) => name = other,
                None => break,
            }
        }
        name
    }

    /// Makes a name another one of a variable.
    pub(super) fn refer(&mut self, name: &str, variable: &str) {
        keep(&mut self.references, &self.has_forgotten, name, variable.to_owned());
    }

    pub(super) fn set(&mut self, name: &str, items: Vec<Arg>) {
        let name = &self.referred(name).to_owned();
        self.log(name, items.first());
        let size: usize = items.iter().map(|item| item.text.len()).sum();
        let variables = Rc::make_mut(&mut self.variables);
        if size > MAX_VALUE || (variables.len() >= MAX_VARIABLES && !variables.contains_key(name)) {
            variables.remove(name);
            self.has_forgotten.set(true);
            return;
        }
        variables.insert(name.to_owned(), vec![Rc::new(items)]);
    }

    fn log(&self, name: &str, value: Option<&Arg>) {
        const MAX_LOGGED: usize = 64;
        let mut assigned = self.assigned.borrow_mut();
        // No name is lost, and of a name with many values only some values are judged.
        let is_new = || assigned.len() < MAX_VARIABLES && assigned.iter().all(|(known, _)| known != name);
        if assigned.len() < MAX_LOGGED || is_new() {
            assigned.push((name.to_owned(), value.cloned().unwrap_or_default()));
        }
    }

    /// The variables that were set since the last call, each with its value.
    pub(super) fn take_assigned(&self) -> Vec<(String, Arg)> {
        std::mem::take(&mut self.assigned.borrow_mut())
    }

    /// Several values, of which any may hold.
    pub(super) fn set_any(&mut self, name: &str, values: Vec<Arg>) {
        values.iter().for_each(|value| self.log(name, Some(value)));
        let candidates = values.into_iter().take(MAX_CANDIDATES * 2).map(|value| Rc::new(vec![value]));
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), candidates.collect());
    }

    /// The variables as they were before a command that had some of its own: `X=1 command`.
    pub(super) fn restore_variables(&mut self, before: &Scope) {
        self.variables = Rc::clone(&before.variables);
    }

    /// The value of a variable is no longer known.
    pub(super) fn forget(&mut self, name: &str) {
        self.log(name, Some(&Arg::unknown("$value")));
        let mut forgotten = self.forgotten.borrow_mut();
        if forgotten.len() < MAX_VARIABLES {
            forgotten.insert(name.to_owned());
        } else {
            self.has_forgotten.set(true);
        }
        drop(forgotten);
        if self.variables.contains_key(name) {
            Rc::make_mut(&mut self.variables).remove(name);
        }
    }

    pub(super) fn define(&mut self, name: &str, body: &str) {
        let function = Function { body: Rc::from(body), is_certain: true };
        keep(&mut self.functions, &self.has_forgotten, name, function);
    }

    /// The name means a program only.
    pub(super) fn forget_definitions(&mut self, name: &str) {
        if self.functions.contains_key(name) {
            Rc::make_mut(&mut self.functions).remove(name);
        }
        if self.aliases.contains_key(name) {
            Rc::make_mut(&mut self.aliases).remove(name);
        }
    }

    /// A function may be gone: `unset -f name`.
    pub(super) fn doubt_function(&mut self, name: &str) {
        if self.functions.contains_key(name)
            && let Some(function) = Rc::make_mut(&mut self.functions).get_mut(name)
        {
            function.is_certain = false;
        }
    }

    pub(super) fn alias(&mut self, name: &str, body: &str) {
        keep(&mut self.aliases, &self.has_forgotten, name, Rc::from(body));
    }

    /// What is known after a branch that may or may not have run: both values of each variable, the new one first.
    pub(super) fn may_have_been(&mut self, before: &Scope) {
        self.has_pipefail &= before.has_pipefail;
        self.functions_may_have_been(before);
        if Rc::ptr_eq(&self.variables, &before.variables) {
            return;
        }
        let variables = Rc::make_mut(&mut self.variables);
        for (name, candidates) in variables.iter_mut() {
            for candidate in before.variables.get(name).into_iter().flatten() {
                if candidates.len() < MAX_CANDIDATES && !candidates.contains(candidate) {
                    candidates.push(Rc::clone(candidate));
                }
            }
        }
        for (name, old) in before.variables.iter() {
            variables.entry(name.clone()).or_insert_with(|| old.clone());
        }
    }

    /// A function that a branch defined, or the one that it replaced: the name may also mean what it meant before.
    fn functions_may_have_been(&mut self, before: &Scope) {
        if Rc::ptr_eq(&self.functions, &before.functions) {
            return;
        }
        for (name, function) in Rc::make_mut(&mut self.functions) {
            let old = before.functions.get(name);
            function.is_certain &= old.is_some_and(|old| old.is_certain);
        }
    }

    /// What one argument means as a path, seen from the folder that the line starts in.
    pub(super) fn place(&self, path: &str) -> String {
        match &self.folder {
            _ if path.starts_with("/proc/") && own_descriptor(path).is_some() => {
                format!("/dev/fd/{}", own_descriptor(path).unwrap_or_default())
            }
            Folder::Known(folder) => join(folder, path),
            Folder::Unknown(_) if is_absolute(path) => join("", path),
            Folder::Unknown(_) if path.starts_with(['$', '`']) => path.to_owned(),
            Folder::Unknown(folder) => below_unknown(folder, path),
        }
    }

    pub(super) fn change_folder(&mut self, target: Option<&Arg>) {
        let next = match target {
            None => Folder::Known("~".to_owned()),
            Some(arg) if arg.text == "-" => {
                self.folders.last().cloned().unwrap_or_else(|| Folder::unknown("$OLDPWD"))
            }
            Some(arg) => match &self.folder {
                _ if is_absolute(&arg.text) && starts_known(arg) => Folder::Known(join("", &arg.text)),
                _ if !arg.is_known() => self.expanded_folder(arg),
                Folder::Known(folder) => Folder::Known(join(folder, &arg.text)),
                Folder::Unknown(folder) => Folder::Unknown(below_unknown(folder, &arg.text)),
            },
        };
        // A folder that grows without end is not followed.
        let next = match next {
            Folder::Known(folder) | Folder::Unknown(folder) if folder.len() > MAX_FOLDER => Folder::lost(),
            next => next,
        };
        self.folders.push(std::mem::replace(&mut self.folder, next));
        if self.folders.len() > 32 {
            self.folders.remove(0);
        }
    }
}

impl Scope {
    /// Whether variables make git use another folder than the one of the repository here.
    pub(super) fn has_other_tree(&self) -> bool {
        ["GIT_WORK_TREE", "GIT_DIR"].iter().any(|name| self.first_value(name).is_some())
    }

    /// The folder that a word with an unknown part names: a known one where its variable says so.
    fn expanded_folder(&self, arg: &Arg) -> Folder {
        let Some(range) = arg.unknown.first() else { return Folder::lost() };
        let name = arg.text.get(range.clone()).unwrap_or_default();
        let rest = arg.text.get(range.end..).unwrap_or_default();
        let is_whole = range.start == 0 && arg.unknown.len() == 1;
        let is_here =
            matches!(&self.folder, Folder::Known(path) if !is_absolute(path) && !path.starts_with(".."));
        let is_moved = name.contains("git rev-parse") && self.has_other_tree();
        match variable_folder(name).filter(|_| is_whole && !is_moved) {
            // The root of the repository is taken for the folder that the line starts in.
            Some(".") if is_here => Folder::Known(join("", rest.trim_start_matches('/'))),
            Some(folder) if folder != "." => Folder::Known(join("", &format!("{folder}{rest}"))),
            _ => match Folder::unknown(name) {
                Folder::Unknown(folder) => Folder::Unknown(below_unknown(&folder, rest)),
                known => known,
            },
        }
    }
}

/// Keeps a name, unless there are too many.
fn keep<T: Clone>(map: &mut Rc<BTreeMap<String, T>>, has_forgotten: &Cell<bool>, name: &str, value: T) {
    if map.len() < MAX_VARIABLES {
        Rc::make_mut(map).insert(name.to_owned(), value);
    } else {
        has_forgotten.set(true);
    }
}

/// Whether the beginning of a path is known: `/data/$x`.
fn starts_known(arg: &Arg) -> bool {
    arg.unknown.first().is_none_or(|range| range.start > 0)
}

pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with('/') || path.starts_with('~')
}

/// A path seen from a folder, without `.` and without the `..` that can be resolved.
pub(super) fn join(folder: &str, path: &str) -> String {
    if path.is_empty() {
        return folder.to_owned();
    }
    let is_plain = |path: &str| {
        !path.starts_with("./")
            && !path.contains("/.")
            && !path.contains("//")
            && !path.ends_with('/')
            && path != "."
    };
    if is_absolute(path) || folder.is_empty() {
        if is_plain(path) && !path.starts_with("..") {
            return path.to_owned();
        }
        return normalise(path);
    }
    normalise(&format!("{folder}/{path}"))
}

fn normalise(path: &str) -> String {
    let is_rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for piece in path.split('/') {
        match piece {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." && !last.starts_with('~') && !last.contains('$') => {
                    kept.pop();
                }
                None if is_rooted => {}
                _ => kept.push(".."),
            },
            _ => kept.push(piece),
        }
    }
    let joined = kept.join("/");
    match (is_rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_the_start() {
        for (folder, path, place) in [
            ("", "a", "a"),
            ("src", "a.rs", "src/a.rs"),
            ("src", "../a", "a"),
            ("src", "..", "."),
            ("", "../x", "../x"),
            ("src", "/etc/x", "/etc/x"),
            ("~", "..", "~/.."),
            ("/a/b", "../../..", "/"),
            ("", "./a//b/", "a/b"),
            ("..", "..", "../.."),
        ] {
            assert_eq!(join(folder, path), place, "{folder} {path}");
        }
    }
}
