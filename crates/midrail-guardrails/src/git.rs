//! The changes that an action makes to branches, from its git calls and, where needed, the state of the
//! repository. Guardrails decide what is allowed.

mod commands;
pub(crate) mod forge;
mod refs;
mod spelled;
pub(crate) mod sweeps;
mod words;

use midrail_core::{Context, FileState, Missing, RepositoryCall};
use serde_json::Value;

use self::commands::{HARMLESS, OF_FILES, is_own};
pub(crate) use self::refs::branch_of;
use self::refs::{from_here, is_revision, refspec, stands_for_current};
pub(crate) use self::spelled::expanded_commands;
use self::words::{Word, Words};
use crate::places::is_temporary;
use crate::touched::scripts;

/// A change of a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) what: What,
    pub(crate) branch: Branch,
    /// The branch that is merged or pushed, if it is another one.
    pub(crate) from: Option<String>,
    /// The call as shown in messages.
    pub(crate) call: String,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Commit,
    Merge,
    Push,
    Delete,
    Rename,
    Reset,
    Create,
    /// The command line does not show it.
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
pub(crate) struct Deeds {
    pub(crate) list: Vec<Deed>,
    /// A missing fact, if not all changes are known.
    pub(crate) missing: Option<Missing>,
}

/// The git and forge calls of an action, including scripts that the agent wrote and tools of git servers.
pub(crate) fn calls(context: &Context<'_>) -> Result<Vec<RepositoryCall>, Missing> {
    let action = context.action()?;
    let mut calls = action.repository.clone();
    calls.extend(of_tool(context));
    for (_, does) in scripts(context, action)? {
        calls.extend(does.repository.iter().cloned());
        if does.is_partial {
            return Err(Missing("a script is too long to analyse".to_owned()));
        }
    }
    if action.is_partial {
        return Err(Missing("the command line is too long to analyse".to_owned()));
    }
    Ok(calls)
}

/// The changes that these calls make to branches.
pub(crate) fn deeds(context: &Context<'_>, calls: &[RepositoryCall]) -> Deeds {
    let mut reader = Reader { context, current: None, deeds: Deeds::default() };
    for call in calls.iter().filter(|call| call.program == "git") {
        if let Err(missing) = reader.read(call) {
            reader.deeds.missing.get_or_insert(missing);
        }
    }
    reader.deeds
}

/// A call, shortened for messages.
pub(crate) fn shown(call: &RepositoryCall) -> String {
    let text = format!("{} {}", call.program, call.args.join(" "));
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(100) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// The git call that a repository tool corresponds to.
fn of_tool(context: &Context<'_>) -> Option<RepositoryCall> {
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
    Some(RepositoryCall {
        program: "git".to_owned(),
        args: args.into_iter().map(str::to_owned).collect(),
        folder: Some(text(&["repo_path"]).unwrap_or_default().to_owned()),
        ..RepositoryCall::default()
    })
}

/// Whether a push publishes its branch.
fn publishes(words: &Words<'_>) -> bool {
    words.has(&["-u", "--set-upstream"])
}

/// Reads calls in order: a checked-out branch applies to the next commits.
struct Reader<'c, 'a> {
    context: &'c Context<'a>,
    /// The branch that an earlier call of the line checked out.
    current: Option<Branch>,
    deeds: Deeds,
}

/// The repository of a call.
enum Where {
    Here,
    /// A temporary folder.
    Temporary(String),
    Elsewhere(String),
}

impl Reader<'_, '_> {
    fn read(&mut self, call: &RepositoryCall) -> Result<(), Missing> {
        let words = Words::of(call);
        if words.is_unknown {
            self.add(call, What::Unknown, Branch::Unknown, None);
            return Ok(());
        }
        if words.has(&["--help", "-h"]) {
            return Ok(());
        }
        let operand = |at: usize| words.operands.get(at).copied();
        match words.command {
            "push" | "send-pack" => self.push(call, &words)?,
            "subtree" if operand(0).is_some_and(|word| word.text == "push") => {
                let target = operand(2).map_or(Branch::Unknown, |word| self.named(word));
                self.add(call, What::Push, target, None);
            }
            "commit" if !words.has(&["--dry-run"]) => self.on_current(call, &words, What::Commit, None)?,
            "cherry-pick" | "revert" | "am"
                if !words.has(&["--abort", "--quit", "--skip", "-n", "--no-commit"]) =>
            {
                self.on_current(call, &words, What::Commit, None)?;
            }
            "merge" if !words.has(&["--abort", "--quit"]) => {
                let from = operand(0).map(|word| branch_of(word.text).to_owned());
                self.on_current(call, &words, What::Merge, from)?;
            }
            "pull" => {
                if let Some(from) = operand(1) {
                    let source = branch_of(from.text.split(':').next().unwrap_or_default()).to_owned();
                    let current = self.current(call, &words)?;
                    if current.is_some() && current != Some(Branch::Named(source.clone())) {
                        self.on_current(call, &words, What::Merge, Some(source))?;
                    }
                }
            }
            "rebase" if !words.has(&["--abort", "--quit"]) => {
                if let Some(branch) = operand(1) {
                    self.current = Some(self.named(branch));
                }
                self.on_current(call, &words, What::Reset, None)?;
            }
            "reset" => self.reset(call, &words)?,
            "checkout" | "switch" => self.checkout(call, &words)?,
            "branch" => self.branch(call, &words)?,
            "worktree" => self.worktree(call, &words),
            "fetch" => self.fetch(call, &words),
            "update-ref" => self.update_ref(call, &words)?,
            "config" => self.alias(call, &words)?,
            "symbolic-ref" => {
                if let (Some(Word { text: "HEAD", .. }), Some(target)) = (operand(0), operand(1)) {
                    self.current = Some(self.named(target));
                }
            }
            command if !HARMLESS.contains(&command) => return self.resolve_alias(call, command),
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, call: &RepositoryCall, what: What, branch: Branch, from: Option<String>) {
        self.deeds.list.push(Deed { what, branch, from, call: shown(call) });
    }

    /// The branch named by a word.
    fn named(&self, word: Word<'_>) -> Branch {
        match word.is_known {
            true => Branch::Named(branch_of(word.text).to_owned()),
            false => Branch::Unknown,
        }
    }

    fn on_current(
        &mut self,
        call: &RepositoryCall,
        words: &Words<'_>,
        what: What,
        from: Option<String>,
    ) -> Result<(), Missing> {
        if let Some(branch) = self.current(call, words)? {
            self.add(call, what, branch, from);
        }
        Ok(())
    }

    /// The branch checked out in the folder of a call. `None`: there is no repository, or it is temporary.
    fn current(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<Option<Branch>, Missing> {
        match self.place(call, words)? {
            // A temporary copy matters only when it is pushed.
            Where::Temporary(folder) if words.command == "push" => {
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

    fn place(&self, call: &RepositoryCall, words: &Words<'_>) -> Result<Where, Missing> {
        let unknown = || Where::Elsewhere("an unknown folder".to_owned());
        let Some(start) = &call.folder else { return Ok(unknown()) };
        let is_told = |word: &Word<'_>| word.is_known || from_here(word.text).is_some();
        if words.names_repository || !words.folders.iter().all(is_told) {
            return Ok(unknown());
        }
        let mut folder = start.clone();
        for next in &words.folders {
            folder = match from_here(next.text).filter(|_| !next.is_known).unwrap_or(next.text) {
                text if text.starts_with(['/', '~']) || folder.is_empty() => text.to_owned(),
                text => format!("{folder}/{text}"),
            };
        }
        let path = if folder.is_empty() { "." } else { folder.as_str() };
        let place = self.context.real_place(path, None)?;
        if place.inside {
            return self.nested(&place.key);
        }
        if is_temporary(&place.key) {
            return Ok(Where::Temporary(folder));
        }
        let top = self.context.git()?.map(|git| git.top.as_str()).filter(|top| !top.is_empty());
        match top.is_some_and(|top| crate::places::is_below(top, &place.key)) {
            true => Ok(Where::Here),
            false => Ok(Where::Elsewhere(folder)),
        }
    }

    /// A folder below the root may contain another repository or work tree.
    fn nested(&self, place: &str) -> Result<Where, Missing> {
        let mut folder = place.trim_matches('/');
        while !matches!(folder, "" | ".") {
            let git = self.context.real_place(&format!("{folder}/.git"), None)?;
            if *self.context.file(&git)? != FileState::Absent {
                return Ok(Where::Elsewhere(folder.to_owned()));
            }
            folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
        }
        Ok(Where::Here)
    }

    fn push(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        if words.has(&["-n", "--dry-run"]) {
            return Ok(());
        }
        if words.has(&["--all", "--branches", "--mirror"]) {
            self.add(call, What::Push, Branch::Every, None);
            return Ok(());
        }
        let deletes = words.has(&["-d", "--delete"]);
        // An unknown remote may expand to a remote and branches.
        if words.operands.first().is_some_and(|word| !word.is_known) {
            self.add(call, What::Push, Branch::Unknown, None);
        }
        let mut operands = words.operands.iter().skip(1).peekable();
        if operands.peek().is_none() {
            if words.has(&["--tags"]) {
                return Ok(());
            }
            let redirects = |setting: &&str| setting.starts_with("push.") || setting.starts_with("remote.");
            if words.settings.iter().any(redirects) {
                self.add(call, What::Push, Branch::Unknown, None);
                return Ok(());
            }
            // All branches that exist on both sides.
            let is_here = matches!(self.place(call, words)?, Where::Here);
            if is_here
                && self.context.git()?.is_some_and(|git| git.push_default.as_deref() == Some("matching"))
            {
                self.add(call, What::Push, Branch::Every, None);
                return Ok(());
            }
            return self.push_current(call, words);
        }
        while let Some(word) = operands.next() {
            if word.text == "tag" {
                operands.next();
                continue;
            }
            if stands_for_current(word.text) {
                self.push_current(call, words)?;
                continue;
            }
            if !word.is_known {
                self.add(call, What::Push, Branch::Unknown, None);
                continue;
            }
            let Some(spec) = refspec(word.text) else { continue };
            let from = match spec.from {
                "HEAD" | "@" => match self.current(call, words) {
                    Ok(Some(Branch::Named(current))) => Some(current),
                    _ => None,
                },
                "" => None,
                from => Some(branch_of(from).to_owned()),
            };
            match spec.to {
                _ if deletes => {
                    self.add(call, What::Delete, Branch::Named(branch_of(word.text).to_owned()), None)
                }
                Some(to) if to.contains('*') || to.is_empty() => {
                    self.add(call, What::Push, Branch::Every, None)
                }
                Some(to) if spec.from.is_empty() => {
                    self.add(call, What::Delete, Branch::Named(to.to_owned()), None)
                }
                Some(to) => {
                    self.add(call, What::Push, Branch::Named(to.to_owned()), from);
                    if word.text.contains(':') || publishes(words) {
                        self.add(call, What::Create, Branch::Named(to.to_owned()), None);
                    }
                }
                None => self.on_current(call, words, What::Push, from)?,
            }
        }
        Ok(())
    }

    fn push_current(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        let Some(current) = self.current(call, words)? else { return Ok(()) };
        let from = match &current {
            Branch::Named(name) => Some(name.clone()),
            _ => None,
        };
        let is_as_it_was = self.current.is_none() && from.is_some();
        if publishes(words) {
            self.add(call, What::Create, current.clone(), None);
        }
        self.add(call, What::Push, current, from.clone());
        // The upstream branch may have another name.
        let upstream = match is_as_it_was {
            true => self.context.git()?.and_then(|git| git.upstream.as_deref()?.split_once('/')),
            false => None,
        };
        if let Some((_, name)) = upstream.filter(|(_, name)| from.as_deref() != Some(*name)) {
            self.add(call, What::Push, Branch::Named(name.to_owned()), from);
        }
        Ok(())
    }

    fn reset(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        let Some(target) = words.operands.first().filter(|_| words.before_dashes != Some(0)) else {
            return Ok(());
        };
        let has_paths = words.operands.len() > 1;
        if has_paths || matches!(target.text, "HEAD" | "@" | ".") {
            return Ok(());
        }
        let has_mode = words.has(&["--hard", "--soft", "--mixed", "--keep", "--merge"]);
        if has_mode || is_revision(target.text) || !target.is_known || !self.is_file(target.text)? {
            self.on_current(call, words, What::Reset, None)?;
        }
        Ok(())
    }

    fn is_file(&self, path: &str) -> Result<bool, Missing> {
        let place = self.context.real_place(path, None)?;
        Ok(*self.context.file(&place)? != FileState::Absent)
    }

    fn checkout(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        if let Some(name) = words.value(&["-b", "-B", "-c", "-C", "--create", "--force-create", "--orphan"]) {
            let branch = self.named(name);
            if words.has(&["-B", "-C", "--force-create"]) {
                self.add(call, What::Reset, branch.clone(), None);
            }
            self.add(call, What::Create, branch.clone(), None);
            self.check_out(call, words, branch)?;
            return Ok(());
        }
        let is_switch = words.command == "switch";
        let Some(target) = words.operands.first().copied() else { return Ok(()) };
        let has_paths = !is_switch
            && (words.operands.len() > 1 || words.before_dashes == Some(0) || words.has(&["-p", "--patch"]));
        if has_paths {
            return Ok(());
        }
        let branch = match target.text {
            "-" => Branch::Unknown,
            _ if !target.is_known => Branch::Unknown,
            "HEAD" | "@" | "." => return Ok(()),
            _ if words.has(&["-t", "--track"]) => {
                Branch::Named(target.text.split_once('/').map_or(target.text, |(_, name)| name).to_owned())
            }
            text if is_revision(text) || words.has(&["--detach", "-d"]) => Branch::Detached,
            text if !is_switch && self.is_file(text)? => return Ok(()),
            text => Branch::Named(branch_of(text).to_owned()),
        };
        self.check_out(call, words, branch)
    }

    /// A checkout in another repository does not change the current branch here.
    fn check_out(&mut self, call: &RepositoryCall, words: &Words<'_>, branch: Branch) -> Result<(), Missing> {
        if matches!(self.place(call, words)?, Where::Here) {
            self.current = Some(branch);
        }
        Ok(())
    }

    fn branch(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        let lists = [
            "-l",
            "-a",
            "--list",
            "--all",
            "--show-current",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ];
        let settles = ["-u", "--set-upstream-to", "--unset-upstream", "--edit-description"];
        if words.has(&lists) || words.has(&settles) || words.has(&["-r", "--remotes"]) {
            return Ok(());
        }
        let names: Vec<Branch> = words.operands.iter().map(|word| self.named(*word)).collect();
        if words.has(&["-d", "-D", "--delete"]) {
            for name in names {
                self.add(call, What::Delete, name, None);
            }
            return Ok(());
        }
        let Some(last) = names.last().cloned() else { return Ok(()) };
        if words.has(&["-m", "-M", "--move"]) {
            let old = match names.len() {
                1 => self.current(call, words)?,
                _ => names.first().cloned(),
            };
            // Naming the first branch of a new repository, or keeping a name, is not a rename.
            let begins = names.len() == 1 && self.context.git()?.is_none_or(|git| git.head.is_none());
            if begins || old.as_ref() == Some(&last) {
                return Ok(());
            }
            if let Some(old) = old {
                self.add(call, What::Rename, old, None);
            }
            if words.has(&["-M"]) || (words.has(&["-f", "--force"])) {
                self.add(call, What::Reset, last.clone(), None);
            }
            if names.len() == 1 {
                self.current = Some(last.clone());
            }
            self.add(call, What::Create, last, None);
            return Ok(());
        }
        let is_copy = words.has(&["-c", "-C", "--copy"]);
        let made = if is_copy { Some(last) } else { names.first().cloned() };
        let Some(made) = made else { return Ok(()) };
        if words.has(&["-f", "--force", "-C"]) {
            self.add(call, What::Reset, made.clone(), None);
        }
        self.add(call, What::Create, made, None);
        Ok(())
    }

    fn worktree(&mut self, call: &RepositoryCall, words: &Words<'_>) {
        if words.operands.first().is_none_or(|word| word.text != "add") {
            return;
        }
        match words.value(&["-b", "-B"]) {
            Some(name) => {
                let branch = self.named(name);
                if words.has(&["-B"]) {
                    self.add(call, What::Reset, branch.clone(), None);
                }
                self.add(call, What::Create, branch, None);
            }
            // The name of the folder becomes the name of the branch.
            None if words.operands.len() == 2 && !words.has(&["-d", "--detach"]) => {
                if let Some(path) = words.operands.get(1) {
                    let name = path.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                    let branch = self.named(Word { text: name, ..*path });
                    self.add(call, What::Create, branch, None);
                }
            }
            None => {}
        }
    }

    /// `git fetch origin x:main` moves a branch of this repository.
    fn fetch(&mut self, call: &RepositoryCall, words: &Words<'_>) {
        for word in words.operands.iter().skip(1) {
            let Some((from, to)) = word.text.trim_start_matches('+').split_once(':') else { continue };
            let is_same = branch_of(from) == branch_of(to);
            let is_branch = !to.starts_with("refs/") || to.starts_with("refs/heads/");
            if !to.is_empty() && is_branch && !is_same {
                let branch = self.named(Word { text: to, ..*word });
                self.add(call, What::Reset, branch, None);
            }
        }
    }

    /// Checks `git config alias.p 'push origin main'` where it is defined; later uses are not visible.
    fn alias(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        let alias = words.operands.iter().position(|word| word.text.starts_with("alias."));
        let Some(body) = alias.and_then(|at| words.operands.get(at + 1)) else { return Ok(()) };
        let args: Vec<String> = body.text.split_whitespace().map(str::to_owned).collect();
        let names_branches = args.iter().filter(|arg| !arg.starts_with('-')).count() > 2;
        if args.first().is_some_and(|first| first == "push") && names_branches {
            let stands_for = RepositoryCall { args, unknown: Vec::new(), ..call.clone() };
            self.push(&stands_for, &Words::of(&stands_for))?;
        }
        Ok(())
    }

    /// Resolves a command that may be an alias of the repository.
    fn resolve_alias(&mut self, call: &RepositoryCall, command: &str) -> Result<(), Missing> {
        if OF_FILES.contains(&command) {
            return Ok(());
        }
        let Some(git) = self.context.git()? else { return Ok(()) };
        let alias = |name: &str| git.aliases.get(&name.to_ascii_lowercase());
        let Some(body) = alias(command) else { return Ok(()) };
        let first = body.split_whitespace().next().unwrap_or_default();
        match body.strip_prefix('!') {
            Some("") => return Ok(()),
            // The other effects of the alias are unknown.
            None if is_own(first) || alias(first).is_none() => {}
            _ => {
                self.add(call, What::Unknown, Branch::Unknown, None);
                return Ok(());
            }
        }
        let mut spelled = call.clone();
        spelled.args.splice(0..0, ["-c".to_owned(), format!("alias.{command}={body}")]);
        spelled.unknown.iter_mut().for_each(|at| *at += 2);
        self.read(&spelled)
    }

    fn update_ref(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<(), Missing> {
        if words.has(&["--stdin"]) {
            self.add(call, What::Reset, Branch::Unknown, None);
        }
        let Some(target) = words.operands.first().copied() else { return Ok(()) };
        let what = if words.has(&["-d", "--delete"]) { What::Delete } else { What::Reset };
        match target.text {
            "HEAD" => self.on_current(call, words, what, None)?,
            text if text.starts_with("refs/heads/") || !target.is_known => {
                let branch = self.named(target);
                self.add(call, what, branch, None);
            }
            _ => {}
        }
        Ok(())
    }
}
