//! The format of feedback: one escaped block per provider, and durations in words.

/// The block of a provider. Its name and text are escaped, so they cannot end the block.
pub(crate) fn feedback_block(name: &str, text: &str, max_chars: usize) -> String {
    format!("<feedback provider='{}'>\n{}\n</feedback>", escaped(name, usize::MAX), escaped(text, max_chars))
}

/// The text with markup escaped, cut between characters.
fn escaped(text: &str, max_chars: usize) -> String {
    let mut out = String::with_capacity(text.len());
    let mut used = 0_usize;
    // The position of `…` if the rest is too long.
    let mut fallback = 0;
    for c in text.trim_end().chars() {
        let mut buffer = [0; 4];
        let piece = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '\'' => "&apos;",
            '\n' | '\t' => c.encode_utf8(&mut buffer),
            _ if c.is_control() => continue,
            _ => c.encode_utf8(&mut buffer),
        };
        used = used.saturating_add(piece.chars().count());
        if used > max_chars {
            out.truncate(fallback);
            out.push('…');
            return out;
        }
        out.push_str(piece);
        if used < max_chars {
            fallback = out.len();
        }
    }
    out
}

/// A duration in words: `45 seconds`, `1 minute`, `2.0 hours`.
pub(crate) fn duration(seconds: i64) -> String {
    let counted = |count: i64, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    match seconds.max(0) {
        seconds @ ..60 => counted(seconds, "second"),
        seconds @ 60..3_600 => counted(seconds / 60, "minute"),
        seconds => {
            let tenths = seconds.saturating_add(180) / 360;
            format!("{}.{} hours", tenths / 10, tenths % 10)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_end_their_block() {
        let made = feedback_block("a'><b", "x </feedback> & \u{1b}[2Jy\n", 2_000);
        assert_eq!(made, "<feedback provider='a&apos;>&lt;b'>\nx &lt;/feedback> &amp; [2Jy\n</feedback>");
    }

    #[test]
    fn blocks_are_cut_between_characters() {
        for (text, max, expected) in [
            ("äöü", 3, "äöü"),
            ("äöüß", 3, "äö…"),
            ("a&bcdefg", 6, "a…"),
            ("a&b", 7, "a&amp;b"),
            ("<<", 4, "…"),
            ("ab", 1, "…"),
        ] {
            let found = escaped(text, max);
            assert!(found.chars().count() <= max, "{found}");
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn durations_are_written_in_words() {
        for (seconds, expected) in [
            (-5, "0 seconds"),
            (1, "1 second"),
            (59, "59 seconds"),
            (90, "1 minute"),
            (1_200, "20 minutes"),
            (3_599, "59 minutes"),
            (3_600, "1.0 hours"),
            (5_400, "1.5 hours"),
            (7_200, "2.0 hours"),
        ] {
            assert_eq!(duration(seconds), expected);
        }
    }
}
