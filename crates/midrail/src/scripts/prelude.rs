//! The JavaScript that runs before every script: its core, and parts that are loaded on first use. All of it is compiled
//! when the program is built (`build.rs`).

use rquickjs::loader::Loader;
use rquickjs::loader::bundle::Bundle;
use rquickjs::{Ctx, Function, Result};

/// Memory that is enough to load any of them.
pub(super) const ROOM: u32 = 256 << 10;

/// A file of the prelude, compiled.
macro_rules! compiled {
    ($name:literal) => {
        ($name, include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".bytes")).as_slice())
    };
}

/// The files, by the names that the core knows them by.
const PARTS: &[(&str, &[u8])] = &[
    compiled!("core"),
    compiled!("words"),
    compiled!("state"),
    compiled!("restore"),
    compiled!("timers"),
    compiled!("world"),
    compiled!("std"),
];

/// The function of the core.
pub(super) fn core<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>> {
    part(ctx, "core")
}

/// The function of one of the files.
pub(super) fn part<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    let (module, _) = Bundle(PARTS).load(ctx, name, None)?.eval()?;
    module.namespace()?.get("default")
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Runtime};

    use super::*;

    const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scripts/prelude");

    fn source(name: &str) -> String {
        std::fs::read_to_string(format!("{SOURCES}/{name}.js")).unwrap()
    }

    /// The names of all parts but the core.
    fn others() -> impl Iterator<Item = &'static str> {
        PARTS.iter().map(|(name, _)| *name).filter(|name| *name != "core")
    }

    #[test]
    fn every_part_is_asked_for_and_loads() {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|ctx| {
            let core = source("core");
            for name in others() {
                assert!(core.contains(&format!("part(\"{name}\")")), "{name}");
                part(&ctx, name).unwrap();
            }
            assert_eq!(core.matches("part(\"").count(), others().count());
            assert_eq!(std::fs::read_dir(SOURCES).unwrap().count(), PARTS.len());
        });
    }

    /// Parts are loaded when the script has run, and may have replaced what is global.
    #[test]
    fn parts_use_nothing_global() {
        const GLOBALS: &[&str] = &[
            "Object",
            "Array",
            "Map",
            "Set",
            "JSON",
            "Reflect",
            "Promise",
            "String",
            "Number",
            "Error",
            "TypeError",
            "RegExp",
            "Symbol",
            "Date",
            "BigInt",
            "globalThis",
            "Function",
        ];
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
        for name in others() {
            let text = source(name);
            // Comments and messages may speak of them.
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                let bare: String = line.split('"').step_by(2).collect::<Vec<_>>().join("\"");
                for global in GLOBALS {
                    let used = bare.match_indices(global).any(|(at, _)| {
                        let (before, after) =
                            (bare[..at].bytes().next_back(), bare[at + global.len()..].bytes().next());
                        !before.is_some_and(|byte| is_word(byte) || byte == b'`')
                            && !after.is_some_and(is_word)
                    });
                    assert!(!used, "{name}: `{global}` in {line}");
                }
            }
        }
    }
}
