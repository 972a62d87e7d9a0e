//! Brace expansion: `{rm,-rf,/}` and `{1..3}`, before anything else is expanded.

use std::borrow::Cow;

use super::ast::WordPart;

/// How deep braces may nest.
const MAX_DEPTH: usize = 24;

/// The words that a word with braces becomes. `None` where there would be more than `most`.
pub(super) fn expand<'a>(parts: &[WordPart<'a>], most: usize) -> Option<Vec<Vec<WordPart<'a>>>> {
    let words = alternatives(&pieces(parts), most, 0)?;
    Some(words.into_iter().map(|word| join(&word)).collect())
}

/// One character of bare text, or a part without brace expansion.
#[derive(Clone, Debug)]
enum Piece<'a> {
    Open,
    Comma,
    Close,
    Bare(&'a str),
    Made(String),
    Other(WordPart<'a>),
}

fn pieces<'a>(parts: &[WordPart<'a>]) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    for part in parts {
        let WordPart::Bare(text) = part else {
            pieces.push(Piece::Other(part.clone()));
            continue;
        };
        let mut start = 0;
        for (at, byte) in text.bytes().enumerate() {
            let sign = match byte {
                b'{' => Piece::Open,
                b',' => Piece::Comma,
                b'}' => Piece::Close,
                _ => continue,
            };
            if start < at {
                pieces.push(Piece::Bare(text.get(start..at).unwrap_or("")));
            }
            pieces.push(sign);
            start = at + 1;
        }
        if start < text.len() {
            pieces.push(Piece::Bare(text.get(start..).unwrap_or("")));
        }
    }
    pieces
}

/// All words that the pieces expand to. `None` if there are too many, or they nest too deep.
fn alternatives<'a>(pieces: &[Piece<'a>], most: usize, depth: usize) -> Option<Vec<Vec<Piece<'a>>>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut words: Vec<Vec<Piece<'a>>> = vec![Vec::new()];
    let closings = closings(pieces);
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let group = match (piece, closings.get(at).copied().flatten()) {
            (Piece::Open, Some(close)) => {
                group(pieces.get(at + 1..close).unwrap_or(&[]), most, depth)?.map(|choices| (choices, close))
            }
            _ => None,
        };
        match group {
            Some((choices, close)) => {
                if words.len().saturating_mul(choices.len()) > most {
                    return None;
                }
                let mut longer = Vec::with_capacity(words.len() * choices.len());
                for word in &words {
                    for choice in &choices {
                        let mut word = word.clone();
                        word.extend(choice.iter().cloned());
                        longer.push(word);
                    }
                }
                words = longer;
                at = close + 1;
            }
            None => {
                for word in &mut words {
                    word.push(piece.clone());
                }
                at += 1;
            }
        }
    }
    Some(words)
}

/// For each opening brace the place of the one that closes it.
fn closings(pieces: &[Piece<'_>]) -> Vec<Option<usize>> {
    let mut closings = vec![None; pieces.len()];
    let mut open = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Open => open.push(at),
            Piece::Close => {
                if let Some(start) = open.pop()
                    && let Some(slot) = closings.get_mut(start)
                {
                    *slot = Some(at);
                }
            }
            _ => {}
        }
    }
    closings
}

/// The choices between two braces. `Some(None)` where it is no brace expansion: `{}` and `{x}`.
fn group<'a>(inside: &[Piece<'a>], most: usize, depth: usize) -> Option<Option<Vec<Vec<Piece<'a>>>>> {
    let mut choices = Vec::new();
    let mut level = 0_usize;
    let mut start = 0;
    let mut has_comma = false;
    for (at, piece) in inside.iter().enumerate() {
        match piece {
            Piece::Open => level += 1,
            Piece::Close => level = level.saturating_sub(1),
            Piece::Comma if level == 0 => {
                has_comma = true;
                choices.extend(alternatives(inside.get(start..at).unwrap_or(&[]), most, depth + 1)?);
                start = at + 1;
            }
            _ => {}
        }
        if choices.len() > most {
            return None;
        }
    }
    if has_comma {
        choices.extend(alternatives(inside.get(start..).unwrap_or(&[]), most, depth + 1)?);
        return Some(Some(choices));
    }
    match inside {
        [Piece::Bare(text)] if text.contains("..") => range(text, most),
        _ => Some(None),
    }
}

/// `1..5`, `a..e`, `1..9..2`, `01..10`.
fn range<'a>(text: &str, most: usize) -> Option<Option<Vec<Vec<Piece<'a>>>>> {
    let mut ends = text.split("..");
    let (Some(first), Some(last)) = (ends.next(), ends.next()) else { return Some(None) };
    let step = match ends.next().map(str::parse::<i64>) {
        None => 1,
        Some(Ok(step)) => i64::try_from(step.unsigned_abs().max(1)).unwrap_or(1),
        Some(Err(_)) => return Some(None),
    };
    if ends.next().is_some() {
        return Some(None);
    }
    let one = |value: String| vec![Piece::Made(value)];
    if let (Ok(from), Ok(to)) = (first.parse::<i64>(), last.parse::<i64>()) {
        let count = from.abs_diff(to) / step.unsigned_abs();
        if usize::try_from(count).map_or(true, |count| count >= most) {
            return None;
        }
        let is_padded = |text: &str| {
            text.trim_start_matches('-').len() > 1 && text.trim_start_matches('-').starts_with('0')
        };
        let width = if is_padded(first) || is_padded(last) { first.len().max(last.len()) } else { 0 };
        let mut words = Vec::new();
        let mut value = from;
        loop {
            words.push(one(format!("{value:0width$}")));
            value = if from <= to { value.saturating_add(step) } else { value.saturating_sub(step) };
            if (from <= to && value > to) || (from > to && value < to) {
                return Some(Some(words));
            }
        }
    }
    let (mut from, mut to) = (first.chars(), last.chars());
    let (Some(low), None, Some(high), None) = (from.next(), from.next(), to.next(), to.next()) else {
        return Some(None);
    };
    if !low.is_ascii_alphabetic() || !high.is_ascii_alphabetic() {
        return Some(None);
    }
    let step = usize::try_from(step).unwrap_or(1);
    let letters: Vec<char> = if low <= high { (low..=high).collect() } else { (high..=low).rev().collect() };
    Some(Some(letters.into_iter().step_by(step).map(|letter| one(letter.to_string())).collect()))
}

fn join<'a>(pieces: &[Piece<'a>]) -> Vec<WordPart<'a>> {
    let mut parts: Vec<WordPart<'a>> = Vec::new();
    for piece in pieces {
        parts.push(match piece {
            Piece::Open => WordPart::Bare("{"),
            Piece::Comma => WordPart::Bare(","),
            Piece::Close => WordPart::Bare("}"),
            Piece::Bare(text) => WordPart::Bare(text),
            Piece::Made(text) => WordPart::Quoted(Cow::Owned(text.clone())),
            Piece::Other(part) => part.clone(),
        });
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let words = expand(&[WordPart::Bare(text)], 100).unwrap_or_default();
        let text_of = |part: &WordPart<'_>| match part {
            WordPart::Bare(text) => (*text).to_owned(),
            WordPart::Quoted(text) => text.to_string(),
            _ => String::new(),
        };
        words.iter().map(|parts| parts.iter().map(text_of).collect()).collect()
    }

    #[test]
    fn braces_become_words() {
        for (word, expected) in [
            ("{rm,-rf,/}", &["rm", "-rf", "/"][..]),
            ("a{b,c{1,2}}d", &["abd", "ac1d", "ac2d"]),
            ("{1..3}", &["1", "2", "3"]),
            ("{3..1}", &["3", "2", "1"]),
            ("{01..03}", &["01", "02", "03"]),
            ("{a..e..2}", &["a", "c", "e"]),
            ("{}", &["{}"]),
            ("{x}", &["{x}"]),
            ("{a,b", &["{a,b"]),
            ("{1..1000000}", &[]),
        ] {
            assert_eq!(texts(word), expected, "{word}");
        }
    }
}
