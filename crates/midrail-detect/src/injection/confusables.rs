//! Folding of characters: letters that look like Latin ones become those, decorations fall away, invisible ones vanish.

use unicode_normalization::char::{canonical_combining_class, decompose_compatible};

/// What a character is for a reader of words.
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

/// Letters that look like the Latin letter in front. All in lower case: folding lowers first.
const LOOK_ALIKES: &[(char, &str)] = &[
    ('a', "аαɑᴀ∂⍺ӑӓ"),
    ('b', "ьƅʙвβ"),
    ('c', "сϲᴄⅽ¢ҫ"),
    ('d', "ԁɗᴅ"),
    ('e', "еєҽᴇ℮εёҿ"),
    ('f', "ƒꜰϝ"),
    ('g', "ɡɢցԍ"),
    ('h', "һհʜн"),
    ('i', "іιıɪӏїɩ"),
    ('j', "јϳᴊ"),
    ('k', "кκᴋк"),
    ('l', "ⅼʟɭ"),
    ('m', "мᴍⅿ"),
    ('n', "ոռɴηп"),
    ('o', "оοօᴏσө"),
    ('p', "рρᴘ"),
    ('q', "ԛզ"),
    ('r', "гʀᴦ"),
    ('s', "ѕꜱʂ"),
    ('t', "тτᴛ"),
    ('u', "υսᴜʋ"),
    ('v', "νѵᴠ"),
    ('w', "ԝωᴡш"),
    ('x', "хχ"),
    ('y', "уүγʏ"),
    ('z', "ᴢʐ"),
];

/// Greek capitals whose small letter looks like another one.
const CAPITALS: &[(char, char)] = &[('Ν', 'n'), ('Η', 'h'), ('Ζ', 'z'), ('Μ', 'm'), ('Υ', 'y'), ('Ω', 'o')];

/// What a character that is no ASCII folds to; the rest of its letters, where it stands for several, goes to `more`.
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
        let capital = CAPITALS.iter().find(|(capital, _)| *capital == part);
        let letter = capital.map_or_else(|| latin(lower(part)), |(_, letter)| *letter);
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

/// Characters that show nothing, and that may stand inside a word.
pub(super) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}')
}

/// Invisible characters that some writers put in the place of a space.
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
    if c.is_ascii() {
        return c;
    }
    // Only these blocks hold look-alikes: most letters of the world skip the search.
    if !matches!(c, '\u{80}'..='\u{58f}' | '\u{1d00}'..='\u{1d7f}' | '\u{2100}'..='\u{23ff}' | '\u{a700}'..='\u{a7ff}')
    {
        return c;
    }
    LOOK_ALIKES.iter().find(|(_, alike)| alike.contains(c)).map_or(c, |(letter, _)| *letter)
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
    fn nothing_is_seen_of_invisible_characters() {
        for c in ['\u{200b}', '\u{ad}', '\u{fe0f}', '\u{e0041}', '\u{202e}', '\u{301}'] {
            assert_eq!(fold(c, &mut Vec::new()), Fold::Invisible, "{c:?}");
        }
        assert_eq!(fold('—', &mut Vec::new()), Fold::Boundary);
    }
}
