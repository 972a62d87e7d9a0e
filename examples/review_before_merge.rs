//! A guardrail written in Rust: no pull request is merged before it is approved. It keeps its state in the session.
//!
//! Run it: `cargo run -p midrail --example review_before_merge`

use std::error::Error;
use std::sync::Arc;

use midrail::{
    Changes, Context, Effect, Engine, EventKind, Fault, Guardrail, Policy, PolicyEntry, PolicySource, Spec,
    ToolResult, Tools, Verdict,
};
use serde_json::json;

struct ReviewBeforeMerge {
    review_tool: &'static str,
    merge_tool: &'static str,
}

/// The pull request that a call is about.
fn pull_request(context: &Context<'_>) -> Option<String> {
    let id = context.event.tool.as_ref()?.args.get("pr_id")?;
    Some(id.as_str().map_or_else(|| id.to_string(), str::to_owned))
}

impl Guardrail for ReviewBeforeMerge {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool_name() != Some(self.merge_tool) {
            return Ok(Verdict::allow());
        }
        let Some(id) = pull_request(context) else { return Ok(Verdict::allow()) };
        if context.state(&format!("approved/{id}"))?.is_some() {
            return Ok(Verdict::allow());
        }
        Ok(Verdict::block(format!(
            "PR '{id}' must be approved before merging. Use {} first.",
            self.review_tool
        ))
        .with("pr_id", id))
    }

    /// Called with every result of the selected tools; only successful results that the agent received count.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let is_review = context.event.tool_name() == Some(self.review_tool);
        if is_review
            && context.event.is_success()
            && effect.allows()
            && let Some(id) = pull_request(context)
        {
            changes.set(context.key(&format!("approved/{id}")), true);
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        Tools::only([self.review_tool, self.merge_tool])
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }
}

/// Registers the guardrail at run time and tries it.
pub fn main() -> Result<(), Box<dyn Error>> {
    let policy = Policy::new(Vec::new(), Vec::new(), b"");
    let engine = Arc::new(Engine::builder(policy, &PolicySource::default()).build()?);
    engine.on_denied(|denied| println!("denied: {}: {}", denied.policy_name, denied.reason));
    let guardrail = Arc::new(ReviewBeforeMerge { review_tool: "approve_pr", merge_tool: "merge_pr" });
    engine.register(PolicyEntry::new(Spec::new("review_before_merge"), guardrail));

    let session = engine.session("run-1");
    assert_eq!(session.check("merge_pr", json!({"pr_id": "7"})).effect, Effect::Block);
    session.notify_result("approve_pr", json!({"pr_id": "8"}), ToolResult::ok("approved"));
    assert_eq!(session.check("merge_pr", json!({"pr_id": "7"})).effect, Effect::Block);
    session.notify_result("approve_pr", json!({"pr_id": "7"}), ToolResult::ok("approved"));
    assert_eq!(session.check("merge_pr", json!({"pr_id": "7"})).effect, Effect::Allow);
    println!("approved: {:?}", session.state_of("review_before_merge")?);

    assert!(engine.unregister("review_before_merge"));
    assert_eq!(session.check("merge_pr", json!({"pr_id": "9"})).effect, Effect::Allow);
    Ok(())
}
