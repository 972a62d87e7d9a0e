//! `midrail stats`: figures for people, for programs and for Prometheus.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use midrail::approvals::BypassRequest;
use midrail::store::Urgency;
use midrail::{Engine, Load, SqliteStore};
use serde_json::json;

use crate::world::{World, before};

const PACK: &str = "\
pack: p
guardrails:
  - {id: no-rm, tools: rm, reason: Never., category: safety, bypass: {allowed: true, requires_approval: architect}}
  - {id: careful, tools: mv, effect: warn, category: quality}
  - {id: tried, tools: cp, mode: shadow}
alerts:
  - {name: many, condition: block_rate > 30% over 10 minute window, action: notify orchestrator}
";

/// A world with a few decisions and one request.
fn decided() -> World {
    let world = World::with_pack(PACK);
    for (tool, code) in [("rm", 2), ("rm", 2), ("rm", 2), ("mv", 0), ("cp", 0), ("ls", 0)] {
        world.check(&before(tool, json!({}))).code(code);
    }
    world.check(&before("rm", json!({"n": 1}))).code(2);
    let engine = engine(&world);
    let reason = "the build folder has to go before the release".to_owned();
    engine
        .approvals()
        .request(&BypassRequest { seq: 1, guardrail: None, reason, urgency: Urgency::Normal })
        .unwrap();
    engine.store().increment_counter("reloads_refused", 2).unwrap();
    world
}

pub(crate) fn engine(world: &World) -> Engine {
    let pack = world.project().join(".midrail/pack.yaml");
    let loaded = Load { packs: vec![pack], ..Load::default() }.load().unwrap();
    let store = SqliteStore::open(world.default_store()).unwrap();
    Engine::builder(loaded.policy, &loaded.source).store(Arc::new(store)).build().unwrap()
}

#[test]
fn table_shows_counts_by_guardrail() {
    let world = decided();
    let ended = world.run(&["stats"]).code(0);
    let row = |id: &str| {
        let line = ended.out.lines().find(|line| line.starts_with(&format!("{id} "))).unwrap_or_else(|| {
            panic!("{id} is not in:\n{}", ended.out);
        });
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(ended.out.lines().next().unwrap(), "7 decisions: 2 allow, 1 warn, 4 block");
    assert_eq!(row("guardrail")[1..7], ["evaluated", "pass", "warn", "escalate", "block", "errors"]);
    assert_eq!(row("no-rm")[1..7], ["4", "0", "0", "0", "4", "0"]);
    assert_eq!(row("careful")[1..7], ["1", "0", "1", "0", "0", "0"]);
    assert_eq!(row("tried")[..3], ["tried", "(shadow)", "1"]);
    let bars: &String = &row("no-rm")[9];
    assert!(bars.chars().count() == 11 && bars.contains('█'), "{bars}");
    for part in ["open approvals 1", "many: block_rate is", "reloads refused           2"] {
        assert!(ended.out.contains(part), "`{part}` is not in:\n{}", ended.out);
    }
}

#[test]
fn json_has_the_same_figures() {
    let world = decided();
    let stats = world.run(&["stats", "--json"]).code(0).json();
    assert_eq!((&stats["decisions"], &stats["effects"]["block"]), (&json!(7), &json!(4)));
    assert_eq!((&stats["open_approvals"], &stats["counters"]["reloads_refused"]), (&json!(1), &json!(2)));
    assert_eq!(stats["alerts"][0]["name"], "many");
    assert_eq!(stats["bypass_requests"], json!([{"guardrail": "no-rm", "outcome": "pending", "count": 1}]));
    let rows = stats["guardrails"].as_array().unwrap();
    let row = rows.iter().find(|row| row["guardrail"] == "no-rm").unwrap();
    assert_eq!((&row["block_count"], &row["invocation_count"]), (&json!(4), &json!(4)));
    assert!(row["avg_duration_ms"].is_number() && row["last_triggered"].is_string(), "{row}");
}

#[test]
fn since_limits_the_counted_decisions() {
    let world = decided();
    let stats = world.run(&["stats", "--json", "--since", "1h"]).code(0).json();
    assert_eq!(stats["decisions"], 7);
    let stats = world.run(&["stats", "--json", "--since", "2099-01-01"]).code(0).json();
    assert_eq!((&stats["decisions"], &stats["alerts"]), (&json!(0), &json!([])));
}

#[test]
fn watch_ends_when_output_is_closed() {
    let world = decided();
    let mut child = world.command(&["stats", "--watch", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || -> serde_json::Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["decisions"], 7);
    world.check(&before("ls", json!({}))).code(0);
    let counted = (0..5).map(|_| next()["decisions"].as_u64().unwrap()).find(|count| *count == 8);
    assert_eq!(counted, Some(8));
    drop(lines);
    // The pipe is closed, so the next line ends it.
    assert!(child.wait().is_ok());
}

#[test]
fn stats_without_a_store_fail() {
    let world = World::new();
    for args in [
        &["stats"][..],
        &["stats", "--prometheus"],
        &["notices", "--store", "other.db"],
        &["quarantine", "list", "--store", "other.db"],
        &["locks", "list", "--store", "other.db"],
        &["tasks", "list", "--store", "other.db"],
    ] {
        world.run(args).code(1).complains("does not exist");
        assert!(!world.default_store().exists());
    }
}

/// One line of the text format.
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// Reads the text format strictly: names, labels with their escapes, values, and nothing else.
fn sample(line: &str) -> Sample {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        let is_start = letters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
        is_start && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (name, rest) = line.split_once('{').unwrap();
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    let mut chars = rest.chars().peekable();
    loop {
        let label: String = std::iter::from_fn(|| chars.next_if(|c| *c != '=')).collect();
        assert!(is_name(&label), "{line}");
        assert_eq!((chars.next(), chars.next()), (Some('='), Some('"')), "{line}");
        let mut value = String::new();
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => value.push(match chars.next().unwrap() {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    other => panic!("no such escape: {other} in {line}"),
                }),
                c => value.push(c),
            }
        }
        assert!(labels.insert(label, value).is_none(), "a label twice: {line}");
        match chars.next() {
            Some(',') => {}
            Some('}') => break,
            other => panic!("{other:?} in {line}"),
        }
    }
    assert_eq!(chars.next(), Some(' '), "{line}");
    let value: String = chars.collect();
    assert!(!value.contains(' '), "{line}");
    Sample { name: name.to_owned(), labels, value: value.parse().unwrap() }
}

#[test]
fn prometheus_output_is_valid() {
    let world = decided();
    let text = world.run(&["stats", "--prometheus"]).code(0).out;
    assert!(text.ends_with('\n'));
    let mut types: Vec<(String, String)> = Vec::new();
    let mut helped = BTreeSet::new();
    let mut samples = Vec::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            assert!(helped.insert(rest.split(' ').next().unwrap().to_owned()), "{line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert!(helped.contains(name), "the help comes first: {line}");
            types.push((name.to_owned(), kind.to_owned()));
        } else {
            let sample = sample(line);
            let (name, kind) = types.last().unwrap();
            let fits = match kind.as_str() {
                "histogram" => {
                    ["_bucket", "_sum", "_count"].iter().any(|end| sample.name == format!("{name}{end}"))
                }
                _ => sample.name == *name,
            };
            assert!(fits, "`{line}` stands below {name}");
            samples.push(sample);
        }
    }
    let types: Vec<(&str, &str)> = types.iter().map(|(name, kind)| (name.as_str(), kind.as_str())).collect();
    assert_eq!(
        types,
        [
            ("guardrail_invocations_total", "counter"),
            ("guardrail_duration_ms", "histogram"),
            ("guardrail_blocks_total", "counter"),
            ("bypass_requests_total", "counter"),
            ("emergency_reviews", "gauge"),
        ]
    );
    let mut seen = BTreeSet::new();
    for Sample { name, labels, .. } in &samples {
        assert!(seen.insert((name, labels)), "{name} {labels:?} stands there twice");
        let expected: &[&str] = match name.as_str() {
            "guardrail_invocations_total" => &["guardrail_id", "result"],
            "guardrail_duration_ms_bucket" => &["guardrail_id", "le"],
            "guardrail_duration_ms_sum" | "guardrail_duration_ms_count" => &["guardrail_id"],
            "guardrail_blocks_total" => &["category"],
            "bypass_requests_total" => &["guardrail_id", "outcome"],
            "emergency_reviews" => &["status"],
            other => panic!("{other}"),
        };
        assert_eq!(labels.keys().collect::<Vec<_>>(), expected);
    }
    let value = |name: &str, wanted: &[(&str, &str)]| {
        let fits = |sample: &&Sample| {
            sample.name == name && wanted.iter().all(|(key, value)| sample.labels[*key] == *value)
        };
        samples.iter().find(fits).map(|sample| sample.value)
    };
    let evaluated =
        |result| value("guardrail_invocations_total", &[("guardrail_id", "no-rm"), ("result", result)]);
    assert_eq!((evaluated("block"), evaluated("pass")), (Some(4.0), Some(0.0)));
    assert_eq!(value("guardrail_blocks_total", &[("category", "safety")]), Some(4.0));
    assert_eq!(value("bypass_requests_total", &[("outcome", "pending")]), Some(1.0));
    // A histogram rises, and ends with the count.
    let ids: BTreeSet<&String> =
        samples.iter().filter_map(|sample| sample.labels.get("guardrail_id")).collect();
    for id in ids {
        let of = |name: &str| value(name, &[("guardrail_id", id)]);
        let buckets: Vec<&Sample> = samples
            .iter()
            .filter(|it| it.name == "guardrail_duration_ms_bucket" && it.labels["guardrail_id"] == **id)
            .collect();
        assert!(buckets.is_sorted_by(|a, b| a.value <= b.value));
        let bounds: Vec<f64> =
            buckets.iter().map(|it| it.labels["le"].replace('+', "").parse().unwrap()).collect();
        assert!(bounds.is_sorted_by(|a, b| a < b) && bounds.last() == Some(&f64::INFINITY), "{bounds:?}");
        assert_eq!(buckets.last().map(|it| it.value), of("guardrail_duration_ms_count"));
        assert!(of("guardrail_duration_ms_sum").unwrap() >= 0.0);
    }
}
