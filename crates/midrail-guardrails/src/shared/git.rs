//! The changes that an action makes to branches, from its git calls and, where needed, the state of the
//! repository. Guardrails decide what is allowed.

mod commands;
mod expansion;
pub(crate) mod forge;
mod git_call;
pub(crate) mod overwrites;
mod refs;

use midrail_core::{CommandCall, Context, Missing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::commands::{changes_only_files, is_builtin, is_harmless};
pub(crate) use self::expansion::expanded_commands;
pub(crate) use self::git_call::GitCall;
use self::git_call::Word;
pub(crate) use self::refs::branch_of;
use self::refs::{from_here, is_revision, refspec, yields_current};
use super::data::GIT;
use super::file_access::{exists, known_actions};
use super::file_paths::{is_below, is_temporary};
use super::text::shorten;

/// An update of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchUpdate {
    pub(crate) kind: BranchChange,
    pub(crate) branch: Branch,
    /// The branch that is merged or pushed, if it is another one.
    pub(crate) from: Option<String>,
    /// The call as shown in messages.
    pub(crate) call: String,
}

/// A change of a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BranchChange {
    /// A commit.
    Commit,
    /// A local merge of another branch into it.
    Merge,
    /// A push to it.
    Push,
    /// Its deletion.
    Delete,
    /// A rename.
    Rename,
    /// A move to another commit.
    Reset,
    /// A new branch.
    #[serde(skip)]
    Create,
    /// The command line does not show it.
    #[serde(skip)]
    Unknown,
}

/// The branch that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branch {
    Named(String),
    /// A detached HEAD.
    Detached,
    /// All branches.
    Every,
    /// A branch that the command line does not show.
    Unknown,
    /// The branch checked out in this folder, which belongs to another repository or work tree.
    Elsewhere(String),
}

/// The changes of an action.
#[derive(Debug, Default)]
pub(crate) struct BranchUpdates {
    pub(crate) list: Vec<BranchUpdate>,
    /// A missing fact, if not all changes are known.
    pub(crate) missing: Option<Missing>,
}

/// The git and forge calls of an action, including scripts that the agent wrote and tools of git servers.
pub(crate) fn calls(context: &Context<'_>) -> Result<Vec<CommandCall>, Missing> {
    let actions = known_actions(context)?;
    Ok(actions
        .into_iter()
        .flat_map(|(_, does)| &does.commands)
        .filter(|call| is_repository_call(call))
        .cloned()
        .chain(tool_call(context))
        .collect())
}

/// Whether a subcommand is built into git.
pub(crate) fn is_builtin_command(command: &str) -> bool {
    is_builtin(command)
}

/// Whether a call uses another repository or work tree than that of the project.
pub(crate) fn is_other_repository(context: &Context<'_>, call: &GitCall<'_>) -> Result<bool, Missing> {
    let has_folder = call.call.folder.as_deref() != Some("") || !call.folders.is_empty();
    if !has_folder && !call.names_repository && context.event.cwd.is_none() {
        return Ok(false);
    }
    let reader = Reader { context, current: None, updates: BranchUpdates::default() };
    Ok(!matches!(reader.place(call)?, Where::Here))
}

/// Whether a command is a call of git, or of the program of a forge.
fn is_repository_call(call: &CommandCall) -> bool {
    matches!(call.program.as_str(), "git" | "gh" | "glab")
}

/// The changes that these calls make to branches.
pub(crate) fn branch_updates(context: &Context<'_>, calls: &[CommandCall]) -> BranchUpdates {
    let mut reader = Reader { context, current: None, updates: BranchUpdates::default() };
    for call in calls.iter().filter(|call| call.program == "git") {
        if let Err(missing) = reader.read(call) {
            reader.updates.missing.get_or_insert(missing);
        }
    }
    reader.updates
}

/// A call, shortened for messages.
pub(crate) fn shown(call: &CommandCall) -> String {
    let text = format!("{} {}", call.program, call.args.join(" "));
    shorten(text.lines().next().unwrap_or_default(), 101)
}

/// The git call that a repository tool corresponds to.
fn tool_call(context: &Context<'_>) -> Option<CommandCall> {
    let tool = context.event.tool.as_ref()?;
    let text = |names: &[&str]| names.iter().find_map(|name| tool.args.get(*name).and_then(Value::as_str));
    let branch = text(&["branch", "branch_name", "branchName", "ref"]);
    let is_server = tool.name.starts_with("mcp__");
    let args: Vec<&str> = match (midrail_shell::action::bare_name(&tool.name), branch) {
        ("git_commit", _) => vec!["commit"],
        ("git_push", Some(branch)) => vec!["push", text(&["remote"]).unwrap_or("origin"), branch],
        ("git_push", None) => vec!["push"],
        ("git_merge", Some(branch)) => vec!["merge", branch],
        ("git_create_branch", Some(branch)) => vec!["branch", branch],
        ("git_checkout", Some(branch)) => vec!["switch", branch],
        // Files that a forge commits directly.
        ("create_or_update_file" | "push_files" | "delete_file", Some(branch)) if is_server => {
            vec!["push", "origin", branch]
        }
        ("create_branch", Some(branch)) if is_server => vec!["branch", branch],
        _ => return None,
    };
    Some(CommandCall {
        program: "git".to_owned(),
        args: args.into_iter().map(str::to_owned).collect(),
        folder: Some(text(&["repo_path"]).unwrap_or_default().to_owned()),
        ..CommandCall::default()
    })
}

/// A call with an alias defined in its own line.
fn with_alias(call: &CommandCall, name: &str, body: &str) -> CommandCall {
    let mut expanded = call.clone();
    expanded.args.splice(0..0, ["-c".to_owned(), format!("alias.{name}={body}")]);
    expanded.unknown.iter_mut().chain(&mut expanded.splits).for_each(|at| *at += 2);
    expanded
}

/// The folder of another repository or work tree below the root that contains a place.
fn nested_repository(context: &Context<'_>, place: &str) -> Result<Option<String>, Missing> {
    let mut folder = place.trim_matches('/');
    while !matches!(folder, "" | ".") {
        if exists(context, &format!("{folder}/.git"))? {
            return Ok(Some(folder.to_owned()));
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    Ok(None)
}

/// Reads calls in order: a checked-out branch applies to the next commits.
struct Reader<'c, 'a> {
    context: &'c Context<'a>,
    /// The branch that an earlier call of the line checked out.
    current: Option<Branch>,
    updates: BranchUpdates,
}

/// Options of `git push` that publish its branch.
const PUBLISHES: &[&str] = &["-u", "--set-upstream"];

/// The repository of a call.
enum Where {
    Here,
    /// A temporary folder.
    Temporary(String),
    Elsewhere(String),
}

impl Reader<'_, '_> {
    fn read(&mut self, call: &CommandCall) -> Result<(), Missing> {
        let call = &GitCall::new(call);
        if call.is_unknown {
            self.add(call, BranchChange::Unknown, Branch::Unknown, None);
            return Ok(());
        }
        if call.has(&["--help", "-h"]) {
            return Ok(());
        }
        match call.command {
            "push" | "send-pack" => self.push(call)?,
            "subtree" if call.operand(0).is_some_and(|word| word.text == "push") => {
                let target = call.operand(2).map_or(Branch::Unknown, |word| self.named(word));
                self.add(call, BranchChange::Push, target, None);
            }
            "commit" if !call.has(&["--dry-run"]) => self.on_current(call, BranchChange::Commit, None)?,
            "cherry-pick" | "revert" | "am"
                if !call.has(&["--abort", "--quit", "--skip", "-n", "--no-commit"]) =>
            {
                self.on_current(call, BranchChange::Commit, None)?;
            }
            "merge" if !call.has(&["--abort", "--quit"]) => {
                let from = call.operand(0).map(|word| branch_of(word.text).to_owned());
                self.on_current(call, BranchChange::Merge, from)?;
            }
            "pull" => {
                if let Some(from) = call.operand(1) {
                    let source = branch_of(from.text.split(':').next().unwrap_or_default()).to_owned();
                    let current = self.current(call)?;
                    if current.is_some() && current != Some(Branch::Named(source.clone())) {
                        self.on_current(call, BranchChange::Merge, Some(source))?;
                    }
                }
            }
            "rebase" if !call.has(&["--abort", "--quit"]) => {
                if let Some(branch) = call.operand(1) {
                    self.current = Some(self.named(branch));
                }
                self.on_current(call, BranchChange::Reset, None)?;
            }
            "reset" => self.reset(call)?,
            "checkout" | "switch" => self.checkout(call)?,
            "branch" => self.branch(call)?,
            "worktree" => self.worktree(call),
            "fetch" => self.fetch(call),
            "update-ref" => self.update_ref(call)?,
            "config" => self.alias(call)?,
            "symbolic-ref" => {
                if let (Some(Word { text: "HEAD", .. }), Some(target)) = (call.operand(0), call.operand(1)) {
                    self.current = Some(self.named(target));
                }
            }
            command if !is_harmless(command) => return self.resolve_alias(call.call, command),
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, call: &GitCall<'_>, kind: BranchChange, branch: Branch, from: Option<String>) {
        self.updates.list.push(BranchUpdate { kind, branch, from, call: shown(call.call) });
    }

    /// The branch named by a word.
    fn named(&self, word: Word<'_>) -> Branch {
        if word.is_known { Branch::Named(branch_of(word.text).to_owned()) } else { Branch::Unknown }
    }

    fn on_current(
        &mut self,
        call: &GitCall<'_>,
        kind: BranchChange,
        from: Option<String>,
    ) -> Result<(), Missing> {
        if let Some(branch) = self.current(call)? {
            self.add(call, kind, branch, from);
        }
        Ok(())
    }

    /// The branch checked out in the folder of a call. `None`: there is no repository, or it is temporary.
    fn current(&mut self, call: &GitCall<'_>) -> Result<Option<Branch>, Missing> {
        match self.place(call)? {
            // A temporary copy matters only when it is pushed.
            Where::Temporary(folder) if call.command == "push" => {
                return Ok(Some(Branch::Elsewhere(folder)));
            }
            Where::Temporary(_) => return Ok(None),
            Where::Elsewhere(folder) => return Ok(Some(Branch::Elsewhere(folder))),
            Where::Here => {}
        }
        if let Some(current) = &self.current {
            return Ok(Some(current.clone()));
        }
        let Some(git) = self.context.git()? else { return Ok(None) };
        Ok(Some(git.branch.clone().map_or(Branch::Detached, Branch::Named)))
    }

    fn place(&self, call: &GitCall<'_>) -> Result<Where, Missing> {
        let is_shown = |word: &Word<'_>| word.is_known || from_here(word.text).is_some();
        if call.call.folder.is_none() || call.names_repository || !call.folders.iter().all(is_shown) {
            return Ok(Where::Elsewhere("an unknown folder".to_owned()));
        }
        let folder = call.folder();
        let path = if folder.is_empty() { "." } else { folder.as_str() };
        let place = self.context.real_place(path, None)?;
        if place.inside {
            return Ok(nested_repository(self.context, &place.key)?.map_or(Where::Here, Where::Elsewhere));
        }
        if is_temporary(&place.key) {
            return Ok(Where::Temporary(folder));
        }
        let top = self.context.git()?.map(|git| git.top.as_str()).filter(|top| !top.is_empty());
        let is_here = top.is_some_and(|top| is_below(top, &place.key));
        Ok(if is_here { Where::Here } else { Where::Elsewhere(folder) })
    }

    fn push(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        if call.has(&["-n", "--dry-run"]) {
            return Ok(());
        }
        if call.has(&["--all", "--branches", "--mirror"]) {
            self.add(call, BranchChange::Push, Branch::Every, None);
            return Ok(());
        }
        let deletes = call.has(&["-d", "--delete"]);
        // An unknown remote may expand to a remote and branches.
        if call.operands.first().is_some_and(|word| !word.is_known) {
            self.add(call, BranchChange::Push, Branch::Unknown, None);
        }
        let mut operands = call.operands.iter().skip(1).peekable();
        if operands.peek().is_none() {
            if call.has(&["--tags"]) {
                return Ok(());
            }
            let redirects = |setting: &&str| setting.starts_with("push.") || setting.starts_with("remote.");
            if call.settings.iter().any(redirects) {
                self.add(call, BranchChange::Push, Branch::Unknown, None);
                return Ok(());
            }
            // All branches that exist on both sides.
            let is_here = matches!(self.place(call)?, Where::Here);
            if is_here
                && self.context.git()?.is_some_and(|git| git.push_default.as_deref() == Some("matching"))
            {
                self.add(call, BranchChange::Push, Branch::Every, None);
                return Ok(());
            }
            return self.push_current(call);
        }
        while let Some(word) = operands.next() {
            if word.text == "tag" {
                operands.next();
                continue;
            }
            if yields_current(word.text) {
                self.push_current(call)?;
                continue;
            }
            if !word.is_known {
                self.add(call, BranchChange::Push, Branch::Unknown, None);
                continue;
            }
            let Some(spec) = refspec(word.text) else { continue };
            let from = match spec.from {
                "HEAD" | "@" => match self.current(call) {
                    Ok(Some(Branch::Named(current))) => Some(current),
                    _ => None,
                },
                "" => None,
                from => Some(branch_of(from).to_owned()),
            };
            match spec.to {
                _ if deletes => {
                    self.add(call, BranchChange::Delete, Branch::Named(branch_of(word.text).to_owned()), None)
                }
                Some(to) if to.contains('*') || to.is_empty() => {
                    self.add(call, BranchChange::Push, Branch::Every, None)
                }
                Some(to) if spec.from.is_empty() => {
                    self.add(call, BranchChange::Delete, Branch::Named(to.to_owned()), None)
                }
                Some(to) => {
                    self.add(call, BranchChange::Push, Branch::Named(to.to_owned()), from);
                    if word.text.contains(':') || call.has(PUBLISHES) {
                        self.add(call, BranchChange::Create, Branch::Named(to.to_owned()), None);
                    }
                }
                None => self.on_current(call, BranchChange::Push, from)?,
            }
        }
        Ok(())
    }

    fn push_current(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        let Some(current) = self.current(call)? else { return Ok(()) };
        let from = match &current {
            Branch::Named(name) => Some(name.clone()),
            _ => None,
        };
        let is_as_it_was = self.current.is_none() && from.is_some();
        if call.has(PUBLISHES) {
            self.add(call, BranchChange::Create, current.clone(), None);
        }
        self.add(call, BranchChange::Push, current, from.clone());
        // The upstream branch may have another name.
        let git = if is_as_it_was { self.context.git()? } else { None };
        let upstream = git.and_then(|git| git.upstream.as_deref()?.split_once('/'));
        if let Some((_, name)) = upstream.filter(|(_, name)| from.as_deref() != Some(*name)) {
            self.add(call, BranchChange::Push, Branch::Named(name.to_owned()), from);
        }
        Ok(())
    }

    fn reset(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        let Some(target) = call.operands.first().filter(|_| call.before_dashes != Some(0)) else {
            return Ok(());
        };
        let has_paths = call.operands.len() > 1;
        if has_paths || matches!(target.text, "HEAD" | "@" | ".") {
            return Ok(());
        }
        let has_mode = call.has(&["--hard", "--soft", "--mixed", "--keep", "--merge"]);
        if has_mode || is_revision(target.text) || !target.is_known || !exists(self.context, target.text)? {
            self.on_current(call, BranchChange::Reset, None)?;
        }
        Ok(())
    }

    fn checkout(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        if let Some(name) = call.value(GIT.list("creating options")) {
            let branch = self.named(name);
            if call.has(&["-B", "-C", "--force-create"]) {
                self.add(call, BranchChange::Reset, branch.clone(), None);
            }
            self.add(call, BranchChange::Create, branch.clone(), None);
            self.check_out(call, branch)?;
            return Ok(());
        }
        let is_switch = call.command == "switch";
        let Some(target) = call.operand(0) else { return Ok(()) };
        let has_paths = !is_switch
            && (call.operands.len() > 1 || call.before_dashes == Some(0) || call.has(&["-p", "--patch"]));
        if has_paths {
            return Ok(());
        }
        let branch = match target.text {
            "-" => Branch::Unknown,
            _ if !target.is_known => Branch::Unknown,
            "HEAD" | "@" | "." => return Ok(()),
            _ if call.has(&["-t", "--track"]) => {
                Branch::Named(target.text.split_once('/').map_or(target.text, |(_, name)| name).to_owned())
            }
            text if is_revision(text) || call.has(&["--detach", "-d"]) => Branch::Detached,
            text if !is_switch && exists(self.context, text)? => return Ok(()),
            text => Branch::Named(branch_of(text).to_owned()),
        };
        self.check_out(call, branch)
    }

    /// A checkout in another repository does not change the current branch here.
    fn check_out(&mut self, call: &GitCall<'_>, branch: Branch) -> Result<(), Missing> {
        if matches!(self.place(call)?, Where::Here) {
            self.current = Some(branch);
        }
        Ok(())
    }

    fn branch(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        if call.has(GIT.list("listing options")) {
            return Ok(());
        }
        let names: Vec<Branch> = call.operands.iter().map(|word| self.named(*word)).collect();
        if call.has(&["-d", "-D", "--delete"]) {
            for name in names {
                self.add(call, BranchChange::Delete, name, None);
            }
            return Ok(());
        }
        let Some(last) = names.last().cloned() else { return Ok(()) };
        if call.has(&["-m", "-M", "--move"]) {
            let old = match names.len() {
                1 => self.current(call)?,
                _ => names.first().cloned(),
            };
            // Naming the first branch of a new repository, or keeping a name, is not a rename.
            let begins = names.len() == 1 && self.context.git()?.is_none_or(|git| git.head.is_none());
            if begins || old.as_ref() == Some(&last) {
                return Ok(());
            }
            if let Some(old) = old {
                self.add(call, BranchChange::Rename, old, None);
            }
            if call.has(&["-M"]) || (call.has(&["-f", "--force"])) {
                self.add(call, BranchChange::Reset, last.clone(), None);
            }
            if names.len() == 1 {
                self.current = Some(last.clone());
            }
            self.add(call, BranchChange::Create, last, None);
            return Ok(());
        }
        let is_copy = call.has(&["-c", "-C", "--copy"]);
        let made = if is_copy { Some(last) } else { names.first().cloned() };
        let Some(made) = made else { return Ok(()) };
        if call.has(&["-f", "--force", "-C"]) {
            self.add(call, BranchChange::Reset, made.clone(), None);
        }
        self.add(call, BranchChange::Create, made, None);
        Ok(())
    }

    fn worktree(&mut self, call: &GitCall<'_>) {
        if call.operands.first().is_none_or(|word| word.text != "add") {
            return;
        }
        match call.value(&["-b", "-B"]) {
            Some(name) => {
                let branch = self.named(name);
                if call.has(&["-B"]) {
                    self.add(call, BranchChange::Reset, branch.clone(), None);
                }
                self.add(call, BranchChange::Create, branch, None);
            }
            // The name of the folder becomes the name of the branch.
            None if call.operands.len() == 2 && !call.has(&["-d", "--detach"]) => {
                if let Some(path) = call.operands.get(1) {
                    let name = path.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    let branch = self.named(Word { text: name, ..*path });
                    self.add(call, BranchChange::Create, branch, None);
                }
            }
            None => {}
        }
    }

    /// `git fetch origin x:main` moves a branch of this repository.
    fn fetch(&mut self, call: &GitCall<'_>) {
        for word in call.operands.iter().skip(1) {
            let Some((from, to)) = word.text.trim_start_matches('+').split_once(':') else { continue };
            let is_same = branch_of(from) == branch_of(to);
            let is_branch = !to.starts_with("refs/") || to.starts_with("refs/heads/");
            if !to.is_empty() && is_branch && !is_same {
                let branch = self.named(Word { text: to, ..*word });
                self.add(call, BranchChange::Reset, branch, None);
            }
        }
    }

    /// Checks `git config alias.p 'push origin main'` where it is defined; later uses are not visible.
    fn alias(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        let alias = call.operands.iter().position(|word| word.text.starts_with("alias."));
        let Some(body) = alias.and_then(|at| call.operands.get(at + 1)) else { return Ok(()) };
        let args: Vec<String> = body.text.split_whitespace().map(str::to_owned).collect();
        let names_branches = args.iter().filter(|arg| !arg.starts_with('-')).count() > 2;
        if args.first().is_some_and(|first| first == "push") && names_branches {
            let expanded = CommandCall { args, unknown: Vec::new(), splits: Vec::new(), ..call.call.clone() };
            self.push(&GitCall::new(&expanded))?;
        }
        Ok(())
    }

    /// Resolves a command that may be an alias of the repository.
    fn resolve_alias(&mut self, call: &CommandCall, command: &str) -> Result<(), Missing> {
        if changes_only_files(command) {
            return Ok(());
        }
        let Some(git) = self.context.git()? else { return Ok(()) };
        let alias = |name: &str| git.aliases.get(&name.to_ascii_lowercase());
        let Some(body) = alias(command) else { return Ok(()) };
        let first = body.split_whitespace().next().unwrap_or_default();
        match body.strip_prefix('!') {
            Some("") => return Ok(()),
            // The other effects of the alias are unknown.
            None if is_builtin(first) || alias(first).is_none() => {}
            _ => {
                self.add(&GitCall::new(call), BranchChange::Unknown, Branch::Unknown, None);
                return Ok(());
            }
        }
        self.read(&with_alias(call, command, body))
    }

    fn update_ref(&mut self, call: &GitCall<'_>) -> Result<(), Missing> {
        if call.has(&["--stdin"]) {
            self.add(call, BranchChange::Reset, Branch::Unknown, None);
        }
        let Some(target) = call.operand(0) else { return Ok(()) };
        let kind = if call.has(&["-d", "--delete"]) { BranchChange::Delete } else { BranchChange::Reset };
        match target.text {
            "HEAD" => self.on_current(call, kind, None)?,
            text if text.starts_with("refs/heads/") || !target.is_known => {
                let branch = self.named(target);
                self.add(call, kind, branch, None);
            }
            _ => {}
        }
        Ok(())
    }
}
