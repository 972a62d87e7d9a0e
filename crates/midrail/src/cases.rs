//! Runs cases: simulates a machine for each, decides its events with the real engine, and compares the decisions with
//! the expected ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use midrail_core::{Decision, Effect, Event, Snapshot};
use midrail_guardrails::guardrail_id;
use midrail_pack::case::{
    Case, CaseApprover, CaseFile, CaseRequest, CaseStep, Expectation, FileSystem, Git, StepAction,
};
use midrail_pack::raw::Pack;
use midrail_pack::yaml::{self, Limits};
use midrail_pack::{DiagnosticReport, Layer, PackDocument};
use midrail_store::Urgency;
use serde::Serialize;

use crate::admin::person::Person;
use crate::admin::tasks::TaskStatus;
use crate::approvals::BypassRequest;
use crate::clock::{Clock, ManualClock, can_advance};
use crate::engine::Engine;
pub use crate::event_summary::summarize_event;
use crate::files::Files;
use crate::load::Load;
use crate::load::error::LoadError;

/// StepAction came of one expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOutcome {
    /// Let pass, as it should be.
    Validated,
    /// Stopped or changed, as it should be.
    Reported,
    /// Let pass, and should have been stopped.
    Missing,
    /// Stopped, and should have been let pass.
    Noisy,
    /// Decided, but not as it should be.
    Wrong,
}

impl CaseOutcome {
    /// Whether it is as it should be.
    pub fn is_good(self) -> bool {
        matches!(self, CaseOutcome::Validated | CaseOutcome::Reported)
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            CaseOutcome::Validated => "Validated",
            CaseOutcome::Reported => "Reported",
            CaseOutcome::Missing => "Missing",
            CaseOutcome::Noisy => "Noisy",
            CaseOutcome::Wrong => "Wrong",
        }
    }
}

/// StepAction came of one case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// The case.
    pub id: String,
    /// One for each expectation, in order.
    pub checks: Vec<CheckedStep>,
}

impl CaseResult {
    /// Whether everything is as it should be. A case that expects nothing has not shown anything.
    pub fn is_good(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|checked| checked.outcome.is_good())
    }
}

/// StepAction came of one expectation.
#[derive(Debug, Clone, Serialize)]
pub struct CheckedStep {
    /// The step, counted from 1. 0: the case as a whole.
    pub step: usize,
    /// StepAction it was about, in a few words.
    pub what: String,
    /// How it came out.
    pub outcome: CaseOutcome,
    /// Where it differs: what was expected, and what came.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The field.
    pub field: String,
    /// StepAction was expected.
    pub expected: String,
    /// StepAction came.
    pub found: String,
}

/// Cases that were read from a file.
#[derive(Debug)]
pub struct CaseSet {
    /// The file.
    pub path: PathBuf,
    /// The cases.
    pub cases: Vec<Case>,
    /// The pack that they are the tests of, if they are.
    pack: Option<PackDocument>,
}

/// Reads the cases of a file: a pack's `tests`, a case file, or the `yaml` blocks of a Markdown page, each of which may be
/// either.
pub fn read(path: &Path, text: &str) -> Result<Vec<CaseSet>, DiagnosticReport> {
    if path.extension().is_some_and(|ending| ending == "md") {
        let mut sets = Vec::new();
        for block in markdown_blocks(text) {
            if block.starts_with("cases:") {
                sets.push(case_file(path, block)?);
            } else if block.contains("\ntests:\n") {
                sets.extend(tests_of(path, block)?);
            }
        }
        return Ok(sets);
    }
    let is_case_file = yaml::parse(text, &Limits::default())
        .ok()
        .and_then(|nodes| nodes.first().map(|node| node.get("cases").is_some()))
        .unwrap_or(false);
    if is_case_file {
        return Ok(vec![case_file(path, text)?]);
    }
    tests_of(path, text)
}

/// The tests of packs.
fn tests_of(path: &Path, text: &str) -> Result<Vec<CaseSet>, DiagnosticReport> {
    let documents = PackDocument::read(&path.display().to_string(), text, None)?;
    let sets = documents.into_iter().map(|document| CaseSet {
        path: path.to_owned(),
        cases: document.pack.tests.clone(),
        pack: Some(document),
    });
    Ok(sets.collect())
}

fn case_file(path: &Path, text: &str) -> Result<CaseSet, DiagnosticReport> {
    let report = |problems| DiagnosticReport::new(path.display().to_string(), text, problems);
    let nodes = yaml::parse(text, &Limits::default()).map_err(report)?;
    let mut cases = Vec::new();
    for node in &nodes {
        cases.extend(midrail_pack::decode::<CaseFile>(node).map_err(report)?.cases);
    }
    Ok(CaseSet { path: path.to_owned(), cases, pack: None })
}

/// The fenced blocks of a page that are marked as YAML.
pub fn markdown_blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n```yaml\n").skip(1).filter_map(|rest| rest.split("\n```").next())
}

impl CaseSet {
    /// Whether they are the tests of a pack.
    pub fn has_pack(&self) -> bool {
        self.pack.is_some()
    }

    /// Runs every case.
    pub fn run(&self) -> Vec<CaseResult> {
        self.cases.iter().map(|case| self.run_case(case)).collect()
    }

    fn run_case(&self, case: &Case) -> CaseResult {
        let mut checks = Vec::new();
        match self.engine(case) {
            Err(problem) if case.problems.is_empty() => {
                checks.push(whole(CaseOutcome::Wrong, "a policy", &problem))
            }
            Err(problem) => {
                for part in case.problems.iter() {
                    let outcome =
                        if problem.contains(part) { CaseOutcome::Reported } else { CaseOutcome::Missing };
                    checks.push(whole(outcome, part, &problem));
                }
            }
            Ok(_) if !case.problems.is_empty() => {
                checks
                    .extend(case.problems.iter().map(|part| whole(CaseOutcome::Missing, part, "no problem")));
            }
            Ok((engine, clock)) => {
                let mut player =
                    Player { engine, clock, snapshots: BTreeMap::new(), last_approval: None, last_seq: None };
                for (at, step) in case.events.iter().enumerate() {
                    player.play(at + 1, step, &mut checks);
                }
            }
        }
        CaseResult { id: case.id.clone(), checks }
    }

    /// The engine of a case: its packs, its own guardrails, its world.
    fn engine(&self, case: &Case) -> Result<(Arc<Engine>, Arc<ManualClock>), String> {
        let in_words = |report: DiagnosticReport| report.to_string();
        let mut documents: Vec<(Layer, PackDocument)> = Vec::new();
        if let Some(pack) = &self.pack {
            // StepAction it builds on decides with it.
            let loaded = Load::default().documents_of(&self.path, &pack.source);
            documents.extend(loaded.map_err(|error| error.to_string())?.documents);
        }
        if !case.packs.is_empty() {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            let packs = case.packs.iter().map(|name| match folder.join(name) {
                path if path.exists() => path,
                _ => PathBuf::from(name),
            });
            let load = Load { packs: packs.collect(), ..Load::default() };
            documents.extend(load.documents().map_err(|error: LoadError| error.to_string())?.documents);
        }
        if let Some(text) = &case.document {
            let read = PackDocument::read(&case.id, text, None).map_err(in_words)?;
            documents.extend(read.into_iter().map(|document| (Layer::Project, document)));
        }
        let own = Pack {
            pack: "case".to_owned(),
            guardrails: case.guardrails.clone(),
            agents: case.agents.clone(),
            tasks: case.tasks.clone(),
            tool_risks: case.tool_risks.clone(),
            risk_router: case.risk_router.clone().unwrap_or_default(),
            strikes: case.strikes.clone(),
            ..Pack::default()
        };
        documents.push((Layer::Project, PackDocument::from_pack(&case.id, own).map_err(in_words)?));
        let (policy, source) = midrail_pack::compile_policy(&documents)
            .map_err(|reports| reports.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;

        let files = match (case.filesystem, &case.files) {
            (Some(FileSystem::Unavailable), _) => Files::Unavailable,
            (None, None) => Files::simulated(BTreeMap::new()),
            (None, Some(files)) => Files::simulated(files.clone().into_map()),
        };
        if case.filesystem.is_none() {
            let commands = case
                .commands
                .iter()
                .try_for_each(|(line, end)| files.set_command_end(line, end.to_command_outcome()));
            let at = || files.set_git(case.git.as_ref().map(Git::to_git_state));
            let answers = || {
                case.answers
                    .iter()
                    .try_for_each(|(guardrail, answer)| files.set_deep_answer(guardrail, answer.clone()))
            };
            commands.and_then(|()| at()).and_then(|()| answers()).map_err(|error| error.to_string())?;
        }
        // A case has a time of its own, so that it comes out the same on every day.
        let clock = Arc::new(ManualClock::at(start_of_cases()));
        let engine = Engine::builder(policy, &source)
            .files(Arc::new(files))
            .clock(clock.clone())
            .build()
            .map_err(|error| error.to_string())?;
        let engine = Arc::new(engine);
        for (name, value) in &case.session {
            engine.session(SESSION).set(name, value.clone()).map_err(|error| error.to_string())?;
        }
        Ok((engine, clock))
    }
}

const SESSION: &str = "case";

fn start_of_cases() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap_or_default()
}

fn whole(outcome: CaseOutcome, expected: &str, found: &str) -> CheckedStep {
    let difference =
        Difference { field: "problems".to_owned(), expected: expected.to_owned(), found: found.to_owned() };
    let differences = if outcome.is_good() { Vec::new() } else { vec![difference] };
    CheckedStep { step: 0, what: "loading".to_owned(), outcome, differences }
}

struct Player<'c> {
    engine: Arc<Engine>,
    clock: Arc<ManualClock>,
    snapshots: BTreeMap<&'c str, Snapshot>,
    last_approval: Option<String>,
    last_seq: Option<u64>,
}

impl<'c> Player<'c> {
    fn play(&mut self, number: usize, step: &'c CaseStep, checks: &mut Vec<CheckedStep>) {
        let session = self.engine.session(SESSION);
        let done = match &step.action {
            StepAction::Event(value) => return self.decide(number, value, step.expect.as_ref(), checks),
            StepAction::Advance(seconds) if !can_advance(self.clock.now(), *seconds) => {
                Err(format!("{seconds} seconds are more than the clock can hold"))
            }
            StepAction::Advance(seconds) => {
                self.clock.advance(*seconds);
                Ok(())
            }
            StepAction::Write(files) => files.iter().try_for_each(|(path, content)| {
                self.engine.files().write(None, path, content).map_err(|error| error.to_string())
            }),
            StepAction::Remove(path) => {
                self.engine.files().remove(None, path).map_err(|error| error.to_string())
            }
            StepAction::Commands(commands) => commands.iter().try_for_each(|(line, end)| {
                self.engine
                    .files()
                    .set_command_end(line, end.to_command_outcome())
                    .map_err(|error| error.to_string())
            }),
            StepAction::Git(git) => {
                self.engine.files().set_git(Some(git.to_git_state())).map_err(|error| error.to_string())
            }
            StepAction::Set(values) => values.iter().try_for_each(|(name, value)| {
                session.set(name, value.clone()).map_err(|error| error.to_string())
            }),
            StepAction::Snapshot(name) => {
                session.snapshot().map_err(|error| error.to_string()).map(|snapshot| {
                    self.snapshots.insert(name, snapshot);
                })
            }
            StepAction::Restore(name) => match self.snapshots.get(name.as_str()) {
                Some(snapshot) => session.restore(snapshot).map(|_| ()).map_err(|error| error.to_string()),
                None => Err(format!("there is no snapshot `{name}`")),
            },
            StepAction::Approve(by) | StepAction::Deny(by) => match &self.last_approval {
                Some(id) => {
                    let person = self.person(by);
                    let approve = matches!(step.action, StepAction::Approve(_));
                    self.engine
                        .approvals()
                        .answer(id, approve, &person, None)
                        .map(|_| ())
                        .map_err(|error| error.to_string())
                }
                None => Err("no approval was asked for".to_owned()),
            },
            StepAction::Request(request) => self.request(request),
            StepAction::SetTask(tasks) => tasks.iter().try_for_each(|(task, word)| {
                let status = TaskStatus::ALL.into_iter().find(|status| status.word() == word);
                let status = status.ok_or_else(|| format!("`{word}` is no status of a task"))?;
                self.engine.admin().set_task(task, status, "case").map_err(|error| error.to_string())
            }),
            StepAction::Lift(actor) => {
                let person = self.person(&CaseApprover::Anyone("case".to_owned()));
                self.engine.admin().lift_quarantine(actor, &person, "case").map_err(|error| error.to_string())
            }
        };
        let refused = step.expect.as_ref().map(|expect| &expect.refused).filter(|parts| !parts.is_empty());
        match (done, refused) {
            (Ok(()), None) => {}
            (Ok(()), Some(parts)) => {
                let missing = whole(CaseOutcome::Missing, &parts.join(", "), "it was done");
                checks.push(CheckedStep { step: number, ..missing });
            }
            (Err(why), None) => {
                let wrong = whole(CaseOutcome::Wrong, "a step that can be taken", &why);
                checks.push(CheckedStep { step: number, ..wrong });
            }
            (Err(why), Some(parts)) => {
                let is_expected = parts.iter().all(|part| why.contains(part));
                let outcome = if is_expected { CaseOutcome::Reported } else { CaseOutcome::Wrong };
                checks.push(CheckedStep { step: number, ..whole(outcome, &parts.join(", "), &why) });
            }
        }
    }

    fn person(&self, by: &CaseApprover) -> Person {
        match by {
            CaseApprover::Anyone(name) => {
                Person::authenticated(name.clone(), self.engine.policy().authorities().order.clone())
            }
            CaseApprover::As { by, role } => Person::authenticated(by.clone(), [role.clone()]),
        }
    }

    fn request(&mut self, request: &CaseRequest) -> Result<(), String> {
        let seq = self.last_seq.ok_or("nothing was decided yet")?;
        let urgency = request.urgency.as_deref().map_or(Ok(Urgency::Normal), str::parse);
        let ask = BypassRequest {
            seq,
            guardrail: request.guardrail.clone(),
            reason: request.reason.clone(),
            urgency: urgency.map_err(|error| error.to_string())?,
        };
        let asked = self.engine.approvals().request(&ask).map_err(|error| error.to_string())?;
        self.last_approval = Some(asked.id);
        Ok(())
    }

    fn decide(
        &mut self,
        number: usize,
        value: &serde_json::Value,
        expect: Option<&Expectation>,
        checks: &mut Vec<CheckedStep>,
    ) {
        let event: Event = match serde_json::from_value(value.clone()) {
            Ok(event) => event,
            Err(error) => {
                checks.push(CheckedStep {
                    step: number,
                    ..whole(CaseOutcome::Wrong, "an event", &error.to_string())
                });
                return;
            }
        };
        let what = summarize_event(&event);
        let session = event.session.clone().unwrap_or_else(|| SESSION.to_owned());
        let decision = self.engine.session(session).decide(event);
        self.last_seq = decision.audit.0.as_ref().map(|place| place.seq);
        self.last_approval =
            decision.approval.as_ref().map(|approval| approval.id.clone()).or(self.last_approval.take());
        let Some(expect) = expect else { return };
        let differences = self.differences(expect, &decision);
        let outcome = outcome(expect, &decision, differences.is_empty());
        checks.push(CheckedStep { step: number, what, outcome, differences });
    }

    fn differences(&self, expect: &Expectation, decision: &Decision) -> Vec<Difference> {
        let mut differences = Vec::new();
        let mut differ = |field: &str, expected: String, found: String, is_same: bool| {
            if !is_same {
                differences.push(Difference { field: field.to_owned(), expected, found });
            }
        };
        if let Some(effect) = expect.effect {
            differ("effect", effect.to_string(), found_effect(decision), effect == decision.effect);
        }
        if let Some(by) = &expect.by {
            let found = decision.by.as_deref().unwrap_or("no guardrail");
            differ("by", by.clone(), found.to_owned(), guardrail_id(by) == found);
        }
        if let Some(would) = expect.would {
            let found = decision.would.map_or("nothing else".to_owned(), |would| would.to_string());
            differ("would", would.to_string(), found, decision.would == Some(would));
        }
        let feedback = decision.feedback.join("\n\n");
        let retry = decision.retry.as_ref().map(|retry| retry.message.as_str()).unwrap_or_default();
        for (field, parts, found) in [
            ("reason", &expect.reason, decision.reason.as_str()),
            ("advice", &expect.advice, decision.advice.as_deref().unwrap_or_default()),
            ("content", &expect.content, decision.content.as_deref().unwrap_or_default()),
            ("feedback", &expect.feedback, feedback.as_str()),
            ("retry", &expect.retry, retry),
        ] {
            for part in parts.iter() {
                differ(field, format!("… {part} …"), found.to_owned(), found.contains(part));
            }
        }
        if let Some(providers) = &expect.providers {
            let name = |block: &String| {
                let rest = block.strip_prefix("<feedback provider='")?;
                Some(rest.split_once('\'')?.0.to_owned())
            };
            let found: Vec<String> = decision.feedback.iter().filter_map(name).collect();
            differ("providers", providers.join(", "), found.join(", "), *providers == found);
        }
        for (key, value) in &expect.metadata {
            let found = decision.metadata.get(key);
            let text = found.map_or("nothing".to_owned(), ToString::to_string);
            differ(&format!("metadata.{key}"), value.to_string(), text, found == Some(value));
        }
        let built_in = |id: &str| midrail_guardrails::builtin(id).is_some_and(|page| page.always_on);
        if let Some(evaluated) = &expect.evaluated {
            let asked = decision
                .verdicts
                .iter()
                .filter(|verdict| verdict.effect.is_some() && !built_in(&verdict.guardrail));
            let asked: Vec<&str> = asked.map(|verdict| &*verdict.guardrail).collect();
            differ("evaluated", evaluated.join(", "), asked.join(", "), *evaluated == asked);
        }
        if let Some(errors) = &expect.errors {
            let failed: Vec<&str> = decision
                .verdicts
                .iter()
                .filter(|verdict| verdict.error.is_some())
                .map(|verdict| &*verdict.guardrail)
                .collect();
            differ("errors", errors.join(", "), failed.join(", "), *errors == failed);
        }
        if let Some(effects) = &expect.effects {
            differ("effects", effects.join(", "), decision.effects.join(", "), *effects == decision.effects);
        }
        let autonomy = decision.autonomy.unwrap_or_default().as_str();
        let recovery = decision.recovery.map_or("none", |recovery| recovery.as_str());
        for (field, wanted, found) in
            [("autonomy", &expect.autonomy, autonomy), ("recovery", &expect.recovery, recovery)]
        {
            if let Some(wanted) = wanted {
                differ(field, wanted.clone(), found.to_owned(), wanted == found);
            }
        }
        if let Some(notices) = &expect.notices {
            let recipients: Vec<&str> = decision.notices.iter().map(|notice| notice.to.as_str()).collect();
            differ("notices", notices.join(", "), recipients.join(", "), *notices == recipients);
        }
        if let Some(rollback) = expect.rollback {
            let found = decision.rollback_requested;
            differ("rollback", rollback.to_string(), found.to_string(), rollback == found);
        }
        if let Some(denied) = &expect.denied {
            let record =
                decision.audit.0.as_ref().and_then(|place| self.engine.store().entry(place.seq).ok()?);
            let found = record.and_then(|entry| entry.record().ok()?.denied);
            let pair = found.map(|found| (found.policy_name, found.tool_name));
            let text = pair
                .as_ref()
                .map_or("nothing".to_owned(), |(policy, tool)| format!("{policy} denied {tool}"));
            let is_same = pair == Some((denied.policy.clone(), denied.tool.clone()));
            differ("denied", format!("{} denied {}", denied.policy, denied.tool), text, is_same);
        }
        differences
    }
}

fn found_effect(decision: &Decision) -> String {
    match decision.reason.as_str() {
        "" => decision.effect.to_string(),
        reason => format!("{} ({reason})", decision.effect),
    }
}

fn outcome(expect: &Expectation, decision: &Decision, is_same: bool) -> CaseOutcome {
    let wants_pass = expect.effect.unwrap_or(decision.effect) == Effect::Allow;
    let passes = decision.effect == Effect::Allow;
    match (is_same, wants_pass, passes) {
        (true, true, _) => CaseOutcome::Validated,
        (true, false, _) => CaseOutcome::Reported,
        (false, false, true) => CaseOutcome::Missing,
        (false, true, false) => CaseOutcome::Noisy,
        (false, ..) => CaseOutcome::Wrong,
    }
}
