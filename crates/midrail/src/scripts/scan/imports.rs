//! Finds the place of an import in the text of a module.

use super::{Kind, Tokens};

/// Line and column, from 1 on, of the text by which a module imports another. `None`: the name is put together when it
/// runs, or written with escapes.
pub(in super::super) fn place_of(source: &str, name: &str) -> Option<(u32, u32)> {
    let mut tokens = Tokens::new(source);
    let (mut before, mut last) = ("", "");
    while let Some(token) = tokens.next() {
        let is_import = matches!((before, last), (_, "from" | "import") | ("import", "("));
        if is_import && token.kind == Kind::Operand && is_quoted(token.text, name) {
            return place(source, token.start);
        }
        (before, last) = (last, token.text);
    }
    None
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
