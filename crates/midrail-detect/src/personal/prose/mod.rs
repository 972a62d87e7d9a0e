//! What has no form of its own and is known by the words around it: names, postal addresses, dates of birth.

pub(super) mod addresses;
pub(super) mod births;
mod given_names;
pub(super) mod names;
mod street_words;
mod word_list;
