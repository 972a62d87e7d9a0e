//! read_before_write: requires an existing file to be read before it is changed.

use std::collections::BTreeSet;

use midrail_core::{Action, ActionType, FileState, Tools, glob};
use midrail_shell::action::{bare_name, is_local_file_tool};

use crate::builtin::PackKey;
use crate::prelude::*;
use crate::shared::data::FILES;
use crate::shared::data::TOOLS;
use crate::shared::objections::first_verdict;

pub(crate) const BUILTIN: Builtin = Builtin {
    pack_key: PackKey::ReadBeforeWrite,
    ..Builtin::new::<ReadBeforeWrite>("read_before_write", Category::Compliance, 60, &[EventKind::BeforeTool])
};

/// The settings of read_before_write.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadBeforeWrite {
    /// Tools that read a file: names or glob patterns. Empty: those of every known host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read_tools: Vec<String>,
    /// Tools that change a file: names or glob patterns. Empty: those of every known host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub write_tools: Vec<String>,
    /// Whether a file that does not exist yet may be written.
    pub new_files: NewFiles,
    /// Whether a change of the file invalidates a read.
    pub freshness: Freshness,
    /// Whether content that the agent wrote counts as read.
    pub own_writes: OwnWrites,
    /// The prefix under which the agent sees the root, such as `/workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Whether command lines that replace a whole file (`> file`) require a read as well.
    pub commands: CommandWrites,
    /// Where the tools keep what they read and write.
    #[serde(skip_serializing_if = "Storage::is_default")]
    pub storage: Storage,
    /// Arguments with the path. Empty: those of every known host, and the files of a patch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

/// Whether a file that does not exist yet may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewFiles {
    /// It may be written.
    #[default]
    Allow,
    /// Only after a read of that path.
    RequireRead,
}

/// Where the tools keep what they read and write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// On disk: a file that does not exist there is new.
    #[default]
    Disk,
    /// Elsewhere, such as in a document store: everything counts as existing, and names are compared as they are.
    Remote,
}

impl Storage {
    fn is_default(&self) -> bool {
        *self == Storage::default()
    }
}

/// The arguments with the name of a remote document, in the order in which they are tried.
const REMOTE_KEYS: [&str; 8] =
    ["path", "file_path", "filepath", "uri", "url", "document_id", "document", "id"];

/// Which command lines count as changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandWrites {
    /// Command lines that replace the whole content of a file inside the root.
    #[default]
    Overwrites,
    /// No command lines.
    Pass,
}

/// Whether a change of the file invalidates a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// Yes: the content must still be what was read.
    #[default]
    Checksum,
    /// No: reading it once is enough.
    Read,
}

/// Whether content that the agent wrote counts as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnWrites {
    /// Yes, with the written content.
    #[default]
    Count,
    /// No, it must be read again.
    Reread,
}

/// The read tools and the write tools of each host, so that a reason names tools that the agent has.
fn host_tools() -> impl Iterator<Item = (Vec<&'static str>, Vec<&'static str>)> {
    let words = |list: &'static str| list.split_whitespace().collect();
    let rows = TOOLS.list("read and write tools").iter().filter_map(|row| row.split_once('>'));
    rows.map(move |(reads, writes)| (words(reads), words(writes)))
}

impl ReadBeforeWrite {
    fn is_read(&self, tool: &str, action: &Action) -> bool {
        if !self.read_tools.is_empty() {
            return self.read_tools.iter().any(|pattern| glob::name_matches(pattern, tool));
        }
        let name = bare_name(tool);
        action.kind == ActionType::FileRead
            && (host_tools().any(|(reads, _)| reads.contains(&name)) || TOOLS.has("readers", name))
    }

    fn is_write(&self, tool: &str, action: &Action) -> bool {
        if self.write_tools.is_empty() {
            let may_be_elsewhere = tool.starts_with("mcp__") && !is_local_file_tool(tool);
            return action.kind == ActionType::FileWrite && !may_be_elsewhere;
        }
        self.write_tools.iter().any(|pattern| glob::name_matches(pattern, tool))
    }

    /// How the agent that called `tool` can read the file. Lists of a pack, and the default names, use the wording of
    /// the specification.
    fn how_to_read(&self, tool: &str) -> String {
        let host = host_tools().position(|(_, writes)| writes.contains(&bare_name(tool))).unwrap_or(0);
        let is_default = host == 0 || !self.read_tools.is_empty();
        let mut names: Vec<&str> = match host_tools().nth(host) {
            Some((reads, _)) if self.read_tools.is_empty() => reads,
            _ => self.read_tools.iter().map(String::as_str).collect(),
        };
        names.sort_unstable();
        if names.is_empty() {
            "Read the file first.".to_owned()
        } else if is_default {
            format!("Use one of: {} first.", names.join(", "))
        } else {
            format!("Read the file with `{}` first.", names.join("` or `"))
        }
    }

    fn paths<'a>(&self, context: &Context<'a>) -> Result<Vec<&'a str>, Missing> {
        let args = context.event.tool.as_ref().map(|tool| &tool.args);
        if self.key.is_empty() && self.storage == Storage::Remote {
            let named = REMOTE_KEYS.iter().find_map(|name| args?.get(*name)?.as_str());
            return Ok(named.into_iter().collect());
        }
        if self.key.is_empty() {
            let files = context.action()?.target_files.as_deref().unwrap_or_default();
            return Ok(files.iter().map(String::as_str).collect());
        }
        Ok(self.key.iter().filter_map(|name| args?.get(name)?.as_str()).collect())
    }

    /// Whether the check does not depend on the disk.
    fn is_lexical(&self) -> bool {
        let is_certain = self.new_files == NewFiles::RequireRead && self.freshness == Freshness::Read;
        is_certain || self.storage == Storage::Remote
    }

    /// The key of a path that does not depend on the disk.
    fn lexical_key(&self, context: &Context<'_>, path: &str) -> String {
        match self.storage {
            Storage::Disk => context.place(path, self.mount.as_deref()).key,
            Storage::Remote => path.trim().to_owned(),
        }
    }

    /// The objection to changing one file.
    fn objection(&self, context: &Context<'_>, path: &str) -> Result<Option<Objection>, Missing> {
        if self.is_lexical() {
            let is_read = read_key(context, &self.lexical_key(context, path)).exists(context)?;
            return Ok((!is_read).then_some(Objection::Unread));
        }
        let place = context.real_place(path, self.mount.as_deref())?;
        let state = context.file(&place)?;
        match state {
            FileState::Special => return Ok(None),
            FileState::Absent if self.new_files == NewFiles::Allow => return Ok(None),
            FileState::Absent | FileState::File { .. } => {}
        }
        let read = read_key(context, &place.key).read(context)?;
        Ok(match (read, state) {
            (Some(read), FileState::File { checksum })
                if self.freshness == Freshness::Checksum && read != *checksum =>
            {
                Some(Objection::Stale)
            }
            (Some(_), _) => None,
            (None, _) => Some(Objection::Unread),
        })
    }

    /// Checks `> file` over an existing file inside the root that was not read.
    fn check_command(&self, context: &Context<'_>, action: &Action) -> Result<Verdict, Fault> {
        let is_judged = self.commands == CommandWrites::Overwrites
            && action.kind == ActionType::Command
            && self.storage == Storage::Disk
            && self.write_tools.is_empty()
            && self.read_tools.is_empty()
            && self.key.is_empty();
        if !is_judged || !(context.root().is_some() || context.event.cwd.is_some()) {
            return Ok(Verdict::allow());
        }
        let known = action.overwrites.iter().filter(|path| !path.contains(['$', '`', '*', '?']));
        first_verdict(known.map(|path| {
            let why = match self.overwrite_objection(context, path)? {
                None => return Ok(None),
                Some(Objection::Unread) => "must be read before it is overwritten",
                Some(Objection::Stale) => {
                    "changed on disk since it was read and must be read again before it is overwritten"
                }
            };
            let reason = format!("File '{path}' {why}. Read it first, for example with `cat`.");
            Ok(Some(Verdict::block(reason).with("path", path.as_str())))
        }))
    }

    fn overwrite_objection(&self, context: &Context<'_>, path: &str) -> Result<Option<Objection>, Missing> {
        let place = context.real_place(path, self.mount.as_deref())?;
        let is_log = FILES.list("logs").iter().any(|ending| place.key.ends_with(ending));
        let is_replaced = place.inside && !is_log && matches!(context.file(&place)?, FileState::File { .. });
        if is_replaced { self.objection(context, path) } else { Ok(None) }
    }

    /// Files that a command shows count as read, and files that it writes as written: `cat a`, `sed -n 1,9p a`,
    /// `cat > a <<EOF`.
    fn observe_command(
        &self,
        context: &Context<'_>,
        action: &Action,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        if action.kind != ActionType::Command
            || self.storage == Storage::Remote
            || !(self.read_tools.is_empty() && self.key.is_empty())
        {
            return Ok(());
        }
        // Changing permissions or times does not show the content.
        let own = if self.own_writes == OwnWrites::Count { action.writes.as_slice() } else { &[] };
        let named: BTreeSet<&String> = action.named.iter().collect();
        let shown = shown_by(action).chain(own.iter().filter(|path| !named.contains(path)));
        let seen: Vec<_> = shown.map(|path| (self.seen(context, path), true)).collect();
        let touched = own.iter().filter(|path| named.contains(path));
        let touched: Vec<_> = touched.map(|path| (self.seen(context, path), false)).collect();
        for (outcome, is_shown) in seen.into_iter().chain(touched) {
            // A file with an unknown state does not count as read. An empty file has no content to read.
            if let Ok((key, Some(content))) = outcome
                && (is_shown || content == EMPTY)
            {
                read_key(context, &key).write(changes, &content)?;
            }
        }
        Ok(())
    }

    /// The place and the checksum of a file that was read or written.
    fn seen(&self, context: &Context<'_>, path: &str) -> Result<(String, Option<String>), Missing> {
        if self.is_lexical() {
            return Ok((self.lexical_key(context, path), Some(String::new())));
        }
        let place = context.real_place(path, self.mount.as_deref())?;
        let content = match context.file(&place)? {
            FileState::File { checksum } => Some(checksum.clone()),
            FileState::Absent | FileState::Special => None,
        };
        Ok((place.key, content))
    }
}

/// The checksum of a file without content.
const EMPTY: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

enum Objection {
    Unread,
    Stale,
}

impl Guardrail for ReadBeforeWrite {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let tool = context.tool()?;
        let action = context.action()?;
        if !self.is_write(tool, action) {
            return self.check_command(context, action);
        }
        let paths = self.paths(context)?;
        first_verdict(paths.iter().map(|path| {
            let Some(objection) = self.objection(context, path)? else { return Ok(None) };
            let why = match objection {
                Objection::Unread => "must be read before writing.",
                Objection::Stale => {
                    "changed on disk since it was read and must be read again before writing."
                }
            };
            let what = if self.storage == Storage::Remote { "Document" } else { "File" };
            let reason = format!("{what} '{path}' {why} {}", self.how_to_read(tool));
            Ok(Some(Verdict::block(reason).with("path", *path)))
        }))
    }

    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        let Some(tool) = context.event.tool_name() else { return Ok(()) };
        if !context.succeeded(effect)? {
            return Ok(());
        }
        let action = context.action()?;
        let (is_read, is_write) = (self.is_read(tool, action), self.is_write(tool, action));
        if !is_read && !is_write {
            return self.observe_command(context, action, changes);
        }
        let counts = is_read || self.own_writes == OwnWrites::Count;
        let seen: Vec<_> = self.paths(context)?.into_iter().map(|path| self.seen(context, path)).collect();
        for outcome in seen {
            let (key, content) = outcome?;
            let key = read_key(context, &key);
            match content {
                Some(content) if counts => key.write(changes, &content)?,
                // A file that was overwritten or removed no longer counts as read.
                _ => key.remove(changes),
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        if self.read_tools.is_empty() || self.write_tools.is_empty() {
            // The arguments of a call matter as well: any tool may apply a patch.
            return Tools::All;
        }
        Tools::only(self.read_tools.iter().chain(&self.write_tools).cloned())
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        let again = match self.freshness {
            Freshness::Checksum => ", and read it again when it changed since",
            Freshness::Read => "",
        };
        let new = match self.new_files {
            NewFiles::Allow => " New files can be created freely.",
            NewFiles::RequireRead => "",
        };
        Some(format!("Read a file before you change it{again}.{new}"))
    }
}

/// The files that a call showed to the agent, with their checksums: by the read tools of every known host, and by
/// commands.
pub(crate) fn shown_files(context: &Context<'_>) -> Result<Vec<(String, String)>, Missing> {
    let usual = ReadBeforeWrite::default();
    let Some(tool) = context.event.tool_name() else { return Ok(Vec::new()) };
    let action = context.action()?;
    let paths = if usual.is_read(tool, action) {
        usual.paths(context)?
    } else if action.kind == ActionType::Command {
        shown_by(action).map(String::as_str).collect()
    } else {
        Vec::new()
    };
    let seen: Vec<_> = paths.into_iter().map(|path| usual.seen(context, path)).collect();
    // A file with an unknown state does not count as read.
    Ok(seen.into_iter().flatten().filter_map(|(place, content)| Some((place, content?))).collect())
}

/// The files whose content a command showed. A file that was only listed does not count.
fn shown_by(action: &Action) -> impl Iterator<Item = &String> {
    let named: BTreeSet<&String> = action.named.iter().collect();
    action.reads.iter().filter(move |path| !named.contains(path))
}

/// The slice with the checksum of a file as it was read. Empty: its content does not matter.
fn read_key(context: &Context<'_>, place: &str) -> Key<String> {
    Key::own(context, &format!("read/{place}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use serde_json::{Value, json};

    fn run(settings: Value) -> Run {
        Run::of(serde_json::from_value::<ReadBeforeWrite>(settings).unwrap()).with_file("existing.txt", "v1")
    }

    #[test]
    fn unread_file_blocks_a_write_in_the_spelling_of_the_caller() {
        let decision = run(json!({})).before("write_file", json!({"path": "./existing.txt"}));
        assert_eq!(decision.effect, Effect::Block);
        assert_eq!(
            decision.reason,
            "File './existing.txt' must be read before writing. Use one of: read_file, vfs_read_file first."
        );
        assert_eq!(decision.metadata["path"], json!("./existing.txt"));
    }

    #[test]
    fn hosts_read_with_their_own_tools() {
        let mut run = run(json!({}));
        let decision = run.before("Edit", json!({"file_path": "existing.txt"}));
        assert!(decision.reason.ends_with("Read the file with `Read` first."), "{}", decision.reason);
        run.succeed("Read", json!({"file_path": "existing.txt"}));
        assert_eq!(run.before("Edit", json!({"file_path": "existing.txt"})).effect, Effect::Allow);
    }

    #[test]
    fn every_spelling_of_a_path_is_the_same_file() {
        let mut run = run(json!({}));
        run.succeed("read_file", json!({"path": "existing.txt"}));
        for path in ["/existing.txt", "./existing.txt", "a/../existing.txt", ".//existing.txt"] {
            assert_eq!(run.before("write_file", json!({"path": path})).effect, Effect::Allow, "{path}");
        }
    }

    #[test]
    fn symbolic_link_is_the_file_it_points_to() {
        let mut run = run(json!({})).with_link("link.txt", "existing.txt", "v1");
        run.succeed("read_file", json!({"path": "link.txt"}));
        assert_eq!(run.before("write_file", json!({"path": "existing.txt"})).effect, Effect::Allow);
    }

    #[test]
    fn new_file_is_allowed_wherever_it_is() {
        for (new_files, expected) in [("allow", Effect::Allow), ("require_read", Effect::Block)] {
            let mut run = run(json!({"new_files": new_files}));
            for path in ["new.txt", "../../etc/new"] {
                assert_eq!(run.before("write_file", json!({"path": path})).effect, expected, "{path}");
            }
        }
    }

    #[test]
    fn changed_file_must_be_read_again() {
        let mut run = run(json!({}));
        run.succeed("read_file", json!({"path": "existing.txt"}));
        let mut run = run.with_file("existing.txt", "v2");
        assert!(run.before("write_file", json!({"path": "existing.txt"})).reason.contains("changed on disk"));
        run.succeed("read_file", json!({"path": "existing.txt"}));
        assert_eq!(run.before("write_file", json!({"path": "existing.txt"})).effect, Effect::Allow);
    }

    #[test]
    fn own_writes_count_unless_set_otherwise() {
        for (own_writes, expected) in [("count", Effect::Allow), ("reread", Effect::Block)] {
            let mut run = run(json!({"own_writes": own_writes}));
            run.succeed("read_file", json!({"path": "existing.txt"}));
            let mut run = run.with_file("existing.txt", "mine");
            run.succeed("write_file", json!({"path": "existing.txt"}));
            assert_eq!(
                run.before("write_file", json!({"path": "existing.txt"})).effect,
                expected,
                "{own_writes}"
            );
        }
    }

    #[test]
    fn without_a_file_system_it_fails_closed_unless_the_disk_has_no_say() {
        let event = json!({"path": "a"});
        assert_eq!(run(json!({})).without_files().before("write_file", event.clone()).effect, Effect::Block);
        let mut lexical = run(json!({"new_files": "require_read", "freshness": "read"})).without_files();
        assert_eq!(lexical.before("write_file", event.clone()).effect, Effect::Block);
        lexical.succeed("read_file", event.clone());
        assert_eq!(lexical.before("write_file", event).effect, Effect::Allow);
    }

    #[test]
    fn remote_documents_are_not_looked_up_on_disk() {
        let settings = json!({"read_tools": ["fetch_document"], "write_tools": ["update_document"]});
        let mut disk = run(settings.clone());
        assert_eq!(disk.before("update_document", json!({"path": "gone"})).effect, Effect::Allow);
        let mut settings = settings;
        settings["storage"] = json!("remote");
        let mut run = run(settings).without_files();
        let decision = run.before("update_document", json!({"id": "a/../b"}));
        assert_eq!(
            decision.reason,
            "Document 'a/../b' must be read before writing. Use one of: fetch_document first."
        );
        run.succeed("fetch_document", json!({"id": "b"}));
        assert_eq!(run.before("update_document", json!({"id": "a/../b"})).effect, Effect::Block);
        assert_eq!(run.before("update_document", json!({"id": "b"})).effect, Effect::Allow);
        assert_eq!(run.before("update_document", json!({"title": "b"})).effect, Effect::Allow);
    }

    #[test]
    fn call_without_a_path_is_not_checked() {
        assert_eq!(run(json!({})).before("write_file", json!({"content": "x"})).effect, Effect::Allow);
    }

    #[test]
    fn every_file_of_a_patch_counts() {
        let mut run = run(json!({})).with_file("b.txt", "b");
        run.succeed("read_file", json!({"path": "existing.txt"}));
        let diff = "--- a/existing.txt\n+++ b/existing.txt\n@@ -1 +1 @@\n-a\n+b\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n";
        let decision = run.before("patch", json!({"unified_diff": diff}));
        assert_eq!(decision.metadata["path"], json!("b.txt"));
    }

    #[test]
    fn server_with_possibly_remote_files_is_not_checked() {
        let mut run = run(json!({}));
        let args = json!({"path": "existing.txt", "content": ""});
        assert_eq!(run.before("mcp__github__create_or_update_file", args.clone()).effect, Effect::Allow);
        assert_eq!(run.before("mcp__fs__write_file", args.clone()).effect, Effect::Block);
        assert_eq!(run.before("saveDocument", args).effect, Effect::Block);
    }

    #[test]
    fn mount_prefix_is_the_root() {
        let mut run = run(json!({"mount": "/workspace"}));
        run.succeed("read_file", json!({"path": "existing.txt"}));
        assert_eq!(
            run.before("write_file", json!({"path": "/workspace/existing.txt"})).effect,
            Effect::Allow
        );
    }
}
