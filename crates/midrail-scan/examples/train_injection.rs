//! Trains the statistical model of `injection`: `cargo run --release --example train_injection -- FOLDER [OUT]`.
//!
//! FOLDER contains JSON lines files with `text` and `label`; the texts next to this file are added. Without OUT only the
//! figures are printed: folds by record, and folds by source, where every source is classified by a model trained without it.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a program for developers: it reads files, and may stop with an error"
)]

use std::collections::BTreeMap;
use std::fs;

#[path = "injection_texts/made.rs"]
mod made;

use midrail_scan::injection;
use midrail_scan::injection::model::{FEATURE_BITS, HEADER, Head, THRESHOLDS, TextFeatures};
use serde_json::Value;

const SEED: u64 = 20_261_115;
const EPOCHS: usize = 8;
const ROUNDS: usize = 3;
const RATE: f32 = 0.25;
const DECAY: f32 = 2e-6;
const FOLDS: u64 = 5;
/// The lowest threshold.
const MIN_BAR: f64 = 0.5;
/// The share of held-out harmless texts that may exceed the threshold.
const FALSE_STOPS: f64 = 0.002;

/// One text with its windows.
struct Text {
    source: &'static str,
    /// Texts of one group fall into one fold.
    group: u64,
    is_attack: bool,
    /// By head, whether it takes part.
    heads: [bool; 2],
    windows: Vec<Sample>,
    /// The rules find it without the model.
    is_ruled: bool,
}

struct Sample {
    head: Head,
    threshold: usize,
    has_sign: bool,
    norm: f32,
    features: Vec<u32>,
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder with JSON lines files");
    let out = arguments.next();
    let texts = load(&folder);
    let mut report = String::new();
    let mut counts: BTreeMap<(bool, &str), usize> = BTreeMap::new();
    for text in &texts {
        *counts.entry((text.is_attack, text.source)).or_default() += 1;
    }
    report += &format!(
        "seed {SEED}, {EPOCHS} epochs, {ROUNDS} rounds, 2^{FEATURE_BITS} features, two heads\n\ntexts:\n"
    );
    for ((is_attack, source), count) in &counts {
        report += &format!("  {} {source}: {count}\n", if *is_attack { "attack  " } else { "harmless" });
    }
    let mut thresholds = [f64::INFINITY; THRESHOLDS];
    for head in [Head::Text, Head::Field] {
        let number = head as usize;
        report += &format!("\nhead {head:?}\n");
        let scores = fold_scores(&texts, head, FOLDS, |text| text.group % FOLDS);
        let own = if head == Head::Field { THRESHOLDS - 1..THRESHOLDS } else { 0..THRESHOLDS - 1 };
        for threshold in own.clone() {
            thresholds[threshold] = choose_threshold(&texts, &scores, number, threshold);
        }
        let chosen: Vec<String> = thresholds[own].iter().map(|threshold| format!("{threshold:.2}")).collect();
        let chosen = chosen.join(", ");
        report += &format!(
            "folds by record, thresholds {chosen}:\n{}",
            figures(&texts, &scores, number, &thresholds)
        );
        let sources: Vec<&str> = counts.keys().map(|(_, source)| *source).collect();
        let place =
            |source: &str| sources.iter().position(|other| family(other) == family(source)).unwrap() as u64;
        let scores = fold_scores(&texts, head, sources.len() as u64, |text| place(text.source));
        report +=
            &format!("folds by source, same thresholds:\n{}", figures(&texts, &scores, number, &thresholds));
    }
    println!("{report}");
    if let Some(out) = out {
        let mut weights = vec![[0_i8; 2]; 1 << FEATURE_BITS];
        let mut header = Vec::new();
        for head in [Head::Text, Head::Field] {
            let number = head as usize;
            let all: Vec<&Text> = texts.iter().filter(|text| text.heads[number]).collect();
            let model = train(&all, head);
            let mut sizes: Vec<f32> =
                model.weights.iter().map(|weight| weight.abs()).filter(|size| *size > 0.0).collect();
            sizes.sort_by(f32::total_cmp);
            // The largest weights are clipped, so that small ones keep their precision.
            let unit = sizes[(sizes.len() as f32 * 0.9995) as usize] / 127.0;
            for (pair, weight) in weights.iter_mut().zip(&model.weights) {
                pair[number] = (weight / unit).round().clamp(-127.0, 127.0) as i8;
            }
            let own = if head == Head::Field { THRESHOLDS - 1..THRESHOLDS } else { 0..THRESHOLDS - 1 };
            for threshold in &thresholds[own] {
                header.extend(((*threshold as f32 - model.bias) / unit).to_le_bytes());
            }
        }
        assert_eq!(header.len(), HEADER);
        header.extend(weights.iter().flatten().map(|weight| weight.cast_unsigned()));
        fs::write(format!("{out}/model.bin"), header).unwrap();
        fs::write(format!("{out}/figures.txt"), report).unwrap();
    }
}

/// Collections that share texts count as one source.
fn family(source: &str) -> &str {
    match source {
        "jb-garak-giskard" | "jb-in-the-wild" => "jailbreaks",
        "inj-injecagent" | "inj-injecagent-benign-outputs" => "tool outputs",
        "made-fields" | "made-fields-harmless" => "made fields",
        "made-prompts" | "made-prompts-harmless" => "made prompts",
        "own-attacks" | "own-everyday" => "own",
        other => other,
    }
}

struct Model {
    weights: Vec<f32>,
    bias: f32,
}

impl Model {
    fn score(&self, sample: &Sample) -> f32 {
        let sum: f32 = sample.features.iter().map(|feature| self.weights[*feature as usize]).sum();
        self.bias + sum / sample.norm
    }
}

/// Rounds of logistic regression. An attack is a part of its text: after the first round, only the windows with the
/// highest scores count as attacks.
fn train(texts: &[&Text], head: Head) -> Model {
    let mut per_source: BTreeMap<(&str, bool), f32> = BTreeMap::new();
    for text in texts {
        *per_source.entry((text.source, text.is_attack)).or_default() += text.windows.len().min(8) as f32;
    }
    let mut model: Option<Model> = None;
    for _ in 0..ROUNDS {
        let mut samples: Vec<(&Sample, f32, f32)> = Vec::new();
        for text in texts {
            let windows: Vec<&Sample> = text.windows.iter().filter(|window| window.head == head).collect();
            let weight = (4000.0 / per_source[&(text.source, text.is_attack)]).min(1.0);
            let noise = if text.source == "inj-deepset" && text.is_attack { 0.4 } else { 1.0 };
            if !text.is_attack {
                samples.extend(windows.iter().map(|window| (*window, 0.0, weight)));
                continue;
            }
            let mut ranked: Vec<(f32, &Sample)> = windows
                .iter()
                .map(|window| match (&model, head) {
                    (Some(model), _) => (model.score(window), *window),
                    (None, Head::Field) => (window.features.len() as f32, *window),
                    (None, Head::Text) => (0.0, *window),
                })
                .collect();
            ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
            let keep = match (&model, head) {
                (None, Head::Text) => ranked.len(),
                (Some(_), Head::Text) => ranked.len().div_ceil(2),
                (_, Head::Field) => 1,
            };
            let share = (keep as f32).sqrt();
            samples.extend(
                ranked.iter().take(keep).map(|(_, window)| (*window, 1.0, noise * 2.0 * weight / share)),
            );
        }
        model = Some(regress(&samples));
    }
    model.unwrap()
}

fn regress(samples: &[(&Sample, f32, f32)]) -> Model {
    let mut model = Model { weights: vec![0.0; 1 << FEATURE_BITS], bias: -1.0 };
    let mut sums = vec![1e-3_f32; 1 << FEATURE_BITS];
    let mut random = Random(SEED);
    let mut order: Vec<usize> = (0..samples.len()).collect();
    for _ in 0..EPOCHS {
        for at in (1..order.len()).rev() {
            order.swap(at, random.below(at + 1));
        }
        for at in &order {
            let (sample, label, weight) = samples[*at];
            let guess = 1.0 / (1.0 + (-model.score(sample)).exp());
            let error = (guess - label) * weight;
            model.bias -= 0.01 * error;
            let step = error / sample.norm;
            for feature in &sample.features {
                let feature = *feature as usize;
                let slope = step + DECAY * model.weights[feature];
                sums[feature] += slope * slope;
                model.weights[feature] -= RATE * slope / sums[feature].sqrt();
            }
        }
    }
    model
}

/// The score of every text by a model that has not seen its fold.
fn fold_scores(
    texts: &[Text],
    head: Head,
    folds: u64,
    fold_of: impl Fn(&Text) -> u64,
) -> Vec<[f64; THRESHOLDS]> {
    let number = head as usize;
    let mut scores = vec![[f64::NEG_INFINITY; THRESHOLDS]; texts.len()];
    for fold in 0..folds {
        if !texts.iter().any(|text| text.heads[number] && fold_of(text) == fold) {
            continue;
        }
        let rest: Vec<&Text> =
            texts.iter().filter(|text| text.heads[number] && fold_of(text) != fold).collect();
        let model = train(&rest, head);
        for (score, text) in scores.iter_mut().zip(texts).filter(|(_, text)| fold_of(text) == fold) {
            for window in text.windows.iter().filter(|window| window.head == head && window.has_sign) {
                score[window.threshold] = score[window.threshold].max(f64::from(model.score(window)));
            }
        }
    }
    scores
}

/// The threshold that keeps false positives rare, over all harmless texts and within each large source.
fn choose_threshold(texts: &[Text], scores: &[[f64; THRESHOLDS]], head: usize, number: usize) -> f64 {
    let mut by_source: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (text, score) in texts.iter().zip(scores).filter(|(text, _)| !text.is_attack && text.heads[head]) {
        by_source.entry(text.source).or_default().push(score[number]);
        by_source.entry("").or_default().push(score[number]);
    }
    let mut threshold = MIN_BAR;
    for (source, scores) in &mut by_source {
        scores.sort_by(|one, other| other.total_cmp(one));
        let share = FALSE_STOPS;
        let allowed = (scores.len() as f64 * share) as usize;
        if source.is_empty() || scores.len() >= 200 {
            threshold = threshold.max(scores[allowed] + 0.01);
        }
    }
    threshold
}

fn figures(
    texts: &[Text],
    scores: &[[f64; THRESHOLDS]],
    head: usize,
    thresholds: &[f64; THRESHOLDS],
) -> String {
    let mut by_source: BTreeMap<(bool, &str), (usize, usize, usize)> = BTreeMap::new();
    for (text, score) in texts.iter().zip(scores).filter(|(text, _)| text.heads[head]) {
        let count = by_source.entry((text.is_attack, text.source)).or_default();
        count.0 += 1;
        let is_stopped = score.iter().zip(thresholds).any(|(score, threshold)| score >= threshold);
        count.1 += usize::from(is_stopped);
        count.2 += usize::from(is_stopped || text.is_ruled);
    }
    let mut lines = String::new();
    for ((is_attack, source), (all, stopped, together)) in by_source {
        let name = if is_attack { "recall" } else { "false stops" };
        lines += &format!(
            "  {name:11} {:.4} with rules {:.4} ({all}) {source}\n",
            stopped as f64 / all as f64,
            together as f64 / all as f64
        );
    }
    lines
}

/// Which files take part, and with how many texts at most.
const FILES: &[(&str, usize)] = &[
    ("inj-injecagent", 2000),
    ("inj-deepset", 1000),
    ("jb-in-the-wild", 1000),
    ("jb-garak-giskard", 1000),
    ("inj-injecagent-benign-outputs", 2000),
    ("inj-llmail-benign", 1000),
    ("inj-wildguard-benign", 1000),
    ("harm-xstest", 1000),
    ("pii-presidio-synth", 1000),
    ("cmd-tldr", 3000),
    ("cmd-nl2bash", 1500),
    ("sec-creddata", 2500),
    ("cmd-sql", 500),
    ("trace-openagentsafety", 4000),
    ("trace-sweagent", 200),
    ("prose-readmes", 2500),
];

fn load(folder: &str) -> Vec<Text> {
    let mut texts = Vec::new();
    for (file, most) in FILES {
        let content = fs::read_to_string(format!("{folder}/{file}.jsonl")).unwrap();
        let mut records = Vec::new();
        for line in content.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let label = record["label"].as_str().unwrap_or_default();
            let is_attack = matches!(label, "injection" | "jailbreak");
            let category = record["category"].as_str().unwrap_or_default();
            // A bare order in a field is no attack elsewhere: only the second head learns it.
            let heads = [!category.ends_with(".base"), !is_attack || *file == "inj-injecagent"];
            let group = match record["attacker_tools"].as_array() {
                Some(tools) => hash(&format!("{tools:?}")),
                None => hash(record["id"].as_str().unwrap_or_default()),
            };
            for text in texts_of(&record) {
                records.push((group, is_attack, heads, text));
            }
        }
        records.sort_by_key(|(group, _, _, text)| hash(&format!("{group}{text}")));
        for (group, is_attack, heads, text) in records.into_iter().take(*most) {
            texts.push(read(file, group, is_attack, heads, &text));
        }
    }
    for (number, line) in include_str!("injection_texts/everyday.txt").lines().enumerate() {
        texts.push(read("own-everyday", number as u64, false, [true, true], line));
    }
    for (number, line) in include_str!("injection_texts/attacks.txt").lines().enumerate() {
        texts.push(read("own-attacks", number as u64, true, [true, false], line));
    }
    let mut random = Random(SEED ^ 7);
    for number in 0..1_400 {
        let is_attack = number % 2 == 0;
        let source = if is_attack { "made-fields" } else { "made-fields-harmless" };
        let text = made::field(is_attack, &mut random);
        texts.push(read(source, random.next(), is_attack, [!is_attack, true], &text));
    }
    for _ in 0..900 {
        let text = made::prose(&mut random);
        texts.push(read("made-prose-harmless", random.next(), false, [true, true], &text));
    }
    for number in 0..1_600 {
        let is_attack = number % 2 == 0;
        let source = if is_attack { "made-prompts" } else { "made-prompts-harmless" };
        let text = made::prompt(is_attack, &mut random);
        texts.push(read(source, random.next(), is_attack, [true, !is_attack], &text));
    }
    texts
}

fn texts_of(record: &Value) -> Vec<String> {
    let plain = ["text", "description", "command"].iter().filter_map(|key| record[*key].as_str());
    let outputs = record["calls"].as_array().into_iter().flatten().filter_map(|call| call["output"].as_str());
    // Files and messages that agents wrote are everyday prose and code.
    let written = record["calls"].as_array().into_iter().flatten().flat_map(|call| {
        call["args"].as_object().into_iter().flat_map(|args| args.values()).filter_map(Value::as_str)
    });
    plain
        .chain(outputs)
        .chain(written.filter(|text| text.len() > 80))
        .map(|text| text.chars().take(6_000).collect())
        .collect()
}

fn read(source: &'static str, group: u64, is_attack: bool, heads: [bool; 2], text: &str) -> Text {
    let reading = TextFeatures::new(text);
    let windows = reading.windows.iter().map(|window| Sample {
        head: window.head,
        threshold: window.threshold,
        has_sign: window.has_sign,
        norm: window.norm as f32,
        features: reading.features(window).to_vec(),
    });
    let is_ruled =
        injection::scan(text).iter().any(|hit| !matches!(hit.kind, "statistical" | "data-instruction"));
    Text { source, group, is_attack, heads, windows: windows.collect(), is_ruled }
}

/// A small generator of numbers (splitmix64): the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

fn hash(text: &str) -> u64 {
    let mut random = Random(SEED);
    let folded = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    random.0 ^= folded;
    random.next()
}
