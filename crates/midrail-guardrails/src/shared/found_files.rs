//! The files that a path of a command line stands for, where a program finds them: `find . -name a | xargs cat`.

use std::borrow::Cow;

use midrail_core::Action;

use super::data::PROGRAMS;

/// The place of a file that `find -exec` hands to a program.
const HANDED: &str = "{}";

/// Some files of a folder, as `midrail-shell` writes them.
const SOME: &str = "…";

/// A path of an action as a pattern of all files that it may stand for. A path that a program finds is in any folder below the
/// one that is searched; one that `find -exec` hands over is unknown.
pub fn file_pattern<'f>(action: &Action, file: &'f str) -> Cow<'f, str> {
    if file.contains(HANDED) {
        return Cow::Owned(file.replace(HANDED, "$found"));
    }
    if file.ends_with(SOME) {
        return Cow::Owned(file.replace(SOME, "**"));
    }
    let is_found = || action.programs.iter().any(|program| PROGRAMS.has("finders", program));
    let is_read = || action.reads.iter().any(|read| read == file);
    if file.starts_with(['$', '`']) || !is_read() || !is_found() {
        return Cow::Borrowed(file);
    }
    let (folder, name) = file.rsplit_once('/').map_or(("", file), |(folder, name)| (folder, name));
    match (folder, file.starts_with('/')) {
        ("", false) => Cow::Owned(format!("**/{name}")),
        _ => Cow::Owned(format!("{folder}/**/{name}")),
    }
}

/// Patterns of the files that a program finds and that the action changes or removes.
pub fn swept_patterns(action: &Action) -> Vec<String> {
    let is_found = action.programs.iter().any(|program| PROGRAMS.has("finders", program));
    let swept = action.sweeps.iter().filter(|_| is_found);
    swept.map(|file| if file.contains('*') { file.clone() } else { format!("{file}/**") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_files_are_in_any_folder() {
        let pattern = |line: &str| {
            let action = midrail_shell::command::analyse(line);
            action.reads.iter().map(|file| file_pattern(&action, file).into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(pattern("find . -name a | xargs cat"), ["**/a"]);
        assert_eq!(pattern("find src -type f | xargs cat"), ["src/**/*"]);
        assert_eq!(pattern("find . -name a -exec cat {} +"), ["$found"]);
        assert_eq!(pattern("cat a"), ["a"]);
    }
}
