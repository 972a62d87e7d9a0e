//! safety-004: an action stays within the folder that its session works in.

use midrail_core::{Context, Effect, Fault, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::places::{fits, is_below, is_inside, is_nobodys, is_temporary, is_temporary_folder};
use crate::settings::{Folder, Pattern};
use crate::touched::touched;

/// The settings of safety-004.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxBoundary {
    /// A folder within the root that is the sandbox. Absent: the root itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<Folder>,
    /// Further files and folders that belong to it, as patterns: `/opt/data/**`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Pattern>,
    /// Whether files outside may be read.
    pub reads: Outside,
    /// Whether temporary folders belong to it.
    pub temporary: bool,
}

/// Whether something outside the sandbox is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outside {
    /// It is not.
    #[default]
    Block,
    /// It is.
    Allow,
}

impl Default for SandboxBoundary {
    fn default() -> Self {
        SandboxBoundary { folder: None, allow: Vec::new(), reads: Outside::Block, temporary: true }
    }
}

impl SandboxBoundary {
    fn is_within(&self, place: &str) -> bool {
        let is_inside = match &self.folder {
            Some(folder) => is_below(folder.0.trim_start_matches("./"), place),
            None => is_inside(place),
        };
        is_inside
            || is_nobodys(place)
            || (self.temporary && (is_temporary(place) || is_temporary_folder(place)))
            || self.allow.iter().any(|pattern| fits(&pattern.0, place))
    }
}

impl Guardrail for SandboxBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let touched = touched(context)?;
        let judged = touched.iter().filter(|it| self.reads == Outside::Block || it.is_write);
        let names: Vec<_> = judged.map(|it| (it, context.names_of(it.file))).collect();
        let mut fault = None;
        for (it, names) in names {
            match names {
                Ok(names) if names.iter().all(|name| self.is_within(name)) => {}
                Ok(_) => {
                    let does = if it.is_write { "changed" } else { "read" };
                    return Ok(Verdict::block(format!(
                        "{} lies outside the sandbox, and is not {does}.",
                        it.name()
                    ))
                    .advise("Work within the folder of this session, or in a temporary folder.")
                    .with("path", it.file));
                }
                Err(missing) => fault = Some(missing),
            }
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Stay within the folder of this session.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use midrail_core::Event;
    use serde_json::json;

    fn effect(sandbox: SandboxBoundary, tool: &str, path: &str) -> Effect {
        let event =
            Event { cwd: Some("/repo".to_owned()), ..Event::before_tool(tool, json!({"file_path": path})) };
        Run::of(sandbox).decide(&event).effect
    }

    #[test]
    fn inside_is_free_and_outside_is_not() {
        let of = |path: &str| effect(SandboxBoundary::default(), "Write", path);
        for path in ["a", "/repo/a", "src/../a", "/tmp/x", "/tmp", "/var/tmp/", "/dev/null"] {
            assert_eq!(of(path), Effect::Allow, "{path}");
        }
        for path in ["../a", "/repository/a", "/etc/passwd", "~/x", "src/../../x", "/tmp/../etc/x", "/tmpx"] {
            assert_eq!(of(path), Effect::Block, "{path}");
        }
    }

    #[test]
    fn reading_outside_can_be_free() {
        let open = SandboxBoundary { reads: Outside::Allow, ..SandboxBoundary::default() };
        assert_eq!(effect(open.clone(), "Read", "/usr/include/stdio.h"), Effect::Allow);
        assert_eq!(effect(open, "Write", "/usr/include/stdio.h"), Effect::Block);
        assert_eq!(effect(SandboxBoundary::default(), "Read", "/usr/include/stdio.h"), Effect::Block);
    }

    #[test]
    fn a_link_that_leads_outside_is_outside() {
        let mut run = Run::of(SandboxBoundary::default()).with_link("link", "/etc/passwd", "x");
        assert_eq!(run.before("Write", json!({"file_path": "link"})).effect, Effect::Block);
    }
}
