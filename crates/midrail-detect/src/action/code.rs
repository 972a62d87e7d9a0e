//! Code that tools are given: in which language, by their names, and the commands of cells of notebooks.

use super::names::{bare_name, has_word, kind_of_words};

/// The language of a tool that runs code, by a word of its name, as the name of a file in it.
const LANGUAGES: &[(&str, &str)] = &[
    ("python", "code.py"),
    ("python3", "code.py"),
    ("ipython", "code.py"),
    ("jupyter", "code.py"),
    ("notebook", "code.py"),
    ("pyodide", "code.py"),
    ("code_interpreter", "code.py"),
    ("codeinterpreter", "code.py"),
    ("javascript", "code.js"),
    ("typescript", "code.js"),
    ("node", "code.js"),
    ("nodejs", "code.js"),
    ("js", "code.js"),
    ("deno", "code.js"),
    ("ruby", "code.rb"),
    ("perl", "code.pl"),
    ("php", "code.php"),
    ("lua", "code.lua"),
    ("sql", "code.sql"),
];

/// The name of a file in the language that a tool runs. `None`: its name does not tell.
pub(super) fn file_of(tool: &str) -> Option<&'static str> {
    // A node may be one of a tree as well.
    let is_other = |word: &str| word == "node" && kind_of_words(bare_name(tool)).is_some();
    LANGUAGES.iter().find(|(word, _)| has_word(tool, word) && !is_other(word)).map(|(_, file)| *file)
}

/// A cell of a notebook, taken apart.
#[derive(Default)]
pub(super) struct Cell {
    /// What a shell runs.
    pub(super) commands: Vec<String>,
    /// The rest, where it is not all of the text.
    pub(super) code: Option<String>,
}

/// How cells begin that are scripts of a shell as a whole.
const SHELL_CELLS: &[&str] = &["%%bash", "%%sh", "%%shell", "%%script bash", "%%script sh", "%%!", "%sh"];

/// How lines begin that a shell runs.
const SHELL_LINES: &[&str] = &["!", "%sx ", "%system ", "%bash "];

/// Commands that notebooks know by themselves.
const SHELL_WORDS: &[&str] = &["%rm ", "%mv ", "%cp ", "%rmdir "];

/// Takes the code of a tool apart: in cells of notebooks some lines are commands.
pub(super) fn cell(file: &str, code: &str) -> Cell {
    if file != "code.py" || !code.contains(['!', '%']) {
        return Cell::default();
    }
    let text = code.trim_start();
    if let Some(script) = SHELL_CELLS.iter().find_map(|head| text.strip_prefix(head)) {
        let commands = script.split_once('\n').map_or(script, |(_, script)| script);
        return Cell { commands: vec![commands.to_owned()], code: Some(String::new()) };
    }
    let mut cell = Cell::default();
    let mut rest = String::with_capacity(code.len());
    for line in code.lines() {
        match command(line.trim_start()) {
            Some(command) => cell.commands.push(command),
            None => rest.push_str(line),
        }
        rest.push('\n');
    }
    if !cell.commands.is_empty() {
        cell.code = Some(rest);
    }
    cell
}

/// The command of a line such as `!ls` or `files = !ls`.
fn command(line: &str) -> Option<String> {
    if let Some(word) = SHELL_WORDS.iter().find(|word| line.starts_with(**word)) {
        return line.strip_prefix('%').filter(|_| word.len() > 1).map(str::to_owned);
    }
    let assigned = line
        .split_once("= !")
        .filter(|(name, _)| name.trim().chars().all(|c| c.is_alphanumeric() || c == '_'));
    let command = SHELL_LINES
        .iter()
        .find_map(|head| line.strip_prefix(head))
        .or(assigned.map(|(_, command)| command))?;
    // `!=` begins no command.
    (!command.starts_with('=')).then(|| command.trim_start_matches('!').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tools_name_tells_its_language() {
        for (tool, file) in [
            ("mcp__python__run", Some("code.py")),
            ("run_python", Some("code.py")),
            ("code_interpreter", Some("code.py")),
            ("mcp__jupyter__execute_cell", Some("code.py")),
            ("runJavascript", Some("code.js")),
            ("mcp__pythonic-docs__search", None),
            ("mcp__jsonrpc__send", None),
            ("mcp__figma__get_node", None),
            ("mcp__node__run", Some("code.js")),
            ("Bash", None),
        ] {
            assert_eq!(file_of(tool), file, "{tool}");
        }
    }

    #[test]
    fn lines_of_a_cell_that_a_shell_runs_are_commands() {
        let of = |code: &str| cell("code.py", code).commands;
        assert_eq!(of("import os\n!rm -rf ~\n  !ls"), ["rm -rf ~", "ls"]);
        assert_eq!(of("x = !ls -l"), ["ls -l"]);
        assert_eq!(of("%%bash\nrm -rf ~\nls"), ["rm -rf ~\nls"]);
        assert_eq!(of("%rm -rf x"), ["rm -rf x"]);
        assert_eq!(of("if a != b:\n    print('!')"), Vec::<String>::new());
        assert_eq!(of("print('%d!' % 3)"), Vec::<String>::new());
        assert!(cell("code.js", "!ls").commands.is_empty());
    }
}
