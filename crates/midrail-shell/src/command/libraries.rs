//! What code deletes through libraries: resources of clouds, clusters, databases and services. The code of any language is
//! searched for calls, by the words of their names.

use crate::tables::{LIBRARIES, Library};
use crate::words::code::REFLECTIONS;

/// No more names of one text are looked at.
const MAX_NAMES: usize = 20_000;

/// How much of the arguments of a call is looked at.
const MAX_ARGS: usize = 400;

/// Words before the verb in names such as `begin_delete` and `batch_delete_image`.
const LEADING: &[&str] = &["begin", "batch", "bulk", "async", "force", "do", "try", "hard"];

/// The libraries that code deletes something with, each with the call that does.
pub(super) fn deletions(code: &str) -> Vec<(&'static Library, String)> {
    let is_used = |library: &&'static Library| library.marks.iter().any(|mark| code.contains(mark));
    let used: Vec<&'static Library> = LIBRARIES.iter().filter(is_used).collect();
    if used.is_empty() {
        return Vec::new();
    }
    let names = names(code);
    let looked_up =
        if REFLECTIONS.iter().any(|mark| code.contains(mark)) { name_texts(code) } else { Vec::new() };
    let found = used.into_iter().filter_map(|library| {
        let called = names.iter().find(|name| deletes(library, name)).map(|name| name.text);
        let name = called.or_else(|| looked_up.iter().copied().find(|name| names_deletion(library, name)))?;
        Some((library, name.to_owned()))
    });
    found.collect()
}

/// The texts of code that can be names, and Ruby's symbols: functions that are looked up by them.
fn name_texts(code: &str) -> Vec<&str> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut texts = Vec::new();
    for (at, mark) in code.match_indices(['"', '\'', '`', ':']).take(MAX_NAMES) {
        let rest = code.get(at + 1..).unwrap_or_default();
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let is_closed = mark == ":" || rest.get(length..).is_some_and(|rest| rest.starts_with(mark));
        texts.extend(rest.get(..length).filter(|text| is_closed && !text.is_empty()));
    }
    texts
}

/// Whether a name, or its beginning, is that of a function that deletes.
fn names_deletion(library: &Library, name: &str) -> bool {
    let all = words(name);
    let skipped = all.iter().take_while(|word| LEADING.contains(&word.as_str())).count();
    let words = all.get(skipped..).unwrap_or_default().join(" ");
    let begins =
        |verb: &&str| words.strip_prefix(*verb).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    !words.is_empty() && !library.except.contains(&words.as_str()) && library.verbs.iter().any(begins)
}

/// A name in code, outside of its strings.
struct Name<'c> {
    text: &'c str,
    /// The name that it is a member of: `bucket` of `bucket.delete`. Empty if that is the value of a call.
    owner: Option<&'c str>,
    /// What it is called with.
    args: Option<&'c str>,
}

fn deletes(library: &Library, name: &Name<'_>) -> bool {
    let all = words(name.text);
    let skipped = all.iter().take_while(|word| LEADING.contains(&word.as_str())).count();
    let words = all.get(skipped..).unwrap_or_default().join(" ");
    let is_request = words.ends_with(" command") || words.ends_with(" request");
    let begins = |verb: &&str| {
        words
            .strip_prefix(*verb)
            .is_some_and(|rest| rest.is_empty() && verb.contains(' ') || rest.starts_with(' '))
    };
    if words.is_empty() || library.except.contains(&words.as_str()) {
        return false;
    }
    if is_request && library.verbs.iter().any(begins) {
        return true;
    }
    let Some(args) = name.args else { return false };
    let is_all = matches!(args.trim(), "" | "{}" | "({})" | "index='*'" | "index=\"*\"" | "{ }");
    let owned = name.owner.map_or(String::new(), |owner| format!("{} {words}", owner.to_ascii_lowercase()));
    if library.all.iter().any(|verb| *verb == words || *verb == owned) {
        return is_all && name.owner.is_some();
    }
    library.verbs.iter().any(begins)
        || (library.bare.contains(&words.as_str()) && is_bare_deletion(name, args))
}

/// Whether a method that is called `delete` belongs to such a thing, and not to a list or a map: those are variables, and what
/// they delete is one value.
fn is_bare_deletion(name: &Name<'_>, args: &str) -> bool {
    let Some(owner) = name.owner else { return false };
    let args = args.trim();
    // A number is a key of a map.
    let is_value_of_call = owner.is_empty() && args.parse::<i64>().is_err();
    let is_class = owner.starts_with(|letter: char| letter.is_ascii_uppercase());
    // A list removes one of its values: `names.remove('a')`.
    let is_list = name.text == "remove" && args.starts_with(['"', '\'']);
    let is_plural =
        owner.len() > 4 && owner.ends_with('s') && owner != "params" && owner != "headers" && !is_list;
    let has_settings =
        args.starts_with('{') || args.split(['(', ',']).next().is_some_and(|first| first.contains('='));
    let is_container = matches!(owner, "Map" | "Set" | "WeakMap" | "WeakSet" | "FormData" | "searchParams");
    !is_container
        && (args.is_empty()
            || has_settings
            || is_class
            || is_value_of_call && !args.starts_with(':')
            || is_plural)
}

/// The words of a name, in lower case: `delete_bucket`, `deleteBucket!`, `DeleteBucket`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        let is_break = letter == '_' || (letter.is_ascii_uppercase() && was_lower);
        if is_break {
            words.push(String::new());
        }
        if letter != '_'
            && let Some(word) = words.last_mut()
        {
            word.push(letter.to_ascii_lowercase());
        }
        was_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// The names in code with what they belong to and what they are called with.
fn names(code: &str) -> Vec<Name<'_>> {
    let mut names: Vec<Name<'_>> = Vec::new();
    let bytes = code.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b'\n');
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80;
    let run = |from: usize, member: &dyn Fn(u8) -> bool| {
        bytes
            .get(from..)
            .unwrap_or_default()
            .iter()
            .position(|byte| !member(*byte))
            .map_or(bytes.len(), |length| from + length)
    };
    let mut at = 0;
    while at < bytes.len() && names.len() < MAX_NAMES {
        match byte(at) {
            quote @ (b'"' | b'\'' | b'`') => at = text_end(bytes, at + 1, quote),
            b'#' if at == 0 || byte(at - 1).is_ascii_whitespace() => at = run(at, &|byte| byte != b'\n'),
            first if is_part(first) => {
                let end = run(at, &is_part);
                let name_end = end + usize::from(byte(end) == b'!' && byte(end + 1) != b'=');
                let before = code.get(..at).unwrap_or("");
                let owner = owner(before);
                let open = run(name_end, &|byte| matches!(byte, b' ' | b'\t'));
                let is_last = matches!(byte(open), b'\n' | b';' | b'}' | b')' | b'\r');
                let args = match byte(open) {
                    b'(' => Some(arguments(code, open + 1)),
                    // Ruby: `bucket.delete!`.
                    _ if owner.is_some() && is_last => Some(""),
                    _ => None,
                };
                names.push(Name { text: code.get(at..end).unwrap_or(""), owner, args });
                at = end;
            }
            _ => at += 1,
        }
    }
    names
}

/// The place after a text in quotes. An apostrophe that is not closed in its line opens none.
fn text_end(bytes: &[u8], from: usize, quote: u8) -> usize {
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match *byte {
            b'\\' => at += 1,
            b'\n' if quote != b'`' => return from,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    from
}

/// What a name after this text is a member of.
fn owner(before: &str) -> Option<&str> {
    let object = [".", "->", "::"].iter().find_map(|mark| before.trim_end().strip_suffix(mark))?;
    let object = object.trim_end().trim_end_matches(['?', '!', '&']);
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let start = object.rfind(|letter| !is_part(letter)).map_or(0, |at| {
        at + object.get(at..).map_or(1, |rest| rest.chars().next().map_or(1, char::len_utf8))
    });
    object.get(start..)
}

/// What stands between the brackets of a call.
fn arguments(code: &str, from: usize) -> &str {
    let bytes = code.as_bytes();
    let (mut at, mut depth) = (from, 0_usize);
    while at < bytes.len().min(from + MAX_ARGS) {
        match bytes.get(at).copied().unwrap_or(b' ') {
            quote @ (b'"' | b'\'' | b'`') => {
                at = text_end(bytes, at + 1, quote);
                continue;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => break,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    code.get(from..at).unwrap_or("x")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::analyse;
    use crate::tables::tests::examples;

    #[test]
    fn examples_of_libraries_hold() {
        for row in examples("library") {
            let rule = |line: &str| analyse(line).dangers.iter().any(|danger| danger.rule == row.id);
            row.stops.iter().for_each(|line| assert!(rule(line), "{} does not find {line}", row.id));
            row.passes.iter().for_each(|line| assert!(!rule(line), "{} finds {line}", row.id));
        }
    }

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("delete_bucket", "delete bucket"),
            ("deleteBucket", "delete bucket"),
            ("DeleteDBInstance", "delete dbinstance"),
            ("flushall", "flushall"),
        ] {
            assert_eq!(words(name).join(" "), expected);
        }
    }
}
