//! Files that a prompt mentions with `@`. Hosts add them to the prompt without a tool call, so each is decided as a read.

use midrail::Event;
use serde_json::json;

/// More mentions than a person would make. Further ones are ignored.
const MAX_MENTIONS: usize = 64;

/// The reads that a prompt causes.
pub(crate) fn reads(prompt: &str) -> Vec<Event> {
    let mut files: Vec<String> = Vec::new();
    for file in mentioned(prompt) {
        if !files.contains(&file) {
            files.push(file);
        }
        if files.len() > MAX_MENTIONS {
            break;
        }
    }
    files.into_iter().map(|file| Event::before_tool("Read", json!({"file_path": file}))).collect()
}

fn mentioned(prompt: &str) -> impl Iterator<Item = String> + '_ {
    prompt.match_indices('@').filter_map(|(at, _)| {
        // An address such as `ada@host` is not a mention.
        let before = prompt.get(..at)?.chars().next_back();
        if before.is_some_and(|c| !c.is_whitespace() && !matches!(c, '(' | '[' | '"' | '\'' | '`' | ',')) {
            return None;
        }
        let rest = prompt.get(at + 1..)?;
        let named = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next()?,
            None => rest.split(char::is_whitespace).next()?,
        };
        // Line numbers or the end of a sentence may follow.
        let named = named.split_once('#').map_or(named, |(file, _)| file);
        let named = named.trim_end_matches([',', ';', ':', ')', ']', '!', '?', '"', '\'', '`']);
        let named = if named.ends_with("..") { named } else { named.trim_end_matches('.') };
        (!named.is_empty()).then(|| named.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(prompt: &str) -> Vec<String> {
        mentioned(prompt).collect()
    }

    #[test]
    fn files_are_found_but_addresses_are_not() {
        assert_eq!(
            files("see @src/a.rs, (@.env) and @\"my file.txt\"."),
            ["src/a.rs", ".env", "my file.txt"]
        );
        assert_eq!(files("@a.rs#L1-20 then @~/.ssh/id_rsa."), ["a.rs", "~/.ssh/id_rsa"]);
        assert!(files("mail ada@example.org @ home").is_empty());
        assert_eq!(reads("@a @a @b").len(), 2);
    }
}
