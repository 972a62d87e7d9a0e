//! Examples of the ladder: who decides, in which order the chain runs, and what passes on.

use midrail_core::{
    Category, Context, Decision, Effect, Event, EventKind, Fact, FactKey, Fault, Guardrail, INCREMENT_STRIKE,
    Mode, Notice, OnFault, Recovery, Redaction, SandboxGrant, SandboxLauncher, SandboxNetwork, SandboxRules,
    StrikeRule, ToolResult, Verdict, command_digest, sandbox_key,
};
use serde_json::json;

use crate::plan::{Does, Plan, plan, says};
use crate::world::{SessionRun, once, write};

fn evaluated(decision: &Decision) -> Vec<&str> {
    decision.verdicts.iter().filter(|said| !said.skipped).map(|said| &*said.guardrail).collect()
}

fn skipped(decision: &Decision) -> Vec<&str> {
    decision.verdicts.iter().filter(|said| said.skipped).map(|said| &*said.guardrail).collect()
}

fn redacts(id: &str, start: usize, end: usize) -> Plan {
    let redactions = vec![Redaction::new(start, end, format!("[{id}]"))];
    plan(id, Does::Says(Verdict { redactions, ..Verdict::new(Effect::Redact, "a secret") }))
}

fn result(text: &str) -> Event {
    Event::after_tool("Read", json!({}), ToolResult::ok(text))
}

#[test]
fn no_objection_allows_without_a_guardrail() {
    let decision = once(&[says("a", Effect::Allow)], &write("a.rs"));
    assert_eq!((decision.effect, decision.by, decision.reason.as_str()), (Effect::Allow, None, ""));
    assert_eq!(once(&[], &write("a.rs")).effect, Effect::Allow);
}

#[test]
fn highest_effect_wins_and_its_first_guardrail_decides() {
    let plans = [
        says("warns", Effect::Warn),
        says("blocks", Effect::Block),
        Plan { has_consequences: true, ..says("blocks-too", Effect::Block) },
    ];
    let decision = once(&plans, &write("a.rs"));
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Block, Some("blocks")));
    assert_eq!(decision.reason, "blocks says block");
}

#[test]
fn category_breaks_ties() {
    let at = |id: &str, category| Plan { category, ..says(id, Effect::Warn) };
    let plans = [
        at("quality", Category::Quality),
        at("scope", Category::Scope),
        at("budget", Category::Budget),
        at("compliance", Category::Compliance),
        at("safety", Category::Safety),
    ];
    let decision = once(&plans, &write("a.rs"));
    assert_eq!(evaluated(&decision), ["safety", "compliance", "budget", "scope", "quality"]);
    assert_eq!(decision.by.as_deref(), Some("safety"));
}

#[test]
fn built_in_runs_before_custom() {
    let custom = Plan { category: Category::Safety, ..says("custom", Effect::Block) };
    let built_in = Plan { priority: 99, category: Category::Quality, ..says("built-in", Effect::Block) };
    let decision = once(&[custom, built_in], &write("a.rs"));
    assert_eq!(decision.by.as_deref(), Some("built-in"));
}

#[test]
fn declaration_is_the_last_to_break_ties() {
    let decision = once(&[says("b", Effect::Warn), says("a", Effect::Warn)], &write("a.rs"));
    assert_eq!(decision.by.as_deref(), Some("b"));
}

#[test]
fn guardrails_that_cannot_raise_a_block_are_skipped() {
    let plans = [
        says("blocks", Effect::Block),
        says("warns", Effect::Warn),
        says("halts", Effect::Halt),
        Plan { has_consequences: true, ..says("strikes", Effect::Warn) },
    ];
    let decision = once(&plans, &write("a.rs"));
    assert_eq!(evaluated(&decision), ["blocks", "halts", "strikes"]);
    assert_eq!(skipped(&decision), ["warns"]);
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Halt, Some("halts")));
}

#[test]
fn shadow_block_skips_no_guardrail() {
    let shadow = |plan| Plan { mode: Mode::Shadow, ..plan };
    let plans = [shadow(says("blocks", Effect::Block)), says("warns", Effect::Warn)];
    assert_eq!(evaluated(&once(&plans, &write("a.rs"))), ["blocks", "warns"]);
    let plans = [shadow(says("blocks", Effect::Block)), shadow(says("warns", Effect::Warn))];
    assert_eq!(evaluated(&once(&plans, &write("a.rs"))), ["blocks", "warns"]);
    let plans = [says("blocks", Effect::Block), shadow(says("warns", Effect::Warn))];
    assert_eq!(skipped(&once(&plans, &write("a.rs"))), ["warns"]);
}

#[test]
fn missing_value_of_a_shadow_guardrail_changes_nothing() {
    let (present, absent) = (Verdict::allow(), Verdict::allow());
    let lacks = plan("lacks", Does::Reads { key: "lost".to_owned(), present, absent });
    let lacks = Plan { mode: Mode::Shadow, ..lacks };
    let notes = Verdict { feedback: Some("a note".to_owned()), ..Verdict::allow() };
    let (blocks, notes) = (says("blocks", Effect::Block), plan("notes", Does::Says(notes)));
    let mut with = SessionRun::new(&[lacks, blocks.clone(), notes.clone()]);
    with.backing.unreadable.insert("lost".to_owned());
    assert_eq!(with.feed(&write("a.rs")).feedback, once(&[blocks, notes], &write("a.rs")).feedback);
}

#[test]
fn no_guardrail_is_skipped_below_a_block() {
    let plans = [says("escalates", Effect::Escalate), says("warns", Effect::Warn)];
    assert_eq!(evaluated(&once(&plans, &write("a.rs"))), ["escalates", "warns"]);
}

#[test]
fn error_runs_all_guardrails_and_takes_the_strongest_recovery() {
    let recovers = |id: &str, recovery| {
        plan(id, Does::Says(Verdict { recovery: Some(recovery), ..Verdict::block("broken") }))
    };
    let plans = [
        recovers("a", Recovery::Rollback),
        recovers("b", Recovery::Quarantine),
        recovers("c", Recovery::Retry),
    ];
    let decision = once(&plans, &Event::new(EventKind::OnError));
    assert_eq!(evaluated(&decision), ["a", "b", "c"]);
    assert_eq!(decision.recovery, Some(Recovery::Quarantine));
}

#[test]
fn a_spec_replaces_effect_reason_and_advice_of_objections_only() {
    let dressed = |plan| Plan {
        effect: Some(Effect::Block),
        reason: Some("house rule".to_owned()),
        advice: Some("ask ada".to_owned()),
        ..plan
    };
    let decision = once(&[dressed(says("a", Effect::Warn))], &write("a.rs"));
    assert_eq!((decision.effect, decision.reason.as_str()), (Effect::Block, "house rule"));
    assert_eq!(decision.advice.as_deref(), Some("ask ada"));
    assert_eq!(once(&[dressed(says("a", Effect::Allow))], &write("a.rs")).effect, Effect::Allow);
}

#[test]
fn redactions_of_all_guardrails_are_merged() {
    let decision =
        once(&[redacts("a", 0, 5), redacts("b", 3, 9), redacts("c", 10, 11)], &result("0123456789abc"));
    assert_eq!(decision.effect, Effect::Redact);
    assert_eq!(decision.content.as_deref(), Some("[a]9[c]bc"));
}

#[test]
fn redactions_are_applied_even_when_retry_wins() {
    let decision = once(&[redacts("a", 0, 3), says("again", Effect::Retry)], &result("key in text"));
    assert_eq!(decision.effect, Effect::Retry);
    assert_eq!(decision.content.as_deref(), Some("[a] in text"));
}

#[test]
fn redaction_applies_even_if_the_effect_was_lowered() {
    let lowered = Plan { effect: Some(Effect::Warn), ..redacts("a", 0, 3) };
    let decision = once(&[lowered], &result("key in text"));
    assert_eq!((decision.effect, decision.content.as_deref()), (Effect::Warn, Some("[a] in text")));
}

fn replaces(id: &str, text: &str) -> Plan {
    plan(id, Does::Says(Verdict { replacement: Some(text.to_owned()), ..Verdict::allow() }))
}

#[test]
fn redactions_apply_to_the_replacement() {
    let text = "the password is hunter2";
    let hides = redacts("secret", 16, 23);
    for plans in [
        [replaces("r", "hunter2, hunter2 of the door"), hides.clone()],
        [hides, replaces("r", "hunter2, hunter2 of the door")],
    ] {
        let decision = once(&plans, &result(text));
        assert_eq!(decision.content.as_deref(), Some("[secret], [secret] of the door"));
    }
    // Places in the text are not places in the replacement.
    let decision = once(&[replaces("r", "all is well"), redacts("a", 0, 3)], &result(text));
    assert_eq!(decision.content.as_deref(), Some("all is well"));
}

#[test]
fn overlapping_parts_leave_no_middle_in_a_replacement() {
    for parts in [[(16, 22), (16, 23)], [(12, 20), (18, 23)]] {
        let [a, b] = parts.map(|(start, end)| redacts(&format!("{start}-{end}"), start, end));
        let text = "the password is hunter2";
        let content = once(&[replaces("r", text), a, b], &result(text)).content.unwrap();
        assert!(!content.ends_with(|last: char| last.is_alphanumeric()), "{content}");
    }
}

#[test]
fn redaction_of_a_replacement_widens_invalid_spans() {
    let text = "the password is hunterü";
    for (start, end) in [(16, 99), (24, 16), (16, 23)] {
        let plans = [replaces("r", "hunterü"), redacts("a", start, end)];
        assert_eq!(once(&plans, &result(text)).content.as_deref(), Some("[a]"), "{start}..{end}");
    }
}

#[test]
fn event_without_text_has_no_content() {
    assert_eq!(once(&[redacts("a", 0, 3)], &write("a.rs")).content, None);
    let plans = [redacts("a", 0, 3), replaces("r", "all is well")];
    // Arguments are changed before the call is judged, or not at all.
    let decision = once(&plans, &write("a.rs"));
    assert_eq!((decision.effect, decision.content), (Effect::Block, None));
}

#[test]
fn blocked_event_has_no_content() {
    for effect in [Effect::Escalate, Effect::Block, Effect::Halt] {
        let decision = once(&[redacts("a", 0, 3), says("stops", effect)], &result("key in text"));
        assert_eq!(decision.content, None, "{effect}");
    }
}

#[test]
fn blocked_result_requests_a_rollback() {
    let blocks = [says("a", Effect::Block)];
    assert!(once(&blocks, &result("text")).rollback_requested);
    assert!(!once(&blocks, &write("a.rs")).rollback_requested);
    assert!(!once(&[says("a", Effect::Warn)], &result("text")).rollback_requested);
}

#[test]
fn retries_are_joined_with_the_fewest_attempts_left() {
    let retries = |id: &str, message: &str, max_attempts| {
        let verdict =
            Verdict { retry_message: Some(message.to_owned()), ..Verdict::new(Effect::Retry, "no") };
        Plan { max_attempts, ..plan(id, Does::Says(verdict)) }
    };
    let plans = [retries("a", "add tests", 5), retries("b", "add docs", 2), says("c", Effect::Retry)];
    let mut run = SessionRun::new(&plans);
    for attempt in 1..=2 {
        let decision = run.feed(&Event::new(EventKind::BeforeStop));
        assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Retry, Some("a")));
        let retry = decision.retry.unwrap();
        assert_eq!(retry.message, "add tests\n\nadd docs\n\nc says retry");
        assert_eq!((retry.attempt, retry.max_attempts), (attempt, 2));
    }
}

#[test]
fn first_of_equal_attempts_is_reported() {
    let plans = [2, 3]
        .map(|max_attempts| Plan { max_attempts, ..says(&format!("of-{max_attempts}"), Effect::Retry) });
    let mut run = SessionRun::new(&plans);
    run.backing.slices.insert("retry/of-3/before_tool/Write".to_owned(), json!(1));
    let retry = run.feed(&write("a.rs")).retry.unwrap();
    assert_eq!((retry.attempt, retry.max_attempts), (1, 2));
}

#[test]
fn exhausted_attempts_apply_on_exhausted() {
    for (on_exhausted, expected) in [
        (None, Effect::Escalate),
        (Some(OnFault::Escalate), Effect::Escalate),
        (Some(OnFault::Block), Effect::Block),
        (Some(OnFault::Allow), Effect::Warn),
    ] {
        let mut run = SessionRun::new(&[Plan { max_attempts: 2, on_exhausted, ..says("a", Effect::Retry) }]);
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Retry);
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Retry);
        let decision = run.feed(&write("a.rs"));
        assert_eq!((decision.effect, decision.retry), (expected, None));
        assert_eq!(decision.reason, "a says retry (its 2 tries are used up)");
    }
}

#[test]
fn agent_without_attempts_may_stop_with_a_warning() {
    let stop = Event::new(EventKind::BeforeStop);
    for (on_exhausted, expected) in [
        (None, Effect::Warn),
        (Some(OnFault::Allow), Effect::Warn),
        (Some(OnFault::Escalate), Effect::Escalate),
        (Some(OnFault::Block), Effect::Block),
    ] {
        let stubborn = Plan { max_attempts: 1, on_exhausted, ..says("a", Effect::Retry) };
        let mut run = SessionRun::new(&[stubborn]);
        let first = run.feed(&stop);
        assert_eq!((first.effect, first.notices.len()), (Effect::Retry, 0));
        let second = run.feed(&stop);
        assert_eq!(second.effect, expected);
        // Whoever runs the agent hears of work that ends unfinished.
        let report: Vec<&str> = second.notices.iter().map(|notice| notice.to.as_str()).collect();
        assert_eq!(report, if expected == Effect::Warn { vec!["orchestrator"] } else { vec![] });
    }
}

#[test]
fn attempts_are_counted_per_tool_and_reset_by_a_success() {
    let done = Does::Reads {
        key: "var/done".to_owned(),
        present: Verdict::allow(),
        absent: Verdict::new(Effect::Retry, "not yet"),
    };
    let mut run = SessionRun::new(&[plan("a", done)]);
    let attempt = |decision: Decision| decision.retry.map(|retry| retry.attempt);
    let read = Event::before_tool("Read", json!({}));
    assert_eq!(attempt(run.feed(&write("a.rs"))), Some(1));
    assert_eq!(attempt(run.feed(&write("b.rs"))), Some(2));
    assert_eq!(attempt(run.feed(&read)), Some(1));
    run.backing.slices.insert("var/done".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
    run.backing.slices.remove("var/done");
    assert_eq!(attempt(run.feed(&write("a.rs"))), Some(1));
    assert_eq!(attempt(run.feed(&read)), Some(2));
}

#[test]
fn success_resets_attempts() {
    let key = "var/done".to_owned();
    let (present, absent) = (Verdict::allow(), Verdict::new(Effect::Retry, "not yet"));
    let does = Does::Reads { key: key.clone(), present, absent };
    for ceiling in [Effect::Retry, Effect::Block, Effect::Halt] {
        let mut run = SessionRun::new(&[Plan { ceiling, ..plan("a", does.clone()) }]);
        assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
        run.backing.slices.insert(key.clone(), json!(true));
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
        run.backing.slices.remove(&key);
        assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1, "{ceiling}");
    }
}

#[test]
fn effect_of_a_spec_determines_attempts() {
    let key = "var/done".to_owned();
    let (present, absent) = (Verdict::allow(), Verdict::warn("not yet"));
    let does = Does::Reads { key: key.clone(), present, absent };
    let mut run = SessionRun::new(&[Plan { effect: Some(Effect::Retry), ..plan("a", does) }]);
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
    run.backing.slices.insert(key, json!(true));
    run.feed(&write("a.rs"));
    assert!(!run.backing.slices.contains_key("retry/a/before_tool/Write"));

    let mut run = SessionRun::new(&[Plan { effect: Some(Effect::Warn), ..says("a", Effect::Retry) }]);
    run.backing.slices.insert("retry/a/before_tool/Write".to_owned(), json!(1));
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Warn);
    assert_eq!(run.backing.slices["retry/a/before_tool/Write"], json!(1));
}

#[test]
fn allowed_call_does_not_reset_attempts_of_its_results() {
    let result = || Event { kind: EventKind::AfterTool, ..write("a.rs") };
    let on = vec![EventKind::BeforeTool, EventKind::AfterTool];
    let (present, absent) = (Verdict::allow(), Verdict::new(Effect::Retry, "add tests"));
    let key = "var/is_call".to_owned();
    let does = Does::Reads { key: key.clone(), present, absent };
    let mut run = SessionRun::new(&[Plan { on, max_attempts: 3, ..plan("a", does) }]);
    for attempt in 1..=3 {
        run.backing.slices.insert(key.clone(), json!(true));
        assert_eq!(run.feed(&write("a.rs")).effect, Effect::Allow);
        run.backing.slices.remove(&key);
        assert_eq!(run.feed(&result()).retry.unwrap().attempt, attempt);
    }
    run.backing.slices.insert(key, json!(true));
    assert_eq!(run.feed(&result()).effect, Effect::Allow, "a result that is as it should be gives them back");
    assert!(!run.backing.slices.keys().any(|key| key.starts_with("retry/")), "{:?}", run.backing.slices);
}

/// A guardrail with the default `can_retry` and `max_effect`.
struct Quiet(Effect);

impl Guardrail for Quiet {
    fn check(&self, _: &Context<'_>) -> Result<Verdict, Fault> {
        Ok(Verdict::allow())
    }

    fn max_effect(&self) -> Effect {
        self.0
    }
}

#[test]
fn default_can_retry_follows_from_the_strongest_effect() {
    for effect in Effect::LADDER {
        let expected = matches!(effect, Effect::Retry | Effect::Halt);
        assert_eq!(Quiet(effect).can_retry(EventKind::BeforeTool), expected, "{effect}");
    }
}

#[test]
fn attempt_that_another_guardrail_stopped_does_not_count() {
    let blocks_once = Does::Reads {
        key: "var/seen".to_owned(),
        present: Verdict::allow(),
        absent: Verdict::block("not now"),
    };
    let mut run = SessionRun::new(&[says("again", Effect::Retry), plan("blocks", blocks_once)]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
    run.backing.slices.insert("var/seen".to_owned(), json!(true));
    assert_eq!(run.feed(&write("a.rs")).retry.unwrap().attempt, 1);
}

#[test]
fn feedback_and_consequences_of_all_guardrails_are_collected() {
    let notes = |id: &str, effects: &[&str]| {
        let effects = effects.iter().map(|effect| (*effect).to_owned()).collect();
        let feedback = Some(format!("note of {id}"));
        plan(id, Does::Says(Verdict { feedback, effects, ..Verdict::allow() }))
    };
    let plans = [notes("a", &["emit_alert"]), notes("b", &["increment_strike", "emit_alert"])];
    let decision = once(&plans, &write("a.rs"));
    assert_eq!(decision.effect, Effect::Allow);
    assert_eq!(decision.feedback, ["note of a", "note of b"]);
    assert_eq!(decision.effects, ["emit_alert", "increment_strike"]);
}

#[test]
fn halted_run_sends_no_more_notices() {
    let effects = ["emit_alert", "increment_strike", "flag_trajectory"].map(str::to_owned).to_vec();
    let notices = vec![Notice { to: "human_operator".to_owned(), message: "look".to_owned() }];
    let halts = Does::Says(Verdict { effects, notices, ..Verdict::new(Effect::Halt, "enough") });
    let mut run = SessionRun::new(&[Plan { has_consequences: true, ..plan("a", halts) }]);
    let first = run.feed(&write("a.rs"));
    assert_eq!((first.effect, first.effects.len(), first.notices.len()), (Effect::Halt, 3, 2));
    run.backing.slices.remove("flagged");
    let later = run.feed(&write("a.rs"));
    assert_eq!((later.effect, later.by.as_deref()), (Effect::Halt, Some("midrail")));
    assert_eq!((later.effects.len(), later.notices.len()), (0, 0), "{:?}", later.notices);
    let is_consequence = |key: &&String| ["strikes", "flagged"].contains(&key.as_str());
    assert_eq!(later.changes.0.keys().find(is_consequence), None);
}

#[test]
fn finished_handoff_cannot_be_stopped() {
    for effect in Effect::LADDER {
        let decision = once(&[says("a", effect)], &Event::new(EventKind::AfterHandoff));
        assert_eq!(decision.effect, effect.min(Effect::Warn));
    }
}

#[test]
fn shadow_mode_allows_and_reports_its_effect() {
    let shadow = Plan { mode: Mode::Shadow, ..says("shadow", Effect::Block) };
    let decision = once(&[shadow.clone(), says("warns", Effect::Warn)], &write("a.rs"));
    assert_eq!((decision.effect, decision.would), (Effect::Warn, Some(Effect::Block)));
    assert_eq!((decision.by.as_deref(), decision.mode), (Some("warns"), Mode::Enforce));
    let said = &decision.verdicts[0];
    assert!(said.shadow && said.effect == Some(Effect::Block));
    let decision = once(&[shadow], &write("a.rs"));
    assert_eq!((decision.effect, decision.mode, decision.by), (Effect::Allow, Mode::Shadow, None));
}

#[test]
fn would_is_absent_if_shadow_mode_changes_nothing() {
    let shadow = Plan { mode: Mode::Shadow, ..says("shadow", Effect::Warn) };
    assert_eq!(once(&[shadow, says("blocks", Effect::Block)], &write("a.rs")).would, None);
}

#[test]
fn notes_are_withheld_with_their_result() {
    let note = |id: &str, effect: Effect| {
        let feedback = Some(format!("note of {id}"));
        plan(id, Does::Says(Verdict { feedback, ..Verdict::new(effect, "r") }))
    };
    let plans = [note("a", Effect::Allow), note("b", Effect::Block), note("c", Effect::Halt)];
    let result = Event::after_tool("Write", json!({}), ToolResult::ok("x"));
    assert_eq!(once(&plans, &result).feedback, ["note of b", "note of c"]);
    assert_eq!(once(&plans, &write("a.rs")).feedback, ["note of a", "note of b", "note of c"]);
    let plans = [note("a", Effect::Allow), note("b", Effect::Warn)];
    assert_eq!(once(&plans, &result).feedback, ["note of a", "note of b"]);
}

#[test]
fn unchecked_event_does_not_reset_attempts_and_sub_agents_have_their_own() {
    let key = "var/late".to_owned();
    let (present, absent) = (Verdict::not_checked("too late"), Verdict::new(Effect::Retry, "go on"));
    let mut run = SessionRun::new(&[plan("a", Does::Reads { key: key.clone(), present, absent })]);
    let stop = Event::new(EventKind::BeforeStop);
    let sub = |parent: &str, id: &str| Event {
        parent: Some(parent.to_owned()),
        agent: Some(midrail_core::Agent { id: Some(id.to_owned()), ..Default::default() }),
        ..stop.clone()
    };
    assert_eq!(run.feed(&stop).retry.unwrap().attempt, 1);
    assert_eq!(run.feed(&sub("main", "one")).retry.unwrap().attempt, 1);
    assert_eq!(run.feed(&sub("main", "two")).retry.unwrap().attempt, 1);
    assert_eq!(run.feed(&sub("main", "one")).retry.unwrap().attempt, 2);
    assert_eq!(run.feed(&sub("", "one")).retry.unwrap().attempt, 2, "no parent at all");
    run.backing.slices.insert(key.clone(), json!(true));
    assert_eq!(run.feed(&stop).effect, Effect::Allow);
    run.backing.slices.remove(&key);
    assert_eq!(run.feed(&stop).retry.unwrap().attempt, 3);
}

/// A command, where calls of `Bash` can be made in a sandbox.
fn sandboxed_command(plans: &[Plan]) -> Decision {
    let launcher = SandboxLauncher {
        argument: "command".into(),
        command: vec!["midrail".into(), "run".into(), "--box".into()],
        shell: "bash".into(),
    };
    let mut run = SessionRun::new(plans);
    run.backing.facts.insert(FactKey::Sandbox, Fact::Sandbox(Some(launcher)));
    run.feed(&Event::before_tool("Bash", json!({"command": "make test"})))
}

fn contains(id: &str, sandbox: &str) -> Plan {
    let verdict = Verdict::new(Effect::Contain, "it runs code of the project");
    plan(id, Does::Says(Verdict { sandbox: Some(sandbox.into()), ..verdict }))
}

fn grant(decision: &Decision) -> SandboxGrant {
    let id = decision.sandbox.as_deref().unwrap();
    let grant = decision.changes.0.get(&sandbox_key(id)).unwrap();
    serde_json::from_value(grant.clone().unwrap()).unwrap()
}

#[test]
fn contained_call_runs_in_the_sandbox_that_is_granted_for_it() {
    let decision = sandboxed_command(&[contains("a", "install"), says("b", Effect::Warn)]);
    assert_eq!((decision.effect, decision.by.as_deref()), (Effect::Contain, Some("a")));
    let id = decision.sandbox.as_deref().unwrap();
    let command = format!("midrail run --box {id} -- bash -c 'make test'");
    assert_eq!(decision.content, Some(json!({"command": command}).to_string()));
    let grant = grant(&decision);
    assert_eq!(grant.rules.network, SandboxNetwork::All);
    assert_eq!(grant.command, command_digest(["bash", "-c", "make test"].map(str::as_bytes)));
}

#[test]
fn call_that_several_contain_may_do_what_all_boxes_permit() {
    for plans in [
        [contains("a", "install"), contains("b", "default")],
        [contains("b", "default"), contains("a", "install")],
    ] {
        assert_eq!(grant(&sandboxed_command(&plans)).rules.network, SandboxNetwork::None);
    }
}

#[test]
fn unknown_box_permits_nothing_more() {
    assert_eq!(grant(&sandboxed_command(&[contains("a", "gone")])).rules, SandboxRules::default());
}

#[test]
fn stronger_effect_needs_no_sandbox() {
    let decision = sandboxed_command(&[contains("a", "default"), says("b", Effect::Escalate)]);
    assert_eq!((decision.effect, decision.sandbox), (Effect::Escalate, None));
    assert!(decision.changes.0.keys().all(|key| !key.contains("sandbox")));
}

#[test]
fn call_without_a_sandbox_is_sent_back() {
    let decision = once(&[contains("a", "default")], &write("a.rs"));
    assert_eq!(decision.effect, Effect::Retry);
    let message = decision.retry.unwrap().message;
    assert!(message.starts_with("it runs code of the project Run the command as `midrail run"), "{message}");
}

#[test]
fn strikes_cannot_contain_what_has_no_sandbox() {
    let rule = StrikeRule {
        count: 1,
        guardrail: None,
        effect: Effect::Contain,
        user_message: None,
        approver: "reviewer".to_owned(),
        approval_timeout_s: 60,
    };
    let verdict = Verdict { effects: vec![INCREMENT_STRIKE.to_owned()], ..Verdict::warn("once more") };
    let mut run = SessionRun::new(&[plan("a", Does::Says(verdict))]);
    run.policy = run.policy.with_strike_rules(vec![rule]);
    assert_eq!(run.feed(&write("a.rs")).effect, Effect::Block);
}
