//! The JavaScript that stands before every script: its core, and the files of it that are compiled when they are first
//! asked for. To compile all of it would take longer than all else that a process does for one event.

use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Exception, Function, Result};

const CORE: &str = include_str!("prelude.js");

/// Memory that is enough to compile any of the files.
pub(super) const ROOM: u32 = 256 << 10;

/// The files, by the names that the core knows them by.
const PARTS: &[(&str, &str)] = &[
    ("words", include_str!("prelude/words.js")),
    ("state", include_str!("prelude/state.js")),
    ("restore", include_str!("prelude/restore.js")),
    ("timers", include_str!("prelude/timers.js")),
    ("world", include_str!("prelude/world.js")),
    ("std", include_str!("prelude/std.js")),
];

/// The function of the core.
pub(super) fn core<'js>(ctx: &Ctx<'js>) -> Result<Function<'js>> {
    compiled(ctx, CORE)
}

/// The function of one of the files.
pub(super) fn part<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Function<'js>> {
    match PARTS.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => compiled(ctx, text),
        None => Err(Exception::throw_message(ctx, &format!("there is no part `{name}`"))),
    }
}

fn compiled<'js>(ctx: &Ctx<'js>, text: &str) -> Result<Function<'js>> {
    let mut options = EvalOptions::default();
    options.filename = Some("midrail:prelude".to_owned());
    ctx.eval_with_options(text, options)
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Runtime};

    use super::*;

    #[test]
    fn every_part_is_asked_for_and_compiles() {
        let runtime = Runtime::new().unwrap();
        Context::full(&runtime).unwrap().with(|ctx| {
            for (name, _) in PARTS {
                assert!(CORE.contains(&format!("part(\"{name}\")")), "{name}");
                part(&ctx, name).unwrap();
            }
            assert_eq!(CORE.matches("part(\"").count(), PARTS.len());
        });
    }

    /// Parts are compiled when the script has run, and may have replaced what is global.
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
        for (name, text) in PARTS {
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
