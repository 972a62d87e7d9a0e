//! Hooks of a host that were removed or disabled: reported to people, and recorded.

use midrail_store::Commit;
use serde_json::json;

use crate::admin::event::{AdminEvent, notice};
use crate::admin::handle::Admin;
use crate::error::EngineResult;

impl Admin<'_> {
    /// Records that hooks of a host were removed, and whether they were registered again, and notifies people.
    pub fn report_lost_hooks(&self, what: &str, is_restored: bool) -> EngineResult {
        let name = if is_restored { "hooks_restored" } else { "hooks_missing" };
        let event = AdminEvent::new(name).with("what", what);
        let notices = vec![notice("human_operator", name, what.to_owned(), json!({}))];
        let commit = Commit { notices, ..self.engine.admin_commit(event) };
        self.engine.commit(&commit)?;
        self.engine.send_notices(&commit.notices);
        Ok(())
    }
}
