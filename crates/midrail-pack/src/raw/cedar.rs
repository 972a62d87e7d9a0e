//! The Cedar settings of the guardrails of a pack.

use midrail_guardrails::CedarSettings;

use crate::issue::pointer_key;
use crate::raw::{Guard, Pack};

impl Pack {
    /// The Cedar settings of its guardrails.
    pub fn cedar(&self) -> impl Iterator<Item = &CedarSettings> {
        let agents = self.agents.values().flat_map(|agent| {
            let sections = agent.sections.values().flat_map(|section| &section.guardrails);
            agent.guardrails.iter().chain(sections)
        });
        self.guardrails.iter().chain(agents).filter_map(|guard| guard.cedar.as_ref())
    }

    /// The same, with their places in the pack.
    pub fn cedar_mut(&mut self) -> Vec<(String, &mut CedarSettings)> {
        let mut found = Vec::new();
        add("/guardrails", &mut self.guardrails, &mut found);
        for (name, agent) in &mut self.agents {
            let at = format!("/agents/{}", pointer_key(name));
            add(&format!("{at}/guardrails"), &mut agent.guardrails, &mut found);
            for (section, part) in &mut agent.sections {
                let at = format!("{at}/sections/{}/guardrails", pointer_key(section));
                add(&at, &mut part.guardrails, &mut found);
            }
        }
        found
    }
}

fn add<'p>(at: &str, guards: &'p mut [Guard], found: &mut Vec<(String, &'p mut CedarSettings)>) {
    for (i, guard) in guards.iter_mut().enumerate() {
        if let Some(cedar) = &mut guard.cedar {
            found.push((format!("{at}/{i}/cedar"), cedar));
        }
    }
}
