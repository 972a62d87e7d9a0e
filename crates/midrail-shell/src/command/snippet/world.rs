//! What is known while a snippet is followed: its variables, what it does, and how far it may still be followed.

use super::eval::Runner;
use super::lex::{self, CodeKind, CodeToken};
use super::state::{MOST, Removal, Snippet, SnippetState, Start};
use super::value::Value;
use crate::tables::Language;
use crate::words::code::FORK_BOMBS;

/// Code inside code (`exec("exec('…')")`) is followed this far.
const DEEPEST_CODE: usize = 4;

fn is_fork_bomb(code: &str) -> bool {
    if !code.contains("fork") {
        return false;
    }
    let bare: String = code
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| letter.to_ascii_lowercase())
        .collect();
    FORK_BOMBS.iter().any(|bomb| bare.contains(bomb))
}

impl SnippetState {
    pub(super) fn new(code: &str, start: &Start) -> Self {
        SnippetState {
            start: start.clone(),
            loops: 64,
            budget: 4 * code.len() + 256 * 1024,
            ..SnippetState::default()
        }
    }

    /// Draws the conclusions that need the whole snippet.
    pub(super) fn finish(mut self, code: &str) -> Snippet {
        self.snippet.is_fork_bomb = is_fork_bomb(code);
        if self.snippet.removes.iter().any(|removal| removal.path.is_none()) {
            let below = |path: String| Removal { path: Some(path), is_recursive: true };
            self.snippet.removes.extend(self.searched.into_iter().map(below));
        }
        self.snippet.is_reverse_shell |= self.is_connected && (self.hands_over || self.starts_shell);
        self.snippet.runs_unknown_code = self.runs_unknown_code;
        self.snippet.runs_downloaded_code |= self.has_fetched && self.runs_unknown_code;
        self.snippet
    }

    /// Follows a piece of code.
    pub(super) fn run(&mut self, language: Language, code: &str) {
        if self.depth >= DEEPEST_CODE {
            self.snippet.is_opaque |= !code.is_empty();
            return;
        }
        self.depth += 1;
        let tokens = lex::tokens(language, code);
        let closings = closings(&tokens);
        let mut runner = Runner { state: self, language, tokens: &tokens, closings: &closings };
        let mut at = 0;
        while at < tokens.len() {
            at = runner.statement(at).max(at + 1);
        }
        self.depth -= 1;
    }

    pub(super) fn look_up(&mut self, name: &str) -> Option<Value> {
        let (value, size) = self.variables.get(name)?;
        if *size > self.budget {
            return Some(Value::Unknown);
        }
        self.budget -= size;
        Some(value.clone())
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        // Lists of lists of lists are no arguments, and copies of very deep ones would overflow the stack.
        let value = if value.is_deeper_than(4) { Value::Unknown } else { value };
        let size = value.size();
        self.variables.insert(name.to_owned(), (value, size));
    }

    pub(super) fn command(&mut self, line: String) {
        let program = line.split_ascii_whitespace().next().unwrap_or("").trim_matches(['"', '\'']);
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        self.starts_shell |= matches!(
            name,
            "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash" | "cmd.exe" | "cmd" | "powershell" | "pwsh"
        );
        if self.snippet.commands.len() < MOST {
            let folder = self.folder.as_ref().map(|folder| format!("cd {} && ", folder.quoted()));
            self.snippet.commands.push(folder.unwrap_or_default() + &line);
        }
    }

    pub(super) fn host(&mut self, text: &str) {
        let authority = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or("");
        let host = authority.rsplit('@').next().unwrap_or("").split(':').next().unwrap_or("");
        let is_host = !host.is_empty()
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte));
        if is_host && self.snippet.hosts.len() < MOST && !self.snippet.hosts.iter().any(|known| known == host)
        {
            self.snippet.hosts.push(host.to_owned());
        }
    }
}

/// For each token that opens a bracket, the place of the one that closes it.
fn closings(tokens: &[CodeToken<'_>]) -> Vec<usize> {
    let mut closings = vec![tokens.len(); tokens.len()];
    let mut open: Vec<(usize, u8)> = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        match token.kind {
            CodeKind::Mark(mark @ (b'(' | b'[' | b'{')) => open.push((place, mark)),
            CodeKind::Mark(mark @ (b')' | b']' | b'}')) => {
                if let Some((start, _)) = open.pop_if(|(_, open)| lex::closing_bracket(*open) == mark)
                    && let Some(closing) = closings.get_mut(start)
                {
                    *closing = place;
                }
            }
            _ => {}
        }
    }
    closings
}
