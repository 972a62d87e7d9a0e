//! The boxes of contained calls.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::{DEFAULT_BOX, SandboxRules, shipped_box};

use crate::compile::compiler::Compiler;
use crate::raw::Guard;

impl Compiler<'_> {
    pub(super) fn boxes(&mut self) -> BTreeMap<String, SandboxRules> {
        let names: Vec<&String> = self.pack.boxes.keys().collect();
        names.into_iter().map(|name| (name.clone(), self.sandbox(name))).collect()
    }

    /// Checks the box that a guardrail names.
    pub(super) fn known_box(&mut self, at: &str, guard: &Guard) {
        let Some(name) = &guard.sandbox else { return };
        if !self.pack.boxes.contains_key(name) && shipped_box(name).is_none() {
            let message = format!("there is no box `{name}` in this pack");
            self.issue(
                format!("{at}/box"),
                &message,
                "define it under `boxes`, or use `default` or `install`",
            );
        }
    }

    /// A box with all that it extends.
    fn sandbox(&mut self, name: &str) -> SandboxRules {
        let mut chain = Vec::new();
        let mut seen = BTreeSet::new();
        let mut current = name;
        let base = loop {
            let is_own = seen.insert(current);
            let Some(settings) = self.pack.boxes.get(current).filter(|_| is_own) else {
                break shipped_box(current);
            };
            chain.push(settings);
            current = match settings.extends.as_deref() {
                Some(other) if other == current => break shipped_box(current),
                Some(other) => other,
                // A box of the name of a shipped one differs from that one.
                None if shipped_box(current).is_some() => break shipped_box(current),
                None => DEFAULT_BOX,
            };
        };
        let rules = chain.into_iter().rev().fold(base.clone().unwrap_or_default(), |rules, it| it.on(rules));
        if base.is_none() {
            let message = format!("the box `{name}` extends `{current}`, which is not a box of this pack");
            self.issue(
                format!("/boxes/{name}/extends"),
                &message,
                "extend `default`, `install` or a box of this pack",
            );
        }
        rules
    }
}
