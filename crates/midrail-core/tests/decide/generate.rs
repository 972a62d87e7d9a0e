//! Random policies, sessions, facts and events: small worlds in which things meet often.
//!
//! Strategies are boxed: as nested types they would outgrow the stack of a test.

use std::collections::BTreeMap;

use midrail_core::{
    Agent, Bypass, CallUsage, Category, Effect, ErrorInfo, Event, EventKind, Fact, FactKey, Grounds, HALTED,
    Handoff, Host, HostLimit, Mode, OnFault, Recovery, Redaction, Risk, SandboxLauncher, SandboxNetwork,
    StopFinding, StrikeRule, Task, ToolCall, ToolResult, Usage, Verdict,
};
use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use crate::plan::{Does, Learns, Plan, When, plan};
use crate::world::{Backing, key_part, minute};

/// A policy, and the world that it is in.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) plans: Vec<Plan>,
    /// What strikes lead to.
    pub(crate) rules: Vec<StrikeRule>,
    pub(crate) backing: Backing,
    /// What people answered to guardrails, for whatever event comes first. `None`: it cannot be loaded.
    pub(crate) held: Vec<(String, Option<Value>)>,
}

/// Ids, some of which look like something else.
const IDS: [&str; 12] =
    ["g0", "g1", "g/2", "g", "g@p-1", "g%2F2", "warn", "midrail", "halted", "", "retry/g1", "schön"];

impl Case {
    /// The world, with people's answers filed under the action of an event.
    pub(crate) fn backing(&self, event: &Event) -> Backing {
        let mut backing = self.backing.clone();
        for (guardrail, held) in &self.held {
            let plan = self.plans.iter().find(|plan| plan.id == *guardrail);
            let found = plan.and_then(|plan| match &plan.does {
                Does::Says(verdict) => verdict.stop_finding.clone(),
                _ => None,
            });
            let found = found.filter(|_| event.kind == EventKind::BeforeStop);
            let (action, _) = backing.names(guardrail, event, found);
            let key = format!("approval/{}/{action}", key_part(guardrail));
            match held {
                Some(held) => {
                    backing.slices.insert(key, held.clone());
                }
                None => {
                    backing.unreadable.insert(key);
                }
            }
        }
        backing
    }
}

pub(crate) fn cases(most: usize) -> BoxedStrategy<Case> {
    prop_oneof![vec(plans(), 0..=4), vec(plans(), 0..=most)]
        .prop_map(|mut plans| {
            for (plan, id) in plans.iter_mut().zip(IDS) {
                plan.id = id.to_owned();
            }
            plans
        })
        .prop_flat_map(|plans| {
            // The last is for what strikes lead to.
            let held = vec(weighted(0.4, answers()), plans.len() + 1);
            (Just(plans), vec(strike_rules(), 0..3), backings(), held, late_answers())
        })
        .prop_map(|(plans, rules, mut backing, held, late)| {
            backing.slices.extend(late);
            let ids = plans.iter().map(|plan| plan.id.clone()).chain(["strikes".to_owned()]);
            let held = ids.zip(held).filter_map(|(id, held)| Some((id, held?))).collect();
            Case { plans, rules, backing, held }
        })
        .boxed()
}

fn strike_rules() -> impl Strategy<Value = StrikeRule> {
    let effect = select(&[Effect::Warn, Effect::Escalate, Effect::Escalate, Effect::Block, Effect::Halt][..]);
    let of = weighted(0.3, words(&["g0", "g1"]));
    (1_u64..4, of, effect, of_two(&["goodbye"]), select(&[60_u32, 1_800][..])).prop_map(
        |(count, guardrail, effect, user_message, approval_timeout_s)| StrikeRule {
            count,
            guardrail,
            effect,
            user_message,
            approver: "reviewer".to_owned(),
            approval_timeout_s,
        },
    )
}

fn of_two(list: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    of(words(list))
}

/// Answers that came late, what holds the run because of earlier ones, and what people said to it.
fn late_answers() -> BoxedStrategy<Vec<(String, Value)>> {
    let who = || words(&["g0", "g1", "g/2", "gone"]);
    let effect = words(&["allow", "warn", "retry", "escalate", "escalate", "block", "halt"]);
    let answer = prop_oneof![
        5 => (who(), effect, of_two(&["yes"]), of_two(&["ask bob"]), of_two(&["a call"])).prop_map(
            |(who, effect, strikes, advice, about)| {
                let said = json!({"effect": effect, "reason": "late", "strikes": strikes, "advice": advice});
                let mut answer = json!({"guardrail": who, "answer": said});
                if let Some(about) = about {
                    answer["about"] = json!({"tool": about});
                }
                answer
            }
        ),
        1 => who().prop_map(|who| json!({"guardrail": who, "error": "it answered 500"})),
    ];
    let hold = (who(), words(&["act-1", "act-2"]), of_two(&["ask bob"])).prop_map(|(who, action, advice)| {
        let mut row = json!({"guardrail": who, "action": action, "reason": "held"});
        if let Some(advice) = advice {
            row["advice"] = json!(advice);
        }
        row
    });
    let said = (who(), words(&["act-1", "act-2"]), answers()).prop_map(|(who, action, held)| {
        (format!("approval/{}/{action}", key_part(&who)), held.unwrap_or_default())
    });
    let late = weighted(0.3, vec(answer, 0..3)).prop_map(|rows| Some(("late".to_owned(), json!(rows?))));
    let held = weighted(0.3, vec(hold, 0..3)).prop_map(|rows| Some(("late/held".to_owned(), json!(rows?))));
    (late, held, vec(said, 0..4))
        .prop_map(|(late, held, said)| late.into_iter().chain(held).chain(said).collect())
        .boxed()
}

/// The lower steps more often: among many guardrails the highest would otherwise hide all the others.
fn effects() -> BoxedStrategy<Effect> {
    prop_oneof![
        6 => Just(Effect::Allow),
        6 => Just(Effect::Warn),
        4 => Just(Effect::Redact),
        4 => Just(Effect::Contain),
        6 => Just(Effect::Retry),
        4 => Just(Effect::Escalate),
        1 => Just(Effect::Block),
        1 => Just(Effect::Halt),
    ]
    .boxed()
}

fn risks() -> impl Strategy<Value = Risk> {
    select(&[Risk::Low, Risk::Medium, Risk::High, Risk::Critical][..])
}

fn faults() -> impl Strategy<Value = OnFault> {
    prop_oneof![1 => Just(OnFault::Block), 1 => Just(OnFault::Escalate), 2 => Just(OnFault::Allow)]
}

fn kinds() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        3 => Just(EventKind::BeforeTool),
        2 => Just(EventKind::AfterTool),
        1 => Just(EventKind::AfterModel),
        2 => Just(EventKind::ModelChunk),
        5 => select(EventKind::ALL),
    ]
}

fn many_kinds() -> impl Strategy<Value = Vec<EventKind>> {
    prop_oneof![3 => Just(EventKind::ALL.to_vec()), 1 => subsequence(EventKind::ALL, 0..=6)]
}

fn words(list: &'static [&'static str]) -> impl Strategy<Value = String> {
    select(list).prop_map(str::to_owned)
}

fn some_tools() -> impl Strategy<Value = Option<Vec<String>>> {
    weighted(0.2, vec(words(&["Read", "Write", "W*", "*"]), 0..3))
}

/// What guardrails find where an agent wants to stop.
pub(crate) fn findings() -> Vec<Option<StopFinding>> {
    vec![
        None,
        Some(StopFinding::new("a test fails")),
        Some(StopFinding::new("b is missing")),
        Some(StopFinding::in_output("b is missing")),
    ]
}

pub(crate) fn verdicts() -> BoxedStrategy<Verdict> {
    let redaction = (0_usize..24, 0_usize..24, words(&["[a]", "[b]", ""]))
        .prop_map(|(start, end, replacement)| Redaction::new(start, end, replacement));
    let texts = (
        words(&["r1", "r2", "r3"]),
        of(words(&["a1", "a2"])),
        of(words(&["try a", "try b"])),
        of(words(&["goodbye", ""])),
        weighted(0.2, words(&["note a", "note b"])),
        weighted(0.15, words(&["all of it replaced, schön", "x", "hunter2: my word is hunter2 é"])),
    );
    let rest = (
        prop_oneof![2 => Just(Vec::new()), 1 => vec(redaction, 1..3)],
        vec(words(&["increment_strike", "emit_alert"]), 0..2),
        weighted(0.2, select(&[Recovery::Retry, Recovery::Rollback, Recovery::Quarantine][..])),
        weighted(0.1, Just(true)).prop_map(|is_over| is_over.is_some()),
        (
            select(findings()),
            weighted(0.1, Just(true)).prop_map(|is_late| is_late.is_some()),
            weighted(0.2, select(&[None, Some(SandboxNetwork::None), Some(SandboxNetwork::All)][..])),
        ),
    );
    (effects(), texts, rest)
        .prop_map(
            |(
                effect,
                texts,
                (redactions, effects, recovery, not_checked, (stop_finding, timed_out, grounds)),
            )| {
                let (reason, advice, retry_message, user_message, feedback, replacement) = texts;
                Verdict {
                    advice,
                    retry_message,
                    user_message,
                    feedback,
                    replacement,
                    redactions,
                    effects,
                    recovery,
                    not_checked,
                    timed_out,
                    stop_finding,
                    grounds: grounds.map(|sandbox| Grounds { reason: "it is listed".to_owned(), sandbox }),
                    ..Verdict::new(effect, if effect == Effect::Allow { "" } else { &reason })
                }
            },
        )
        .boxed()
}

/// Slices that guardrails read by their whole key. The last cannot be loaded.
const SHARED_PREFIX: &[&str] = &["var/one", "var/two", "g0/seen", "lost"];

fn deeds() -> BoxedStrategy<Does> {
    prop_oneof![
        8 => verdicts().prop_map(Does::Says),
        1 => words(&["disk on fire"]).prop_map(Does::Fails),
        1 => (verdicts(), words(&["the disk is full now"]))
            .prop_map(|(said, why)| Does::FailsAfter(said, why)),
        1 => words(&["oh no"]).prop_map(Does::Panics),
        2 => (words(SHARED_PREFIX), verdicts(), verdicts())
            .prop_map(|(key, present, absent)| Does::Reads { key, present, absent }),
        2 => (words(&["seen", "last", "copy"]), verdicts(), verdicts())
            .prop_map(|(name, present, absent)| Does::Recalls { name, present, absent }),
        2 => (words(&["tests", "risk", "lost"]), verdicts(), verdicts())
            .prop_map(|(name, yes, no)| Does::Asks { name, yes, no }),
    ]
    .boxed()
}

pub(crate) fn plans() -> BoxedStrategy<Plan> {
    let place = (
        select(&[1_u32, 50, 100, 100, 200][..]),
        select(
            &[Category::Safety, Category::Compliance, Category::Budget, Category::Scope, Category::Quality][..],
        ),
        many_kinds(),
        some_tools(),
        some_tools(),
        prop_oneof![3 => Just(vec![]), 1 => vec(words(&["impl*", "rev-1"]), 1..3)],
        prop_oneof![3 => Just(vec![]), 1 => vec(words(&["t-1", "t*"]), 1..3)],
        prop_oneof![
            8 => Just(When::Always),
            1 => Just(When::Never),
            2 => words(SHARED_PREFIX).prop_map(When::Slice),
            1 => Just(When::Panics),
        ],
    );
    let dress = (
        weighted(0.2, effects()),
        weighted(0.2, words(&["house rule"])),
        weighted(0.2, words(&["ask ada"])),
        prop_oneof![3 => Just(Mode::Enforce), 1 => Just(Mode::Shadow)],
        faults(),
        faults(),
        of(faults()),
        0_u32..4,
        0_u32..4,
        select(&[60_u32, 1_800][..]),
        any::<bool>(),
    );
    let risk = (
        prop_oneof![
            1 => Just(Bypass::Never),
            1 => Just(Bypass::Emergency),
            3 => Just(Bypass::By("architect".to_owned())),
        ],
        weighted(0.2, risks()),
        prop_oneof![4 => Just(false), 1 => Just(true)],
        prop_oneof![4 => Just(false), 1 => Just(true)],
    );
    let learns = prop_oneof![
        2 => Just(Learns::Nothing),
        2 => Just(Learns::Counts),
        2 => Just(Learns::Remembers),
        1 => Just(Learns::Fails),
        1 => Just(Learns::Panics),
        1 => words(SHARED_PREFIX).prop_map(Learns::Copies),
    ];
    let is_late = prop_oneof![2 => Just(false), 1 => Just(true)];
    let check = (deeds(), 0..Effect::LADDER.len(), weighted(0.2, Just(())), many_kinds(), learns, is_late);
    (place, dress, risk, check)
        .prop_map(|(place, dress, risk, (does, above, consequences, watches, learns, is_late))| {
            let strongest = Effect::LADDER.iter().position(|effect| *effect == does.strongest()).unwrap();
            let has_consequences = consequences.is_some();
            let mut plan = Plan { has_consequences, watches, learns, is_late, ..plan("", does) };
            (
                plan.priority,
                plan.category,
                plan.on,
                plan.tools,
                plan.governs,
                plan.agents,
                plan.tasks,
                plan.when,
            ) = place;
            (
                plan.effect,
                plan.reason,
                plan.advice,
                plan.mode,
                plan.on_error,
                plan.on_missing,
                plan.on_exhausted,
                plan.warn_limit,
                plan.max_attempts,
                plan.approval_timeout_s,
                plan.per_prompt,
            ) = dress;
            (plan.bypass, plan.from_risk, plan.effect_by_risk, plan.always_on) = risk;
            // One whose effect follows from the risk can say a block.
            let block = Effect::LADDER.iter().position(|effect| *effect == Effect::Block).unwrap();
            let strongest = if plan.effect_by_risk { strongest.max(block) } else { strongest };
            // Half of them claim exactly what they can say, the others something at or above it.
            plan.ceiling = Effect::LADDER[if above < 3 { strongest } else { strongest.max(above) }];
            plan
        })
        .boxed()
}

fn backings() -> BoxedStrategy<Backing> {
    let count = prop_oneof![
        18 => (0_u64..4).prop_map(Value::from),
        1 => Just(json!(u64::MAX)),
        1 => Just(json!("no number")),
        1 => Just(Value::Null),
    ];
    let warned = (Just("warn"), words(&["", "t-1", "t-2"]).boxed());
    let tried = (select(EventKind::ALL), words(&["", "Read", "Write"]));
    let tried = (Just("retry"), tried.prop_map(|(kind, tool)| format!("{kind}/{tool}")).boxed());
    let key = (words(&["", "", "shadow/"]), prop_oneof![warned, tried], select(&IDS[..]))
        .prop_map(|(shadow, (what, of), id)| format!("{shadow}{what}/{}/{of}", key_part(id)))
        .boxed();
    let lost = prop_oneof![3 => Just(Vec::new()), 1 => vec(key.clone(), 1..12)];
    let counters = vec((key, count), 0..40);
    let one = prop_oneof![4 => Just(json!(1)), 1 => Just(Value::Null)];
    let states = vec((select(&IDS[..]), words(&["/seen", "/last", "/copy", "@p-1/seen"]), one), 0..8);
    let shared = subsequence(SHARED_PREFIX, 0..=2);
    let fact = prop_oneof![
        Just(Fact::Answer(json!(true))),
        Just(Fact::Answer(json!(false))),
        Just(Fact::Unavailable("timed out".to_owned())),
        Just(Fact::Secrets(Vec::new())),
    ];
    let facts = vec((words(&["tests", "risk"]).prop_map(FactKey::Answer), fact), 0..3);
    // Calls of `Write` and `Read` have this argument.
    let launcher = SandboxLauncher {
        argument: "file_path".to_owned(),
        command: vec!["midrail".to_owned(), "run".to_owned(), "--box".to_owned()],
        shell: "sh".to_owned(),
    };
    let sandbox = prop_oneof![
        4 => Just(Fact::Sandbox(Some(launcher))),
        1 => Just(Fact::Sandbox(None)),
        1 => Just(Fact::Unavailable("it failed".to_owned())),
    ];
    let halted = prop_oneof![
        30 => Just(None),
        1 => Just(Some(json!({"by": "g9", "reason": "enough", "user_message": "bye"}))),
        1 => Just(Some(json!("in no shape"))),
        1 => Just(Some(Value::Null)),
    ];
    let digest = weighted(0.1, Just("d-1".to_owned()));
    // What holds across sessions: who is quarantined, how far tasks are, and what they used.
    let standing = vec(
        prop_oneof![
            words(&["impl-1", "session:s-1", "rev-1", "main", "session:main"])
                .prop_map(|who| (format!("shared/quarantine/{who}"), json!({"reason": "it failed"}))),
            words(&["suspended", "active", "completed"])
                .prop_map(|status| ("shared/task/t-1".to_owned(), json!({"status": status}))),
            (0_u32..120).prop_map(|tokens| ("shared/spent/t-1".to_owned(), json!({"tokens": tokens}))),
            Just(("spent/".to_owned(), json!({"tokens": 90.0, "since": minute(-5).to_string()}))),
            (-9_i64..2).prop_map(|at| ("began".to_owned(), json!(minute(at).to_string()))),
            (0_u32..3, 0_u32..3).prop_map(|(g0, g1)| ("strikes".to_owned(), json!({"g0": g0, "g1": g1}))),
            Just(("stream/over/m-1".to_owned(), json!({"by": "g1", "reason": "enough"}))),
            Just(("stream/over/m-2".to_owned(), json!(3))),
            words(&["impl-1", "session:s-1"])
                .prop_map(|who| (format!("owed/{}", key_part(&who)), json!(["one", "two"]))),
            (words(&["impl-1", "session:s-1"]), select(&[0_u64, 24, 25, 26][..]))
                .prop_map(|(who, count)| (format!("forced/{}", key_part(&who)), json!(count))),
        ],
        0..2,
    );
    let standing = prop_oneof![3 => Just(Vec::new()), 1 => standing];
    let world = (counters, states, shared, (facts, sandbox), standing, weighted(0.3, pauses()));
    let root = weighted(0.7, words(&["/repo", "/repo/below", "/repository"]));
    // Within the text, behind it, and in the middle of a character.
    let sent_bytes = prop_oneof![3 => Just(0_usize), 2 => 1_usize..30];
    (world, halted, weighted(0.03, Just(())), lost, (digest, sent_bytes, weighted(0.05, Just(())), root))
        .prop_map(|(world, halted, halted_is_lost, lost, (action_digest, sent_bytes, overlong, root))| {
            let (counters, states, shared, (facts, sandbox), standing, pauses) = world;
            let mut backing =
                Backing { action_digest, sent_bytes, overlong: overlong.is_some(), root, ..Backing::new() };
            let mut slices: BTreeMap<String, Value> = counters.into_iter().collect();
            for (id, name, one) in states {
                slices.insert(format!("{}{name}", key_part(id)), one);
            }
            for key in shared {
                slices.insert(key.to_owned(), json!(1));
            }
            slices.extend(standing);
            slices.extend(pauses.map(|pauses| ("shared/pause".to_owned(), pauses)));
            slices.extend(halted.map(|halted| (HALTED.to_owned(), halted)));
            backing.slices = slices;
            backing.facts = facts.into_iter().chain([(FactKey::Sandbox, sandbox)]).collect();
            backing.unreadable.extend(lost);
            backing.unreadable.insert("lost".to_owned());
            if halted_is_lost.is_some() {
                backing.unreadable.insert(HALTED.to_owned());
            }
            backing
        })
        .boxed()
}

/// What people paused: here or elsewhere, over or not, and in no shape.
fn pauses() -> BoxedStrategy<Value> {
    let project = of(words(&["/repo", "/elsewhere"]));
    let pause = prop_oneof![
        8 => (-40_i64..2, select(&[1_i64, 30, 45, 60, 61][..]), project).prop_map(|(since, lasts, project)| {
            let (since, until) = (minute(since).to_string(), minute(since + lasts).to_string());
            json!({"by": "ada", "reason": "tidying up", "since": since, "until": until, "project": project})
        }),
        1 => Just(json!({"by": "ada", "since": "now"})),
        1 => Just(json!({"by": "ada", "reason": "all", "since": minute(-1).to_string(),
            "until": minute(9).to_string(), "project": 3})),
    ];
    prop_oneof![9 => vec(pause, 0..3).prop_map(Value::from), 1 => Just(json!("in no shape"))].boxed()
}

/// What a person may have answered, long ago or not.
fn answers() -> BoxedStrategy<Option<Value>> {
    let state = words(&["pending", "approved", "approved", "denied", "in no shape"]);
    let kind = of(words(&["escalation", "bypass", "bypass"]));
    let urgency = of(words(&["normal", "emergency"]));
    let role = of(words(&["reviewer", "architect", "human_operator"]));
    let expires = select(&[None, Some(-5), Some(0), Some(1), Some(30)][..]);
    let back = select(&[None, Some(false), Some(true)][..]);
    prop_oneof![
        12 => (state, expires, kind, urgency, role, back).prop_map(|(state, expires, kind, urgency, role, back)| {
            let expires = expires.map(|at| minute(at).to_string());
            Some(json!({
                "id": "a-1", "state": state, "by": "ada", "expires": expires,
                "kind": kind, "urgency": urgency, "role": role, "taken_back": back,
            }))
        }),
        1 => Just(Some(json!(7))),
        1 => Just(Some(Value::Null)),
        1 => Just(None),
    ]
    .boxed()
}

pub(crate) fn events() -> BoxedStrategy<Event> {
    let tool = (words(&["Read", "Write", "Bash", ""]), words(&["a.rs", "b.rs"]))
        .prop_map(|(name, path)| ToolCall::new(name, json!({"file_path": path, "n": 7})));
    let content = prop_oneof![
        words(&["the key is hunter2, mind it", "schöne Grüße", ""]).prop_map(Value::from),
        Just(json!({"stdout": "the key is hunter2"})),
    ];
    let result = (of(any::<bool>()), of(content)).prop_map(|(ok, content)| ToolResult {
        ok,
        content,
        ..ToolResult::default()
    });
    let who = (
        of(words(&["impl-1", "rev-1"])).prop_map(|id| Agent { id, ..Agent::default() }),
        (
            of(words(&["t-1", "t-2"])),
            weighted(0.3, risks()),
            weighted(0.3, Just(100_u64)),
            weighted(0.1, Just(600.0)),
        )
            .prop_map(|(id, risk, token_budget, time_budget_s)| Task {
                id,
                risk,
                token_budget,
                time_budget_s,
                ..Task::default()
            }),
    );
    let usage = (of(select(&[10_u64, 50, 60, 81, 99, 100][..])), weighted(0.3, Just(7_u64))).prop_map(
        |(tokens, call)| Usage {
            tokens,
            call: call.map(|tokens| CallUsage { tokens: Some(tokens), ..CallUsage::default() }),
            ..Usage::default()
        },
    );
    let text = words(&["my password is hunter2 é", "hello"]);
    let time = weighted(0.9, (0_i64..3).prop_map(minute));
    let deadline = weighted(0.15, (-1_i64..9).prop_map(minute));
    let stream = (of(words(&["m-1", "m-2", ""])), of(any::<bool>()));
    let limits =
        subsequence(vec![HostLimit::Notes, HostLimit::Redact, HostLimit::Block, HostLimit::Halt], 0..=4);
    let host = (limits, any::<bool>(), any::<bool>()).prop_map(|(limits, asks_user, takes_vouches)| Host {
        name: "some-host".to_owned(),
        limits,
        asks_user,
        takes_vouches,
        ..Host::default()
    });
    let stream = (stream, weighted(0.3, host), weighted(0.7, words(&["startup", "clear", "resume", "new"])));
    let time = (time, deadline, weighted(0.3, words(&["main", " main", "s-1", ""])), stream);
    (kinds(), weighted(0.9, tool), result, of(who), of(text), time, of(words(&["p-1", "p-2"])), of(usage))
        .prop_map(
            |(
                kind,
                tool,
                result,
                who,
                text,
                (time, deadline, parent, ((stream, last), host, source)),
                prompt,
                usage,
            )| {
                let is_tool = matches!(kind, EventKind::BeforeTool | EventKind::AfterTool);
                let is_handoff = matches!(kind, EventKind::BeforeHandoff | EventKind::AfterHandoff);
                let (agent, task) = who.unzip();
                Event {
                    time,
                    deadline,
                    parent,
                    agent,
                    task,
                    prompt,
                    usage,
                    tool: tool.filter(|_| is_tool),
                    result: (kind == EventKind::AfterTool).then_some(result),
                    text: text.filter(|_| !is_tool),
                    stream,
                    last,
                    host,
                    source,
                    output: (kind == EventKind::BeforeStop).then(|| json!("done")),
                    error: (kind == EventKind::OnError)
                        .then(|| ErrorInfo { message: Some("disk full".to_owned()), ..ErrorInfo::default() }),
                    handoff: is_handoff
                        .then(|| Handoff { to: Some("rev-1".to_owned()), ..Handoff::default() }),
                    ..Event::new(kind)
                }
            },
        )
        .boxed()
}
