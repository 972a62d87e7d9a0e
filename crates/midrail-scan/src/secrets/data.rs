//! Word lists that distinguish a secret from other values, compiled from `data/secrets/words.toml`.

include!(concat!(env!("OUT_DIR"), "/secret_words.rs"));
