//! The words in the names of tools: `mcp__mail__sendDraft` has `mail`, `send` and `draft`.

use crate::shared::data::FLOW;

/// Whether a name has a word of a list of `data/flow.txt`.
pub(super) fn has_word(name: &str, list: &str) -> bool {
    let words = FLOW.list(list);
    split(name).iter().any(|word| words.contains(&word.as_str()))
}

/// Whether a tool only reads, by its name.
pub(super) fn only_reads(name: &str) -> bool {
    has_word(name, "reading words") && !has_word(name, "sending words") && !has_word(name, "changing words")
}

fn split(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let starts = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        if starts {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(split("mcp__mail__sendDraft-now"), ["mcp", "mail", "send", "draft", "now"]);
        assert!(has_word("sendMail", "sending words") && !has_word("sender_list", "sending words"));
        assert!(only_reads("mcp__github__get_issue") && !only_reads("get_and_send") && !only_reads("poke"));
    }
}
