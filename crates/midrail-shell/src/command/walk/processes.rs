//! Numbers of processes that a program prints, named by what they were looked for by: `$(pgrep -f 'node server.js')`.

use super::super::invocation::{Arg, Invocation};
use super::state::Stream;

/// What `pgrep` and `pidof` print.
pub(super) fn looked_up(invocation: &Invocation) -> Option<Arg> {
    let name = invocation.args.iter().rev().find(|arg| !arg.text.starts_with('-'))?;
    let is_full = invocation.args.iter().any(|arg| {
        arg.text == "--full"
            || arg
                .text
                .strip_prefix('-')
                .is_some_and(|letters| !letters.starts_with('-') && letters.contains('f'))
    });
    Some(numbers(&name.text, is_full && invocation.program == "pgrep"))
}

/// Whether a stream is a list of processes: what `ps` prints, or what was selected of it.
pub(super) fn is_list(input: &Stream) -> bool {
    input.program == "ps" || input.text.as_ref().is_some_and(is_numbers)
}

/// What a filter leaves of a list of processes: `ps aux | grep server.js | grep -v grep | awk '{print $2}'` is
/// `pgrep -f server.js`. A filter that could change the numbers leaves nothing that is known.
pub(super) fn selected(invocation: &Invocation, input: &Stream) -> Option<Arg> {
    let args = invocation.args.as_slice();
    let operands: Vec<&Arg> = args.iter().filter(|arg| !arg.text.starts_with('-')).collect();
    let known = input.text.clone().filter(is_numbers);
    let is_inverted = || {
        args.iter().any(|arg| {
            arg.text == "--invert-match"
                || arg
                    .text
                    .strip_prefix('-')
                    .is_some_and(|letters| !letters.starts_with('-') && letters.contains('v'))
        })
    };
    match (invocation.program.as_str(), operands.as_slice()) {
        ("grep" | "egrep", [_]) if is_inverted() => known,
        ("grep" | "egrep", [pattern]) => known.or_else(|| Some(numbers(&pattern.text, true))),
        ("awk", [program]) if args.len() == 1 => {
            let (pattern, action) = program.text.split_once('{')?;
            let field =
                action.trim().strip_suffix('}')?.trim().strip_prefix("print")?.trim().strip_prefix('$')?;
            if !field.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            match pattern.trim() {
                "" => known,
                pattern => {
                    let pattern = pattern.strip_prefix('/')?.strip_suffix('/')?;
                    known.or_else(|| Some(numbers(pattern, true)))
                }
            }
        }
        ("tr", [_]) | ("cut" | "head" | "tail" | "sort" | "uniq", _) => known,
        _ => None,
    }
}

/// The numbers of the processes that a pattern matches. A pattern that may be the name of a program alone, such as `python`, selects
/// processes that belong to others, also among whole command lines.
fn numbers(pattern: &str, is_full: bool) -> Arg {
    // `[s]erver`: so that the search does not find itself.
    let pattern = match pattern.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((letter, rest)) if letter.chars().count() == 1 => format!("{letter}{rest}"),
        _ => pattern.to_owned(),
    };
    let is_narrow = is_full
        && pattern.contains(['/', '.', '-', ' '])
        && pattern.bytes().filter(u8::is_ascii_alphanumeric).count() >= 4;
    Arg::unknown(&format!("$(pgrep {}{pattern})", if is_narrow { "-f " } else { "" }))
}

/// Whether a text is such numbers and nothing else.
pub(super) fn is_numbers(text: &Arg) -> bool {
    text.text.starts_with("$(pgrep ") && !text.is_known()
}
