//! Words, marks and look-alikes of injected instructions, compiled from `data/injection`.

include!(concat!(env!("OUT_DIR"), "/injection_words.rs"));
