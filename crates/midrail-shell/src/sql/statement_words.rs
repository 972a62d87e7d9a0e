//! The words that say what the statements of a text do: `select`, `delete`.

use super::lex::{Lexer, Reading, SqlKind, SqlToken};

/// Words that change something wherever a statement has them: `WITH x AS (DELETE …)`, `EXPLAIN ANALYZE UPDATE …`, `SELECT … INTO`.
const CHANGES: &[&str] = &[
    "alter", "call", "create", "delete", "drop", "exec", "execute", "grant", "insert", "into", "merge",
    "replace", "revoke", "truncate", "update",
];

/// The words that the statements of a text begin with, and those in them that change something, in lowercase.
///
/// Where dialects read the text differently, the words of every reading. `None`: the text cannot be read, or has no statement.
pub fn statement_words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    for (backslash_escapes, comments_nest) in [(true, false), (false, false), (true, true), (false, true)] {
        for word in words_as(text, Reading { backslash_escapes, comments_nest }).into_iter().flatten() {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    Some(words).filter(|words| !words.is_empty())
}

/// The words in one reading. `None`: a string is not closed, or a command of a client is among the statements.
fn words_as(text: &str, reading: Reading) -> Option<Vec<String>> {
    let mut lexer = Lexer::new(text, reading);
    let tokens: Vec<SqlToken> = lexer.by_ref().collect();
    if lexer.is_unfinished || tokens.iter().any(|token| token.kind == SqlKind::Meta) {
        return None;
    }
    let spelling =
        |token: &SqlToken| text.get(token.start..token.end).unwrap_or_default().to_ascii_lowercase();
    let is_end = |token: &SqlToken| matches!(token.kind, SqlKind::End | SqlKind::Delimiter);
    let mut found = Vec::new();
    for statement in tokens.split(is_end) {
        let first = statement.iter().position(|token| token.kind == SqlKind::Word);
        // Something else than brackets in front of the first word is no statement that is known.
        let is_bracket = |token: &SqlToken| token.kind == SqlKind::Mark(b'(');
        if statement.iter().take(first.unwrap_or(statement.len())).any(|token| !is_bracket(token)) {
            return None;
        }
        for (at, token) in statement.iter().enumerate().filter(|(_, token)| token.kind == SqlKind::Word) {
            let word = spelling(token);
            let before = at.checked_sub(1).and_then(|at| statement.get(at));
            let is_function = statement.get(at + 1).is_some_and(is_bracket);
            let is_column = before.is_some_and(|token| token.kind == SqlKind::Mark(b'.'));
            // `SELECT … FOR UPDATE`
            let is_lock = before.is_some_and(|token| matches!(spelling(token).as_str(), "for" | "key"));
            let changes = CHANGES.contains(&word.as_str()) && !is_function && !is_column && !is_lock;
            if Some(at) == first || changes {
                found.push(word);
            }
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_the_words_that_say_what_they_do() {
        for (text, words) in [
            ("SELECT 1", "select"),
            ("\n  -- a comment; delete\n /* drop */ Select ';delete' ;\n", "select"),
            ("WITH a AS (SELECT 1) SELECT * FROM a", "with"),
            ("with a as (delete from t returning *) select * from a", "with delete"),
            ("EXPLAIN ANALYZE UPDATE t SET a = 1", "explain update"),
            ("SELECT * INTO t FROM u", "select into"),
            ("SELECT replace(a, 'x', 'y'), t.update FROM t FOR UPDATE", "select"),
            ("(SELECT 1) UNION (SELECT 2)", "select"),
            ("select 1; drop table t", "select drop"),
            ("select 1 /*! ; delete from t */", "select delete"),
            (r"select '\'; delete from t; -- '", "select delete"),
            ("vacuum", "vacuum"),
        ] {
            assert_eq!(statement_words(text).map(|words| words.join(" ")).as_deref(), Some(words), "{text}");
        }
        for text in ["", " ; ", "select 'a", "\\! ls", "1 select"] {
            assert_eq!(statement_words(text), None, "{text}");
        }
    }
}
