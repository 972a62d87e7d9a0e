//! Folds characters: look-alikes become Latin letters, decorations are removed, invisible characters vanish.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

use super::data::{CAPITALS, LOOK_ALIKES};

/// What a character means for reading words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fold {
    /// A letter or digit, in lower case.
    Letter(char),
    /// A character of a script that is written without spaces.
    Ideograph(char),
    /// Nothing that a reader sees.
    Invisible,
    /// Something between words.
    Boundary,
}

/// What a character outside ASCII folds to. If it folds to several letters, the others go to `more`.
pub(super) fn fold(c: char, more: &mut Vec<char>) -> Fold {
    if is_invisible(c) {
        return Fold::Invisible;
    }
    if is_ideograph(c) {
        return Fold::Ideograph(c);
    }
    if let Some(letter) = enclosed_letter(c) {
        return Fold::Letter(letter);
    }
    let mut first = None;
    decompose_compatible(c, |part| {
        if canonical_combining_class(part) != 0 || is_invisible(part) {
            return;
        }
        let letter = CAPITALS.get(&part).copied().unwrap_or_else(|| latin(lower(part)));
        if !letter.is_alphanumeric() {
            return;
        }
        match first {
            None => first = Some(letter),
            Some(_) => more.push(letter),
        }
    });
    match first {
        Some(letter) => Fold::Letter(letter),
        None if canonical_combining_class(c) != 0 => Fold::Invisible,
        None => Fold::Boundary,
    }
}

/// Invisible characters that may be inside a word.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// Invisible characters that may replace a space.
pub(super) fn is_invisible_space(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' | '\u{3164}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{2fa1f}')
}

/// Letters in black circles and squares, and the letters of flags: without a decomposition in Unicode.
fn enclosed_letter(c: char) -> Option<char> {
    let code = u32::from(c);
    let first = match code {
        0x1f150..=0x1f169 => 0x1f150,
        0x1f170..=0x1f189 => 0x1f170,
        0x1f1e6..=0x1f1ff => 0x1f1e6,
        _ => return None,
    };
    char::from_u32(u32::from('a') + code - first)
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

fn latin(c: char) -> char {
    if c.is_ascii() { c } else { LOOK_ALIKES.get(&c).copied().unwrap_or(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> String {
        let mut out = String::new();
        for c in text.chars() {
            let mut more = Vec::new();
            if let Fold::Letter(letter) = fold(c, &mut more) {
                out.push(letter);
            }
            out.extend(more);
        }
        out
    }

    #[test]
    fn look_alikes_become_latin() {
        for text in [
            "іgnоrе",
            "ｉｇｎｏｒｅ",
            "𝐢𝐠𝐧𝐨𝐫𝐞",
            "ɪɢɴᴏʀᴇ",
            "🅘🅖🅝🅞🅡🅔",
            "ⓘⓖⓝⓞⓡⓔ",
            "ígñörê",
            "i\u{301}g\u{200b}nore",
            "ΙGΝΟRΕ",
        ] {
            assert_eq!(folded(text), "ignore", "{text}");
        }
        assert_eq!(folded("ﬁ"), "fi");
    }

    #[test]
    fn invisible_characters_are_dropped() {
        for c in ['\u{200b}', '\u{ad}', '\u{fe0f}', '\u{e0041}', '\u{202e}', '\u{301}'] {
            assert_eq!(fold(c, &mut Vec::new()), Fold::Invisible, "{c:?}");
        }
        assert_eq!(fold('—', &mut Vec::new()), Fold::Boundary);
    }
}
