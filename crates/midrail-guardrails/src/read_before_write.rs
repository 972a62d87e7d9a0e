//! A file that exists must be read before it is changed, and read again when it changed on disk since.

use std::collections::BTreeSet;

use midrail_core::{
    Action, ActionType, Changes, Context, Effect, EventKind, Fault, FileState, Guardrail, Missing, Tools,
    Verdict, glob,
};
use midrail_detect::action::{bare_name, is_known};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::places::is_temporary;

/// The settings of read-before-write.
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
    /// Whether a read grows stale when the file changes.
    pub freshness: Freshness,
    /// Whether what the agent wrote itself counts as read.
    pub own_writes: OwnWrites,
    /// The prefix under which the agent sees the root, such as `/workspace`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Whether command lines that replace the whole content of a file (`> file`) need it read as well.
    pub commands: CommandLines,
    /// Arguments that hold the path. Empty: those of every known host, and the files of a patch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<String>,
}

/// Whether a file that does not exist yet may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewFiles {
    /// Freely.
    #[default]
    Allow,
    /// Only after a read of that path.
    RequireRead,
}

/// What is held to be a change, beside the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandLines {
    /// Command lines that replace the whole content of a file inside the root.
    #[default]
    Overwrites,
    /// No command lines.
    Pass,
}

/// Whether a read grows stale when the file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// It does: the content must be what was read.
    #[default]
    Checksum,
    /// It does not: having read it once is enough.
    Read,
}

/// Whether what the agent wrote itself counts as read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OwnWrites {
    /// At the content that it wrote.
    #[default]
    Count,
    /// It has to be read again.
    Reread,
}

/// The reading and the changing tools of one host, so that a reason names tools that the agent has.
struct Host {
    reads: &'static [&'static str],
    writes: &'static [&'static str],
}

/// The seeds' default names come first: where a name is common to several hosts, these are the ones named.
const HOSTS: &[Host] = &[
    Host {
        reads: &["read_file", "vfs_read_file"],
        writes: &["write_file", "edit_file", "vfs_write_file", "vfs_edit_file"],
    },
    Host { reads: &["Read"], writes: &["Write", "Edit", "MultiEdit", "NotebookEdit"] },
    Host { reads: &["read_file", "read_many_files"], writes: &["replace"] },
    Host { reads: &["view"], writes: &["create", "str_replace", "insert"] },
    Host { reads: &["read"], writes: &["write", "edit", "multiedit"] },
    Host { reads: &["read_file"], writes: &["search_replace", "edit_lines", "patch"] },
    Host { reads: &["read_text_file"], writes: &[] },
    Host { reads: &[], writes: &["apply_patch"] },
];

/// Further tools that show a whole file. Those that search or list do not.
const READERS: &[&str] = &[
    "read_multiple_files",
    "NotebookRead",
    "view_file",
    "open_file",
    "get_file_contents",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "text_editor",
    "file_ops",
];

impl ReadBeforeWrite {
    fn is_read(&self, tool: &str, action: &Action) -> bool {
        if !self.read_tools.is_empty() {
            return self.read_tools.iter().any(|pattern| glob::name_matches(pattern, tool));
        }
        let name = bare_name(tool);
        let is_known = HOSTS.iter().any(|host| host.reads.contains(&name)) || READERS.contains(&name);
        action.kind == ActionType::FileRead && is_known
    }

    fn is_write(&self, tool: &str, action: &Action) -> bool {
        if self.write_tools.is_empty() {
            let may_be_elsewhere = tool.starts_with("mcp__") && !is_known(tool);
            return action.kind == ActionType::FileWrite && !may_be_elsewhere;
        }
        self.write_tools.iter().any(|pattern| glob::name_matches(pattern, tool))
    }

    /// How the agent that called `tool` can read: the tools of its host.
    fn how_to_read(&self, tool: &str) -> String {
        let host = || HOSTS.iter().find(|host| host.writes.contains(&bare_name(tool)));
        let mut names: Vec<&str> = match (self.read_tools.is_empty(), host()) {
            (false, _) => self.read_tools.iter().map(String::as_str).collect(),
            (true, Some(host)) => host.reads.to_vec(),
            (true, None) => HOSTS.first().map(|host| host.reads.to_vec()).unwrap_or_default(),
        };
        if names.is_empty() {
            return "Read it first.".to_owned();
        }
        names.sort_unstable();
        format!("Use one of: {} first.", names.join(", "))
    }

    fn paths<'a>(&self, context: &Context<'a>) -> Result<Vec<&'a str>, Missing> {
        if self.key.is_empty() {
            let files = context.action()?.target_files.as_deref().unwrap_or_default();
            return Ok(files.iter().map(String::as_str).collect());
        }
        let args = context.event.tool.as_ref().map(|tool| &tool.args);
        Ok(self.key.iter().filter_map(|name| args?.get(name)?.as_str()).collect())
    }

    /// Whether the disk has no say: then no file system is needed at all.
    fn is_lexical(&self) -> bool {
        self.new_files == NewFiles::RequireRead && self.freshness == Freshness::Read
    }

    /// What stands in the way of changing one file.
    fn objection(&self, context: &Context<'_>, path: &str) -> Result<Option<Objection>, Missing> {
        if self.is_lexical() {
            let place = context.place(path, self.mount.as_deref());
            let is_read = context.state(&read_key(&place.key))?.is_some();
            return Ok((!is_read).then_some(Objection::Unread));
        }
        let place = context.real_place(path, self.mount.as_deref())?;
        let state = context.file(&place)?;
        match state {
            FileState::Special if place.inside => return Ok(None),
            FileState::Absent if place.inside && self.new_files == NewFiles::Allow => return Ok(None),
            // Temporary folders are everyone's desk: what is not there yet is new.
            FileState::Absent if is_temporary(&place.key) && self.new_files == NewFiles::Allow => {
                return Ok(None);
            }
            FileState::Special | FileState::Absent | FileState::File { .. } => {}
        }
        let read = context.state(&read_key(&place.key))?;
        Ok(match (read, state) {
            (Some(Value::String(read)), FileState::File { checksum })
                if self.freshness == Freshness::Checksum && read != checksum =>
            {
                Some(Objection::Stale)
            }
            (Some(_), _) => None,
            (None, FileState::File { .. }) => Some(Objection::Unread),
            (None, FileState::Absent | FileState::Special) if place.inside => Some(Objection::Unread),
            (None, FileState::Absent | FileState::Special) => Some(Objection::Outside),
        })
    }

    /// `> file` over a file that exists and was not read. What is outside the root is for others to judge.
    fn check_command(&self, context: &Context<'_>, action: &Action) -> Result<Verdict, Fault> {
        let is_judged = self.commands == CommandLines::Overwrites
            && action.kind == ActionType::Command
            && self.write_tools.is_empty()
            && self.read_tools.is_empty()
            && self.key.is_empty();
        if !is_judged || !(context.root().is_some() || context.event.cwd.is_some()) {
            return Ok(Verdict::allow());
        }
        let known = action.overwrites.iter().filter(|path| !path.contains(['$', '`', '*', '?']));
        let outcomes: Vec<_> = known.map(|path| (path, self.is_overwritten_unread(context, path))).collect();
        for (path, outcome) in outcomes {
            let why = match outcome? {
                None | Some(Objection::Outside) => continue,
                Some(Objection::Unread) => "must be read before it is overwritten",
                Some(Objection::Stale) => {
                    "changed on disk since it was read, and must be read again before it is overwritten"
                }
            };
            let reason = format!("File '{path}' {why}. Look at it first, for instance with `cat`.");
            return Ok(Verdict::block(reason).with("path", path.as_str()));
        }
        Ok(Verdict::allow())
    }

    fn is_overwritten_unread(&self, context: &Context<'_>, path: &str) -> Result<Option<Objection>, Missing> {
        let place = context.real_place(path, self.mount.as_deref())?;
        match place.inside && matches!(context.file(&place)?, FileState::File { .. }) {
            true => self.objection(context, path),
            false => Ok(None),
        }
    }

    /// What a command showed of a file counts as read, and what it wrote as written: `cat a`, `sed -n 1,9p a`,
    /// `cat > a <<EOF`.
    fn observe_command(
        &self,
        context: &Context<'_>,
        action: &Action,
        changes: &mut Changes,
    ) -> Result<(), Fault> {
        if action.kind != ActionType::Command || !(self.read_tools.is_empty() && self.key.is_empty()) {
            return Ok(());
        }
        // Whoever gives a file other rights or another time knows nothing of what is in it.
        let own = if self.own_writes == OwnWrites::Count { action.writes.as_slice() } else { &[] };
        let named: BTreeSet<&String> = action.named.iter().collect();
        let shown = shown_by(action).chain(own.iter().filter(|path| !named.contains(path)));
        let seen: Vec<_> = shown.map(|path| (self.seen(context, path), true)).collect();
        let touched = own.iter().filter(|path| named.contains(path));
        let touched: Vec<_> = touched.map(|path| (self.seen(context, path), false)).collect();
        for (outcome, is_shown) in seen.into_iter().chain(touched) {
            // What cannot be looked at has not been read. Of an empty file there is nothing to know.
            if let Ok((key, Some(content))) = outcome
                && (is_shown || content == EMPTY)
            {
                changes.set(context.key(&read_key(&key)), content);
            }
        }
        Ok(())
    }

    /// What is remembered of a file that was read or written: its place and its content.
    fn seen(&self, context: &Context<'_>, path: &str) -> Result<(String, Option<Value>), Missing> {
        if self.is_lexical() {
            return Ok((context.place(path, self.mount.as_deref()).key, Some(json!(""))));
        }
        let place = context.real_place(path, self.mount.as_deref())?;
        let content = match context.file(&place)? {
            FileState::File { checksum } => Some(json!(checksum)),
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
    Outside,
}

impl Guardrail for ReadBeforeWrite {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let tool = context.tool()?;
        let action = context.action()?;
        if !self.is_write(tool, action) {
            return self.check_command(context, action);
        }
        let paths = self.paths(context)?;
        // Every file is asked about before giving up, so that all facts are fetched in one go.
        let outcomes: Vec<_> = paths.iter().map(|path| (path, self.objection(context, path))).collect();
        let mut fault = None;
        for (path, outcome) in outcomes {
            let how = self.how_to_read(tool);
            let reason = match outcome {
                Ok(None) => continue,
                // A denial of another file stands whatever is unknown of this one.
                Err(missing) => {
                    fault = fault.or(Some(missing));
                    continue;
                }
                Ok(Some(Objection::Unread)) => format!("File '{path}' must be read before writing. {how}"),
                Ok(Some(Objection::Stale)) => {
                    format!(
                        "File '{path}' changed on disk since it was read, and must be read again before writing. {how}"
                    )
                }
                Ok(Some(Objection::Outside)) => format!(
                    "File '{path}' lies outside the sandbox root, so it does not count as a new file, and must be read \
                     before writing. {how}"
                ),
            };
            return Ok(Verdict::block(reason).with("path", *path));
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
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
            let key = context.key(&read_key(&key));
            match content {
                Some(content) if counts => changes.set(key, content),
                // What was overwritten or removed has not been read any more.
                _ => changes.remove(key),
            }
        }
        Ok(())
    }

    fn watches(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn tools(&self) -> Tools {
        if self.read_tools.is_empty() || self.write_tools.is_empty() {
            // What a call does is told by its arguments too: a patch can come by any tool.
            return Tools::All;
        }
        Tools::only(self.read_tools.iter().chain(&self.write_tools).cloned())
    }

    fn ceiling(&self) -> Effect {
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

/// The files that a call showed to the agent, with the content that they have: by the reading tools of every known host,
/// and by commands.
pub(crate) fn shown(context: &Context<'_>) -> Result<Vec<(String, Value)>, Missing> {
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
    // What cannot be looked at has not been read.
    Ok(seen.into_iter().flatten().filter_map(|(place, content)| Some((place, content?))).collect())
}

/// The files whose content a command showed. What was only listed is not known.
fn shown_by(action: &Action) -> impl Iterator<Item = &String> {
    let named: BTreeSet<&String> = action.named.iter().collect();
    action.reads.iter().filter(move |path| !named.contains(path))
}

fn read_key(place: &str) -> String {
    format!("read/{place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;

    fn run(settings: Value) -> Run {
        Run::of(serde_json::from_value::<ReadBeforeWrite>(settings).unwrap()).with_file("existing.txt", "v1")
    }

    #[test]
    fn an_unread_file_blocks_a_write_in_the_callers_spelling() {
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
        assert!(decision.reason.ends_with("Use one of: Read first."), "{}", decision.reason);
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
    fn a_symbolic_link_is_the_file_it_points_to() {
        let mut run = run(json!({})).with_link("link.txt", "existing.txt", "v1");
        run.succeed("read_file", json!({"path": "link.txt"}));
        assert_eq!(run.before("write_file", json!({"path": "existing.txt"})).effect, Effect::Allow);
    }

    #[test]
    fn a_new_file_is_free_unless_it_lies_outside() {
        let mut run = run(json!({}));
        assert_eq!(run.before("write_file", json!({"path": "new.txt"})).effect, Effect::Allow);
        let decision = run.before("write_file", json!({"path": "../../etc/new"}));
        assert_eq!(decision.effect, Effect::Block);
        assert!(decision.reason.contains("outside the sandbox root"), "{}", decision.reason);
    }

    #[test]
    fn a_file_that_changed_must_be_read_again() {
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
    fn a_call_without_a_path_is_not_governed() {
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
    fn a_server_that_may_mean_files_elsewhere_is_not_governed() {
        let mut run = run(json!({}));
        let args = json!({"path": "existing.txt", "content": ""});
        assert_eq!(run.before("mcp__github__create_or_update_file", args.clone()).effect, Effect::Allow);
        assert_eq!(run.before("mcp__fs__write_file", args.clone()).effect, Effect::Block);
        assert_eq!(run.before("saveDocument", args).effect, Effect::Block);
    }

    #[test]
    fn the_mount_prefix_is_the_root() {
        let mut run = run(json!({"mount": "/workspace"}));
        run.succeed("read_file", json!({"path": "existing.txt"}));
        assert_eq!(
            run.before("write_file", json!({"path": "/workspace/existing.txt"})).effect,
            Effect::Allow
        );
    }
}
