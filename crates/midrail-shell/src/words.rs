//! The word lists of `data/words`, one module for each file, compiled by the build script.

include!(concat!(env!("OUT_DIR"), "/words.rs"));
