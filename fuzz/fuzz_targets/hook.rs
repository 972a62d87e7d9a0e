//! Any bytes as what any host sends at any moment: an error, or events, and an answer to each decision.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail::{Decision, Effect};
use midrail_doors::hook::Hook;
use midrail_doors::hosts;

const EFFECTS: [Effect; 7] = [
    Effect::Allow,
    Effect::Warn,
    Effect::Redact,
    Effect::Retry,
    Effect::Escalate,
    Effect::Block,
    Effect::Halt,
];

fuzz_target!(|bytes: &[u8]| {
    let [host, moment, effect, payload @ ..] = bytes else { return };
    let door = hosts::ALL[usize::from(*host) % hosts::ALL.len()];
    let moments = door.moments();
    let named = moments.get(usize::from(*moment) % (moments.len() + 1)).map(|moment| moment.name);
    let Ok(hook) = Hook::read(door, named, payload) else { return };
    drop(hook.events());
    let effect = EFFECTS[usize::from(*effect) % EFFECTS.len()];
    let content = (effect == Effect::Redact).then(|| "x".to_owned());
    drop(hook.answer(vec![Decision { effect, content, ..Decision::default() }]));
    drop(hook.refuse("x"));
});
