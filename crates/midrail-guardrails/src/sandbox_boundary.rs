//! sandbox-boundary (safety-004): blocks access to files outside the folder of the session.

use crate::prelude::*;
use crate::shared::data::FILES;
use crate::shared::file_access::accessed_files;
use crate::shared::file_paths::{
    is_below, is_device, is_inside, is_temporary, is_temporary_folder, path_fits,
};
use crate::shared::flow::named::Named;
use crate::shared::objections::first_verdict;
use crate::shared::own_files::is_own;
use crate::shared::settings::{Folder, Pattern};

pub(crate) const BUILTIN: Builtin =
    SAFETY.builtin::<SandboxBoundary>("safety-004", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of sandbox-boundary.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SandboxBoundary {
    /// A folder within the root that is the sandbox. Absent: the root itself.
    pub folder: Option<Folder>,
    /// Further files and folders that belong to it, as patterns: `/opt/data/**`.
    pub allow: Vec<Pattern>,
    /// Whether files outside may be read.
    pub reads: OutsideReads,
    /// Whether temporary folders belong to it.
    pub temporary: bool,
}

/// The effect of reading files outside the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutsideReads {
    /// Block.
    #[default]
    Block,
    /// Allow.
    Allow,
}

impl Default for SandboxBoundary {
    fn default() -> Self {
        SandboxBoundary { folder: None, allow: Vec::new(), reads: OutsideReads::Block, temporary: true }
    }
}

impl SandboxBoundary {
    fn is_within(&self, place: &str) -> bool {
        let is_inside = match &self.folder {
            Some(folder) => is_below(folder.0.trim_start_matches("./"), place),
            None => is_inside(place),
        };
        is_inside
            || is_device(place)
            || (self.temporary && (is_temporary(place) || is_temporary_folder(place)))
            || self.allow.iter().any(|pattern| path_fits(&pattern.0, place))
    }
}

/// Whether a place belongs to a further root of the session: a folder or file that the agent created, or that the user named in a
/// prompt, or in a container one of the usual folders for work.
fn is_in_further_root(context: &Context<'_>, file: &str, places: &[String]) -> Result<bool, Missing> {
    if is_own(context, file)? || places.iter().all(|place| is_container_folder(context, place)) {
        return Ok(true);
    }
    let named = Named::from_context(context)?;
    if named.has_user_names {
        for place in places {
            if !is_named(context, &named, place)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    Ok(false)
}

/// Whether the user named a file, or a folder that contains it. Folders of the system, and those of all users, are no roots.
fn is_named(context: &Context<'_>, named: &Named, place: &str) -> Result<bool, Missing> {
    let is_system = FILES.list("system folders").iter().any(|folder| is_below(folder, place));
    let is_known = place.starts_with(['/', '~']) && !place.contains(['$', '`', '*', '?']) && !is_system;
    if !is_known {
        return Ok(false);
    }
    let ends = place.match_indices('/').map(|(at, _)| at).chain([place.len()]).skip(2);
    let folders: Vec<&str> =
        ends.filter_map(|end| place.get(..end)).filter(|folder| !is_home(folder)).collect();
    // Request all facts before the first one is missing, so that they are fetched together.
    let digests: Vec<_> = folders
        .into_iter()
        .flat_map(|folder| [folder.to_owned(), format!("{folder}/")])
        .map(|folder| context.destination_digests(&folder))
        .collect();
    for digests in digests {
        if named.is_of_user(context, digests?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a folder is the home of a user: `/home/ann`.
fn is_home(folder: &str) -> bool {
    let parts: Vec<&str> = folder.split('/').skip(1).collect();
    matches!(parts.as_slice(), ["home" | "Users", _] | ["root"])
}

/// Whether a place is in a usual folder for work of a container, which has several at the top of its file system. The folder of the
/// session shows that it runs in one.
fn is_container_folder(context: &Context<'_>, place: &str) -> bool {
    let top = |path: &str| {
        let folder = path.strip_prefix('/')?.split('/').next()?;
        FILES.list("container folders").iter().find(|known| **known == folder)
    };
    let root = context.root().or(context.event.cwd.as_deref());
    root.and_then(top).is_some() && top(place).is_some()
}

impl Guardrail for SandboxBoundary {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let files = accessed_files(context)?;
        let judged = files.iter().filter(|it| self.reads == OutsideReads::Block || it.is_write);
        first_verdict(judged.map(|it| {
            let places = context.places(it.file)?;
            let outside: Vec<String> = places.into_iter().filter(|name| !self.is_within(name)).collect();
            if outside.is_empty()
                || (self.folder.is_none() && is_in_further_root(context, it.file, &outside)?)
            {
                return Ok(None);
            }
            let does = if it.is_write { "changed" } else { "read" };
            let verdict =
                Verdict::block(format!("{} is outside the sandbox and cannot be {does}.", it.name()));
            let advice = "Use files in the folder of this session or in a temporary folder.";
            Ok(Some(verdict.advise(advice).with("path", it.file)))
        }))
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Access only files in the folder of this session.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::Event;
    use serde_json::json;

    fn effect(sandbox: SandboxBoundary, tool: &str, path: &str) -> Effect {
        let event =
            Event { cwd: Some("/repo".to_owned()), ..Event::before_tool(tool, json!({"file_path": path})) };
        Run::of(sandbox).decide(&event).effect
    }

    #[test]
    fn writes_are_allowed_inside_and_blocked_outside() {
        let of = |path: &str| effect(SandboxBoundary::default(), "Write", path);
        for path in ["a", "/repo/a", "src/../a", "/tmp/x", "/tmp", "/var/tmp/", "/dev/null"] {
            assert_eq!(of(path), Effect::Allow, "{path}");
        }
        for path in ["../a", "/repository/a", "/etc/passwd", "~/x", "src/../../x", "/tmp/../etc/x", "/tmpx"] {
            assert_eq!(of(path), Effect::Block, "{path}");
        }
    }

    #[test]
    fn reading_outside_is_configurable() {
        let open = SandboxBoundary { reads: OutsideReads::Allow, ..SandboxBoundary::default() };
        assert_eq!(effect(open.clone(), "Read", "/usr/include/stdio.h"), Effect::Allow);
        assert_eq!(effect(open, "Write", "/usr/include/stdio.h"), Effect::Block);
        assert_eq!(effect(SandboxBoundary::default(), "Read", "/usr/include/stdio.h"), Effect::Block);
    }

    #[test]
    fn link_to_a_file_outside_is_blocked() {
        let mut run = Run::of(SandboxBoundary::default()).with_link("link", "/etc/passwd", "x");
        assert_eq!(run.before("Write", json!({"file_path": "link"})).effect, Effect::Block);
    }
}
