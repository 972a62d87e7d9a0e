//! branch-policy (compliance-003): protects branches and checks branch names.

use midrail_core::OnFault;

use crate::prelude::*;
use crate::shared::git::{Branch, BranchChange, BranchUpdate, branch_updates, calls};
use crate::shared::objections::strongest;
use crate::shared::settings::{Pattern, any_matches, list, patterns};

pub(crate) const BUILTIN: Builtin =
    COMPLIANCE.builtin::<BranchPolicy>("compliance-003", &[EventKind::BeforeTool]).supports(CALLS);

/// The settings of branch-policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BranchPolicy {
    /// Branches that cannot be changed directly.
    pub protected: Vec<Pattern>,
    /// Changes of protected branches that are allowed nevertheless.
    pub allow: Vec<BranchChange>,
    /// Patterns for the names of new branches. Empty: any name.
    pub branches: Vec<Pattern>,
    /// The branch of a task, with `{task.id}` in it. Commits and pushes of the task must go there.
    pub per_task: Option<Pattern>,
    /// The effect of commits in another repository or work tree, whose branch is unknown.
    pub elsewhere: OnFault,
}

impl Default for BranchPolicy {
    fn default() -> Self {
        BranchPolicy {
            protected: patterns(&["main", "master", "release/*"]),
            allow: Vec::new(),
            branches: Vec::new(),
            per_task: None,
            elsewhere: OnFault::Escalate,
        }
    }
}

impl BranchPolicy {
    fn objection(&self, context: &Context<'_>, update: &BranchUpdate) -> Option<Verdict> {
        let done = match CHANGES.iter().find(|(change, ..)| *change == update.kind) {
            Some((_, done, _)) => done,
            None if update.kind == BranchChange::Create => return self.wrong_name(update),
            None => return self.unknown_branch(update),
        };
        let call = &update.call;
        let is_allowed = self.allow.contains(&update.kind);
        match &update.branch {
            Branch::Named(name) if any_matches(&self.protected, name) => (!is_allowed).then(|| {
                Verdict::block(format!("`{call}` {done} `{name}`, which is a protected branch."))
                    .advise(self.instead(context))
                    .with("branch", name.as_str())
            }),
            Branch::Named(name) => self.wrong_task_branch(context, update, Some(name)),
            Branch::Detached => self.wrong_task_branch(context, update, None),
            Branch::Every if self.protected.is_empty() || is_allowed => None,
            Branch::Every => Some(
                Verdict::block(format!("`{call}` pushes all branches, including protected ones."))
                    .advise("Push only your own branch, by name."),
            ),
            Branch::Unknown if is_allowed => None,
            Branch::Unknown => self.unknown_branch(update),
            Branch::Elsewhere(folder) => {
                let is_limited = !self.protected.is_empty() || self.per_task.is_some();
                if !is_limited || self.elsewhere == OnFault::Allow {
                    return None;
                }
                let reason = format!("`{call}` runs in {}, where the branch is unknown.", quoted(folder));
                Some(
                    Verdict::new(self.elsewhere.effect(), reason)
                        .advise("Work in the repository of this session, or name the branch in the command.")
                        .with("folder", folder.as_str()),
                )
            }
        }
    }

    fn unknown_branch(&self, update: &BranchUpdate) -> Option<Verdict> {
        (!self.protected.is_empty()).then(|| {
            Verdict::new(Effect::Escalate, format!("The branch that `{}` changes is unknown.", update.call))
                .advise("Name the branch in the command.")
        })
    }

    /// Objects to a new branch whose name matches no pattern.
    fn wrong_name(&self, update: &BranchUpdate) -> Option<Verdict> {
        let Branch::Named(name) = &update.branch else { return None };
        if self.branches.is_empty() || any_matches(&self.branches, name) || any_matches(&self.protected, name)
        {
            return None;
        }
        Some(
            Verdict::block(format!(
                "`{}` creates the branch `{name}`, which matches none of the naming patterns.",
                update.call
            ))
            .advise(format!("Choose a name that matches one of: {}.", list(&self.branches)))
            .with("branch", name.as_str()),
        )
    }

    /// Objects to commits and pushes to another branch than that of the task.
    fn wrong_task_branch(
        &self,
        context: &Context<'_>,
        update: &BranchUpdate,
        branch: Option<&str>,
    ) -> Option<Verdict> {
        let is_work = matches!(update.kind, BranchChange::Commit | BranchChange::Merge | BranchChange::Push);
        let own = self.task_branch(context).filter(|_| is_work)?;
        if branch.is_some_and(|branch| midrail_core::glob::name_matches(&own, branch)) {
            return None;
        }
        let on = branch.map_or("a detached HEAD".to_owned(), |branch| format!("`{branch}`"));
        Some(
            Verdict::block(format!(
                "`{}` changes {on}, but the branch of this task is `{own}`.",
                update.call
            ))
            .advise(format!("Switch to `{own}` first."))
            .with("branch", branch.unwrap_or_default()),
        )
    }

    /// The pattern of the task's branch. Wildcards in the task's id are escaped.
    fn task_branch(&self, context: &Context<'_>) -> Option<String> {
        let template = &self.per_task.as_ref()?.0;
        let task = Some(context.event.task_id()).filter(|id| !id.is_empty())?;
        let plain: String = task
            .chars()
            .map(|c| match c {
                '*' | '?' | '[' | ']' => format!("[{c}]"),
                '{' | '}' | ',' | '\\' => "?".to_owned(),
                c => c.to_string(),
            })
            .collect();
        Some(template.replace("{task.id}", &plain))
    }

    fn instead(&self, context: &Context<'_>) -> String {
        let example = self.task_branch(context).or_else(|| self.branches.first().map(|it| it.0.clone()));
        match example {
            Some(example) => {
                format!("Work on your own branch, such as `{example}`, push it, and request a merge.")
            }
            None => "Work on your own branch, push it, and request a merge.".to_owned(),
        }
    }
}

/// The changes of existing branches, their words in a reason, and their names in packs.
const CHANGES: &[(BranchChange, &str, &str)] = &[
    (BranchChange::Commit, "commits to", "commit"),
    (BranchChange::Merge, "merges into", "merge"),
    (BranchChange::Push, "pushes to", "push"),
    (BranchChange::Delete, "deletes", "delete"),
    (BranchChange::Rename, "renames", "rename"),
    (BranchChange::Reset, "moves", "reset"),
];

/// The kind of change that a denial was about, if it was a change of a protected branch.
pub(crate) fn protected_change(reason: &str) -> Option<&'static str> {
    let mut changes = CHANGES.iter().filter(|_| reason.contains("a protected branch"));
    changes.find(|(_, done, _)| reason.contains(&format!("` {done} `"))).map(|(.., name)| *name)
}

fn quoted(folder: &str) -> String {
    if folder.contains(' ') { folder.to_owned() } else { format!("`{folder}`") }
}

impl Guardrail for BranchPolicy {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let calls = calls(context)?;
        let updates = branch_updates(context, &calls);
        // A known objection counts even if other parts are unknown.
        let found = strongest(updates.list.iter().filter_map(|update| self.objection(context, update)));
        match (found, updates.missing) {
            (Some(verdict), None) => Ok(verdict),
            (Some(verdict), Some(_)) if verdict.effect >= Effect::Block => Ok(verdict),
            (_, Some(missing)) => Err(missing.into()),
            (None, None) => Ok(Verdict::allow()),
        }
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        (!self.protected.is_empty())
            .then(|| format!("Do not change protected branches directly ({}).", list(&self.protected)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Event, Task};
    use serde_json::{Value, json};

    fn policy(settings: Value) -> BranchPolicy {
        serde_json::from_value(settings).unwrap()
    }

    fn on(branch: &str, settings: Value, command: &str) -> Effect {
        let mut run = Run::of(policy(settings)).with_git(branch, "c0ffee1").with_file("README.md", "x");
        let event = Event::before_tool("Bash", json!({"command": command}));
        run.decide(&Event { cwd: Some("/repo".into()), ..event }).effect
    }

    #[test]
    fn pushes_to_protected_branches_are_blocked() {
        for command in [
            "git push origin main",
            "git push origin HEAD:main",
            "git push origin +main",
            "git push -f origin feature/x:refs/heads/main",
            "git push origin feature/x:heads/main",
            "git push --all",
            "git push --mirror backup",
            "git push origin 'refs/heads/*:refs/heads/*'",
            "git push origin :",
            "git push origin :main",
            "git push origin --delete main",
            "git push --del origin release/1.2",
            "git -C . push origin master",
            "git -c alias.p=push p origin main",
            "git-push origin main",
            "bash -c 'cd . && git push origin main'",
            "B=main; git push origin $B",
            "true || git push origin feature/a main",
            "git send-pack origin main",
            "git switch main && git push",
            "gi''t push origin ma\\in",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Block, "{command}");
        }
    }

    #[test]
    fn pushes_of_other_branches_and_tags_are_allowed() {
        for command in [
            "git push",
            "git push -u origin feature/x",
            "git push origin HEAD",
            "git push origin main:feature/y",
            "git push origin HEAD:refs/for/main",
            "git push --tags",
            "git push origin tag main",
            "git push -n origin main",
            "git push --force-with-lease origin feature/x",
            "git push origin \"$(git branch --show-current)\"",
            "git push origin maintenance",
            "git log main..HEAD",
            "git fetch origin main:main",
            "git pull origin main",
            "git merge main",
            "git diff main",
            "echo git push origin main",
            "git commit -m 'push to main'",
            "git push --help",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn commits_count_for_the_checked_out_branch() {
        for command in [
            "git commit -m x",
            "git commit --amend --no-edit",
            "git push",
            "git push origin HEAD",
            "git push -u origin $(git rev-parse --abbrev-ref HEAD)",
            "git merge feature/x",
            "git pull origin feature/x",
            "git cherry-pick abc",
            "git revert HEAD",
            "git rebase feature/x",
            "git reset --hard HEAD~3",
            "git reset feature/x",
            "git branch -m trunk",
            "git checkout README.md && git commit -am x",
            "git update-ref HEAD abc",
        ] {
            assert_eq!(on("main", json!({}), command), Effect::Block, "{command}");
        }
        for command in [
            "git status",
            "git pull",
            "git pull origin main",
            "git checkout -b feature/x && git commit -m x && git push",
            "git switch feature/x && git commit -m x",
            "git checkout feature/x && git commit -m x",
            "git commit --dry-run",
            "git merge --abort",
            "git reset",
            "git reset README.md",
            "git reset HEAD README.md",
            "git reset --hard",
            "git checkout -- README.md",
            "git stash",
            "git branch",
        ] {
            assert_eq!(on("main", json!({}), command), Effect::Allow, "{command}");
        }
        assert_eq!(on("feature/x", json!({}), "git checkout main && git commit -m x"), Effect::Block);
        assert_eq!(on("feature/x", json!({}), "git commit -m x"), Effect::Allow);
    }

    #[test]
    fn deleting_renaming_or_moving_a_protected_branch_is_blocked() {
        for command in [
            "git branch -D main",
            "git branch -d feature/y main",
            "git branch -m main old",
            "git branch -f main HEAD",
            "git checkout -B main",
            "git switch -C main origin/x",
            "git worktree add -B main ../x",
            "git fetch origin feature/x:main",
            "git update-ref refs/heads/main abc",
            "git update-ref -d refs/heads/main",
            "git branch -M main",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Block, "{command}");
        }
        for command in [
            "git branch -D feature/y",
            "git branch -rd origin/main",
            "git checkout main",
            "git branch --contains main",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn allowed_changes_are_configurable() {
        let settings = json!({"protected": ["trunk"], "allow": ["merge", "push"]});
        assert_eq!(
            on("trunk", settings.clone(), "git merge feature/x && git push origin trunk"),
            Effect::Allow
        );
        assert_eq!(on("trunk", settings.clone(), "git commit -m x"), Effect::Block);
        assert_eq!(on("main", settings, "git commit -m x"), Effect::Allow);
    }

    #[test]
    fn new_branches_must_match_the_naming_patterns() {
        let settings = json!({"branches": ["feature/*", "fix/*"]});
        for command in [
            "git checkout -b mine",
            "git switch -c mine",
            "git branch mine",
            "git worktree add -b mine ../x",
            "git worktree add ../mine",
            "git branch -m mine",
        ] {
            assert_eq!(on("feature/x", settings.clone(), command), Effect::Block, "{command}");
        }
        for command in [
            "git checkout -b fix/1",
            "git branch feature/a/b",
            "git branch",
            "git worktree add ../x feature/x",
        ] {
            assert_eq!(on("feature/x", settings.clone(), command), Effect::Allow, "{command}");
        }
        assert_eq!(on("feature/x", settings.clone(), "git push -u origin HEAD:mine"), Effect::Block);
        assert_eq!(on("feature/x", settings, "git push -u origin feature/x"), Effect::Allow);
    }

    #[test]
    fn work_must_go_to_the_branch_of_the_task() {
        let run = |branch: &str, task: &str, command: &str| {
            let policy = policy(json!({"per_task": "feature/{task.id}*"}));
            let task = Task { id: Some(task.into()), ..Task::default() };
            let event = Event { task: Some(task), ..Event::before_tool("Bash", json!({"command": command})) };
            Run::of(policy).with_git(branch, "c0ffee1").decide(&event).effect
        };
        assert_eq!(run("feature/t-9-login", "t-9", "git commit -m x"), Effect::Allow);
        assert_eq!(run("feature/t-8", "t-9", "git commit -m x"), Effect::Block);
        assert_eq!(run("feature/t-8", "t-9", "git push origin feature/t-9"), Effect::Allow);
        assert_eq!(run("feature/t-9", "t-9", "git push origin HEAD:feature/t-8"), Effect::Block);
        assert_eq!(run("feature/zzz", "*", "git commit -m x"), Effect::Block);
        assert_eq!(run("feature/t-8", "", "git commit -m x"), Effect::Allow);
    }

    #[test]
    fn unknown_branches_escalate() {
        for command in [
            "git push origin $1",
            "git push $ARGS",
            "git $CMD",
            "git -c push.default=matching push",
            "ls | xargs git push origin",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Escalate, "{command}");
        }
    }

    #[test]
    fn other_repositories_follow_the_elsewhere_setting() {
        let commit = "cd ../other && git commit -m x";
        assert_eq!(on("feature/x", json!({}), commit), Effect::Escalate);
        assert_eq!(on("feature/x", json!({"elsewhere": "allow"}), commit), Effect::Allow);
        assert_eq!(on("feature/x", json!({"elsewhere": "block"}), "git -C ../other commit"), Effect::Block);
        assert_eq!(on("main", json!({}), "cd /tmp/x && git init && git commit -m x"), Effect::Allow);
        assert_eq!(
            on("feature/x", json!({}), "git clone . /tmp/x && cd /tmp/x && git push"),
            Effect::Escalate
        );
        assert_eq!(on("main", json!({}), "cd ../other && git push origin feature/x"), Effect::Allow);
        assert_eq!(
            on("feature/x", json!({}), "cd ../other && git checkout main; cd - ; git status"),
            Effect::Allow
        );
        let mut run =
            Run::of(policy(json!({}))).with_git("main", "c0ffee1").with_file("wt/a/.git", "gitdir: x");
        assert_eq!(run.before("Bash", json!({"command": "git -C wt/a/src commit"})).effect, Effect::Escalate);
        assert_eq!(run.before("Bash", json!({"command": "git -C src commit"})).effect, Effect::Block);
    }

    #[test]
    fn spellings_of_the_current_folder_are_recognised() {
        for command in [
            "cd /repo && git commit -m x",
            "cd \"$(git rev-parse --show-toplevel)\" && git commit -m x",
            "cd \"$PWD\" && git commit -m x",
            "git -C \"$(pwd)\" commit -m x",
            "git -C $PWD/src commit -m x",
            "git commit -m \"$(cat <<'EOF'\nFix it\n\nFor good\nEOF\n)\"",
            "cd src && ls && cd .. && git commit -m x",
            "(cd src && ls); git commit -am x",
            "cd src && ls && cd - && git commit -m x",
            "git add -A && git diff --cached --stat && git commit -qm x",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Allow, "{command}");
            assert_eq!(on("main", json!({}), command), Effect::Block, "{command}");
        }
    }

    #[test]
    fn alias_is_checked_when_it_is_defined() {
        for command in [
            "git config alias.p 'push origin main'",
            "git config --global alias.ship 'push -f origin HEAD:main'",
        ] {
            assert_eq!(on("feature/x", json!({}), command), Effect::Block, "{command}");
        }
        for command in ["git config alias.p push", "git config alias.st status", "git config user.name main"]
        {
            assert_eq!(on("main", json!({}), command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn repository_aliases_are_resolved() {
        let effect = |branch: &str, command: &str| {
            let mut run = Run::of(policy(json!({}))).with_git(branch, "c0ffee1");
            let aliases = [
                ("p", "push"),
                ("ship", "push origin HEAD:main"),
                ("ci", "commit -v"),
                ("st", "status -sb"),
                ("log1", "!"),
                ("land", "!checkout merge push"),
                ("twice", "ship"),
                ("status", "push origin main"),
            ];
            let git = run.git.as_mut().unwrap();
            git.aliases = aliases.map(|(name, body)| (name.to_owned(), body.to_owned())).into();
            run.before("Bash", json!({"command": command})).effect
        };
        for command in ["git ship", "git SHIP", "git p origin main", "git -C . p origin main"] {
            assert_eq!(effect("feature/x", command), Effect::Block, "{command}");
        }
        for command in ["git ci -m x", "git p"] {
            assert_eq!(effect("main", command), Effect::Block, "{command}");
            assert_eq!(effect("feature/x", command), Effect::Allow, "{command}");
        }
        for command in ["git land", "git twice"] {
            assert_eq!(effect("feature/x", command), Effect::Escalate, "{command}");
        }
        for command in ["git st", "git log1", "git unknown-command", "git status", "git p origin feature/y"] {
            assert_eq!(effect("feature/x", command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn push_of_all_matching_branches_includes_protected_ones() {
        let effect = |default: &str, command: &str| {
            let mut run = Run::of(policy(json!({}))).with_git("feature/x", "c0ffee1");
            run.git.as_mut().unwrap().push_default = Some(default.to_owned());
            run.before("Bash", json!({"command": command})).effect
        };
        assert_eq!(effect("matching", "git push"), effect("simple", "git push --all"));
        assert_ne!(effect("matching", "git push origin"), Effect::Allow);
        assert_eq!(effect("matching", "git push origin feature/x"), Effect::Allow);
        assert_eq!(effect("current", "git push"), Effect::Allow);
    }

    #[test]
    fn nothing_is_protected_without_a_repository() {
        let mut run = Run::of(policy(json!({})));
        assert_eq!(
            run.before("Bash", json!({"command": "git init && git commit -m x"})).effect,
            Effect::Allow
        );
        assert_eq!(run.before("Bash", json!({"command": "git branch -M main"})).effect, Effect::Allow);
    }

    #[test]
    fn tools_of_git_servers_are_checked() {
        let mut run = Run::of(policy(json!({}))).with_git("main", "c0ffee1");
        for (tool, args) in [
            ("mcp__git__git_commit", json!({"repo_path": ".", "message": "x"})),
            ("mcp__github__create_or_update_file", json!({"path": "a", "branch": "main"})),
            ("mcp__github__push_files", json!({"branch": "refs/heads/main"})),
        ] {
            assert_eq!(run.before(tool, args).effect, Effect::Block, "{tool}");
        }
        let args = json!({"path": "a", "branch": "feature/x"});
        assert_eq!(run.before("mcp__github__create_or_update_file", args).effect, Effect::Allow);
    }

    #[test]
    fn scripts_that_the_agent_wrote_are_checked() {
        let mut run = Run::of(policy(json!({}))).with_git("feature/x", "c0ffee1");
        run = run.with_file("ship.sh", "#!/bin/sh\ngit push origin main\n");
        let args = json!({"command": "sh ship.sh"});
        assert_eq!(run.before("Bash", args.clone()).effect, Effect::Allow);
        run.set(&midrail_core::written_key("ship.sh"), json!(true));
        assert_eq!(run.before("Bash", args).effect, Effect::Block);
    }
}
