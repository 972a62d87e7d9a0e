//! Paths in words and code that may be a file of Midrail or the settings of an agent, by their names alone. Self-protection
//! compares them with the protected files.

use std::borrow::Cow;

use super::decode;
use crate::words::code::{CHECKING_CALLS, CHECKING_METHODS};
use crate::words::places::{AGENT_FOLDERS, AGENT_PATHS, AGENT_PLACES, MIDRAIL_FOLDERS};

/// No more paths of one text than this.
const MOST: usize = 16;

/// Marks that separate the paths of a list, the name of an option and its value, or the parts of code.
const MARKS: &[char] =
    &['=', ':', ',', ';', '\'', '"', '`', '(', ')', '[', ']', '{', '}', '<', '>', '|', '&', '@'];

/// The quotes of texts in most languages.
pub(crate) const QUOTES: &[char] = &['"', '\''];

/// Whether a text may name such a file. Cheap: most words do not.
pub(crate) fn is_mentioned(text: &str) -> bool {
    let text = plain(text);
    let bytes = text.as_bytes();
    let starts = bytes.iter().enumerate().filter(|(_, byte)| may_start_place(**byte));
    starts.filter_map(|(at, _)| bytes.get(at..)).any(|rest| {
        let begins = |place: &&[u8]| rest.get(..place.len()).is_some_and(|it| it.eq_ignore_ascii_case(place));
        let first = rest.first().map(u8::to_ascii_lowercase);
        AGENT_PLACES
            .iter()
            .map(|place| place.as_bytes())
            .any(|place| place.first().copied() == first && begins(&place))
    })
}

/// Whether one of the places begins with this letter or mark, in either case.
fn may_start_place(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'.' | b'/' | b'c' | b'g' | b'm' | b'o')
}

/// The paths in a word: the word itself, the value of an option or assignment, and the elements of a list.
pub(crate) fn paths_in_word(word: &str) -> Vec<String> {
    if !is_mentioned(word) {
        return Vec::new();
    }
    let word = plain(word);
    if word.contains("://") && !word.contains("file://") {
        return Vec::new();
    }
    // `-o.claude/x`, `-xzf~/.claude/x`
    let attached =
        word.strip_prefix('-').and_then(|it| it.find(['.', '/', '~', '$']).and_then(|at| it.get(at..)));
    collect(word.split(MARKS).chain(attached).chain([word.as_ref()]))
}

/// The paths in code: texts in quotes, or also bare words. Texts that a call only checks or prints are not among them.
pub(crate) fn paths_in_code(code: &str, quotes: &[char], has_bare_words: bool) -> Vec<String> {
    if !is_mentioned(code) {
        return Vec::new();
    }
    let code = plain(code);
    let mut quoted = Vec::new();
    for quote in quotes {
        let mut before = "";
        let mut texts = code.split(*quote).enumerate().peekable();
        while let Some((index, text)) = texts.next() {
            let after = texts.peek().map_or("", |(_, after)| *after);
            if index % 2 == 1 && !is_only_checked(before, after) {
                quoted.push(text);
            }
            before = text;
        }
    }
    let words = code.split(|mark: char| mark.is_whitespace() || MARKS.contains(&mark));
    collect(quoted.into_iter().chain(words.filter(|_| has_bare_words)))
}

/// Whether the code around a text changes nothing: `exists("…")`, `Path("…").is_file()`.
fn is_only_checked(before: &str, after: &str) -> bool {
    let is_prefix = |mark: char| mark.is_whitespace() || matches!(mark, 'b' | 'r' | 'f' | 'u');
    let call = before.trim_end_matches(is_prefix).strip_suffix('(');
    let method =
        after.strip_prefix(").").map(|rest| rest.split(|mark: char| !mark.is_alphanumeric() && mark != '_'));
    let method = method.and_then(|mut words| words.next());
    call.is_some_and(|call| CHECKING_CALLS.iter().any(|name| call.ends_with(name)))
        || method.is_some_and(|method| CHECKING_METHODS.contains(method))
}

/// A text with the separators of POSIX, without the escapes of addresses.
fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(['%', '\\']) {
        return Cow::Borrowed(text);
    }
    let text = text.replace("\\\\", "/").replace('\\', "/");
    Cow::Owned(decode::percent(&text).unwrap_or(text))
}

fn collect<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for text in texts {
        let path = match text.strip_prefix("//") {
            Some(rest) => format!("/{}", rest.trim_start_matches('/')),
            None => text.trim_start_matches("file:").to_owned(),
        };
        let is_address = text.contains("://") && !text.contains("file://");
        if !is_address && is_place(&path) && paths.len() < MOST && !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}

/// Whether a path has the name of a protected folder or file in it.
pub(crate) fn is_place(path: &str) -> bool {
    if path.len() > 4096 || path.contains(['\n', '=', '"', '\'']) || path.starts_with('!') {
        return false;
    }
    let path = path.to_ascii_lowercase();
    let parts = || path.split('/');
    let is_midrail = |(above, part): (&str, &str)| {
        matches!(part, "midrail" | "midrail.exe")
            && (MIDRAIL_FOLDERS.contains(above) || above.starts_with('$'))
    };
    parts().any(|part| AGENT_FOLDERS.contains(part) || part.starts_with("midrail.db"))
        || parts().zip(parts().skip(1)).any(is_midrail)
        || AGENT_PATHS.iter().any(|known| path.contains(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_words_are_found() {
        for (word, path) in [
            (".claude/settings.json", ".claude/settings.json"),
            ("--outfile=~/.claude/settings.json", "~/.claude/settings.json"),
            ("-o.codex/hooks.json", ".codex/hooks.json"),
            ("OPEN:.claude/settings.json,trunc", ".claude/settings.json"),
            ("/a:/b/.gemini", "/b/.gemini"),
            ("file:///r/%2Eclaude/settings.json", "/r/.claude/settings.json"),
            (r"C:\Users\me\.claude\settings.json", "/Users/me/.claude/settings.json"),
            ("~/.local/bin/midrail", "~/.local/bin/midrail"),
        ] {
            assert!(paths_in_word(word).contains(&path.to_owned()), "{word}: {:?}", paths_in_word(word));
        }
        for word in [
            "midrail-shell",
            "midrail",
            "crates/midrail/src",
            "claude",
            "src/claude.rs",
            "https://x.example/.claude/settings.json",
            "-p",
        ] {
            assert!(paths_in_word(word).is_empty(), "{word}: {:?}", paths_in_word(word));
        }
    }

    #[test]
    fn paths_of_code_are_found() {
        for code in ["unlink(b'.claude/settings.json')", "(delete-directory \".claude\" t)"] {
            assert!(!paths_in_code(code, QUOTES, false).is_empty(), "{code}");
        }
        assert!(!paths_in_code("file delete -force .claude", QUOTES, true).is_empty());
        for code in [
            "os.path.exists('.claude')",
            "print(\".claude/settings.json\")",
            "see .claude",
            "Path('.claude/settings.json').is_file()",
        ] {
            assert!(paths_in_code(code, QUOTES, false).is_empty(), "{code}");
        }
    }

    #[test]
    fn places_begin_with_a_known_letter_or_mark() {
        for place in AGENT_PLACES {
            assert!(place.bytes().next().is_some_and(may_start_place), "{place}");
            assert_eq!(*place, place.to_ascii_lowercase());
            assert!(is_mentioned(&format!("x{}", place.to_ascii_uppercase())), "{place}");
        }
        assert!(!is_mentioned("--workspace /code midrai"));
    }
}
