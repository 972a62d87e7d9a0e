//! Words of command output and of JSON, compiled from `data/words.toml`.

include!(concat!(env!("OUT_DIR"), "/words.rs"));
