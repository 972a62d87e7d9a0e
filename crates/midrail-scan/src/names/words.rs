//! Finds the words of a text that are shaped like destinations, in one pass.

use super::normal::{address_names, compact, mail, plain, trim};

/// The most bytes of a text that are searched.
const MAX_TEXT: usize = 1 << 20;

/// The longest word or quoted text that is a name.
const MAX_WORD: usize = 512;

/// The longest quoted text that is a name.
const MAX_QUOTED: usize = 64;

/// The most words of a number: `DE89 3704 0044 0532 0130 00`.
const MAX_GROUPS: usize = 10;

/// Visits every name in a text until the visitor returns false.
pub(super) fn visit(text: &str, found: &mut dyn FnMut(String) -> bool) {
    let text = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    if !quoted(text, found) {
        return;
    }
    let mut groups: Vec<&str> = Vec::new();
    let mut previous_name: Option<&str> = None;
    for word in
        text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|' | '<' | '>' | '"' | '(' | ')'))
    {
        let word = trim(word);
        if word.is_empty() || word.len() > MAX_WORD {
            continue;
        }
        let is_group = word.len() <= 34
            && word.chars().any(|c| c.is_ascii_digit())
            && word
                .chars()
                .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase() || matches!(c, '+' | '-' | '.' | '/'));
        let joins = is_group
            || (!groups.is_empty() && word.len() == 4 && word.chars().all(|c| c.is_ascii_uppercase()));
        if joins && groups.len() < MAX_GROUPS {
            groups.push(word);
        } else {
            if !numbers(&groups, found) {
                return;
            }
            groups.clear();
            groups.extend(is_group.then_some(word));
        }
        if !names_of(word, previous_name, found) {
            return;
        }
        previous_name = is_capitalised(word).then_some(word);
    }
    numbers(&groups, found);
}

/// Visits the names of one word.
fn names_of(word: &str, previous: Option<&str>, found: &mut dyn FnMut(String) -> bool) -> bool {
    if let Some(mail) = mail(word) {
        return found(mail);
    }
    if let Some(names) = address_names(word) {
        return names.into_iter().all(&mut *found);
    }
    let is_shaped = word.starts_with(['@', '#'])
        || word.chars().any(|c| c.is_ascii_digit() || matches!(c, '/' | '_' | '\\' | '.' | '-' | ':'));
    if !is_shaped && !is_capitalised(word) {
        return true;
    }
    let both = previous.filter(|_| is_capitalised(word)).map(|first| format!("{first} {word}"));
    let both = both.and_then(|both| plain(&both)).is_none_or(&mut *found);
    both && plain(word).is_none_or(found)
}

fn is_capitalised(word: &str) -> bool {
    word.chars().count() > 1 && word.chars().next().is_some_and(char::is_uppercase)
}

/// Visits the number that groups of digits make together: of a phone, or of an account.
fn numbers(groups: &[&str], found: &mut dyn FnMut(String) -> bool) -> bool {
    if groups.len() < 2 {
        return true;
    }
    // A text can continue with a group that is no part of the number, so every length counts.
    (2..=groups.len()).all(|count| {
        let number = compact(&groups.get(..count).unwrap_or_default().concat());
        let digits = number.chars().filter(char::is_ascii_digit).count();
        digits < 7 || found(number)
    })
}

/// Visits the short texts in quotes.
fn quoted(text: &str, found: &mut dyn FnMut(String) -> bool) -> bool {
    for line in text.lines() {
        for (open, close) in
            [('"', '"'), ('\'', '\''), ('`', '`'), ('“', '”'), ('‘', '’'), ('«', '»'), ('„', '“')]
        {
            let mut rest = line;
            while let Some((before, after)) = rest.split_once(open) {
                let Some((inside, next)) = after.split_once(close) else { break };
                // The apostrophe of `don't` opens no quotation.
                let opens = !before.ends_with(char::is_alphanumeric);
                if opens && inside.len() <= MAX_QUOTED {
                    if !plain(inside).is_none_or(&mut *found) {
                        return false;
                    }
                    rest = next;
                } else {
                    rest = after;
                }
            }
        }
    }
    true
}
