//! Checks that the justification of a request states why its action is needed.

use crate::error::{EngineError, EngineResult};

/// Words that fit every request. Words of up to two letters are ignored as well.
const GENERIC_WORDS: &str = include_str!("generic_words.txt");

/// The rows of keyboards.
const ROWS: &[&str] = &["qwertyuiop", "asdfghjkl", "zxcvbnm", "qwertzuiop", "yxcvbnm", "1234567890"];

/// Checks that a reason has words of its own, and not only those that fit every request.
pub(crate) fn check_justification(reason: &str) -> EngineResult {
    let lower = reason.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() > 2);
    let mut distinct: Vec<&str> = words.collect();
    distinct.sort_unstable();
    distinct.dedup();
    let letters: usize = distinct.iter().map(|word| word.chars().count()).sum();
    let is_generic = |word: &str| GENERIC_WORDS.lines().any(|generic| generic == word);
    let specific = distinct.iter().filter(|word| !is_generic(word) && !is_mashed(word)).count();
    if distinct.len() < 3 || letters < 12 || specific < 2 {
        return Err(EngineError::invalid(
            "the reason does not explain what the action is needed for; say what is to be done, and why it \
             cannot be done otherwise",
        ));
    }
    Ok(())
}

/// Whether a word repeats a few letters, or is a run along the keyboard: `aaaa`, `asdfasdf`, `qwertz`.
fn is_mashed(word: &str) -> bool {
    let letters: Vec<char> = word.chars().collect();
    let repeats = |length: usize| {
        let mut pairs = letters.iter().zip(letters.iter().skip(length));
        letters.len() >= 2 * length && pairs.all(|(one, other)| one == other)
    };
    let unit = (1..=letters.len() / 2).find(|length| repeats(*length)).unwrap_or(letters.len());
    let unit: String = letters.iter().take(unit).collect();
    let is_run = unit.len() > 3 && ROWS.iter().any(|row| row.contains(&unit));
    is_run || unit.chars().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_reasons_are_rejected() {
        for reason in [
            "",
            "   ",
            "x",
            "hotfix",
            "please approve",
            "Please, approve this!",
            "please approve this request now",
            "needed",
            "It is needed, please approve",
            "This is required in order to continue with the task.",
            "just do it",
            "Just do it now, trust me!",
            "to complete the task.",
            "I need this action for the task that the user asked for",
            "asdf",
            "asdf qwer zxcv hjkl",
            "asdfasdf qwertz xxxx aaaa",
            "lorem ipsum foo bar baz",
            "deploy deploy deploy deploy please",
            "aaa aaa aaa aaa aaa",
            "because",
            "...........................",
        ] {
            assert!(check_justification(reason).is_err(), "{reason:?}");
        }
        for reason in [
            "The release 2.4 is stuck until the old migration is dropped",
            "Hotfix for the login outage",
            "Kill the runaway importer",
            "The outage needs this release",
            "Please approve: the checkout is down since nine",
            "Der Speicher läuft voll, der Importdienst muss weg",
        ] {
            assert!(check_justification(reason).is_ok(), "{reason:?}");
        }
    }
}
