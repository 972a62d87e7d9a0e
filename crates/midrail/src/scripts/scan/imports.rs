//! Finds the place of an import in the text of a module.

use super::tokens::{Kind, Tokens};

/// Line and column, from 1 on, of the text by which a module imports another, or of a name that it takes from there. `None`:
/// there is none, or the text is put together when it runs, or written with escapes.
pub(crate) fn place_of(source: &str, from: &str, name: Option<&str>) -> Option<(u32, u32)> {
    let mut tokens = Tokens::new(source);
    // The words since the last `import` or `export`, which a `from` may belong to.
    let mut words: Vec<(&str, usize)> = Vec::new();
    while let Some(token) = tokens.next() {
        let last = words.last().map_or("", |(text, _)| *text);
        let is_import = match words.as_slice() {
            [.., ("import", _), ("(", _)] => true,
            _ => matches!(last, "from" | "import"),
        };
        if is_import && token.kind == Kind::Operand && is_quoted(token.text, from) {
            let Some(name) = name else { return place(source, token.start) };
            if let Some(at) = place_of_name(&words, name) {
                return place(source, at);
            }
        }
        if matches!(token.text, "import" | "export") {
            words.clear();
        }
        words.push((token.text, token.start));
    }
    None
}

/// Where the words of an import say a name: `{ name }`, `{ name as other }`, and for `default` also `import other`.
fn place_of_name(words: &[(&str, usize)], name: &str) -> Option<usize> {
    let word = |at: usize| words.get(at).map_or("", |(text, _)| *text);
    let is_taken =
        |at: &usize| word(*at) == name && at.checked_sub(1).is_none_or(|before| word(before) != "as");
    let in_braces = (0..words.len()).find(is_taken);
    let bare = (name == "default" && word(0) == "import" && !matches!(word(1), "{" | "*" | "")).then_some(1);
    words.get(in_braces.or(bare)?).map(|(_, start)| *start)
}

fn is_quoted(text: &str, name: &str) -> bool {
    let quotes = ['"', '\'', '`'];
    text.strip_prefix(quotes).and_then(|rest| rest.strip_suffix(quotes)) == Some(name)
}

/// Line and column of a place in a text, as the JavaScript engine counts them.
fn place(source: &str, at: usize) -> Option<(u32, u32)> {
    let before = source.get(..at)?;
    let (lines, line) =
        before.rsplit_once('\n').map_or((0, before), |(above, line)| (above.matches('\n').count() + 1, line));
    Some((u32::try_from(lines + 1).ok()?, u32::try_from(line.chars().count() + 1).ok()?))
}
