//! What scripts of Windows shells build before they run it: texts that are put together, aliases, variables of cmd, loops. The
//! text is rewritten, and what it would run is appended as further lines.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::command::decode;
use crate::command::pattern;

/// No more rewritten parts of one script than this.
const MAX_PARTS: usize = 32;

/// Longer scripts are not rewritten, which bounds the work.
const LONGEST: usize = 16 * 1024;

/// A PowerShell script with what it builds.
pub(super) fn powershell(script: &str) -> Cow<'_, str> {
    const SIGNS: &[&str] = &["(", "|", "lias", "LIAS", "sal ", "nal ", "function ", "@{"];
    if script.len() > LONGEST || !SIGNS.iter().any(|sign| script.contains(sign)) {
        return Cow::Borrowed(script);
    }
    let mut text = joined_texts(script);
    let mut more = hidden_code(&text);
    more.extend(methods(&text));
    if let Some(aliased) = with_aliases(&text) {
        text = aliased;
    }
    for line in more.into_iter().take(MAX_PARTS) {
        text.push('\n');
        text.push_str(&line);
    }
    if text == script { Cow::Borrowed(script) } else { Cow::Owned(text) }
}

/// The text in quotes at the beginning of a script, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|letter| matches!(letter, '"' | '\''))?;
    let inner = text.get(1..)?;
    let end = inner.find(quote)?;
    Some((inner.get(..end)?, inner.get(end + 1..)?))
}

/// `('a' + 'b')` and `('{0}{1}' -f 'a', 'b')` become `'ab'`, `(Get-Command name)` becomes `name`.
fn joined_texts(script: &str) -> String {
    let mut out = String::with_capacity(script.len());
    let mut rest = script;
    let mut parts = 0;
    while let Some(open) = rest.find('(').filter(|_| parts < MAX_PARTS) {
        parts += 1;
        let (before, inner) = (rest.get(..open).unwrap_or(""), rest.get(open + 1..).unwrap_or(""));
        out.push_str(before);
        let is_call = out.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let is_command = out.trim_end().ends_with(['&', '.']);
        if let Some((value, count, after)) = constant(inner)
            && (count > 1 || (is_command && !is_call))
        {
            // `[IO.File]::('Del' + 'ete')` is the name of a member.
            let (open, close) = if is_call {
                ("('", "')")
            } else if out.ends_with("::") {
                ("", "")
            } else {
                ("'", "'")
            };
            out.push_str(&format!("{open}{value}{close}"));
            rest = after;
        } else if let Some((name, after)) = named_command(inner).filter(|_| is_command) {
            out.push_str(&format!(" {name}"));
            rest = after;
        } else {
            out.push('(');
            rest = inner;
        }
    }
    out.push_str(rest);
    out
}

/// The value of texts between brackets that are put together, of how many texts, and what follows the bracket.
fn constant(inner: &str) -> Option<(String, usize, &str)> {
    let (first, mut rest) = quoted(inner.trim_start())?;
    let mut value = first.to_owned();
    let mut count = 1;
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix(')') {
            return (!value.contains('\'')).then_some((value, count, after));
        }
        if let Some(next) = rest.strip_prefix('+') {
            let (more, after) = quoted(next.trim_start())?;
            value.push_str(more);
            rest = after;
        } else {
            let mut values = rest.strip_prefix("-f")?.trim_start();
            for place in 0.. {
                let (part, after) = quoted(values)?;
                value = value.replace(&format!("{{{place}}}"), part);
                rest = after.trim_start();
                match rest.strip_prefix(',') {
                    Some(next) if place < MAX_PARTS => values = next.trim_start(),
                    _ => break,
                }
            }
        }
        count += 1;
    }
}

/// `Get-Command name)`, `gal name)`
fn named_command(inner: &str) -> Option<(String, &str)> {
    let (body, after) = inner.split_once(')')?;
    let mut words = body.split_whitespace();
    let is_getter =
        |word: &str| ["get-command", "gcm", "get-alias", "gal"].contains(&word.to_ascii_lowercase().as_str());
    let name =
        words.next().filter(|word| is_getter(word)).and_then(|_| words.next())?.trim_matches(['"', '\'']);
    let is_removal = name.contains('*') && pattern::matches(&name.to_ascii_lowercase(), "remove-item");
    Some((if is_removal { "Remove-Item".to_owned() } else { name.to_owned() }, after))
}

/// Code in texts that something else runs: `"…" | iex`, `[scriptblock]::Create("…")`, what base 64 hides.
fn hidden_code(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lower = text.to_ascii_lowercase();
    for mark in ["]::create(", ".invokescript(", ".newscriptblock(", "frombase64string("] {
        for (at, _) in lower.match_indices(mark).take(MAX_PARTS) {
            let inner = text.get(at + mark.len()..).unwrap_or("");
            let Some((code, _)) = quoted(inner.trim_start()) else { continue };
            if mark == "frombase64string(" {
                found.extend(decode::base64(code).map(|code| code.replace('\0', "")));
            } else {
                found.push(code.to_owned());
            }
        }
    }
    for word in ["iex", "invoke-expression"] {
        for (at, _) in lower.match_indices(word).take(MAX_PARTS) {
            let before = text.get(..at).unwrap_or("").trim_end();
            let Some(piped) = before.strip_suffix('|').map(str::trim_end) else { continue };
            let quote = piped.chars().next_back().filter(|letter| matches!(letter, '"' | '\''));
            let body = quote.and_then(|quote| piped.strip_suffix(quote)?.rsplit_once(quote));
            found.extend(body.map(|(_, code)| code.to_owned()));
        }
    }
    found
}

/// Files whose own method deletes them: `(gi x).Delete()`, `gci x | % { $_.Delete() }`, and settings in a table: `ri @p`.
fn methods(text: &str) -> Vec<String> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    let deletes = [".delete(", "foreach-object delete", "% delete"].iter().any(|mark| lower.contains(mark));
    if deletes {
        for getter in ["get-item ", "gi ", "get-childitem ", "gci ", "ls ", "dir "] {
            for (at, _) in lower.match_indices(getter).take(MAX_PARTS) {
                let is_word = !lower.get(..at).is_some_and(|before| {
                    before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '-')
                });
                let path = text
                    .get(at + getter.len()..)
                    .unwrap_or("")
                    .split([' ', ')', '|', ';'])
                    .next()
                    .unwrap_or("");
                if is_word && !path.is_empty() {
                    found.push(format!("Remove-Item -Recurse {path}"));
                }
            }
        }
    }
    // Objects that a query of the system selects.
    for query in ["get-wmiobject ", "gwmi ", "get-ciminstance ", "gcim "] {
        if deletes && lower.contains(query) {
            found.push("Remove-CimInstance".to_owned());
        }
    }
    for mark in [".deletefolder(", ".deletefile(", "]::deletedirectory(", "]::deletefile("] {
        for path in text_arguments(text, &lower, mark) {
            found.push(format!("Remove-Item -Recurse '{}'", path.split(',').next().unwrap_or("")));
        }
    }
    found.extend(text_arguments(text, &lower, "process]::start(").map(|words| words.replace(',', " ")));
    let splats = ["ri @", "remove-item @", "rm @", "del @"].iter().any(|mark| lower.contains(mark));
    if splats && let Some((_, value)) = lower.split_once("path=") {
        let path = value.split([';', '}']).next().unwrap_or("").trim();
        found.push(format!("Remove-Item -Recurse {path}"));
    }
    found
}

/// The texts that a function is called with, joined by commas.
fn text_arguments<'t>(
    text: &'t str,
    lower: &'t str,
    mark: &'static str,
) -> impl Iterator<Item = String> + 't {
    lower.match_indices(mark).take(MAX_PARTS).map(move |(at, _)| {
        let mut rest = text.get(at + mark.len()..).unwrap_or("");
        let mut words = Vec::new();
        while let Some((word, after)) = quoted(rest.trim_start()) {
            words.push(word);
            let Some(next) = after.trim_start().strip_prefix(',') else { break };
            rest = next;
        }
        words.join(",")
    })
}

/// The same script with the names of its own aliases replaced: `sal x ri; x -r y`.
fn with_aliases(text: &str) -> Option<String> {
    let mut aliases: BTreeMap<String, String> = BTreeMap::new();
    let clean = |word: &str| word.trim_matches(['"', '\'', '{', '}', ' ']).to_owned();
    for command in text.split([';', '\n']).take(MAX_PARTS) {
        let mut words = command.split_whitespace();
        let first = words.next().unwrap_or("").to_ascii_lowercase();
        // `${alias:x} = 'Remove-Item'`
        if let Some((name, target)) = first.strip_prefix("${alias:").and_then(|_| command.split_once('=')) {
            let name = name.trim().trim_start_matches('$').trim_matches(['{', '}']).to_ascii_lowercase();
            aliases.insert(name.trim_start_matches("alias:").to_owned(), clean(target.trim()));
            continue;
        }
        let rest: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
        match (first.as_str(), rest.as_slice()) {
            ("set-alias" | "sal" | "new-alias" | "nal", [name, target, ..]) => {
                aliases.insert(clean(name).to_ascii_lowercase(), clean(target));
            }
            // `Set-Item alias:x Remove-Item`
            ("set-item" | "si" | "new-item" | "ni", [name, target, ..]) => {
                let drive = name.get(..6).filter(|drive| drive.eq_ignore_ascii_case("alias:"));
                let name = drive.and(name.get(6..)).map(|name| clean(name).to_ascii_lowercase());
                name.into_iter().for_each(|name| drop(aliases.insert(name, clean(target))));
            }
            // `function x { Remove-Item @args }`
            ("function", [name, target @ ..]) if command.contains("args") => {
                let target = target
                    .iter()
                    .map(|word| clean(word))
                    .find(|word| !word.is_empty() && !word.starts_with(['@', '$']));
                target
                    .into_iter()
                    .for_each(|target| drop(aliases.insert(clean(name).to_ascii_lowercase(), target)));
            }
            _ => {}
        }
    }
    if aliases.is_empty() {
        return None;
    }
    let replaced = text.split_inclusive([';', '\n', '|', '{']).map(|part| {
        let word = part.trim_start();
        let blanks = part.get(..part.len() - word.len()).unwrap_or("");
        let name = word.split([' ', ';', '|', '\n']).next().unwrap_or("");
        match aliases.get(&name.to_ascii_lowercase()) {
            Some(target) => format!("{blanks}{target}{}", word.get(name.len()..).unwrap_or("")),
            None => part.to_owned(),
        }
    });
    Some(replaced.collect())
}

/// A line of cmd with the values of its variables, and with what its loops run.
pub(super) fn cmd(line: &str) -> Cow<'_, str> {
    let has_sign = ['%', '!', ';', '/'].iter().any(|sign| line.contains(*sign));
    if line.len() > LONGEST || !has_sign {
        return Cow::Borrowed(line);
    }
    let mut text = with_values(line);
    for body in loops(&text) {
        text.push('\n');
        text.push_str(&body);
    }
    let text = with_blanks(&text);
    if text == line { Cow::Borrowed(line) } else { Cow::Owned(text) }
}

/// `set x=rd& %x% /s` with the values in place of the variables.
fn with_values(line: &str) -> String {
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    values.insert("comspec".to_owned(), "C:\\Windows\\System32\\cmd.exe".to_owned());
    let lower = line.to_ascii_lowercase();
    for (at, mark) in lower.match_indices("set ").take(MAX_PARTS) {
        let rest = line.get(at + mark.len()..).unwrap_or("").trim_start_matches(['"', ' ']);
        let body = rest.split(['&', '\n', '"']).next().unwrap_or("");
        if let Some((name, value)) = body.split_once('=') {
            values.insert(name.trim().to_ascii_lowercase(), value.trim_end().to_owned());
        }
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    let mut parts = 0;
    while let Some(open) = rest.find(['%', '!']).filter(|_| parts < MAX_PARTS) {
        parts += 1;
        let sign = if rest.get(open..=open) == Some("!") { '!' } else { '%' };
        let inner = rest.get(open + 1..).unwrap_or("");
        out.push_str(rest.get(..open).unwrap_or(""));
        let value = inner.split_once(sign).and_then(|(name, after)| Some((value_of(&values, name)?, after)));
        match value {
            Some((value, after)) => {
                out.push_str(&value);
                rest = after;
            }
            None => {
                out.push(sign);
                rest = inner;
            }
        }
    }
    out.push_str(rest);
    out.replace("call ", "")
}

/// `NAME`, `NAME:~1,2`, `NAME:from=to`
fn value_of(values: &BTreeMap<String, String>, expression: &str) -> Option<String> {
    let (name, change) = expression.split_once(':').unwrap_or((expression, ""));
    let value = values.get(&name.to_ascii_lowercase())?;
    let Some(range) = change.strip_prefix('~') else {
        return Some(match change.split_once('=') {
            Some((from, to)) if !from.is_empty() => value.replace(from, to),
            _ => value.clone(),
        });
    };
    let (start, length) = range.split_once(',').unwrap_or((range, ""));
    let letters: Vec<char> = value.chars().collect();
    let place = |text: &str, all: usize| -> Option<usize> {
        let number: i64 = text.trim().parse().ok()?;
        match usize::try_from(number) {
            Ok(number) => Some(number.min(all)),
            Err(_) => Some(all.saturating_sub(usize::try_from(number.unsigned_abs()).ok()?)),
        }
    };
    let start = place(start, letters.len())?;
    let rest = letters.get(start..)?;
    let length = if length.is_empty() { rest.len() } else { place(length, rest.len())? };
    Some(rest.iter().take(length).collect())
}

/// What `for %i in (a b) do command` runs, for each word.
fn loops(line: &str) -> Vec<String> {
    let lower = line.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, _) in lower.match_indices("for ").take(MAX_PARTS) {
        let Some(head) = lower.get(at..) else { continue };
        let Some((before, _)) = head.split_once(" in (") else { continue };
        let name = before.split_whitespace().next_back().unwrap_or("");
        let from = at + before.len() + " in (".len();
        let Some((list, body)) = line.get(from..).and_then(|rest| rest.split_once(')')) else { continue };
        let Some(body) =
            body.trim_start().get(2..).filter(|_| body.trim_start().to_ascii_lowercase().starts_with("do"))
        else {
            continue;
        };
        let words = list.trim_matches(['\'', '"', ' ']).trim_start_matches("echo ");
        let letter = name.trim_start_matches('%');
        for word in words.split_whitespace().take(MAX_PARTS) {
            let marks = [format!("%%{letter}"), format!("%{letter}")];
            let body = marks.iter().fold(body.to_owned(), |body, mark| body.replace(mark, word));
            found.push(body.trim().to_owned());
        }
    }
    found
}

/// `rd/s/q x` and `rd;/s x` with blanks.
fn with_blanks(text: &str) -> String {
    const NAMES: &[&str] =
        &["rd", "rmdir", "del", "erase", "format", "move", "copy", "xcopy", "robocopy", "attrib", "cmd"];
    let mut out = String::with_capacity(text.len());
    let mut is_quoted = false;
    for letter in text.chars() {
        is_quoted ^= letter == '"';
        if is_quoted {
            out.push(letter);
        } else if letter == ';' {
            out.push(' ');
        } else {
            if letter == '/' {
                let word = out.rsplit([' ', '&', '|', '(', '\n', '@', '"']).next().unwrap_or("");
                let is_switch = word.len() == 2 && word.starts_with('/');
                if is_switch || NAMES.contains(&word.to_ascii_lowercase().as_str()) {
                    out.push(' ');
                }
            }
            out.push(letter);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_put_together() {
        for (script, expected) in [
            ("& ('Rem'+'ove-Item') -r x", "& 'Remove-Item' -r x"),
            ("& ('{0}{1}' -f 'Remove','-Item') x", "& 'Remove-Item' x"),
            ("f('a'+'b')", "f('ab')"),
            ("f('a')", "f('a')"),
            ("& (gcm ri) x", "&  ri x"),
            ("sal zz ri; zz -r x", "sal zz ri; ri -r x"),
            ("'ri x' | iex", "'ri x' | iex\nri x"),
            ("ls | % { $_.Name }", "ls | % { $_.Name }"),
        ] {
            assert_eq!(powershell(script), expected);
        }
    }

    #[test]
    fn variables_and_loops_of_cmd_are_followed() {
        for (line, expected) in [
            ("set x=rd& %x% /s y", "set x=rd& rd /s y"),
            ("set a=xrdx&& call %a:~1,2% /s", "set a=xrdx&& rd /s"),
            ("set a=rZd& %a:Z=% x", "set a=rZd& rd x"),
            ("%COMSPEC:~-7,1%md", "cmd"),
            ("for %i in (rd) do %i /s y", "for %i in (rd) do %i /s y\nrd /s y"),
            ("rd/s/q x", "rd /s /q x"),
            ("echo %PATH%", "echo %PATH%"),
        ] {
            assert_eq!(cmd(line), expected);
        }
    }
}
