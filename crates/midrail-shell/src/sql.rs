//! Statements that destroy: a lexer for many dialects of SQL, and what its statements do.

mod condition;
mod detect;
mod findings;
mod lex;
mod statement;
mod statement_words;
mod tokens;

use midrail_core::{Confidence, Danger, Hit, Severity};

use self::findings::Findings;
use self::lex::{Lexer, Reading, SqlKind, SqlToken};
use crate::tables::SQL_RULES;

pub use self::detect::looks_like_sql;
pub use self::statement_words::statement_words;

/// Statements longer than this are not analysed as a whole.
const MOST_TOKENS: usize = 1 << 20;
/// Strings that are run as SQL, inside of others, are followed this far.
const DEEPEST: usize = 4;
/// The most findings of one text.
const MOST_HITS: usize = 1000;

/// The destructive statements of a text that holds SQL, in order.
///
/// Where dialects read a text differently (`'\'`, comments inside comments), a statement that any of them would run is
/// reported.
pub fn scan(text: &str) -> Vec<Hit> {
    examine(text).hits
}

/// The command lines that a text of SQL hands to a shell, in order.
pub fn shell_commands(text: &str) -> Vec<String> {
    examine(text).commands
}

/// A destructive statement as something that might be destroyed.
pub fn danger(text: &str, hit: &Hit) -> Danger {
    Danger {
        rule: hit.kind.to_owned(),
        severity: hit.severity,
        confidence: hit.confidence,
        reason: hit.explanation.to_string(),
        command: text.get(hit.start..hit.end).unwrap_or_default().chars().take(200).collect(),
        start: hit.start,
        end: hit.end,
        ..Danger::default()
    }
}

fn examine(text: &str) -> Findings {
    let budget = 4 * text.len() + 64 * 1024;
    let mut found = Findings { budget, ..Findings::default() };
    found.read(text);
    found.hits.sort_by_key(|hit| (hit.start, hit.end));
    found.hits.dedup_by(|later, earlier| later.kind == earlier.kind && later.start == earlier.start);
    found.commands.dedup();
    found
}

impl Findings {
    /// Reads a text in each way in which dialects would.
    fn read(&mut self, text: &str) {
        let mut readings = vec![Reading { backslash_escapes: true, comments_nest: false }];
        let mut results: Vec<(bool, Findings)> = Vec::new();
        let mut at = 0;
        while let Some(reading) = readings.get(at).copied() {
            at += 1;
            let mut found =
                Findings { hits: Vec::new(), commands: Vec::new(), remembered: Vec::new(), ..self.clone() };
            let lexer = found.read_as(text, reading);
            if at == 1 {
                if lexer.saw_backslash_quote {
                    readings.push(Reading { backslash_escapes: false, ..reading });
                }
                if lexer.saw_nested_comment {
                    readings.push(Reading { comments_nest: true, ..reading });
                }
            }
            self.budget = self.budget.min(found.budget);
            results.push((lexer.is_unfinished, found));
        }
        // A reading that ends inside a string is the wrong one, unless all do.
        let has_finished = results.iter().any(|(is_unfinished, _)| !is_unfinished);
        for (is_unfinished, found) in results {
            if !(is_unfinished && has_finished) {
                self.hits.extend(found.hits);
                self.commands.extend(found.commands);
            }
        }
    }

    fn read_as<'a>(&mut self, text: &'a str, reading: Reading) -> Lexer<'a> {
        let mut lexer = Lexer::new(text, reading);
        let mut tokens: Vec<SqlToken> = Vec::new();
        let mut body = Body::default();
        let mut is_cut = false;
        for token in lexer.by_ref() {
            let is_inside_body = body.step(text, &tokens, token);
            match token.kind {
                SqlKind::End if is_inside_body => tokens.push(token),
                SqlKind::End | SqlKind::Delimiter | SqlKind::Meta => {
                    self.statement(text, &tokens, is_cut);
                    let spelling = text.get(token.start..token.end).unwrap_or("");
                    match token.kind {
                        SqlKind::Meta => self.meta(spelling, token.start),
                        _ if spelling == "\\gexec" => statement::run_strings(text, &tokens, self),
                        _ => {}
                    }
                    tokens.clear();
                    (body, is_cut) = (Body::default(), false);
                }
                _ if tokens.len() < MOST_TOKENS => tokens.push(token),
                _ => is_cut = true,
            }
        }
        self.statement(text, &tokens, is_cut);
        lexer
    }

    /// One statement, or the definition of a function with its body.
    fn statement(&mut self, text: &str, tokens: &[SqlToken], is_cut: bool) {
        let is_end = |token: &SqlToken| token.kind == SqlKind::End;
        // Only bodies hold ends. One that never closes is no body: its statements may well be run.
        let is_open = tokens.iter().any(is_end) && Body::open_blocks(text, tokens) > 0;
        if is_open {
            for part in tokens.split(is_end) {
                statement::analyse(text, part, self);
            }
        } else {
            statement::analyse(text, tokens, self);
        }
        let first = tokens.first().and_then(|token| text.get(token.start..token.end)).unwrap_or("");
        if is_cut
            && !["insert", "values", "replace", "copy"].iter().any(|word| first.eq_ignore_ascii_case(word))
        {
            let start = tokens.first().map_or(0, |token| token.start);
            self.hit("sql-unreadable", start, tokens.last().map_or(start, |token| token.end));
        }
    }

    fn hit(&mut self, kind: &'static str, start: usize, end: usize) {
        if self.hits.len() >= MOST_HITS {
            return;
        }
        let (start, end) = self.span.unwrap_or((start, end));
        let (severity, explanation) = SQL_RULES.get(kind).copied().unwrap_or((Severity::Medium, ""));
        let confidence = if self.span.is_some() { Confidence::Medium } else { Confidence::High };
        self.hits.push(Hit { severity, confidence, ..Hit::new(kind, start, end, explanation) });
    }

    fn command(&mut self, command: String) {
        if self.commands.len() < MOST_HITS {
            self.commands.push(command);
        }
    }

    /// A string is run as SQL.
    fn analyse_string(&mut self, code: &str, start: usize, end: usize) {
        if self.depth >= DEEPEST || code.len() > self.budget {
            self.hit("sql-unreadable", start, end);
            return;
        }
        self.budget -= code.len();
        let span = self.span.replace(self.span.unwrap_or((start, end)));
        self.depth += 1;
        self.read(code);
        self.depth -= 1;
        self.span = span;
    }

    fn note_temporary(&mut self, name: &str) {
        if self.temporary.len() < 64 {
            self.temporary.push(name.to_ascii_lowercase());
        }
    }

    fn is_temporary(&self, name: &str) -> bool {
        self.temporary.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// A temporary table is gone: the next one of that name is another.
    fn forget_temporary(&mut self, name: &str) {
        self.temporary.retain(|known| !known.eq_ignore_ascii_case(name));
    }

    fn remember(&mut self, string: (String, usize, usize)) {
        if self.remembered.len() < 64 {
            self.remembered.push(string);
        }
    }

    fn analyse_remembered(&mut self) {
        for (code, start, end) in std::mem::take(&mut self.remembered) {
            self.analyse_string(&code, start, end);
        }
    }

    /// A command of a client: `\! ls`, `.shell ls`.
    fn meta(&mut self, line: &str, start: usize) {
        let end = start + line.len();
        let (name, rest) = line.split_once(|letter: char| letter.is_ascii_whitespace()).unwrap_or((line, ""));
        let name = name.to_ascii_lowercase();
        let rest = rest.trim();
        let command = if name.starts_with("\\!") {
            Some(line.get(2..).unwrap_or("").trim())
        } else {
            match name.as_str() {
                "system" => Some(rest),
                // Names of commands may be shortened.
                short if short.len() > 1 && (".shell".starts_with(short) || ".system".starts_with(short)) => {
                    Some(rest)
                }
                ".output" | ".once" | ".read" | ".import" | "\\o" | "\\out" | "\\w" => rest
                    .trim_start_matches(['\'', '"'])
                    .strip_prefix('|')
                    .map(|command| command.trim_end_matches(['\'', '"'])),
                "\\copy" => {
                    let at = rest.to_ascii_lowercase().find(" program ");
                    at.and_then(|at| rest.get(at + 9..)).map(|command| command.trim().trim_matches('\''))
                }
                ".drop" => return self.hit("sql-client-drop", start, end),
                ".restore" => return self.hit("sql-overwrite", start, end),
                _ => None,
            }
        };
        if let Some(command) = command {
            self.hit("sql-shell", start, end);
            self.command(command.to_owned());
        }
    }
}

/// Follows the body of a function or procedure, whose ends of statements are not its own.
#[derive(Debug, Default)]
struct Body {
    depth: usize,
    /// Whether the statement is a definition; `None` until enough of it is read.
    is_definition: Option<bool>,
    last_was_end: bool,
}

impl Body {
    /// Takes the next token of a statement. Returns whether it is inside of a body.
    fn step(&mut self, text: &str, before: &[SqlToken], token: SqlToken) -> bool {
        if self.is_definition.is_none()
            && (before.len() >= 16 || token.kind == SqlKind::End || is_word(text, token, "begin"))
        {
            self.is_definition = Some(statement::is_definition(text, before));
        }
        if self.is_definition == Some(true) {
            self.count(text, token);
        }
        self.depth > 0
    }

    fn count(&mut self, text: &str, token: SqlToken) {
        let is = |word: &str| is_word(text, token, word);
        let was_end = std::mem::take(&mut self.last_was_end);
        if was_end && (is("if") || is("loop") || is("while") || is("repeat") || is("for")) {
            // `END IF` closes no block; the END was counted too early.
            self.depth += 1;
        } else if is("begin") || (is("case") && !was_end) {
            self.depth += 1;
        } else if is("end") {
            self.depth = self.depth.saturating_sub(1);
            self.last_was_end = true;
        }
    }

    /// How many blocks are open after some tokens.
    fn open_blocks(text: &str, tokens: &[SqlToken]) -> usize {
        let mut body = Body::default();
        for token in tokens {
            body.count(text, *token);
        }
        body.depth
    }
}

fn is_word(text: &str, token: SqlToken, word: &str) -> bool {
    let spelling = text.get(token.start..token.end).unwrap_or("");
    token.kind == SqlKind::Word && spelling.eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests;
