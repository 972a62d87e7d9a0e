//! The word lists of `data/words`, one module for each file, compiled by the build script.

use std::ops::Deref;
use std::slice::Iter;

use crate::tables::hash::mark;

include!(concat!(env!("OUT_DIR"), "/words.rs"));

/// A list of words. Most words that are looked up are not in it, which their marks show.
#[derive(Debug)]
pub(crate) struct Words {
    words: &'static [&'static str],
    /// The marks of all words.
    marks: u128,
}

impl Words {
    const fn new(words: &'static [&'static str], marks: u128) -> Self {
        Words { words, marks }
    }

    pub(crate) const fn all(&self) -> &'static [&'static str] {
        self.words
    }

    /// Whether a word is in the list.
    pub(crate) fn contains(&self, word: &str) -> bool {
        self.marks & mark(word) != 0 && self.words.contains(&word)
    }
}

impl Deref for Words {
    type Target = [&'static str];

    fn deref(&self) -> &Self::Target {
        self.words
    }
}

impl IntoIterator for &'static Words {
    type Item = &'static &'static str;
    type IntoIter = Iter<'static, &'static str>;

    fn into_iter(self) -> Self::IntoIter {
        self.words.iter()
    }
}
