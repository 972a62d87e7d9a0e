//! Whether the `vouch` of a pack lists a call.

use midrail::core::glob::{name_matches, path_matches};
use serde_json::Value;

use crate::decided::{host_matches, is_listed};

/// A command without the wrappers that hosts ignore.
fn unwrapped(command: &str) -> &str {
    let command = command.trim();
    let rest = ["time ", "nice ", "nohup "].iter().find_map(|wrapper| command.strip_prefix(wrapper));
    let timed = || command.strip_prefix("timeout ")?.split_once(' ').map(|(_, rest)| rest);
    rest.or_else(timed).map_or(command, unwrapped)
}

/// Whether the pack vouches for a call, if no guardrail objects.
pub(crate) fn is_vouched(pack: &Value, call: &str) -> bool {
    let vouch = &pack["vouch"];
    let list = |key: &str| vouch[key].as_array().cloned().unwrap_or_default();
    let any =
        |key: &str, matches: &dyn Fn(&str) -> bool| list(key).iter().any(|it| matches(it.as_str().unwrap()));
    match call.split_once(' ') {
        Some(("Read", path)) => any("reads", &|pattern| path_matches(pattern, path)),
        Some(("Edit", path)) => any("edits", &|pattern| path_matches(pattern, path)),
        Some(("Fetch", url)) => {
            let host = url.split('/').nth(2).unwrap_or_default();
            any("hosts", &|pattern| host_matches(pattern, host))
        }
        Some(("Tool", call)) => {
            let name = call.split(' ').next().unwrap_or_default();
            any("tools", &|pattern| name_matches(pattern, name))
        }
        _ => call
            .replace("&&", ";")
            .replace(['|', '\n'], ";")
            .split(';')
            .all(|part| is_listed(vouch, unwrapped(part))),
    }
}
