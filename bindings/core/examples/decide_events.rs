//! Decides events through the Rust library: one JSON object per line in, one decision per line out. `same_answer` compares
//! them with those of all other ways to Midrail.

use std::error::Error;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use midrail::{Engine, Event, Load};
use midrail_adapters::wire;

fn main() -> Result<(), Box<dyn Error>> {
    let loaded =
        Load { packs: std::env::args_os().skip(1).map(Into::into).collect(), ..Load::default() }.load()?;
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).build()?);
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let event: Event = serde_json::from_str(&line?)?;
        let session = engine.session(event.session.clone().unwrap_or_default());
        writeln!(output, "{}", wire::encode(&session.decide(event)))?;
    }
    Ok(())
}
