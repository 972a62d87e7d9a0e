//! A guardrail that applies only while a condition holds: read-before-write in strict mode, in Rust and in a pack.
//!
//! Run it: `cargo run -p midrail --example conditional`

use std::error::Error;
use std::sync::Arc;

use midrail::guardrails::{NewFiles, ReadBeforeWrite};
use midrail::pack::{Layer, PackDocument};
use midrail::{Context, Effect, Engine, Missing, Policy, PolicyEntry, PolicySource, Spec};
use serde_json::json;

const PACK: &str = "
pack: strict-mode
guardrails:
  - read_before_write: {new_files: require_read}
    when: session.strict_mode
";

/// The guardrail in Rust: a condition is any function of the context.
fn from_rust() -> Result<Arc<Engine>, Box<dyn Error>> {
    let is_strict = |context: &Context<'_>| -> Result<bool, Missing> {
        Ok(context.variable("strict_mode")?.is_some_and(|value| value == &json!(true)))
    };
    let guardrail =
        Arc::new(ReadBeforeWrite { new_files: NewFiles::RequireRead, ..ReadBeforeWrite::default() });
    let entry =
        PolicyEntry { when: Some(Arc::new(is_strict)), ..PolicyEntry::new(Spec::new("strict"), guardrail) };
    let policy = Policy::new(vec![entry], Vec::new(), b"");
    Ok(Arc::new(Engine::builder(policy, &PolicySource::default()).root(std::env::temp_dir()).build()?))
}

/// The same from a pack.
fn from_pack() -> Result<Arc<Engine>, Box<dyn Error>> {
    let documents = PackDocument::read("strict.yaml", PACK, None)?;
    let layered: Vec<_> = documents.into_iter().map(|document| (Layer::Project, document)).collect();
    let (policy, source) =
        midrail::pack::compile_policy(&layered).map_err(|reports| format!("{reports:?}"))?;
    Ok(Arc::new(Engine::builder(policy, &source).root(std::env::temp_dir()).build()?))
}

/// Tries both.
pub fn main() -> Result<(), Box<dyn Error>> {
    for engine in [from_rust()?, from_pack()?] {
        let session = engine.session("run-1");
        session.set("strict_mode", false)?;
        assert_eq!(session.check("write_file", json!({"path": "a.txt"})).effect, Effect::Allow);
        session.set("strict_mode", true)?;
        let decision = session.check("write_file", json!({"path": "a.txt"}));
        assert_eq!(decision.effect, Effect::Block);
        println!("{}", decision.reason);
    }
    Ok(())
}
