//! Characters of a definition that a reader does not see, and the letters of a name whatever its spelling.

use super::confusables::{Fold, fold, is_invisible};

/// The first character of a text that a person does not see but a model reads. Parts of emoji are no such characters, nor are
/// line ends and tabs.
pub fn invisible_character(text: &str) -> Option<char> {
    let mut before = ' ';
    text.chars().find(|c| {
        let is_symbol = !before.is_ascii() && !before.is_alphanumeric() && !is_invisible(before);
        let is_of_emoji = match *c {
            '\u{fe0e}' | '\u{fe0f}' => {
                is_symbol || before.is_ascii_digit() || matches!(before, '#' | '*' | '©' | '®')
            }
            '\u{200d}' => is_symbol || before == '\u{fe0f}',
            _ => false,
        };
        before = *c;
        let is_layout = matches!(*c, '\n' | '\r' | '\t');
        !is_of_emoji && ((c.is_control() && !is_layout) || is_invisible(*c) || is_private(*c))
    })
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// The letters and digits of a name as a reader sees them: look-alikes become Latin letters in lower case, and separators vanish.
pub fn name_letters(name: &str) -> String {
    let mut letters = String::with_capacity(name.len());
    for c in name.chars() {
        if c.is_ascii() {
            letters.extend(c.is_ascii_alphanumeric().then(|| c.to_ascii_lowercase()));
            continue;
        }
        let mut more = Vec::new();
        if let Fold::Letter(letter) | Fold::Ideograph(letter) = fold(c, &mut more) {
            letters.push(letter);
        }
        letters.extend(more);
    }
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_found_and_emoji_are_not() {
        for text in
            ["a\u{200b}b", "\u{e0041}", "a\u{202e}b", "\u{1b}[31m", "a\u{fe0f}", "\u{e123}", "x\u{ad}y"]
        {
            assert!(invisible_character(text).is_some(), "{text:?}");
        }
        for text in ["plain\n\ttext", "⚠️ careful", "👩‍💻", "1️⃣", "naïve 日本語 ©️"] {
            assert_eq!(invisible_character(text), None, "{text:?}");
        }
    }

    #[test]
    fn names_that_look_alike_have_the_same_letters() {
        assert_eq!(name_letters("rеаd_file"), name_letters("read-File"));
        assert_ne!(name_letters("read_file"), name_letters("read_files"));
    }
}
