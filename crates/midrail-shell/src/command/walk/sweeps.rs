//! What programs change of files that they are handed and that the line does not name: `find` by `-delete` and by programs
//! that it runs on each file, `fd` and `xargs` by theirs.

use super::super::invocation::{Arg, Invocation};
use super::super::options::{FindPart, find_parts};
use super::super::scope::Scope;
use super::flow::base_name;
use super::listing::{MAX_ROOTS, is_narrowed, list_folder};
use super::state::{Listed, MAX_DEPTH, Stream, Walk};

/// A placeholder for a file that a program is given.
const PLACEHOLDER: &str = "a-file-that-a-program-is-given";

impl Walk {
    /// Whether a program changes a file that it is handed: in the place of a mark, or where there is none behind all else.
    pub(super) fn changes_given_files(&mut self, command: &[Arg], mark: Option<&str>, scope: &Scope) -> bool {
        // What only removes empty folders leaves all files where they are.
        if command.first().is_none_or(|program| base_name(&program.text) == "rmdir") {
            return false;
        }
        if self.depth >= MAX_DEPTH || self.is_exhausted() {
            return true;
        }
        let handed = |arg: &Arg| match mark {
            Some(mark) if !mark.is_empty() && arg.text.contains(mark) => {
                Arg { text: arg.text.replace(mark, PLACEHOLDER), ..Arg::default() }
            }
            _ => arg.clone(),
        };
        let mut argv: Vec<Arg> = command.iter().map(handed).collect();
        if mark.is_none() {
            argv.push(Arg::known(PLACEHOLDER));
        }
        let mut trial = Walk {
            spent: self.spent,
            depth: self.depth + 1,
            is_nested: true,
            span: self.span,
            ..Walk::default()
        };
        let _ = trial.invoke(argv, true, &mut scope.clone(), &Stream::default());
        self.spent = trial.spent;
        let is_handed = |path: &String| path.contains(PLACEHOLDER);
        trial.analysis.is_partial
            || trial.analysis.writes.iter().any(is_handed)
            || trial.analysis.sweeps.iter().any(is_handed)
    }

    /// Notes what a program takes without naming it, if it changes what it is handed: of these lists, or where none is
    /// known of the folder that it runs in.
    pub(super) fn sweep_lists(&mut self, command: &[Arg], mark: Option<&str>, lists: &[Arg], scope: &Scope) {
        if scope.is_remote || !self.changes_given_files(command, mark, scope) {
            return;
        }
        let pattern = |list: &Arg| Some(self.lists.get(&scope.place(&list.text))?.0.clone());
        let known = lists.iter().filter(|list| list.is_known());
        let known: Vec<String> =
            known.map(|list| pattern(list).unwrap_or_else(|| list_folder(list))).collect();
        if known.is_empty() || known.len() < lists.len() {
            self.sweep(".", scope);
        } else {
            known.iter().for_each(|folder| self.sweep(folder, scope));
        }
    }

    /// Remembers what the paths that a program lists stand for.
    pub(super) fn remember_lists(&mut self, invocation: &Invocation, paths: &[Arg], scope: &Scope) {
        const MAX_LISTS: usize = 64;
        if scope.is_remote {
            return;
        }
        let is_find = invocation.family() == "find";
        let search = is_find.then(|| Search::parse(invocation, |_| false));
        for (at, path) in paths.iter().enumerate().filter(|(_, path)| path.is_known()) {
            let found = search.as_ref().and_then(|search| Some(search.below(search.roots.get(at)?)));
            if self.lists.len() < MAX_LISTS {
                let pattern = found.unwrap_or_else(|| list_folder(path));
                let place = scope.place(&pattern);
                self.lists.insert(scope.place(&path.text), (pattern, place));
            }
        }
    }

    /// Notes the files that a listed path stands for, if the line writes it: `for f in $(find …); do : > "$f"; done`.
    pub(super) fn sweep_listed(&mut self) {
        let lists = std::mem::take(&mut self.lists);
        let place = |path: &String| match lists.get(path) {
            Some((_, place)) => Some(place.clone()),
            // A filter left some of a list.
            None => is_narrowed(path).then(|| list_folder(&Arg::known(path.as_str()))),
        };
        let places: Vec<String> = self.analysis.writes.iter().filter_map(place).collect();
        for place in places {
            self.note(Listed::Sweep, if place.is_empty() { "." } else { &place });
        }
    }

    pub(super) fn sweep(&mut self, path: &str, scope: &Scope) {
        let place = scope.place(path);
        self.note(Listed::Sweep, if place.is_empty() { "." } else { &place });
    }
}

/// The folders, and if its tests name them the files in them, that `find` changes or removes, by whether a
/// program does that it runs. Empty: none.
pub(super) fn swept_by_find(find: &Invocation, changes: impl FnMut(&[Arg]) -> bool) -> Vec<String> {
    let search = Search::parse(find, changes);
    if !search.changes {
        return Vec::new();
    }
    search.roots.iter().take(MAX_ROOTS).map(|root| search.below(root)).collect()
}

/// The words of a call of `find`, as far as they say what is changed.
#[derive(Default)]
struct Search<'a> {
    roots: Vec<&'a str>,
    /// The pattern of the names of everything that is changed. `None`: not known.
    name: Option<&'a str>,
    /// The names of files in the folder itself, and not of those below.
    is_shallow: bool,
    changes: bool,
}

impl<'a> Search<'a> {
    fn parse(find: &'a Invocation, mut changes: impl FnMut(&[Arg]) -> bool) -> Self {
        let mut search = Search::default();
        // Where one of several tests is enough, a name says nothing of the rest.
        let mut is_plain = true;
        let (mut is_of_folders, mut removes_folders) = (false, false);
        let mut is_negated = false;
        for part in find_parts(&find.args) {
            // A test that is turned round only leaves more out.
            if std::mem::take(&mut is_negated) && matches!(part, FindPart::Test(..)) {
                continue;
            }
            match part {
                FindPart::Folder(root) => search.roots.push(&root.text),
                // Of folders only those go that are empty.
                FindPart::Test("-delete", _) if is_of_folders => removes_folders = true,
                FindPart::Test("-delete", _) => search.changes = true,
                FindPart::Test("-type", kind) => is_of_folders |= kind.is_some_and(|kind| kind.text == "d"),
                FindPart::Run(_, command) => search.changes |= changes(command),
                // A test after the change does not restrict it.
                FindPart::Test("-name", name) => {
                    let name = name.filter(|name| is_usable_pattern(name) && !search.changes);
                    search.name = search.name.or(name.map(|name| name.text.as_str()));
                }
                FindPart::Test("-maxdepth", depth) => {
                    search.is_shallow = depth.is_some_and(|depth| depth.text == "1");
                }
                FindPart::Not => is_negated = true,
                FindPart::Open | FindPart::Or => is_plain = false,
                FindPart::Close | FindPart::Test(..) => {}
            }
        }
        if search.roots.is_empty() {
            search.roots.push(".");
        }
        search.name = search.name.filter(|_| is_plain);
        search.changes |= removes_folders && !is_plain;
        search
    }

    fn below(&self, root: &str) -> String {
        let folder = match root.trim_end_matches('/') {
            "" => "/",
            folder => folder,
        };
        let inside = match (self.name, self.is_shallow) {
            (Some(name), true) => name.to_owned(),
            (Some(name), false) => format!("**/{name}"),
            (None, true) => "*".to_owned(),
            (None, false) => return folder.to_owned(),
        };
        match folder {
            "." => inside,
            "/" => format!("/{inside}"),
            folder => format!("{folder}/{inside}"),
        }
    }
}

/// Whether a name is known, and means the same to `find` and in patterns.
fn is_usable_pattern(name: &Arg) -> bool {
    name.is_known() && !name.text.contains(['{', '}', '/', '\\'])
}

#[cfg(test)]
mod tests {
    fn of(line: &str) -> Vec<String> {
        crate::command::analyse(&format!("find {line}")).sweeps
    }

    #[test]
    fn folders_and_names_are_listed() {
        for (line, places) in [
            ("-delete", &["."][..]),
            (". -type f -delete", &["."]),
            ("src docs/ -delete", &["src", "docs"]),
            ("/ -delete", &["/"]),
            ("src -name '*.rs' -delete", &["src/**/*.rs"]),
            (". -name '*.pyc' -delete", &["**/*.pyc"]),
            (". -maxdepth 1 -name '*.rs' -delete", &["*.rs"]),
            ("src -maxdepth 1 -type f -delete", &["src/*"]),
            ("src -name '*.rs' -exec rm {} \\;", &["src/**/*.rs"]),
            ("src -exec sed -i s/a/b/ {} +", &["src"]),
            ("-L src -type f -exec /bin/mv {} /tmp \\;", &["src"]),
            // What does not narrow it down for all that is changed does not count.
            ("src -delete -name x", &["src"]),
            ("src -name a -o -name b -delete", &["src"]),
            ("src ! -name a -delete", &["src"]),
            ("src -name '*.rs' ! -name a -delete", &["src/**/*.rs"]),
            ("src -not -path './x/*' -name '*.rs' -delete", &["src/**/*.rs"]),
            ("src ! \\( -name a -o -name b \\) -name c -delete", &["src"]),
            ("src \\( -name a \\) -delete", &["src"]),
            ("src -iname a -delete", &["src"]),
            ("src -name '{a,b}' -delete", &["src"]),
            ("src -exec sh -c '> {}' \\;", &["src"]),
            ("src -exec sh -c 'rm \"$1\"' _ {} \\;", &["src"]),
            ("src -exec sh -c 'for f; do echo x > \"$f\"; done' _ {} +", &["src"]),
            ("src -exec perl -pi -e s/a/b/ {} +", &["src"]),
            ("src -exec sudo sed -i s/a/b/ {} +", &["src"]),
            ("src -type d -o -empty -delete", &["src"]),
            ("src -type d -name x -exec rm -r {} +", &["src/**/x"]),
            ("src -type f -delete", &["src"]),
        ] {
            assert_eq!(of(line), places, "{line}");
        }
    }

    #[test]
    fn listed_files_count_for_their_folders() {
        for (line, places) in [
            ("git ls-files -z | xargs -0 sed -i s/a/b/", &["."][..]),
            ("cd sub && xargs rm < list", &["sub"]),
            ("find src | xargs -I{} sh -c '> {}'", &["src"]),
            ("cat list | xargs -I F cp x F", &["."]),
            ("fd -e rs . src -x sh -c '> {}'", &["src"]),
            ("tar -xf a.tar -C lib && unzip a.zip -d out", &["lib", "out"]),
            ("patch -p1 < a.patch", &["."]),
            ("patch -d sub -i a.patch", &["sub"]),
        ] {
            assert_eq!(crate::command::analyse(line).sweeps, places, "{line}");
        }
        for line in [
            "git ls-files | xargs grep x",
            "echo a b | xargs rm",
            "xargs -I{} sh -c 'cat {}' < list",
            "fd -e rs -x wc -l",
            "tar -cf a.tar -C lib . && tar -tf a.tar -C lib",
            "patch --dry-run < a.patch; patch a.rs < a.patch",
            "ssh host 'find src -delete; cat list | xargs rm'",
        ] {
            assert!(crate::command::analyse(line).sweeps.is_empty(), "{line}");
        }
    }

    #[test]
    fn programs_that_hand_on_to_each_other_end() {
        for word in ["xargs ", "find . -exec ", "fd x -x ", "xargs find . -exec sudo "] {
            let line = format!("{}sed -i s/a/b/ {{}} +", word.repeat(60));
            let analysis = crate::command::analyse(&line);
            assert!(!analysis.sweeps.is_empty() || analysis.is_partial, "{word}");
        }
    }

    #[test]
    fn listing_changes_nothing() {
        for line in [
            "src",
            "src -name '*.rs'",
            "src -exec grep -l x {} +",
            "src -exec cat {} \\; -print",
            "src -name -delete",
            "src -exec rm old.txt \\;",
            "src -exec sh -c 'cat {} | wc -l' \\;",
            "src -exec sh -c 'grep x \"$1\" > out.txt' _ {} \\;",
            "src -type d -empty -delete",
            "src -type d -exec rmdir {} +",
            "src -fprint list.txt",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
