//! Text patterns of hosts: `*` and sometimes `?`.

/// Characters that patterns of commands cannot contain, because a shell or a glob pattern reads them.
pub(crate) const MARKS: [char; 18] =
    ['"', '\'', '\\', '$', '`', '[', ']', '{', '}', '?', '>', '<', '(', ')', '#', '|', '&', ';'];

/// The operators of a shell that separate commands or run others.
const OPERATORS: [&str; 5] = ["&&", "||", ";", "|", "\n"];

/// A text pattern of a host (only `*` is special) as a glob pattern.
pub(crate) fn literal(pattern: &str) -> String {
    let mut out = String::new();
    for c in pattern.chars() {
        if matches!(c, '\\' | '[' | ']' | '{' | '}' | '?') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A glob pattern without escapes, if only `*` is special in it.
pub(crate) fn unescaped(glob: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = glob.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.push(chars.next()?),
            '[' | '{' | '?' => return None,
            c => out.push(c),
        }
    }
    Some(out)
}

/// The most patterns that the alternatives of one pattern may stand for.
const MAX_ALTERNATIVES: usize = 64;

/// The patterns without groups that a glob pattern such as `{a,b}/*` stands for. Too many: the pattern itself.
pub(super) fn alternatives(glob: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(pattern) = open.pop() {
        match group(&pattern) {
            Some((before, choices, after)) => {
                let choices = choices.into_iter().rev();
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
            None => done.push(pattern),
        }
        if open.len() + done.len() > MAX_ALTERNATIVES {
            return vec![glob.to_owned()];
        }
    }
    done
}

/// The first group of a glob pattern: what is before it, its choices, and what is after it.
fn group(glob: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (mut depth, mut start, mut choices) = (0_usize, 0, Vec::new());
    let mut before = "";
    let mut is_escaped = false;
    for (at, c) in glob.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match c {
            '\\' => is_escaped = true,
            '{' => {
                depth += 1;
                if depth == 1 {
                    (before, start) = (glob.get(..at)?, at + 1);
                }
            }
            ',' if depth == 1 => {
                choices.push(glob.get(start..at)?);
                start = at + 1;
            }
            '}' if depth == 1 => {
                choices.push(glob.get(start..at)?);
                return Some((before, choices, glob.get(at + 1..)?));
            }
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// A path pattern for a host in which braces are plain characters.
pub(crate) fn plain_braces(path: &str) -> String {
    path.replace("\\{", "{").replace("\\}", "}")
}

/// The patterns of a path that may be a folder, and everything below a folder. Those of a strict rule match at least as much.
pub(super) fn folder_patterns(path: &str, is_strict: bool) -> Vec<String> {
    if let Some(folder) = path.strip_suffix("/*") {
        return vec![if is_strict { format!("{folder}/**") } else { path.to_owned() }];
    }
    match path {
        "*" => vec!["**".to_owned()],
        _ if path.ends_with("**") => vec![path.to_owned()],
        _ => {
            let folder = path.trim_end_matches('/');
            // A pattern without `/` applies in every folder.
            let below = if folder.contains('/') { format!("{folder}/**") } else { format!("**/{folder}/**") };
            if path.ends_with('/') { vec![below] } else { vec![folder.to_owned(), below] }
        }
    }
}

/// The operator of a shell in a pattern, if it has one. Hosts split lines there before they compare.
pub(crate) fn operator(pattern: &str) -> Option<&'static str> {
    OPERATORS.into_iter().find(|operator| pattern.contains(operator))
}

/// Whether a text matches a pattern with `*` and `?`.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || Some(c) == text.get(t) => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, t) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}

/// Whether every text of one pattern is a text of another.
pub(crate) fn pattern_covers(general: &str, specific: &str) -> bool {
    // `?` of the general pattern could match the `*` of the specific one as one character.
    if general.contains('?') && specific.contains('*') {
        return general == specific;
    }
    matches(general, specific)
}
