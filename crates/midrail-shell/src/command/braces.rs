//! Brace expansion: `{rm,-rf,/}` and `{1..3}`, before anything else is expanded.

use std::borrow::Cow;

use super::ast::WordPart;

/// How deep braces may nest.
const MAX_DEPTH: usize = 24;

/// The parts of one word.
type Parts<'a> = Vec<WordPart<'a>>;

/// The words that a word with braces becomes. `None` where there would be more than `most`.
pub(super) fn expand<'a>(parts: &[WordPart<'a>], most: usize) -> Option<Vec<Parts<'a>>> {
    alternatives(&pieces(parts), most, 0)
}

/// The parts of a word, in which each brace and comma without quotes is a part of its own.
fn pieces<'a>(parts: &[WordPart<'a>]) -> Parts<'a> {
    let mut pieces = Vec::new();
    for part in parts {
        let WordPart::Bare(text) = part else {
            pieces.push(part.clone());
            continue;
        };
        for run in text.split_inclusive(['{', ',', '}']) {
            let sign = run.len() - usize::from(run.ends_with(['{', ',', '}']));
            let halves = <[&str; 2]>::from(run.split_at_checked(sign).unwrap_or((run, "")));
            pieces.extend(halves.into_iter().filter(|half| !half.is_empty()).map(WordPart::Bare));
        }
    }
    pieces
}

/// Whether a part is this sign.
fn is(part: &WordPart<'_>, sign: &str) -> bool {
    matches!(part, WordPart::Bare(text) if *text == sign)
}

/// All words that the pieces expand to. `None` if there are too many, or they nest too deep.
fn alternatives<'a>(pieces: &[WordPart<'a>], most: usize, depth: usize) -> Option<Vec<Parts<'a>>> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut words: Vec<Parts<'a>> = vec![Vec::new()];
    let closings = closings(pieces);
    let mut at = 0;
    while let Some(piece) = pieces.get(at) {
        let close = closings.get(at).copied().flatten();
        let inside = close.and_then(|close| pieces.get(at + 1..close));
        let choices = match inside {
            Some(inside) => group(inside, most, depth)?,
            None => None,
        };
        let Some(choices) = choices else {
            words.iter_mut().for_each(|word| word.push(piece.clone()));
            at += 1;
            continue;
        };
        at = close.unwrap_or(at) + 1;
        if words.len().saturating_mul(choices.len()) > most {
            return None;
        }
        let longer = |word: &Parts<'a>, choice: &Parts<'a>| [word.as_slice(), choice].concat();
        words = words.iter().flat_map(|word| choices.iter().map(|it| longer(word, it))).collect();
    }
    Some(words)
}

/// For each opening brace the place of the one that closes it.
fn closings(pieces: &[WordPart<'_>]) -> Vec<Option<usize>> {
    let mut closings = vec![None; pieces.len()];
    let mut open = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if is(piece, "{") {
            open.push(at);
        } else if is(piece, "}")
            && let Some(start) = open.pop()
            && let Some(slot) = closings.get_mut(start)
        {
            *slot = Some(at);
        }
    }
    closings
}

/// The choices between two braces. `Some(None)` where it is no brace expansion: `{}` and `{x}`.
fn group<'a>(inside: &[WordPart<'a>], most: usize, depth: usize) -> Option<Option<Vec<Parts<'a>>>> {
    let mut level = 0_usize;
    let is_comma = |piece: &WordPart<'_>| {
        level += usize::from(is(piece, "{"));
        level -= usize::from(is(piece, "}")).min(level);
        level == 0 && is(piece, ",")
    };
    let choices: Vec<&[WordPart<'a>]> = inside.split(is_comma).collect();
    if let [only] = choices.as_slice() {
        return match only {
            [WordPart::Bare(text)] if text.contains("..") => range(text, most),
            _ => Some(None),
        };
    }
    let mut words = Vec::new();
    for choice in choices {
        words.extend(alternatives(choice, most, depth + 1)?);
        if words.len() > most {
            return None;
        }
    }
    Some(Some(words))
}

/// `1..5`, `a..e`, `1..9..2`, `01..10`.
fn range<'a>(text: &str, most: usize) -> Option<Option<Vec<Parts<'a>>>> {
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
    let one = |value: String| vec![WordPart::Quoted(Cow::Owned(value))];
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
