//! sandbox-refusals: counts the calls to which their sandbox refused something.

use crate::prelude::*;

/// The consequence that counts a strike.
const STRIKE: &str = "increment_strike";

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<SandboxRefusals>("sandbox-refusals", Category::Safety, 90, &[EventKind::AfterTool]);

/// The settings of sandbox-refusals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxRefusals {
    /// Number of refused calls that count as one strike.
    #[schemars(range(min = 1))]
    pub per_strike: u32,
}

impl Default for SandboxRefusals {
    fn default() -> Self {
        SandboxRefusals { per_strike: 3 }
    }
}

/// What the sandbox of the call refused.
fn refused<'a>(context: &Context<'a>) -> &'a [String] {
    let outcome = context.event.result.as_ref().and_then(|result| result.sandbox.as_ref());
    outcome.map_or(&[], |outcome| &outcome.refused)
}

/// The slice with the number of calls so far.
fn count_key(context: &Context<'_>) -> Key<u32> {
    Key::own(context, "refused")
}

impl Guardrail for SandboxRefusals {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let refused = refused(context);
        if refused.is_empty() {
            return Ok(Verdict::allow());
        }
        let count = count_key(context).read(context)?.unwrap_or_default().saturating_add(1);
        if !count.is_multiple_of(self.per_strike.max(1)) {
            return Ok(Verdict::allow());
        }
        let names: Vec<String> = refused.iter().map(|name| format!("`{name}`")).collect();
        let reason = format!("the sandbox refused something to {count} calls, last {}", names.join(", "));
        let advice = "Work within the project, or ask the user to run what needs more.";
        Ok(Verdict {
            effects: vec![STRIKE.to_owned()],
            feedback: Some(format!("The sandbox has refused something to {count} calls. {advice}")),
            ..Verdict::new(Effect::Allow, reason)
        })
    }

    fn observe(&self, context: &Context<'_>, _: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if !refused(context).is_empty() {
            let key = count_key(context);
            let count = key.read(context)?.unwrap_or_default().saturating_add(1);
            key.write(changes, &count)?;
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Allow
    }

    fn summary(&self) -> Option<String> {
        Some("Stay within the project: what the sandbox refuses is counted.".to_owned())
    }
}
