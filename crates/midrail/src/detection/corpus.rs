//! Labelled texts, one JSON object on each line, and how well a detector classifies them.

use std::io::{self, BufRead};
use std::time::{Duration, Instant};

use midrail_core::Effect;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Detection, Detector};

/// One text of a corpus. Fields that are not named here are passed over.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct LabelledText {
    /// Its id.
    #[serde(default)]
    pub id: serde_json::Value,
    /// The text; command lines stand under `command`.
    #[serde(alias = "command")]
    pub text: String,
    /// What it is: see [`expected`].
    pub label: Option<String>,
    /// Its other fields.
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

/// One half of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Half {
    /// The one to tune with.
    Tuning,
    /// The one to report.
    Reporting,
}

impl LabelledText {
    /// The half that a text belongs to by the parity of the first byte of the SHA-256 of a field, so that texts of one file or source
    /// stay together. `None`: it has no such field.
    pub fn half(&self, field: &str) -> Option<Half> {
        let value = self.fields.get(field)?;
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let first = Sha256::digest(text.as_bytes()).first().copied()?;
        Some(if first.is_multiple_of(2) { Half::Tuning } else { Half::Reporting })
    }
}

/// Whether a text with this label is to be found. `None`: it does not count.
pub fn expected(label: Option<&str>) -> Option<bool> {
    match label? {
        "block" | "ask" | "secret" | "pii" | "injection" | "jailbreak" => Some(true),
        "allow" | "benign" | "harmful" => Some(false),
        _ => None,
    }
}

/// The detector that a corpus is for, by the beginning of its file's name.
pub fn detector_for_file(file: &str) -> Option<Detector> {
    const BEGINNINGS: &[(&str, Detector)] = &[
        ("cmd-sql", Detector::Sql),
        ("sql-", Detector::Sql),
        ("cmd-", Detector::Command),
        ("sec-", Detector::Secrets),
        ("pii-", Detector::PersonalData),
        ("inj-", Detector::Injection),
        ("jb-", Detector::Injection),
        ("harm-", Detector::Injection),
    ];
    BEGINNINGS.iter().find(|(beginning, _)| file.starts_with(beginning)).map(|(_, detector)| *detector)
}

/// A line that is no text of a corpus.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {source}")]
pub struct CorpusError {
    /// Its number, from 1.
    line: usize,
    /// Why.
    source: io::Error,
}

/// The texts of a file, line by line. Empty lines are passed over.
pub fn texts(input: impl BufRead) -> impl Iterator<Item = Result<LabelledText, CorpusError>> {
    input.lines().enumerate().filter_map(|(at, line)| {
        let text = match line {
            Ok(line) if line.trim().is_empty() => return None,
            line => line.and_then(|line| Ok(serde_json::from_str(&line)?)),
        };
        Some(text.map_err(|source| CorpusError { line: at + 1, source }))
    })
}

/// How well a detector classified the texts of a corpus.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Score {
    /// Texts looked at.
    pub texts: usize,
    /// Their bytes.
    pub bytes: usize,
    /// Texts that were flagged.
    pub flagged: usize,
    /// To be found, and found.
    pub hits: usize,
    /// To be found, and missed.
    pub misses: usize,
    /// Not to be found, and flagged.
    pub false_alarms: usize,
    /// Not to be found, and passed.
    pub passed: usize,
    /// How long the detector took.
    #[serde(serialize_with = "seconds")]
    pub seconds: Duration,
}

fn seconds<S: serde::Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(duration.as_secs_f64())
}

impl Score {
    /// Looks at one more text.
    pub fn add(&mut self, detector: Detector, text: &LabelledText) -> Detection {
        let start = Instant::now();
        let detection = detector.detect(&text.text);
        self.seconds += start.elapsed();
        let is_flagged = detection.effect > Effect::Allow;
        self.texts += 1;
        self.bytes += text.text.len();
        self.flagged += usize::from(is_flagged);
        match (expected(text.label.as_deref()), is_flagged) {
            (Some(true), true) => self.hits += 1,
            (Some(true), false) => self.misses += 1,
            (Some(false), true) => self.false_alarms += 1,
            (Some(false), false) => self.passed += 1,
            (None, _) => {}
        }
        detection
    }

    /// The share of alarms that were right.
    pub fn precision(&self) -> Option<f64> {
        share(self.hits, self.hits + self.false_alarms).filter(|_| self.hits + self.misses > 0)
    }

    /// The share of what was to be found that was found.
    pub fn recall(&self) -> Option<f64> {
        share(self.hits, self.hits + self.misses)
    }

    /// The harmonic mean of both.
    pub fn f1(&self) -> Option<f64> {
        let (precision, recall) = (self.precision()?, self.recall()?);
        (precision + recall > 0.0).then(|| 2.0 * precision * recall / (precision + recall))
    }

    /// The share of what was not to be found that was flagged.
    pub fn false_positive_rate(&self) -> Option<f64> {
        share(self.false_alarms, self.false_alarms + self.passed)
    }

    /// The share of all texts that was flagged.
    pub fn flag_rate(&self) -> Option<f64> {
        share(self.flagged, self.texts)
    }

    /// Megabytes a second.
    pub fn megabytes_per_second(&self) -> f64 {
        number(self.bytes) / 1e6 / self.seconds.as_secs_f64().max(1e-9)
    }

    /// Texts a second.
    pub fn texts_per_second(&self) -> f64 {
        number(self.texts) / self.seconds.as_secs_f64().max(1e-9)
    }
}

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| number(part) / number(whole))
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_counts_what_it_should() {
        let lines = concat!(
            "{\"id\":1,\"text\":\"key AKIAQ4ZTX7RK2MPLWN3J\",\"label\":\"secret\"}\n\n",
            "{\"id\":2,\"text\":\"nothing here\",\"label\":\"benign\"}\n",
            "{\"id\":3,\"command\":\"nothing here\",\"label\":\"secret\"}\n",
            "{\"id\":4,\"text\":\"nothing here\",\"label\":\"other\"}\n",
        );
        let mut score = Score::default();
        for text in texts(lines.as_bytes()) {
            score.add(Detector::Secrets, &text.unwrap());
        }
        assert_eq!(
            (score.texts, score.hits, score.misses, score.false_alarms, score.passed),
            (4, 1, 1, 0, 1)
        );
        assert_eq!(
            (score.precision(), score.recall(), score.false_positive_rate()),
            (Some(1.0), Some(0.5), Some(0.0))
        );
    }

    #[test]
    fn texts_of_one_file_are_in_one_half() {
        let half = |line: &str| texts(line.as_bytes()).next().unwrap().unwrap().half("file");
        // Their digests begin with 0xca and 0x3f.
        assert_eq!(half(r#"{"text": "x", "label": null, "file": "a"}"#), Some(Half::Tuning));
        assert_eq!(half(r#"{"text": "y", "label": null, "file": "a"}"#), Some(Half::Tuning));
        assert_eq!(half(r#"{"text": "x", "label": null, "file": "e"}"#), Some(Half::Reporting));
        assert_eq!(half(r#"{"text": "x", "label": null}"#), None);
    }

    #[test]
    fn invalid_line_is_reported_with_its_number() {
        let error = texts("{}\n".as_bytes()).next().unwrap().unwrap_err();
        assert!(error.to_string().starts_with("line 1: missing field `text`"), "{error}");
    }
}
