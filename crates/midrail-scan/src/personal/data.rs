//! Words and numbers that distinguish personal data from other texts, compiled from `data/personal`.

include!(concat!(env!("OUT_DIR"), "/personal_words.rs"));
