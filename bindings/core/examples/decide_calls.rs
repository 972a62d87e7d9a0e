//! Decides ordinary calls through the Rust library: PACK STORE COUNT. `bindings/cost` compares what they cost with calls from Python and
//! Node.

use std::env;
use std::error::Error;
use std::sync::Arc;

use midrail::{Effect, Engine, Event, Load, MemoryStore, SqliteStore, Store};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let mut next = || arguments.next().ok_or("an argument is missing: PACK STORE COUNT");
    let (pack, store, count) = (next()?, next()?, next()?.parse::<usize>()?);
    let loaded = Load { packs: vec![pack.into()], ..Load::default() }.load()?;
    let store: Arc<dyn Store> = match store.as_str() {
        ":memory:" => Arc::new(MemoryStore::new()?),
        path => Arc::new(SqliteStore::open(path)?),
    };
    let engine = Arc::new(Engine::builder(loaded.policy, &loaded.source).store(store).build()?);
    let folder = env::current_dir()?.to_string_lossy().into_owned();
    for number in 0..count {
        let session = engine.session(format!("s-{}", number / 100));
        let args = json!({"file_path": format!("/tmp/none/{number}.txt")});
        let event = Event { cwd: Some(folder.clone()), ..Event::before_tool("Read", args) };
        let decision = session.decide(event);
        if decision.effect != Effect::Allow {
            return Err(format!("the call {number} was not allowed: {}", decision.reason).into());
        }
    }
    Ok(())
}
