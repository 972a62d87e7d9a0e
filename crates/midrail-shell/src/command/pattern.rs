//! Changes of a known value inside of `${…}`: prefixes and suffixes cut, text replaced, case changed, slices.

use super::invocation::Arg;

/// The longest value that patterns are tried on: trying is quadratic.
const MAX_VALUE: usize = 512;

/// What `${x<operator><operand>}` gives for a known value. `None` where that is not known.
pub(super) fn apply(operator: &str, value: &Arg, operand: &Arg, second: Option<&Arg>) -> Option<Arg> {
    if !value.is_known() || !operand.is_known() || second.is_some_and(|arg| !arg.is_known()) {
        return None;
    }
    let text = value.text.as_str();
    let pattern = operand.text.as_str();
    let result = match operator {
        "^^" => text.to_uppercase(),
        ",," => text.to_lowercase(),
        "^" => change_first(text, |c| c.to_uppercase().collect()),
        "," => change_first(text, |c| c.to_lowercase().collect()),
        "#" | "##" | "%" | "%%" => cut(operator, text, pattern)?,
        "/" | "//" | "/#" | "/%" => {
            replace(operator, text, pattern, second.map_or("", |arg| arg.text.as_str()))?
        }
        ":" => slice(text, pattern, second.map(|arg| arg.text.as_str()))?,
        _ => return None,
    };
    Some(Arg { text: result, is_glob: value.is_glob, ..Arg::default() })
}

fn change_first(text: &str, change: impl Fn(char) -> String) -> String {
    let mut chars = text.chars();
    match chars.next() {
        Some(first) => change(first) + chars.as_str(),
        None => String::new(),
    }
}

fn slice(text: &str, offset: &str, length: Option<&str>) -> Option<String> {
    let offset: isize = offset.trim().parse().ok()?;
    let count = text.chars().count();
    let from = match usize::try_from(offset) {
        Ok(offset) => offset,
        Err(_) => count.checked_sub(offset.unsigned_abs())?,
    };
    let kept = text.chars().skip(from);
    let Some(length) = length else { return Some(kept.collect()) };
    let length: isize = length.trim().parse().ok()?;
    let take = match usize::try_from(length) {
        Ok(length) => length,
        Err(_) => count.saturating_sub(from).checked_sub(length.unsigned_abs())?,
    };
    Some(kept.take(take).collect())
}

fn cut(operator: &str, text: &str, pattern: &str) -> Option<String> {
    let is_plain = !pattern.contains(['*', '?', '[', '\\']);
    if is_plain {
        let rest =
            if operator.starts_with('#') { text.strip_prefix(pattern) } else { text.strip_suffix(pattern) };
        return Some(rest.unwrap_or(text).to_owned());
    }
    if text.len() > MAX_VALUE || pattern.len() > MAX_VALUE {
        return None;
    }
    let mut cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    // The shortest cut first: of a prefix the smallest place, of a suffix the greatest.
    let is_prefix = operator.starts_with('#');
    if is_prefix == (operator.len() > 1) {
        cuts.reverse();
    }
    for at in cuts {
        let (head, tail) = text.split_at_checked(at)?;
        if matches(pattern, if is_prefix { head } else { tail }) {
            return Some(if is_prefix { tail } else { head }.to_owned());
        }
    }
    Some(text.to_owned())
}

fn replace(operator: &str, text: &str, pattern: &str, by: &str) -> Option<String> {
    if pattern.is_empty() {
        return Some(text.to_owned());
    }
    if pattern.contains(['*', '?', '[', '\\']) {
        return replace_pattern(operator, text, pattern, by);
    }
    if text.len() > 64 * MAX_VALUE || by.len() > MAX_VALUE {
        return None;
    }
    Some(match operator {
        "//" => text.replace(pattern, by),
        "/#" => text.strip_prefix(pattern).map_or_else(|| text.to_owned(), |rest| format!("{by}{rest}")),
        "/%" => text.strip_suffix(pattern).map_or_else(|| text.to_owned(), |rest| format!("{rest}{by}")),
        _ => text.replacen(pattern, by, 1),
    })
}

/// Patterns of one character (`[0-9]`, `?`) are replaced; longer ones are not known.
fn replace_pattern(operator: &str, text: &str, pattern: &str, by: &str) -> Option<String> {
    let is_one = pattern == "?" || (pattern.starts_with('[') && pattern.find(']') == Some(pattern.len() - 1));
    if !is_one || text.len() > MAX_VALUE || !matches!(operator, "/" | "//") {
        return None;
    }
    let mut result = String::new();
    let mut is_done = false;
    for c in text.chars() {
        if !is_done && matches(pattern, c.encode_utf8(&mut [0; 4])) {
            result.push_str(by);
            is_done = operator == "/";
        } else {
            result.push(c);
        }
    }
    Some(result)
}

/// Whether a wildcard pattern of the shell matches a whole text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    // Where to continue after the last `*` if this match fails.
    let mut retry: Option<(usize, usize)> = None;
    loop {
        match pattern.get(p) {
            Some('*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(_) if t < text.len() => {
                if let Some(length) = one(pattern.get(p..).unwrap_or(&[]), text.get(t).copied()) {
                    p += length;
                    t += 1;
                    continue;
                }
            }
            None if t == text.len() => return true,
            _ => {}
        }
        match retry {
            Some((after, from)) if from < text.len() => {
                retry = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
            _ => return false,
        }
    }
}

/// How many characters of a pattern match one character.
fn one(pattern: &[char], c: Option<char>) -> Option<usize> {
    let c = c?;
    match pattern {
        ['?', ..] => Some(1),
        ['\\', next, ..] => (*next == c).then_some(2),
        ['[', rest @ ..] => {
            let close = rest.iter().skip(1).position(|x| *x == ']')? + 1;
            let inside = rest.get(..close)?;
            let (is_not, inside) = match inside {
                ['!' | '^', inside @ ..] => (true, inside),
                _ => (false, inside),
            };
            let has = inside.contains(&c)
                || inside
                    .windows(3)
                    .any(|range| matches!(range, [low, '-', high] if *low <= c && c <= *high));
            (has != is_not).then_some(close + 2)
        }
        [first, ..] => (*first == c).then_some(1),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_change_as_in_bash() {
        for (operator, value, operand, second, result) in [
            ("%", "a.tar.gz", ".*", None, "a.tar"),
            ("%%", "a.tar.gz", ".*", None, "a"),
            ("#", "/usr/bin/rm", "*/", None, "usr/bin/rm"),
            ("##", "/usr/bin/rm", "*/", None, "rm"),
            ("/", "xm xm", "x", Some("r"), "rm xm"),
            ("//", "xm xm", "x", Some("r"), "rm rm"),
            ("/#", "xm", "x", Some("r"), "rm"),
            ("//", "r1m2", "[0-9]", Some(""), "rm"),
            ("^^", "rm", "", None, "RM"),
            (",,", "RM", "", None, "rm"),
            (":", "xrmx", "1", Some("2"), "rm"),
            (":", "xrm", " -2", None, "rm"),
            (":", "rmxx", "0", Some("-2"), "rm"),
        ] {
            let second = second.map(Arg::known);
            let got = apply(operator, &Arg::known(value), &Arg::known(operand), second.as_ref());
            assert_eq!(got.map(|arg| arg.text).as_deref(), Some(result), "{value}{operator}{operand}");
        }
    }

    #[test]
    fn wildcards_match() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abb", false),
            ("[!a]?", "bc", true),
            ("*/", "a/b", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
