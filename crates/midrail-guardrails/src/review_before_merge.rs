//! review-before-merge (compliance-002): blocks merges that were not reviewed by another agent since the last commit.

use jiff::Timestamp;
use midrail_core::{Action, SHARED_PREFIX};
use serde_json::Value;

use crate::prelude::*;
use crate::shared::data::{PROGRAMS, TOOLS};
use crate::shared::git::forge::{Step, Subject, opened_number, pull_calls, tool_subject};
use crate::shared::git::{Branch, BranchChange, branch_updates, calls};
use crate::shared::objections::{all, strongest};
use crate::shared::settings::{Pattern, any_matches, patterns};

pub(crate) const BUILTIN: Builtin =
    COMPLIANCE.builtin::<ReviewBeforeMerge>("compliance-002", &[EventKind::BeforeTool]);

/// The settings of review-before-merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ReviewBeforeMerge {
    /// Roles whose approval counts.
    pub reviewers: Vec<Pattern>,
    /// Branches for which merges and pushes need a review.
    pub protected: Vec<Pattern>,
    /// Tools that merge.
    pub merge_tools: Vec<Pattern>,
    /// Tools that approve.
    pub review_tools: Vec<Pattern>,
    /// Whether a later commit invalidates a review.
    pub stale: StaleReview,
    /// Whether the merging agent must not be the reviewer.
    pub other_reviewer: bool,
}

/// When a review becomes invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StaleReview {
    /// With the next commit.
    #[default]
    Head,
    /// Never.
    Never,
}

impl Default for ReviewBeforeMerge {
    fn default() -> Self {
        ReviewBeforeMerge {
            reviewers: patterns(&["reviewer"]),
            protected: patterns(&["main", "master", "release/*"]),
            merge_tools: patterns(TOOLS.list("merge tools")),
            review_tools: patterns(TOOLS.list("review tools")),
            stale: StaleReview::Head,
            other_reviewer: false,
        }
    }
}

/// The stored state of a pull request or branch, for all sessions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct ReviewState {
    /// The agents that committed to it, pushed it or opened it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    authors: Vec<String>,
    /// When it last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Timestamp>,
    /// The branch of a pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approved: Option<ApprovingReview>,
}

/// An approving review.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct ApprovingReview {
    by: String,
    role: String,
    session: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    /// The branch that the reviewer had checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
}

/// Maximum number of stored authors per branch.
const MAX_AUTHORS: usize = 64;

impl ReviewState {
    fn load(context: &Context<'_>, subject: &Subject) -> Result<Self, Missing> {
        ReviewState::after(context, subject, &Changes::default())
    }

    /// The state including changes by this event.
    fn after(context: &Context<'_>, subject: &Subject, changes: &Changes) -> Result<Self, Missing> {
        let Some(key) = key(context, subject) else { return Ok(ReviewState::default()) };
        Ok(key.read_changed(context, changes)?.unwrap_or_default())
    }

    fn store(&self, context: &Context<'_>, subject: &Subject, changes: &mut Changes) -> Result<(), Missing> {
        key(context, subject).map_or(Ok(()), |key| key.write(changes, self))
    }

    fn add_author(&mut self, actor: String) {
        if !self.authors.contains(&actor) && self.authors.len() < MAX_AUTHORS {
            self.authors.push(actor);
        }
    }
}

/// The slice of a subject, shared by all work trees of a repository.
fn key(context: &Context<'_>, subject: &Subject) -> Option<Key<ReviewState>> {
    // If the repository is unknown, its folder identifies it.
    let common =
        context.git().ok().flatten().map(|git| git.common.as_str()).filter(|common| !common.is_empty());
    let scope = common.or(context.root()).unwrap_or_default();
    let name = match subject {
        Subject::Pull(number) => format!("pull/{number}"),
        Subject::Branch(name) => format!("branch/{name}"),
        Subject::Unknown => return None,
    };
    Some(Key::new(format!("{SHARED_PREFIX}review/{scope}/{name}")))
}

fn name(subject: &Subject) -> String {
    match subject {
        Subject::Pull(number) => format!("pull request `{number}`"),
        Subject::Branch(name) => format!("branch `{name}`"),
        Subject::Unknown => "an unknown branch or pull request".to_owned(),
    }
}

impl ReviewBeforeMerge {
    /// The subjects that this call merges, each with the call for messages.
    fn merges(&self, context: &Context<'_>) -> Result<Vec<(Subject, String)>, Missing> {
        let mut merges = Vec::new();
        let tool = context.event.tool.as_ref();
        if let Some(tool) = tool.filter(|tool| any_matches(&self.merge_tools, &tool.name)) {
            merges.push((tool_subject(tool), tool.name.clone()));
        }
        let calls = calls(context)?;
        let (pulls, updates) = (pull_calls(context, &calls, Step::Merge), branch_updates(context, &calls));
        merges.extend(pulls?.map(|pull| (pull.subject, pull.call)));
        let merging = |kind: BranchChange| matches!(kind, BranchChange::Merge | BranchChange::Push);
        for update in updates.list.into_iter().filter(|update| merging(update.kind)) {
            let subject = match update.branch {
                Branch::Named(to) if any_matches(&self.protected, &to) => {
                    Subject::Branch(update.from.unwrap_or(to))
                }
                Branch::Every | Branch::Unknown if !self.protected.is_empty() => Subject::Unknown,
                // The branch checked out there is unknown.
                Branch::Elsewhere(_) if update.kind == BranchChange::Push && !self.protected.is_empty() => {
                    Subject::Unknown
                }
                Branch::Named(_) | Branch::Every | Branch::Unknown => continue,
                Branch::Detached | Branch::Elsewhere(_) => continue,
            };
            merges.push((subject, update.call));
        }
        updates.missing.map_or(Ok(merges), Err)
    }

    fn objection(
        &self,
        context: &Context<'_>,
        subject: &Subject,
        call: &str,
    ) -> Result<Option<Verdict>, Missing> {
        let what = name(subject);
        let roles: Vec<&str> = self.reviewers.iter().map(|role| role.0.as_str()).collect();
        let advice = format!(
            "Request an approving review from another agent with the role {} first.",
            roles.join(" or ")
        );
        let stop = |why: &str| {
            let verdict = Verdict::block(format!("`{call}` merges {what}, {why}.")).advise(advice.clone());
            Ok(Some(verdict.with("reviewers", roles.clone())))
        };
        if *subject == Subject::Unknown {
            let reason = format!("`{call}` merges {what}, so its review is unknown.");
            return Ok(Some(
                Verdict::new(Effect::Escalate, reason).advise("Name the pull request or branch."),
            ));
        }
        let known = ReviewState::load(context, subject)?;
        let branch = match known.branch.clone() {
            Some(branch) => ReviewState::load(context, &Subject::Branch(branch))?,
            None => ReviewState::default(),
        };
        let Some(approved) = &known.approved else { return stop("which was not reviewed") };
        if known.authors.iter().chain(&branch.authors).any(|author| *author == approved.by) {
            return stop(&format!("which was reviewed only by `{}`, one of its authors", approved.by));
        }
        if self.other_reviewer && approved.by == context.actor() {
            return stop(&format!("which was reviewed only by `{}`, the merging agent", approved.by));
        }
        if self.stale == StaleReview::Head && is_stale(context, &known, &branch, approved) {
            return stop(&format!("which changed after the review by `{}`", approved.by));
        }
        Ok(None)
    }

    /// The subjects that this call approves.
    fn approvals(&self, context: &Context<'_>) -> Result<Vec<Subject>, Missing> {
        let mut approvals = Vec::new();
        if let Some(tool) =
            context.event.tool.as_ref().filter(|tool| any_matches(&self.review_tools, &tool.name))
        {
            let outcome =
                TOOLS.list("review outcomes").iter().find_map(|name| tool.args.get(*name)?.as_str());
            let approves = match outcome {
                Some(outcome) => TOOLS.has("approvals", &outcome.to_ascii_lowercase()),
                None => tool.name.to_ascii_lowercase().contains("approve"),
            };
            approvals.extend(approves.then(|| tool_subject(tool)));
        }
        let action = context.action()?;
        if !is_plain(action) {
            return Ok(approvals);
        }
        approvals.extend(pull_calls(context, &action.commands, Step::Approve)?.map(|pull| pull.subject));
        Ok(approvals)
    }

    fn is_reviewer(&self, context: &Context<'_>) -> Option<String> {
        let role = context.event.agent.as_ref()?.role.clone()?;
        any_matches(&self.reviewers, &role).then_some(role)
    }
}

/// Whether a command line succeeds only if each of its commands does, so that its success implies the approval:
/// plain commands joined by `&&`.
fn is_plain(action: &Action) -> bool {
    let Some(line) = &action.command else { return true };
    action.programs.iter().all(|program| PROGRAMS.has("plain programs", program))
        && joined_by_and(line.trim())
}

/// Whether only `&&` joins the commands of a line.
fn joined_by_and(line: &str) -> bool {
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('\''), _) if c != '\'' => {}
            (_, '\\') => drop(chars.next()),
            // A failing substitution does not fail the line.
            (_, '`') => return false,
            (_, '$') if chars.peek() == Some(&'(') => return false,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(c),
            (None, '&') if chars.peek() == Some(&'&') => drop(chars.next()),
            (None, '&' | '|' | ';' | '\n' | '!' | '(' | '{') => return false,
            (None, _) => {}
        }
    }
    true
}

/// Whether the subject changed after the review.
fn is_stale(
    context: &Context<'_>,
    known: &ReviewState,
    branch: &ReviewState,
    approved: &ApprovingReview,
) -> bool {
    let changed = known.changed.max(branch.changed);
    if changed.is_some_and(|changed| approved.time.is_none_or(|time| changed > time)) {
        return true;
    }
    // The reviewer's branch is checked out at another commit.
    let Some(git) = context.git().ok().flatten() else { return false };
    approved.branch.is_some() && git.branch == approved.branch && git.head != approved.head
}

impl Guardrail for ReviewBeforeMerge {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool_name().is_none_or(str::is_empty) {
            return Ok(Verdict::allow());
        }
        let merges = self.merges(context)?;
        let objections: Vec<Option<Verdict>> =
            all(merges.iter().map(|(subject, call)| self.objection(context, subject, call)))?;
        Ok(strongest(objections.into_iter().flatten()).unwrap_or_default())
    }

    /// Records authors, reviews and merges.
    fn observe(&self, context: &Context<'_>, effect: Effect, changes: &mut Changes) -> Result<(), Fault> {
        if context.event.tool_name().is_none_or(str::is_empty) || !context.succeeded(effect)? {
            return Ok(());
        }
        let calls = calls(context)?;
        for update in branch_updates(context, &calls).list {
            let branch = match (update.kind, update.branch, update.from) {
                (BranchChange::Commit | BranchChange::Merge, Branch::Named(branch), _) => branch,
                (BranchChange::Push, Branch::Named(branch), from) => from.unwrap_or(branch),
                _ => continue,
            };
            let subject = Subject::Branch(branch);
            let mut known = ReviewState::after(context, &subject, changes)?;
            known.add_author(context.actor());
            // A push publishes earlier commits.
            if update.kind != BranchChange::Push {
                known.changed = context.event.time;
            }
            known.store(context, &subject, changes)?;
        }
        self.record_opened(context, changes)?;
        for subject in self.approvals(context)? {
            let Some(role) = self.is_reviewer(context) else { continue };
            let git = context.git().ok().flatten();
            let mut known = ReviewState::after(context, &subject, changes)?;
            known.approved = Some(ApprovingReview {
                by: context.actor(),
                role,
                session: context.session().to_owned(),
                time: context.event.time,
                branch: git.and_then(|git| git.branch.clone()),
                head: git.and_then(|git| git.head.clone()),
            });
            known.store(context, &subject, changes)?;
        }
        for (subject, _) in self.merges(context)? {
            if let Some(key) = key(context, &subject) {
                key.remove(changes);
            }
        }
        Ok(())
    }

    fn observes(&self) -> &[EventKind] {
        &[EventKind::AfterTool]
    }

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Merge only branches that another agent has reviewed.".to_owned())
    }
}

impl ReviewBeforeMerge {
    /// Records the author and the branch of a new pull request.
    fn record_opened(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Missing> {
        let Some(tool) = &context.event.tool else { return Ok(()) };
        let is_tool =
            ["create_pull_request", "create_merge_request"].iter().any(|name| tool.name.ends_with(name));
        let mut heads: Vec<Subject> = is_tool.then(|| tool_subject(tool)).into_iter().collect();
        heads.extend(pull_calls(context, &calls(context)?, Step::Open)?.map(|pull| pull.subject));
        let content = context.event.result.as_ref().and_then(|result| result.content.as_ref());
        let (Some(head), Some(number)) = (heads.pop(), content.and_then(opened_number)) else {
            return Ok(());
        };
        let text = |name: &str| tool.args.get(name).and_then(Value::as_str);
        let number = match (text("owner"), text("repo")) {
            (Some(owner), Some(repo)) if is_tool => format!("{owner}/{repo}#{number}"),
            _ => number,
        };
        let subject = Subject::Pull(number);
        let mut known = ReviewState::after(context, &subject, changes)?;
        known.add_author(context.actor());
        if let Subject::Branch(branch) = head {
            known.branch = Some(branch);
        }
        known.store(context, &subject, changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Run;
    use midrail_core::{Agent, Decision, Event, ToolResult};
    use serde_json::json;

    struct Team(Run, i64);

    impl Team {
        fn new(settings: Value, branch: &str) -> Self {
            let guardrail: ReviewBeforeMerge = serde_json::from_value(settings).unwrap();
            Team(Run::of(guardrail).with_git(branch, "c0ffee1"), 1_800_000_000)
        }

        fn decide(&mut self, who: &str, event: Event) -> Decision {
            self.1 += 1;
            let role = who.split('-').next().map(str::to_owned);
            let agent = Agent { id: Some(who.into()), role, ..Agent::default() };
            let time = Timestamp::from_second(self.1).ok();
            self.0.decide(&Event { agent: Some(agent), time, session: Some(format!("of {who}")), ..event })
        }

        fn tries(&mut self, who: &str, command: &str) -> Effect {
            self.decide(who, Event::before_tool("Bash", json!({"command": command}))).effect
        }

        fn did(&mut self, who: &str, command: &str, answer: &str) {
            let args = json!({"command": command});
            self.decide(who, Event::after_tool("Bash", args, ToolResult::ok(answer)));
        }
    }

    #[test]
    fn pull_request_needs_an_approving_review() {
        let mut team = Team::new(json!({}), "feature/x");
        for command in [
            "gh pr merge 12 --squash",
            "gh pr merge",
            "glab mr merge 12",
            "gh api -X PUT repos/me/site/pulls/12/merge",
            "bash -c 'gh pr merge -d 12'",
            "gh api -XPUT repos/{owner}/{repo}/pulls/12/merge",
        ] {
            assert_eq!(team.tries("coder-1", command), Effect::Block, "{command}");
        }
        team.did("coder-1", "gh pr review 12 --approve", "");
        assert_eq!(team.tries("coder-1", "gh pr merge 12"), Effect::Block, "a coder is not a reviewer");
        team.did("reviewer-1", "gh pr review 12 --request-changes -b 'no'", "");
        team.did("reviewer-1", "gh pr review 12 --comment -b --approve", "");
        assert_eq!(team.tries("coder-1", "gh pr merge 12"), Effect::Block);
        team.did("reviewer-1", "gh pr review 12 -a", "");
        assert_eq!(team.tries("coder-1", "gh pr merge 12 --squash"), Effect::Allow);
        assert_eq!(team.tries("coder-1", "gh pr merge '#12'"), Effect::Allow);
        assert_eq!(team.tries("coder-1", "gh pr merge 13"), Effect::Block);
        assert_eq!(team.tries("coder-1", "gh pr merge 12 -R other/site"), Effect::Block);
        team.did("coder-1", "gh pr merge 12 --squash", "merged");
        assert_eq!(team.tries("coder-1", "gh pr merge 12"), Effect::Block, "a review is for one merge");
    }

    #[test]
    fn other_calls_are_allowed() {
        let mut team = Team::new(json!({}), "feature/x");
        for command in [
            "gh pr view 12",
            "gh pr create --fill",
            "git push origin feature/x",
            "git merge main",
            "gh pr merge --help",
            "git push",
            "gh pr checks 12",
            "gh api repos/me/site/pulls/12",
        ] {
            assert_eq!(team.tries("coder-1", command), Effect::Allow, "{command}");
        }
    }

    #[test]
    fn authors_cannot_review_their_own_work() {
        let mut team = Team::new(json!({"reviewers": ["*"]}), "feature/x");
        team.did("coder-1", "git commit -m x", "");
        team.did("coder-1", "gh pr create --fill", "https://forge.example/me/site/pull/7");
        team.did("coder-1", "gh pr review 7 --approve", "");
        let decision = team.decide("lead-1", Event::before_tool("Bash", json!({"command": "gh pr merge 7"})));
        assert_eq!(decision.effect, Effect::Block);
        assert!(decision.reason.contains("one of its authors"), "{}", decision.reason);
        team.did("coder-2", "gh pr review 7 --approve", "");
        assert_eq!(team.tries("lead-1", "gh pr merge 7"), Effect::Allow);
    }

    #[test]
    fn later_commit_invalidates_a_review() {
        for (stale, expected) in [("head", Effect::Block), ("never", Effect::Allow)] {
            let mut team = Team::new(json!({"stale": stale}), "feature/x");
            team.did("coder-1", "gh pr create --fill", "https://forge.example/me/site/pull/7");
            team.did("reviewer-1", "gh pr review 7 --approve", "");
            team.did("coder-1", "git push", "");
            assert_eq!(team.tries("coder-1", "gh pr merge 7"), Effect::Allow);
            team.did("coder-1", "git commit --amend --no-edit", "");
            assert_eq!(team.tries("coder-1", "gh pr merge 7"), expected, "{stale}");
        }
        let mut team = Team::new(json!({}), "feature/x");
        team.did("reviewer-1", "gh pr review 7 --approve", "");
        team.0 = team.0.with_git("feature/x", "c0ffee2");
        assert_eq!(team.tries("coder-1", "gh pr merge 7"), Effect::Block);
        team.0 = team.0.with_git("main", "c0ffee3");
        assert_eq!(team.tries("coder-1", "gh pr merge 7"), Effect::Allow);
    }

    #[test]
    fn branch_merged_into_a_protected_one_needs_a_review() {
        let mut team = Team::new(json!({}), "main");
        for command in
            ["git merge feature/x", "git pull origin feature/x", "git push origin feature/x:main", "git push"]
        {
            assert_eq!(team.tries("coder-1", command), Effect::Block, "{command}");
        }
        assert_eq!(team.tries("coder-1", "git push --all"), Effect::Escalate);
        assert_eq!(team.tries("coder-1", "git -C ../copy push"), Effect::Escalate);
        let args = json!({"branch": "feature/x", "verdict": "approved"});
        team.decide("reviewer-1", Event::after_tool("submit_review", args, ToolResult::ok("done")));
        assert_eq!(team.tries("coder-1", "git merge --no-ff feature/x"), Effect::Allow);
        assert_eq!(team.tries("coder-1", "git merge feature/y"), Effect::Block);
    }

    #[test]
    fn tools_of_forges_are_checked() {
        let mut team = Team::new(json!({}), "main");
        let args = json!({"owner": "me", "repo": "site", "pullNumber": 12});
        let merge = || Event::before_tool("mcp__github__merge_pull_request", args.clone());
        assert_eq!(team.decide("coder-1", merge()).effect, Effect::Block);
        let review = |event: &str| {
            let mut args = args.clone();
            args["event"] = json!(event);
            Event::after_tool("mcp__github__create_pull_request_review", args, ToolResult::ok("done"))
        };
        team.decide("reviewer-1", review("COMMENT"));
        assert_eq!(team.decide("coder-1", merge()).effect, Effect::Block);
        team.decide("reviewer-1", review("APPROVE"));
        assert_eq!(team.decide("coder-1", merge()).effect, Effect::Allow);
    }
}
