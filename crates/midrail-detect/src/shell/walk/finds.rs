//! What `find` changes of what it finds: by `-delete`, and by programs that it runs on each file.

use super::super::files;
use super::super::invocation::{Arg, Invocation};
use super::flow::base_name;
use super::listing::MAX_ROOTS;

/// The folders, and where its tests tell their names the files in them, that `find` changes or removes. Empty: none.
pub(super) fn taken(find: &Invocation) -> Vec<String> {
    let search = Search::of(find);
    if !search.changes {
        return Vec::new();
    }
    search.roots.iter().take(MAX_ROOTS).map(|root| search.below(root)).collect()
}

/// The words of a call of `find`, as far as they say what is changed.
#[derive(Default)]
struct Search<'a> {
    roots: Vec<&'a str>,
    /// What the names of all that is changed are like. `None`: that is not told.
    name: Option<&'a str>,
    /// The names of files in the folder itself, and not of those below.
    is_shallow: bool,
    changes: bool,
}

impl<'a> Search<'a> {
    fn of(find: &'a Invocation) -> Self {
        let args = find.args.as_slice();
        let mut search = Search::default();
        let mut is_expression = false;
        // Where tests are turned round or one of several is enough, a name says nothing of the rest.
        let mut is_plain = true;
        let mut at = 0;
        while let Some(arg) = args.get(at) {
            at += 1;
            let value = args.get(at);
            match arg.text.as_str() {
                "-delete" => search.changes = true,
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let rest = args.get(at..).unwrap_or(&[]);
                    let is_end = |arg: &Arg| matches!(arg.text.as_str(), ";" | "\\;" | "+");
                    let end = rest.iter().position(is_end).unwrap_or(rest.len());
                    search.changes |= changes_what_it_gets(find, rest.get(..end).unwrap_or(&[]));
                    at += end + 1;
                }
                // What stands after the change is no test for it.
                "-name" => {
                    let name = value.filter(|name| is_telling(name) && !search.changes);
                    search.name = search.name.or(name.map(|name| name.text.as_str()));
                    at += 1;
                }
                "-maxdepth" => {
                    search.is_shallow = value.is_some_and(|depth| depth.text == "1");
                    at += 1;
                }
                "!" | "\\!" | "-not" | "(" | "\\(" | "-o" | "-or" | "," => is_plain = false,
                "-H" | "-L" | "-P" => continue,
                text if !is_expression && !text.starts_with('-') => {
                    search.roots.push(text);
                    continue;
                }
                _ => {}
            }
            is_expression = true;
        }
        if search.roots.is_empty() {
            search.roots.push(".");
        }
        search.name = search.name.filter(|_| is_plain);
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
fn is_telling(name: &Arg) -> bool {
    name.is_known() && !name.text.contains(['{', '}', '/', '\\'])
}

/// Whether a program that `find` runs changes the files that stand for `{}`.
fn changes_what_it_gets(find: &Invocation, command: &[Arg]) -> bool {
    let Some((program, args)) = command.split_first() else { return false };
    let program = base_name(&program.text).to_owned();
    let invocation = Invocation { program, args: args.to_vec(), ..find.clone() };
    files::touched(&invocation).iter().any(|touched| touched.is_written && touched.path.contains("{}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Vec<String> {
        let find = super::super::super::invocations(&format!("find {line}"));
        taken(find.first().unwrap())
    }

    #[test]
    fn folders_and_names_are_told() {
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
            ("src \\( -name a \\) -delete", &["src"]),
            ("src -iname a -delete", &["src"]),
            ("src -name '{a,b}' -delete", &["src"]),
        ] {
            assert_eq!(of(line), places, "{line}");
        }
    }

    #[test]
    fn a_look_takes_nothing() {
        for line in [
            "src",
            "src -name '*.rs'",
            "src -exec grep -l x {} +",
            "src -exec cat {} \\; -print",
            "src -name -delete",
            "src -exec rm old.txt \\;",
        ] {
            assert!(of(line).is_empty(), "{line}");
        }
    }
}
