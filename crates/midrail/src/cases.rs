//! Runs cases: simulates a machine for each, decides its events with the real engine, and compares the decisions with
//! the expected ones.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use midrail_core::{Decision, Effect, Event, Policy, Snapshot, VerdictRecord};
use midrail_guardrails::guardrail_id;
use midrail_pack::case::{
    Case, CaseApprover, CaseFile, CaseRequest, CaseStep, Expectation, FileSystem, Files as CaseFiles, Git,
    StepAction, StubExit,
};
use midrail_pack::raw::Pack;
use midrail_pack::yaml;
use midrail_pack::{DiagnosticReport, Layer, PackDocument, PolicySource};
use midrail_store::Urgency;
use serde::Serialize;

use crate::admin::event::Person;
pub use crate::admin::records::summarize_event;
use crate::admin::tasks::TaskStatus;
use crate::approvals::BypassRequest;
use crate::clock::ManualClock;
use crate::engine::Engine;
use crate::files::{Files, Simulation};
use crate::load::{Load, LoadError};
use crate::replay::start_time;
use crate::sandboxes::{SandboxStarter, Sandboxes};

/// What became of one expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CaseOutcome {
    /// Allowed, as expected.
    Validated,
    /// Stopped or changed, as expected.
    Reported,
    /// Allowed, but expected to be stopped.
    Missing,
    /// Stopped, but expected to be allowed.
    Noisy,
    /// Decided differently than expected.
    Wrong,
}

impl CaseOutcome {
    /// Whether it is as expected.
    pub fn is_good(self) -> bool {
        matches!(self, CaseOutcome::Validated | CaseOutcome::Reported)
    }

    /// Its name.
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

/// What became of one case.
#[derive(Debug, Clone, Serialize)]
pub struct CaseResult {
    /// The case.
    pub id: String,
    /// One for each expectation, in order.
    pub checks: Vec<CheckedStep>,
}

impl CaseResult {
    /// Whether everything is as expected. A case without expectations is not good.
    pub fn is_good(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|checked| checked.outcome.is_good())
    }
}

/// What became of one expectation.
#[derive(Debug, Clone, Serialize)]
pub struct CheckedStep {
    /// The step, counted from 1. 0: the case as a whole.
    pub step: usize,
    /// What it was about, in a few words.
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
    /// What was expected.
    pub expected: String,
    /// What was found.
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
                sets.extend(pack_tests(path, block)?);
            }
        }
        return Ok(sets);
    }
    let is_case_file = yaml::parse(text)
        .ok()
        .and_then(|nodes| nodes.first().map(|node| node.get("cases").is_some()))
        .unwrap_or(false);
    if is_case_file {
        return Ok(vec![case_file(path, text)?]);
    }
    pack_tests(path, text)
}

/// The tests of packs.
fn pack_tests(path: &Path, text: &str) -> Result<Vec<CaseSet>, DiagnosticReport> {
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
    let nodes = yaml::parse(text).map_err(report)?;
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
        match self.engine(case).map_err(|error| error.to_string()) {
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

    /// The policy of a case: its packs and its own guardrails.
    fn policy(&self, case: &Case) -> Result<(Policy, PolicySource), LoadError> {
        let mut documents: Vec<(Layer, PackDocument)> = Vec::new();
        if let Some(pack) = &self.pack {
            // The packs that it extends are part of the policy.
            let load = Load { is_exact: true, ..Load::default() };
            documents.extend(load.documents_of(&self.path, &pack.source)?.documents);
        }
        if !case.packs.is_empty() {
            let folder = self.path.parent().unwrap_or(Path::new("."));
            let packs = case.packs.iter().map(|name| match folder.join(name) {
                path if path.exists() => path,
                _ => PathBuf::from(name),
            });
            let load = Load { packs: packs.collect(), is_exact: true, ..Load::default() };
            documents.extend(load.documents()?.documents);
        }
        if let Some(text) = &case.document {
            let read = PackDocument::read(&case.id, text, None)?;
            documents.extend(read.into_iter().map(|document| (Layer::User, document)));
        }
        let own = Pack {
            pack: "case".to_owned(),
            guardrails: case.guardrails.clone(),
            agents: case.agents.clone(),
            tasks: case.tasks.clone(),
            labels: case.labels.clone(),
            tool_risks: case.tool_risks.clone(),
            risk_router: case.risk_router.clone().unwrap_or_default(),
            strikes: case.strikes.clone(),
            ..Pack::default()
        };
        documents.push((Layer::User, PackDocument::from_pack(&case.id, own)?));
        Ok(midrail_pack::compile_policy(&documents)?)
    }

    /// The engine of a case: its policy and its simulated machine.
    fn engine(&self, case: &Case) -> Result<(Arc<Engine>, Arc<ManualClock>), CaseError> {
        let (policy, source) = self.policy(case)?;
        let files = match case.filesystem {
            Some(FileSystem::Unavailable) => Files::Unavailable,
            None => Files::simulated(case.files.clone().map(CaseFiles::into_map).unwrap_or_default()),
        };
        if let Some(simulation) = files.simulation() {
            set_commands(simulation, &case.commands);
            for (guardrail, answer) in &case.answers {
                simulation.set_answer(guardrail, answer.clone());
            }
            simulation.set_git(case.git.as_ref().map(Git::to_git_state));
            simulation.set_project(&case.facts);
        }
        // A case has its own time, so that it has the same result on every day.
        let clock = Arc::new(ManualClock::at(start_time()));
        let mut engine = Engine::builder(policy, &source).files(Arc::new(files)).clock(clock.clone());
        if case.sandbox {
            let command = ["midrail", "run", "--box"].map(str::to_owned).to_vec();
            let starter = SandboxStarter { command, shell: "sh".to_owned() };
            engine = engine.sandboxes(Sandboxes::new(move |_| Some(starter.clone())));
        }
        let engine = Arc::new(engine.build()?);
        for (name, value) in &case.session {
            engine.session(SESSION).set(name, value.clone())?;
        }
        Ok((engine, clock))
    }
}

/// Why a case or one of its steps could not be played.
type CaseError = Box<dyn Error>;

const SESSION: &str = "case";

fn set_commands(simulation: &Simulation, commands: &BTreeMap<String, StubExit>) {
    for (line, exit) in commands {
        simulation.set_command(line, exit.to_command_outcome());
    }
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
        if let StepAction::Event(value) = &step.action {
            return self.decide(number, value, step.expect.as_ref(), checks);
        }
        let refused = step.expect.as_ref().map(|expect| &expect.refused).filter(|parts| !parts.is_empty());
        let (outcome, expected, found) = match (self.perform(&step.action), refused) {
            (Ok(()), None) => return,
            (Ok(()), Some(parts)) => (CaseOutcome::Missing, parts.join(", "), "it was done".to_owned()),
            (Err(error), None) => {
                (CaseOutcome::Wrong, "a step that can be taken".to_owned(), error.to_string())
            }
            (Err(error), Some(parts)) => {
                let found = error.to_string();
                let is_expected = parts.iter().all(|part| found.contains(part));
                let outcome = if is_expected { CaseOutcome::Reported } else { CaseOutcome::Wrong };
                (outcome, parts.join(", "), found)
            }
        };
        checks.push(CheckedStep { step: number, ..whole(outcome, &expected, &found) });
    }

    /// Takes a step that is not an event.
    fn perform(&mut self, action: &'c StepAction) -> Result<(), CaseError> {
        let session = self.engine.session(SESSION);
        let fail = |message: String| Err(message.into());
        let simulation = || self.engine.files.simulation().ok_or("this is no simulation");
        match action {
            StepAction::Event(_) => {}
            StepAction::Advance(seconds) => {
                if !self.clock.advance(*seconds) {
                    return fail(format!("{seconds} seconds are more than the clock can hold"));
                }
            }
            StepAction::Write(files) => {
                let simulation = simulation()?;
                files.iter().for_each(|(path, content)| simulation.write(path, content));
            }
            StepAction::Remove(path) => simulation()?.remove(path),
            StepAction::Commands(commands) => set_commands(simulation()?, commands),
            StepAction::Git(git) => simulation()?.set_git(Some(git.to_git_state())),
            StepAction::Facts(facts) => simulation()?.set_project(facts),
            StepAction::Set(values) => {
                for (name, value) in values {
                    session.set(name, value.clone())?;
                }
            }
            StepAction::Snapshot(name) => drop(self.snapshots.insert(name, session.snapshot()?)),
            StepAction::Restore(name) => match self.snapshots.get(name.as_str()) {
                Some(snapshot) => drop(session.restore(snapshot)?),
                None => return fail(format!("there is no snapshot `{name}`")),
            },
            StepAction::Approve(by) | StepAction::Deny(by) => match &self.last_approval {
                Some(id) => {
                    let approve = matches!(action, StepAction::Approve(_));
                    drop(self.engine.approvals().answer(id, approve, &self.person(by), None)?);
                }
                None => return fail("no approval was asked for".to_owned()),
            },
            StepAction::Request(request) => self.request(request)?,
            StepAction::SetTask(tasks) => {
                for (task, word) in tasks {
                    let status = TaskStatus::ALL.into_iter().find(|status| status.word() == word);
                    let Some(status) = status else {
                        return fail(format!("`{word}` is no status of a task"));
                    };
                    self.engine.admin().set_task(task, status, "case")?;
                }
            }
            StepAction::Lift(actor) => {
                let person = self.person(&CaseApprover::Anyone("case".to_owned()));
                self.engine.admin().lift_quarantine(actor, &person, "case")?;
            }
        }
        Ok(())
    }

    fn person(&self, by: &CaseApprover) -> Person {
        match by {
            CaseApprover::Anyone(name) => {
                Person::authenticated(name.clone(), self.engine.policy().authorities().order.clone())
            }
            CaseApprover::As { by, role } => Person::authenticated(by.clone(), [role.clone()]),
        }
    }

    fn request(&mut self, request: &CaseRequest) -> Result<(), CaseError> {
        let seq = self.last_seq.ok_or("nothing was decided yet")?;
        let ask = BypassRequest {
            seq,
            guardrail: request.guardrail.clone(),
            reason: request.reason.clone(),
            urgency: request.urgency.as_deref().map_or(Ok(Urgency::Normal), str::parse)?,
        };
        self.last_approval = Some(self.engine.approvals().request(&ask)?.id);
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
                let wrong = whole(CaseOutcome::Wrong, "an event", &error.to_string());
                return checks.push(CheckedStep { step: number, ..wrong });
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
        if let Some(vouched) = expect.vouched {
            differ("vouched", vouched.to_string(), decision.vouched.to_string(), vouched == decision.vouched);
        }
        let feedback = decision.feedback.join("\n\n");
        let retry = decision.retry.as_ref().map(|retry| retry.message.as_str()).unwrap_or_default();
        for (field, parts, found) in [
            ("reason", &expect.reason, decision.reason.as_str()),
            ("advice", &expect.advice, decision.advice.as_deref().unwrap_or_default()),
            ("content", &expect.content, decision.content.as_deref().unwrap_or_default()),
            ("grounds", &expect.grounds, decision.grounds.as_deref().unwrap_or_default()),
            ("feedback", &expect.feedback, feedback.as_str()),
            ("retry", &expect.retry, retry),
        ] {
            for part in parts.iter() {
                differ(field, format!("… {part} …"), found.to_owned(), found.contains(part));
            }
        }
        for (key, value) in &expect.metadata {
            let found = decision.metadata.get(key);
            let text = found.map_or("nothing".to_owned(), ToString::to_string);
            differ(&format!("metadata.{key}"), value.to_string(), text, found == Some(value));
        }
        let provider = |block: &String| {
            let rest = block.strip_prefix("<feedback provider='")?;
            Some(rest.split_once('\'')?.0.to_owned())
        };
        let is_always_on = |id: &str| midrail_guardrails::builtin(id).is_some_and(|page| page.always_on);
        let named = |is_meant: &dyn Fn(&VerdictRecord) -> bool| -> Vec<String> {
            let verdicts = decision.verdicts.iter().filter(|verdict| is_meant(verdict));
            verdicts.map(|verdict| verdict.guardrail.to_string()).collect()
        };
        let evaluated = named(&|verdict| verdict.effect.is_some() && !is_always_on(&verdict.guardrail));
        let errors = named(&|verdict| verdict.error.is_some());
        for (field, wanted, found) in [
            ("providers", &expect.providers, decision.feedback.iter().filter_map(provider).collect()),
            ("evaluated", &expect.evaluated, evaluated),
            ("errors", &expect.errors, errors),
            ("effects", &expect.effects, decision.effects.clone()),
            ("notices", &expect.notices, decision.notices.iter().map(|notice| notice.to.clone()).collect()),
        ] {
            if let Some(wanted) = wanted {
                differ(field, wanted.join(", "), found.join(", "), *wanted == found);
            }
        }
        let denied = |policy: &str, tool: &str| format!("{policy} denied {tool}");
        let place = decision.audit.0.as_ref().filter(|_| expect.denied.is_some());
        let record = place.and_then(|place| self.engine.store().entry(place.seq).ok()?);
        let found = record.and_then(|entry| entry.record().ok()?.denied);
        for (field, wanted, found) in [
            ("would", expect.would.map(|would| would.to_string()), decision.would.map(|it| it.to_string())),
            ("autonomy", expect.autonomy.clone(), decision.autonomy.unwrap_or_default().to_string().into()),
            ("recovery", expect.recovery.clone(), decision.recovery.map(|it| it.as_str().to_owned())),
            (
                "rollback",
                expect.rollback.map(|rollback| rollback.to_string()),
                Some(decision.rollback_requested.to_string()),
            ),
            (
                "denied",
                expect.denied.as_ref().map(|it| denied(&it.policy, &it.tool)),
                found.map(|it| denied(&it.policy_name, &it.tool_name)),
            ),
        ] {
            if let Some(wanted) = wanted {
                let found = found.unwrap_or_else(|| "none".to_owned());
                let is_same = wanted == found;
                differ(field, wanted, found, is_same);
            }
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
    let expects_allow = expect.effect.unwrap_or(decision.effect) == Effect::Allow;
    let is_allowed = decision.effect == Effect::Allow;
    match (is_same, expects_allow, is_allowed) {
        (true, true, _) => CaseOutcome::Validated,
        (true, false, _) => CaseOutcome::Reported,
        (false, false, true) => CaseOutcome::Missing,
        (false, true, false) => CaseOutcome::Noisy,
        (false, ..) => CaseOutcome::Wrong,
    }
}
