//! Simple regular expressions as glob patterns. The pattern matches at least what the expression matches.

/// The most groups of alternatives in a glob pattern.
const MAX_GROUPS: usize = 8;

/// A glob pattern for texts in which an expression finds something. `None`: the expression is not simple.
pub(super) fn to_glob(expression: &str) -> Option<String> {
    let body = expression.strip_prefix('^').unwrap_or(expression);
    let body = match body.strip_suffix('$') {
        Some(rest) if !rest.ends_with('\\') => rest,
        _ => body,
    };
    let mut reader = Reader { rest: body, groups: 0 };
    let alternatives = reader.alternatives(0)?;
    if !reader.rest.is_empty() {
        return None;
    }
    let inner = match alternatives.as_slice() {
        [one] => one.clone(),
        _ => {
            reader.groups += 1;
            // A group in a group would need a second level of alternatives.
            if alternatives.iter().any(|it| it.contains(['{', '}'])) {
                return None;
            }
            format!("{{{}}}", alternatives.join(","))
        }
    };
    if reader.groups > MAX_GROUPS || inner.trim_matches('*').trim().is_empty() {
        return None;
    }
    let mut glob = format!("*{inner}*");
    while glob.contains("**") {
        glob = glob.replace("**", "*");
    }
    Some(glob)
}

struct Reader<'s> {
    rest: &'s str,
    groups: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn alternatives(&mut self, depth: usize) -> Option<Vec<String>> {
        let mut all = vec![String::new()];
        while let Some(c) = self.rest.chars().next() {
            if c == ')' && depth > 0 {
                break;
            }
            self.next();
            if c == '|' {
                all.push(String::new());
                continue;
            }
            let (item, may_be_empty) = self.item(c, depth)?;
            let item = self.quantified(item, may_be_empty)?;
            all.last_mut()?.push_str(&item);
        }
        Some(all)
    }

    /// One item as a glob pattern, and whether it has no width.
    fn item(&mut self, c: char, depth: usize) -> Option<(String, bool)> {
        let item = match c {
            '(' if depth > 0 => return None,
            '(' => {
                if self.rest.starts_with('?') && !self.eat("?:") {
                    return None;
                }
                let inner = self.alternatives(depth + 1)?;
                if !self.eat(")") {
                    return None;
                }
                match inner.as_slice() {
                    [one] => one.clone(),
                    _ => {
                        self.groups += 1;
                        format!("{{{}}}", inner.join(","))
                    }
                }
            }
            '[' => {
                let end = self.rest.find(']').filter(|end| *end > 0)?;
                let class = self.rest.get(..end)?;
                self.rest = self.rest.get(end + 1..)?;
                if class.contains(['[', '\\', '{', '}', ',']) {
                    "?".to_owned()
                } else {
                    format!("[{}]", class.replacen('^', "!", usize::from(class.starts_with('^'))))
                }
            }
            '.' => "?".to_owned(),
            '\\' => match self.next()? {
                's' | 'd' | 'w' | 'S' | 'D' | 'W' => "?".to_owned(),
                'b' => return Some((String::new(), true)),
                c if c.is_ascii_punctuation() || c == ' ' => literal(c, depth)?,
                _ => return None,
            },
            '^' | '$' | '*' | '+' | '?' | '{' | '}' | ']' | ')' => return None,
            c => literal(c, depth)?,
        };
        Some((item, false))
    }

    /// An item with the quantifier that follows it.
    fn quantified(&mut self, item: String, is_empty: bool) -> Option<String> {
        let repeated = match self.rest.chars().next() {
            Some('*' | '?') => "*".to_owned(),
            Some('+') => format!("{item}*"),
            Some('{') => {
                let end = self.rest.find('}')?;
                self.rest = self.rest.get(end..)?;
                "*".to_owned()
            }
            _ => return Some(item),
        };
        self.next();
        // Lazy quantifiers match the same texts.
        self.eat("?");
        if is_empty { None } else { Some(repeated) }
    }
}

/// A character as a glob pattern.
fn literal(c: char, depth: usize) -> Option<String> {
    match c {
        ',' if depth > 0 => None,
        '*' | '?' | '[' | ']' | '{' | '}' | '\\' => Some(format!("\\{c}")),
        c => Some(c.to_string()),
    }
}
