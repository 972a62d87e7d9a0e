//! What kind of script a file is: by its first line, then by its name.

use super::snippet::Language;
use crate::tables::LANGUAGES;

/// What a file is if it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptKind {
    /// A script of a shell.
    Shell,
    /// Code of another language.
    Code(Language),
    /// Statements for a database.
    Sql,
}

/// What a file is.
pub(super) fn kind(name: &str, content: &str) -> ScriptKind {
    if let Some(program) = interpreter(content) {
        return match Language::from_program(program) {
            Some(language) => ScriptKind::Code(language),
            None => ScriptKind::Shell,
        };
    }
    let name = name.rsplit('/').next().unwrap_or(name);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default();
    match LANGUAGES.iter().find(|row| row.endings.contains(&ending.as_str())) {
        Some(row) => row.name.map_or(ScriptKind::Sql, ScriptKind::Code),
        None => ScriptKind::Shell,
    }
}

/// The program of a first line such as `#!/usr/bin/env -S python3 -u`.
pub(super) fn interpreter(content: &str) -> Option<&str> {
    let line = content.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if program.rsplit('/').next() != Some("env") {
        return Some(program);
    }
    words.find(|word| !word.starts_with('-') && !word.contains('='))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_more_than_the_name() {
        assert_eq!(kind("x", "#!/usr/bin/env -S python3 -u\n"), ScriptKind::Code(Language::Python));
        assert_eq!(kind("x.py", "#!/bin/bash\n"), ScriptKind::Shell);
        assert_eq!(kind("a/x.rb", "puts 1"), ScriptKind::Code(Language::Ruby));
        assert_eq!(kind("clean", "rm -rf /"), ScriptKind::Shell);
        assert_eq!(kind("drop.sql", ""), ScriptKind::Sql);
        // What is run is a script, whatever it is called.
        assert_eq!(kind("notes.md", "rm -rf /"), ScriptKind::Shell);
    }
}
