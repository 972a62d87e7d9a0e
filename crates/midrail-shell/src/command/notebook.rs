//! Cells of notebooks: Python in which some lines are for a shell.

use crate::words::code::{SHELL_CELLS, SHELL_LINES, SHELL_WORDS};

/// A cell of a notebook, taken apart.
#[derive(Default)]
pub(crate) struct Cell {
    /// What a shell runs.
    pub(crate) commands: Vec<String>,
    /// The rest, where it is not all of the text.
    pub(crate) code: Option<String>,
}

/// Takes the Python of a cell apart: some of its lines are commands.
pub(crate) fn cell(code: &str) -> Cell {
    if !code.contains(['!', '%']) {
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
    fn lines_of_a_cell_that_a_shell_runs_are_commands() {
        let of = |code: &str| cell(code).commands;
        assert_eq!(of("import os\n!rm -rf ~\n  !ls"), ["rm -rf ~", "ls"]);
        assert_eq!(of("x = !ls -l"), ["ls -l"]);
        assert_eq!(of("%%bash\nrm -rf ~\nls"), ["rm -rf ~\nls"]);
        assert_eq!(of("%rm -rf x"), ["rm -rf x"]);
        assert_eq!(of("if a != b:\n    print('!')"), Vec::<String>::new());
        assert_eq!(of("print('%d!' % 3)"), Vec::<String>::new());
    }
}
