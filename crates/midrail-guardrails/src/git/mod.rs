//! What an action does to branches: from the words of its calls of git, and the repository's state where they leave
//! that open. What is allowed is for guardrails to say.

mod aliases;
pub(crate) mod forge;
mod refs;
mod spelled;
pub(crate) mod sweeps;
mod words;

use midrail_core::{Context, FileState, Missing, RepositoryCall};
use serde_json::Value;

use self::aliases::HARMLESS;
pub(crate) use self::refs::branch_of;
use self::refs::{from_here, is_revision, refspec, stands_for_current};
pub(crate) use self::spelled::spelled_out;
use self::words::{Word, Words};
use crate::places::is_temporary;
use crate::touched::scripts;

/// Something that happens to a branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) what: What,
    pub(crate) branch: Branch,
    /// The branch that is merged or pushed, where it is another.
    pub(crate) from: Option<String>,
    /// The call, as it is shown.
    pub(crate) call: String,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Commit,
    Merge,
    Push,
    Delete,
    Rename,
    Reset,
    Create,
    /// The line does not tell.
    Unknown,
}

/// To which branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Branch {
    Named(String),
    /// To none: a commit of its own.
    Detached,
    /// To all of them.
    Every,
    /// To one that the line does not tell.
    Unknown,
    /// To the one that is checked out in this folder, which is of another repository or work tree.
    Elsewhere(String),
}

/// What an action does to branches.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) list: Vec<Deed>,
    /// Not all of it is known.
    pub(crate) missing: Option<Missing>,
}

/// The calls of git and of forges that an action makes, also in scripts that the agent wrote, and by tools of git servers.
pub(crate) fn calls(context: &Context<'_>) -> Result<Vec<RepositoryCall>, Missing> {
    let action = context.action()?;
    let mut calls = action.repository.clone();
    calls.extend(of_tool(context));
    for (_, does) in scripts(context, action)? {
        calls.extend(does.repository.iter().cloned());
        if does.is_partial {
            return Err(Missing("a script is more than is looked into".to_owned()));
        }
    }
    if action.is_partial {
        return Err(Missing("the command line is more than is looked into".to_owned()));
    }
    Ok(calls)
}

/// What these calls do to branches.
pub(crate) fn deeds(context: &Context<'_>, calls: &[RepositoryCall]) -> Deeds {
    let mut reader = Reader { context, current: None, deeds: Deeds::default() };
    for call in calls.iter().filter(|call| call.program == "git") {
        if let Err(missing) = reader.read(call) {
            reader.deeds.missing.get_or_insert(missing);
        }
    }
    reader.deeds
}

/// A call in a few words.
pub(crate) fn shown(call: &RepositoryCall) -> String {
    let text = format!("{} {}", call.program, call.args.join(" "));
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(100) {
        Some((at, _)) => format!("{}…", line.get(..at).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// Calls of tools that work on repositories, as calls of git.
fn of_tool(context: &Context<'_>) -> Option<RepositoryCall> {
    let tool = context.event.tool.as_ref()?;
    let text = |names: &[&str]| names.iter().find_map(|name| tool.args.get(*name).and_then(Value::as_str));
    let branch = text(&["branch", "branch_name", "branchName", "ref"]);
    let is_server = tool.name.starts_with("mcp__");
    let args: Vec<&str> = match (midrail_detect::action::bare_name(&tool.name), branch) {
        ("git_commit", _) => vec!["commit"],
        ("git_push", Some(branch)) => vec!["push", text(&["remote"]).unwrap_or("origin"), branch],
        ("git_push", None) => vec!["push"],
        ("git_merge", Some(branch)) => vec!["merge", branch],
        ("git_create_branch", Some(branch)) => vec!["branch", branch],
        ("git_checkout", Some(branch)) => vec!["switch", branch],
        // Files that a forge commits by itself.
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

/// Whether a push makes its branch known to the server.
fn publishes(words: &Words<'_>) -> bool {
    words.has(&["-u", "--set-upstream"])
}

/// Reads calls in order: a branch that one checks out is what the next commits to.
struct Reader<'c, 'a> {
    context: &'c Context<'a>,
    /// What an earlier call of the line checked out.
    current: Option<Branch>,
    deeds: Deeds,
}

/// Where a call runs.
enum Where {
    Here,
    /// Where nobody misses anything.
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
            command if !HARMLESS.contains(&command) => return self.named_by_the_repository(call, command),
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, call: &RepositoryCall, what: What, branch: Branch, from: Option<String>) {
        self.deeds.list.push(Deed { what, branch, from, call: shown(call) });
    }

    /// The branch that a word names.
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

    /// The branch that is checked out where a call runs. `None`: there is no repository, or it is of no account.
    fn current(&mut self, call: &RepositoryCall, words: &Words<'_>) -> Result<Option<Branch>, Missing> {
        match self.place(call, words)? {
            // A copy of a repository is of no account until it is pushed.
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
        let unknown = || Where::Elsewhere("a folder that the line does not tell".to_owned());
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

    /// A folder below the root may hold a repository or work tree of its own.
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
        // A remote that is not known may be followed by branches in the same word.
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
            // All branches that the other side has, too.
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
        // It may be set up to push to a branch of another name.
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

    /// What is checked out elsewhere does not change what is here.
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
            // A repository that begins names its first branch, and a name that stays is none that is lost.
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
            // The folder's name becomes the branch's.
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

    /// `git config alias.p 'push origin main'` is judged when it is said; what the alias does later is not seen.
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
