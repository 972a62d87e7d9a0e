//! Compiles the files under `data/` into static tables: validates every entry and writes Rust code to `OUT_DIR`.

#![allow(
    clippy::as_conversions,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "a build script may read files and fail, and uses only a part of the modules that it shares"
)]

#[path = "build/injection.rs"]
mod injection;
#[path = "build/injection_gate.rs"]
mod injection_gate;
#[path = "build/keywords.rs"]
mod keywords;
#[path = "build/personal.rs"]
mod personal;
#[path = "build/secrets.rs"]
mod secrets;
#[path = "build/source.rs"]
mod source;
#[path = "build/vocabulary.rs"]
mod vocabulary;
#[path = "build/word_lists.rs"]
mod word_lists;

// The build script and the crate share what both have to compute in the same way.
#[path = "src/choices.rs"]
mod choices;
#[path = "src/injection/gate_words.rs"]
mod gate_words;
#[path = "src/secrets/keyword_hash.rs"]
mod keyword_hash;
#[path = "src/secrets/letter_pairs.rs"]
mod letter_pairs;
#[path = "src/word_sign.rs"]
mod word_sign;

fn main() -> std::io::Result<()> {
    secrets::compile()?;
    personal::compile()?;
    injection::compile()?;
    source::write("words.rs", word_lists::compile(&source::Source::read("data/words.toml")?))?;
    source::fail_on_problems();
    Ok(())
}
