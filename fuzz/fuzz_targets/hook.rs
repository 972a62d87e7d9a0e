//! Any bytes as the payload of any hook event of any host: an error, or events, and an output for each effect.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail::{Decision, Effect};
use midrail_adapters::hook::Hook;
use midrail_adapters::hosts;

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
    let [host, hook_event, effect, payload @ ..] = bytes else { return };
    let host = &hosts::ALL[usize::from(*host) % hosts::ALL.len()];
    let events = host.hook_events;
    let named = events.get(usize::from(*hook_event) % (events.len() + 1)).map(|event| event.name);
    let Ok(hook) = Hook::read(host, named, payload) else { return };
    drop(hook.events());
    let effect = EFFECTS[usize::from(*effect) % EFFECTS.len()];
    let content = (effect == Effect::Redact).then(|| "x".to_owned());
    drop(hook.answer(vec![Decision { effect, content, ..Decision::default() }]));
    drop(hook.refuse("x"));
});
