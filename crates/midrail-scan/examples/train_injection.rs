//! Trains the statistical model of `injection`: `cargo run --release --example train_injection -- [FOLDER [OUT]]`.
//!
//! The texts next to this file are enough. FOLDER contains further ones, as JSON lines files with `text` and `label`. Every
//! source is classified by a model that was trained without it; thresholds are chosen by these scores, and the figures show
//! them. The model of all sources is written to OUT.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "a program for developers: it reads files, and may stop with an error"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

#[path = "injection_texts/made.rs"]
mod made;

use midrail_core::Confidence;
use midrail_scan::injection;
use midrail_scan::injection::model::{FEATURE_BITS, HEADER, Head, THRESHOLDS, TextFeatures};
use serde_json::{Value, json};

const SEED: u64 = 20_261_118;
const EPOCHS: usize = 3;
const ROUNDS: usize = 2;
const RATE: f32 = 0.25;
const DECAY: f32 = 2e-6;
/// The most windows of one text.
const MAX_WINDOWS: usize = 24;
/// The most bytes of a text that is put into a record.
const MAX_VALUE: usize = 600;
/// The lowest threshold.
const MIN_THRESHOLD: f64 = -1.5;
/// The share of harmless texts of each source that may exceed a threshold, by a model that was trained without the source.
const FALSE_ALARMS: f64 = 0.003;
/// By how much the thresholds of texts are raised above what this share needs, because the own near misses are harder.
const MARGIN: f32 = 1.25;
/// The fewest harmless texts of a source for which this share means something.
const MIN_TEXTS: usize = 100;

/// How many parts the texts are split into, so that each part is classified by a model of the others.
const PARTS: usize = 5;

/// One text with its windows.
struct Text {
    source: &'static str,
    content: Content,
    /// A fifth of all texts.
    part: usize,
    is_attack: bool,
    /// By head, whether it takes part in training.
    heads: [bool; 2],
    windows: Vec<Sample>,
    /// Phrases find it without the model.
    is_ruled: bool,
}

struct Sample {
    head: Head,
    threshold: usize,
    norm: f32,
    features: Vec<u32>,
}

/// What the texts of a file are.
#[derive(Clone, Copy, PartialEq)]
enum Content {
    /// Prompts, harmless or not. In a record most of them would be an order.
    Prompts,
    /// Harmless prompts that resemble jailbreaks. A model without them takes every role that a prompt gives for an attack, so
    /// thresholds are chosen by models that have seen other prompts of the source.
    NearMisses,
    /// Texts and data that agents read.
    Data,
    /// Data that no model is trained on and no threshold is chosen by: it shows what is found of an unknown source.
    HeldOut,
    /// Texts that were written or made for this.
    Own,
}

/// Which files take part if they are in the folder, and with how many texts at most.
const FILES: &[(&str, usize, Content)] = &[
    ("inj-injecagent", 2000, Content::HeldOut),
    ("inj-injecagent-benign-outputs", 2000, Content::HeldOut),
    ("inj-deepset", 1000, Content::Prompts),
    ("jb-in-the-wild", 1000, Content::Prompts),
    ("jb-garak-giskard", 1000, Content::Prompts),
    ("inj-wildguard-benign", 1000, Content::NearMisses),
    ("harm-xstest", 1000, Content::Prompts),
    ("inj-llmail-benign", 1000, Content::Data),
    ("pii-presidio-synth", 800, Content::Data),
    ("cmd-tldr", 1200, Content::Data),
    ("cmd-nl2bash", 600, Content::Data),
    ("sec-creddata", 800, Content::Data),
    ("cmd-sql", 300, Content::Data),
    ("trace-openagentsafety", 2000, Content::Data),
    ("trace-sweagent", 200, Content::Data),
    ("prose-readmes", 1500, Content::Data),
];

/// Collections that share texts, or the way they were made, count as one source.
fn family(source: &str) -> &str {
    match source {
        "jb-garak-giskard" | "jb-in-the-wild" => "jailbreaks",
        "inj-injecagent" | "inj-injecagent-benign-outputs" => "tool outputs",
        "made-records" | "made-records-harmless" => "made records",
        "made-pages" | "made-pages-harmless" => "made pages",
        "made-prompts" | "made-prompts-harmless" | "made-requests-harmless" => "made prompts",
        "own-attacks" | "own-everyday" => "own",
        other => other,
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next();
    let out = arguments.next();
    let texts = load(folder.as_deref());
    let mut report = format!(
        "seed {SEED}, {EPOCHS} epochs, {ROUNDS} rounds, 2^{FEATURE_BITS} features, two heads, false alarms {FALSE_ALARMS}\n"
    );
    let by_source = unseen_scores(&texts, |text| family(text.source).to_owned());
    let by_part = unseen_scores(&texts, |text| text.part.to_string());
    let by_own_part = |text: &Text| matches!(text.content, Content::NearMisses | Content::Own);
    let scores: Vec<Scores> = texts
        .iter()
        .zip(by_source.iter().zip(&by_part))
        .map(|(text, (source, part))| if by_own_part(text) { *part } else { *source })
        .collect();
    let thresholds: [f64; THRESHOLDS] =
        std::array::from_fn(|number| choose_threshold(&texts, &scores, number));
    report += &format!("thresholds {thresholds:.2?}\n");
    report += "\neach source by a model that was trained without it: phrases, model, both (texts)\n";
    report += &figures(&texts, &by_source, &thresholds);
    report += "\neach fifth of all texts by a model of the others: phrases, model, both (texts)\n";
    report += &figures(&texts, &by_part, &thresholds);
    println!("{report}");
    if let Some(out) = out {
        fs::write(format!("{out}/model.bin"), weights(&texts, &thresholds)).unwrap();
        fs::write(format!("{out}/figures.txt"), report).unwrap();
    }
}

/// The thresholds and weights of both heads, trained on all texts that are not held out.
fn weights(texts: &[Text], thresholds: &[f64; THRESHOLDS]) -> Vec<u8> {
    let mut weights = vec![[0_i8; 2]; 1 << FEATURE_BITS];
    let mut bytes = Vec::new();
    for head in [Head::Text, Head::Value] {
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
        for threshold in &thresholds[own_thresholds(head)] {
            let margin = if head == Head::Text { MARGIN } else { 1.0 };
            bytes.extend(((*threshold as f32 - model.bias) * margin / unit).to_le_bytes());
        }
    }
    assert_eq!(bytes.len(), HEADER);
    bytes.extend(weights.iter().flatten().map(|weight| weight.cast_unsigned()));
    bytes
}

fn own_thresholds(head: Head) -> std::ops::Range<usize> {
    if head == Head::Value { THRESHOLDS - 2..THRESHOLDS } else { 0..THRESHOLDS - 2 }
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
            let weight = (3000.0 / per_source[&(text.source, text.is_attack)]).min(1.0);
            // Some labels of this collection are wrong.
            let noise = if text.source == "inj-deepset" { 0.4 } else { 1.0 };
            if !text.is_attack {
                samples.extend(windows.iter().map(|window| (*window, 0.0, weight)));
                continue;
            }
            let mut ranked: Vec<(f32, &Sample)> = windows
                .iter()
                .map(|window| match (&model, head) {
                    (Some(model), _) => (model.score(window), *window),
                    (None, Head::Value) => (window.features.len() as f32, *window),
                    (None, Head::Text) => (0.0, *window),
                })
                .collect();
            ranked.sort_by(|one, other| other.0.total_cmp(&one.0));
            let keep = match (&model, head) {
                (None, Head::Text) => ranked.len(),
                (Some(_), Head::Text) => ranked.len().div_ceil(2),
                (_, Head::Value) => 1,
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

/// The highest scores of a text's windows, by their threshold.
type Scores = [f64; THRESHOLDS];

/// The scores of every text by models that have not seen its fold.
fn unseen_scores(texts: &[Text], fold_of: impl Fn(&Text) -> String) -> Vec<Scores> {
    let mut scores = vec![[f64::NEG_INFINITY; THRESHOLDS]; texts.len()];
    let folds: Vec<String> = texts.iter().map(fold_of).collect();
    for head in [Head::Text, Head::Value] {
        let number = head as usize;
        for fold in folds.iter().collect::<BTreeSet<_>>() {
            let with_folds = || texts.iter().zip(&folds);
            let rest = with_folds().filter(|(text, other)| text.heads[number] && *other != fold);
            let model = train(&rest.map(|(text, _)| text).collect::<Vec<_>>(), head);
            for (score, (text, _)) in
                scores.iter_mut().zip(with_folds()).filter(|(_, (_, other))| *other == fold)
            {
                for window in text.windows.iter().filter(|window| window.head == head) {
                    score[window.threshold] = score[window.threshold].max(f64::from(model.score(window)));
                }
            }
        }
    }
    scores
}

/// The threshold that keeps false alarms rare within each source that the model has not seen.
fn choose_threshold(texts: &[Text], scores: &[Scores], number: usize) -> f64 {
    let mut by_source: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (text, score) in texts.iter().zip(scores) {
        // The own near misses are harder than any collection, and are only reported.
        if !text.is_attack && text.content != Content::HeldOut && text.source != "own-everyday" {
            by_source.entry(text.source).or_default().push(score[number]);
        }
    }
    let mut threshold = MIN_THRESHOLD;
    for scores in by_source.values_mut().filter(|scores| scores.len() >= MIN_TEXTS) {
        scores.sort_by(|one, other| other.total_cmp(one));
        let allowed = (scores.len() as f64 * FALSE_ALARMS) as usize;
        threshold = threshold.max(scores[allowed] + 0.01);
    }
    threshold
}

/// By source what phrases, the model and both find.
fn figures(texts: &[Text], scores: &[Scores], thresholds: &Scores) -> String {
    let mut by_source: BTreeMap<(bool, &str), [usize; 4]> = BTreeMap::new();
    for (text, score) in texts.iter().zip(scores) {
        let count = by_source.entry((text.is_attack, text.source)).or_default();
        let is_found = score.iter().zip(thresholds).any(|(score, threshold)| score >= threshold);
        for (count, is) in count.iter_mut().zip([true, text.is_ruled, is_found, text.is_ruled || is_found]) {
            *count += usize::from(is);
        }
    }
    let mut lines = String::new();
    for ((is_attack, source), [all, ruled, found, both]) in &by_source {
        let share = |count: &usize| *count as f64 / *all as f64;
        let name = if *is_attack { "recall" } else { "false alarms" };
        lines += &format!(
            "  {name:12} {:.4} {:.4} {:.4} ({all}) {source}\n",
            share(ruled),
            share(found),
            share(both)
        );
    }
    lines += "\nprecision of sources with attacks and harmless texts: phrases, model, both\n";
    let families: BTreeSet<&str> = by_source.keys().map(|(_, source)| family(source)).collect();
    for name in families {
        let sum = |is_attack: bool| {
            let own = by_source
                .iter()
                .filter(|((attack, source), _)| *attack == is_attack && family(source) == name);
            own.fold([0; 4], |sum, (_, counts)| std::array::from_fn(|at| sum[at] + counts[at]))
        };
        let (attacks, harmless) = (sum(true), sum(false));
        if attacks[0] > 0 && harmless[0] > 0 {
            let precision = |at: usize| attacks[at] as f64 / (attacks[at] + harmless[at]).max(1) as f64;
            lines += &format!("  {:.4} {:.4} {:.4} {name}\n", precision(1), precision(2), precision(3));
        }
    }
    lines
}

fn load(folder: Option<&str>) -> Vec<Text> {
    let mut texts = Vec::new();
    for (file, most, content) in FILES {
        let Some(lines) = folder.and_then(|folder| fs::read_to_string(format!("{folder}/{file}.jsonl")).ok())
        else {
            continue;
        };
        let mut records = Vec::new();
        for line in lines.lines() {
            let record: Value = serde_json::from_str(line).unwrap();
            let is_attack = matches!(record["label"].as_str(), Some("injection" | "jailbreak"));
            records.extend(texts_of(&record).into_iter().map(|text| (is_attack, text)));
        }
        records.sort_by_key(|(_, text)| hash(text));
        for (is_attack, text) in records.into_iter().take(*most) {
            let takes_part = *content != Content::HeldOut;
            texts.push(read(file, *content, is_attack, [takes_part, takes_part && !is_attack], &text));
            if *content == Content::Data {
                let text: String = text.chars().take(MAX_VALUE).collect();
                texts.push(read(
                    file,
                    *content,
                    false,
                    [false, true],
                    &json!({"id": 7, "description": text}).to_string(),
                ));
            }
        }
    }
    for line in include_str!("injection_texts/everyday.txt").lines() {
        texts.push(read("own-everyday", Content::Own, false, [true, true], line));
        texts.push(read(
            "own-everyday",
            Content::Own,
            false,
            [false, true],
            &json!([{"note": line}]).to_string(),
        ));
    }
    for line in include_str!("injection_texts/attacks.txt").lines() {
        texts.push(read("own-attacks", Content::Own, true, [true, false], line));
        texts.push(read(
            "own-attacks",
            Content::Own,
            true,
            [false, true],
            &json!([{"note": line}]).to_string(),
        ));
    }
    let mut random = Random(SEED ^ 7);
    for number in 0..4_000 {
        let is_attack = number % 2 == 0;
        let source = if is_attack { "made-records" } else { "made-records-harmless" };
        texts.push(read(
            source,
            Content::Own,
            is_attack,
            [!is_attack, true],
            &made::record(is_attack, &mut random),
        ));
    }
    for number in 0..1_600 {
        let is_attack = number % 2 == 0;
        let source = if is_attack { "made-pages" } else { "made-pages-harmless" };
        texts.push(read(
            source,
            Content::Own,
            is_attack,
            [true, !is_attack],
            &made::page(is_attack, &mut random),
        ));
    }
    for _ in 0..1_000 {
        // What a user asks for is no attack.
        let text = made::request(&mut random);
        texts.push(read("made-requests-harmless", Content::Own, false, [true, false], &text));
    }
    for _ in 0..900 {
        texts.push(read("made-prose-harmless", Content::Own, false, [true, true], &made::prose(&mut random)));
    }
    for number in 0..1_600 {
        let is_attack = number % 2 == 0;
        let source = if is_attack { "made-prompts" } else { "made-prompts-harmless" };
        texts.push(read(
            source,
            Content::Own,
            is_attack,
            [true, !is_attack],
            &made::prompt(is_attack, &mut random),
        ));
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

fn read(source: &'static str, content: Content, is_attack: bool, heads: [bool; 2], text: &str) -> Text {
    let features = TextFeatures::new(text);
    // Of a long text, windows from all of its parts.
    let step = features.windows.len().div_ceil(MAX_WINDOWS).max(1);
    let takes_part = |head: Head| heads[head as usize] || heads == [false, false];
    let windows = features.windows.iter().step_by(if is_attack { 1 } else { step });
    let windows = windows.filter(|window| takes_part(window.head)).map(|window| Sample {
        head: window.head,
        threshold: window.threshold,
        norm: window.norm as f32,
        features: features.features(window).to_vec(),
    });
    let is_rule = |hit: &midrail_core::Hit| hit.kind != "statistical" && hit.confidence >= Confidence::Medium;
    let is_ruled = injection::scan(text).iter().any(is_rule);
    Text {
        source,
        content,
        part: hash(text) as usize % PARTS,
        is_attack,
        heads,
        windows: windows.collect(),
        is_ruled,
    }
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
