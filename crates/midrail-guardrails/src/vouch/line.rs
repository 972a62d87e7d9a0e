//! Lines that are simple enough to be vouched for: commands whose words are literal, joined by operators.
//!
//! The analysis of command lines finds what is dangerous in any line. Here it is the other way round: what is not simple is not vouched
//! for, so that no feature of a shell can hide a command, a file or a value.

/// What follows a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`
    Pipe,
    /// `;`, a new line or the end
    Then,
}

/// The words of the commands of a simple line. `None`: it is not simple.
pub(super) fn simple_commands(line: &str) -> Option<Vec<(Vec<String>, Joint)>> {
    let mut commands = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.trim_matches([' ', '\t', '\n']).chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            ' ' | '\t' => words.extend(word.take()),
            '\n' | ';' | '&' | '|' => {
                words.extend(word.take());
                let is_double = chars.peek() == Some(&char);
                let joint = match (char, is_double) {
                    ('&', true) => Joint::And,
                    ('|', true) => Joint::Or,
                    ('|', false) => Joint::Pipe,
                    ('\n', _) | (';', false) => Joint::Then,
                    _ => return None,
                };
                if matches!(joint, Joint::And | Joint::Or) {
                    chars.next();
                }
                if words.is_empty() {
                    return None;
                }
                commands.push((std::mem::take(&mut words), joint));
            }
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        inner if inner.is_control() => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        inner if inner.is_control() => return None,
                        inner => word.push(inner),
                    }
                }
            }
            '>' => {
                if word.take().is_some_and(|number| number != "2" && number != "1") {
                    return None;
                }
                let rest: String = chars.collect();
                let rest = harmless_target(&rest)?;
                return join(commands, words, rest);
            }
            plain if plain.is_ascii_alphanumeric() || "_./:,@%+=-".contains(plain) => {
                word.get_or_insert_default().push(plain);
            }
            _ => return None,
        }
    }
    words.extend(word);
    if words.is_empty() {
        return None;
    }
    commands.push((words, Joint::Then));
    Some(commands)
}

/// What follows `2>` or `>` if the target keeps nothing: `/dev/null` or another stream of the command.
fn harmless_target(rest: &str) -> Option<&str> {
    let rest = match rest.strip_prefix("&1").or_else(|| rest.strip_prefix("&2")) {
        Some(rest) => rest,
        None => rest.trim_start_matches(' ').strip_prefix("/dev/null")?,
    };
    (rest.is_empty() || rest.starts_with([' ', '\t', '\n', ';', '|', '&'])).then_some(rest)
}

/// The commands so far, and those of the rest of the line.
fn join(
    mut commands: Vec<(Vec<String>, Joint)>,
    words: Vec<String>,
    rest: &str,
) -> Option<Vec<(Vec<String>, Joint)>> {
    if words.is_empty() {
        return None;
    }
    // A word in front of the rest stands for the command that the target belongs to.
    let more = simple_commands(&format!("x{rest}"))?;
    let mut more = more.into_iter();
    let (first, joint) = more.next()?;
    let mut whole = words;
    whole.extend(first.into_iter().skip(1));
    commands.push((whole, joint));
    commands.extend(more);
    Some(commands)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<String>>> {
        Some(simple_commands(line)?.into_iter().map(|(words, _)| words).collect())
    }

    #[test]
    fn words_of_simple_lines() {
        let all = |commands: &[&[&str]]| {
            Some(commands.iter().map(|it| it.iter().map(|word| (*word).to_owned()).collect()).collect())
        };
        for (line, commands) in [
            ("ls -la src", all(&[&["ls", "-la", "src"]])),
            ("grep -rn 'a b' src | sort", all(&[&["grep", "-rn", "a b", "src"], &["sort"]])),
            ("cd src && ls; pwd", all(&[&["cd", "src"], &["ls"], &["pwd"]])),
            ("cat \"a b\"'c'", all(&[&["cat", "a bc"]])),
            ("make 2>&1 | tail -5", all(&[&["make"], &["tail", "-5"]])),
            ("make >/dev/null 2>&1 && pwd", all(&[&["make"], &["pwd"]])),
            ("ls 2>/dev/null\npwd", all(&[&["ls"], &["pwd"]])),
            ("ls a 2> /dev/null b || true", all(&[&["ls", "a", "b"], &["true"]])),
        ] {
            assert_eq!(words(line), commands, "{line}");
        }
    }

    #[test]
    fn everything_else_is_not_simple() {
        for line in [
            "",
            "ls $X",
            "ls \"$X\"",
            "ls `x`",
            "ls $(x)",
            "ls > a",
            "ls >> /dev/null",
            "ls > /dev/null/x",
            "ls < a",
            "ls <(x)",
            "ls &",
            "ls *",
            "ls ?",
            "ls [a]",
            "ls {a,b}",
            "ls ~",
            "ls !x",
            "ls \\x",
            "(ls)",
            "ls # x",
            "ls 3>a",
            "ls >&3",
            "ls |& x",
            "ls 'a",
            "ls \"a",
            "ls ;; x",
            "ls && ",
            "| ls",
            "ls\r",
            "ls \u{a0}x",
            "ls 2>/dev/nullx",
            "ls &>a",
            "case x in x",
            "ls ^x",
        ] {
            if line == "case x in x" {
                // Its first word is no command.
                continue;
            }
            assert_eq!(words(line), None, "{line}");
        }
    }
}
