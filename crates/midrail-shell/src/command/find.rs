//! The arguments of `find`: folders, then an expression of tests and actions.

use super::invocation::Arg;
use super::programs;

/// One part of the arguments of `find`.
#[derive(Debug, Clone, Copy)]
pub(super) enum FindPart<'a> {
    /// A folder that is searched, by its index.
    Folder(usize),
    /// `(`
    Open,
    /// `)`
    Close,
    /// `-o` or `,`
    Or,
    /// `!`
    Not,
    /// An action that runs a command on what was found: its name, and the command.
    Run(&'a str, &'a [Arg]),
    /// Another test or action, and its value.
    Test(&'a str, Option<&'a Arg>),
}

/// The parts of the arguments of `find`.
pub(super) fn parts(args: &[Arg]) -> Vec<FindPart<'_>> {
    let row = programs::row("find");
    let mut parts = Vec::new();
    let mut is_expression = false;
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        let start = at;
        at += 1;
        let part = match arg.text.as_str() {
            "-H" | "-L" | "-P" => continue,
            "(" | "\\(" => FindPart::Open,
            ")" | "\\)" => FindPart::Close,
            "-o" | "-or" | "," => FindPart::Or,
            "!" | "\\!" | "-not" => FindPart::Not,
            name @ ("-exec" | "-execdir" | "-ok" | "-okdir") => {
                let rest = args.get(at..).unwrap_or_default();
                let length = (0..rest.len()).find(|end| ends_command(rest, *end)).unwrap_or(rest.len());
                at += length + 1;
                FindPart::Run(name, rest.get(..length).unwrap_or_default())
            }
            name if name.len() > 1 && name.starts_with('-') => {
                let value = args.get(at).filter(|_| row.takes_value(name, true));
                at += usize::from(value.is_some());
                FindPart::Test(name, value)
            }
            _ if is_expression => continue,
            _ => {
                parts.push(FindPart::Folder(start));
                continue;
            }
        };
        is_expression = true;
        parts.push(part);
    }
    parts
}

/// Whether a command of `-exec` ends here: at `;`, or at a `+` after `{}`.
fn ends_command(args: &[Arg], at: usize) -> bool {
    let is = |at: usize, text: &str| args.get(at).is_some_and(|arg| arg.text == text);
    is(at, ";") || is(at, "\\;") || (is(at, "+") && at.checked_sub(1).is_some_and(|before| is(before, "{}")))
}
