//! Lists that the client should fetch again, because a person accepted what was withheld from them.

use serde_json::json;

use super::state::{CountWaiting, Proxy};
use crate::relay::{RelayOutput, Side};

/// How often the pins are read while something is withheld, in milliseconds.
const CHECK_EVERY: u64 = 5_000;

impl Proxy {
    /// Announces accepted definitions to the client, which fetches the list again.
    #[must_use]
    pub fn announcing(mut self, count_waiting: CountWaiting) -> Self {
        self.withheld.count_waiting = Some(count_waiting);
        self
    }

    /// Something was withheld from the list of a method. Clients of the modern era fetch it again by themselves.
    pub(super) fn note_withheld(&mut self, method: &str, is_modern: bool) {
        let notification = match method {
            "tools/list" => "notifications/tools/list_changed",
            "prompts/list" => "notifications/prompts/list_changed",
            "resources/list" | "resources/templates/list" => "notifications/resources/list_changed",
            _ => return,
        };
        let Some(waiting) = self.withheld.count_waiting.as_ref().and_then(|count| count()) else { return };
        if !is_modern && waiting > 0 {
            self.withheld.notifications.insert(notification);
            self.withheld.waiting = waiting;
            self.withheld.next_check = Some(self.now.saturating_add(CHECK_EVERY));
        }
    }

    pub(super) fn next_pin_check(&self) -> Option<u64> {
        self.withheld.next_check
    }

    /// Announces lists once a person has accepted something.
    pub(super) fn announce_accepted(&mut self, out: &mut RelayOutput) {
        if self.withheld.next_check.is_none_or(|due| due > self.now) {
            return;
        }
        self.withheld.next_check = Some(self.now.saturating_add(CHECK_EVERY));
        let Some(waiting) = self.withheld.count_waiting.as_ref().and_then(|count| count()) else { return };
        if waiting < self.withheld.waiting {
            for method in std::mem::take(&mut self.withheld.notifications) {
                out.send(Side::Client, &json!({"jsonrpc": "2.0", "method": method}));
            }
            self.withheld.next_check = None;
        }
        self.withheld.waiting = waiting;
    }
}
