//! Splits a text into tokens.

use crate::diagnostic::{Diagnostic, Span, excerpt};

/// The maximum length of an expression, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// A token and its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'s> {
    pub(super) kind: Kind<'s>,
    pub(super) span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'s> {
    /// A keyword or a part of a name, depending on its place.
    Word(&'s str),
    /// A number after applying its unit.
    Number(f64, Unit),
    /// A text in quotes, with resolved escapes.
    Text(String),
    /// An operator or a bracket.
    Symbol(&'static str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    None,
    Percent,
    Duration,
}

/// Longer symbols first.
const SYMBOLS: [&str; 19] =
    ["==", "!=", "<=", ">=", "&&", "||", "<", ">", "!", "(", ")", "[", "]", ",", ".", "+", "-", "*", "/"];

/// Operators of other languages, with advice.
const FOREIGN: [(&str, &str); 21] = [
    ("===", "use `==`"),
    ("!==", "use `!=`"),
    ("..", "write a range as two comparisons: `time.hour >= 9 AND time.hour < 17`"),
    ("=~", "use `matches '<glob>'`"),
    ("!~", "use `does not match '<glob>'`"),
    ("=>", "use `>=`"),
    ("=<", "use `<=`"),
    ("<>", "use `!=`"),
    ("=", "use `==` to compare"),
    ("&", "use `&&` or `AND`"),
    ("|", "use `||` or `OR`"),
    ("%", "write it right after a number: `30%`"),
    ("${", "write a name without `${` and `}`: `tool.args.amount`"),
    ("{{", "write a name without braces: `tool.args.amount`"),
    (
        "$",
        "write a name without `$`: `tool.args.amount`, or `env.NAME` for a variable that the pack lists under `env_vars`",
    ),
    ("{", "write a list in brackets: `['a', 'b']`"),
    (
        "?",
        "an expression is true or false: `effect` is a key of its own, and `AND`, `OR` and `NOT` join conditions",
    ),
    (":", "put the whole expression in quotes, if it contains a `:`; a text in it needs quotes, too"),
    (";", "join conditions with `AND` or `OR`"),
    ("“", "use straight quotes: `'` or `\"`"),
    ("‘", "use straight quotes: `'` or `\"`"),
];

/// The tokens of a text, or the first error.
pub(super) fn lex(source: &str) -> Result<Vec<Token<'_>>, Diagnostic> {
    if source.len() > MAX_LENGTH {
        let message =
            format!("the expression is {} bytes long, more than the limit of {MAX_LENGTH}", source.len());
        return Err(Diagnostic::new(message, 0..0));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = source.get(at..).filter(|rest| !rest.is_empty()) {
        let (length, kind) = match rest.chars().next() {
            Some(c) if c.is_whitespace() => {
                at += c.len_utf8();
                continue;
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => word(rest),
            Some(c) if c.is_ascii_digit() => number(rest, at)?,
            Some(quote @ ('\'' | '"')) => text(rest, quote, at)?,
            _ => symbol(rest, at)?,
        };
        tokens.push(Token { kind, span: at..at + length });
        at += length;
    }
    Ok(tokens)
}

fn word(rest: &str) -> (usize, Kind<'_>) {
    let length = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    (length, Kind::Word(rest.get(..length).unwrap_or_default()))
}

fn symbol(rest: &str, at: usize) -> Result<(usize, Kind<'_>), Diagnostic> {
    // `&&` starts with `&`: a foreign operator counts only if it is longer than our symbol.
    let foreign = FOREIGN.iter().find(|(foreign, _)| rest.starts_with(foreign));
    let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    match (symbol, foreign) {
        (Some(symbol), None) => Ok((symbol.len(), Kind::Symbol(symbol))),
        (Some(symbol), Some((foreign, _))) if symbol.len() >= foreign.len() => {
            Ok((symbol.len(), Kind::Symbol(symbol)))
        }
        (_, Some((foreign, help))) => {
            Err(Diagnostic::new(format!("unknown operator `{foreign}`"), at..at + foreign.len())
                .with_help(*help))
        }
        (None, None) => {
            let found: String = rest.chars().take(1).collect();
            let message = format!("unexpected character `{}`", excerpt(&found));
            Err(Diagnostic::new(message, at..at + found.len())
                .with_help(format!("put a text in quotes: `'{}'`", excerpt(&found))))
        }
    }
}

/// Digits, with `_` between them, a fraction and a unit.
fn number(rest: &str, at: usize) -> Result<(usize, Kind<'_>), Diagnostic> {
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let whole = rest.find(|c| !is_digit(c)).unwrap_or(rest.len());
    let after = rest.get(whole..).unwrap_or_default();
    let fraction = match after.strip_prefix('.') {
        Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => {
            1 + digits.find(|c| !is_digit(c)).unwrap_or(digits.len())
        }
        _ => 0,
    };
    let digits = whole + fraction;
    let text = rest.get(..digits).unwrap_or_default().replace('_', "");
    let value: f64 = text.parse().unwrap_or(f64::INFINITY);
    if !value.is_finite() {
        return Err(Diagnostic::new("the number is too large", at..at + digits));
    }

    let after = rest.get(digits..).unwrap_or_default();
    if after.starts_with('%') {
        return Ok((digits + 1, Kind::Number(value / 100.0, Unit::Percent)));
    }
    let (length, _) = word(after);
    let unit = after.get(..length).unwrap_or_default();
    let factor = match unit {
        "" => return Ok((digits, Kind::Number(value, Unit::None))),
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => {
            return Err(Diagnostic::new(
                format!("unknown unit `{}`", excerpt(unit)),
                at + digits..at + digits + length,
            )
            .with_help(
                "known units are `s`, `m`, `h`, `d` and `%`; any other number is written without a unit",
            ));
        }
    };
    let seconds = value * factor;
    if !seconds.is_finite() {
        return Err(Diagnostic::new("the number is too large", at..at + digits + length));
    }
    Ok((digits + length, Kind::Number(seconds, Unit::Duration)))
}

fn text(rest: &str, quote: char, at: usize) -> Result<(usize, Kind<'_>), Diagnostic> {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((start, c)) = chars.next() {
        if c == quote {
            return Ok((start + 1, Kind::Text(text)));
        }
        if c != '\\' {
            text.push(c);
            continue;
        }
        let Some((_, escape)) = chars.next() else { break };
        text.push(match escape {
            '\\' | '\'' | '"' => escape,
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'u' => {
                let code = rest.get(start + 2..).and_then(code_point).ok_or_else(|| {
                    Diagnostic::new("invalid escape `\\u`", at + start..at + start + 2)
                        .with_help("write a code point in hexadecimal: `\\u{e9}`")
                })?;
                chars.by_ref().find(|(_, c)| *c == '}');
                code
            }
            other => {
                let span = at + start..at + start + 1 + other.len_utf8();
                let message = format!("unknown escape `\\{}`", excerpt(&other.to_string()));
                return Err(Diagnostic::new(message, span).with_help("write a backslash as `\\\\`"));
            }
        });
    }
    Err(Diagnostic::new("the text has no closing quote", at..at + rest.len())
        .with_help(format!("add a closing `{quote}`")))
}

/// `{e9}` at the start of a text.
fn code_point(rest: &str) -> Option<char> {
    let (digits, _) = rest.strip_prefix('{')?.split_once('}')?;
    if !(1..=6).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Kind<'_>> {
        lex(source).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_carry_their_units() {
        let cases = [
            ("1_000", 1000.0, Unit::None),
            ("0.5", 0.5, Unit::None),
            ("30%", 0.3, Unit::Percent),
            ("30s", 30.0, Unit::Duration),
            ("5m", 300.0, Unit::Duration),
            ("1.5h", 5400.0, Unit::Duration),
            ("1d", 86_400.0, Unit::Duration),
        ];
        for (source, value, unit) in cases {
            assert_eq!(kinds(source), [Kind::Number(value, unit)], "{source}");
        }
    }

    #[test]
    fn texts_take_both_quotes_and_escapes() {
        let cases = [
            ("'a\"b'", "a\"b"),
            ("\"a'b\"", "a'b"),
            (r"'it\'s'", "it's"),
            (r"'a\\b\n\u{e9}x'", "a\\b\néx"),
            ("''", ""),
        ];
        for (source, expected) in cases {
            assert_eq!(kinds(source), [Kind::Text(expected.to_owned())], "{source}");
        }
    }

    #[test]
    fn spellings_of_other_languages_get_advice() {
        let cases = [
            ("a = b", "unknown operator `=`", Some("use `==` to compare")),
            ("a === b", "unknown operator `===`", Some("use `==`")),
            ("a <> b", "unknown operator `<>`", Some("use `!=`")),
            ("a & b", "unknown operator `&`", Some("use `&&` or `AND`")),
            ("5 % 3", "unknown operator `%`", Some("write it right after a number: `30%`")),
            (
                "1e5",
                "unknown unit `e5`",
                Some(
                    "known units are `s`, `m`, `h`, `d` and `%`; any other number is written without a unit",
                ),
            ),
            ("'a", "the text has no closing quote", Some("add a closing `'`")),
            (r"'\d'", "unknown escape `\\d`", Some("write a backslash as `\\\\`")),
            ("“a”", "unknown operator `“`", Some("use straight quotes: `'` or `\"`")),
            ("a ; b", "unknown operator `;`", Some("join conditions with `AND` or `OR`")),
            ("a ~ b", "unexpected character `~`", Some("put a text in quotes: `'~'`")),
        ];
        for (source, message, help) in cases {
            let problem = lex(source).unwrap_err();
            assert_eq!((problem.message.as_str(), problem.help.as_deref()), (message, help), "{source}");
            assert!(source.get(problem.span).is_some(), "{source}");
        }
    }
}
