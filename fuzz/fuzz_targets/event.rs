//! Any bytes as an event: an error, or an event that the engine decides.
#![no_main]

use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use midrail::{Engine, Files, Load};

static ENGINE: LazyLock<Arc<Engine>> = LazyLock::new(|| {
    let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
    let files = Arc::new(Files::simulated(Default::default()));
    Arc::new(Engine::builder(loaded.policy, &loaded.source).files(files).build().unwrap())
});

fuzz_target!(|bytes: &[u8]| {
    if let Ok(event) = midrail_adapters::wire::decode(bytes) {
        drop(midrail_adapters::wire::encode(&ENGINE.decide(event)));
    }
});
