//! What the guardrails that run a command have in common: when it runs, what is kept of it, and what is said of its end.

use midrail_core::{Changes, CommandEnd, Context, Effect, Fault, Found, Missing, Run, Verdict};
use midrail_detect::secrets;
use midrail_detect::steady::SteadyDigest;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::seconds::Seconds;
use crate::settings::Pattern;

/// The slice that holds the last outcome.
const RAN: &str = "ran";

/// Bytes of a command's output that the agent is told, and that are kept.
const SHOWN: usize = 2_000;

/// The longest command line.
const MAX_LINE: usize = 8 << 10;

/// The longest time that a command may be given: a day.
const MAX_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// A command that has to end well, and the words for when it does not.
pub(crate) struct Required<'s> {
    pub(crate) run: &'s CommandLine,
    pub(crate) timeout: Timeout,
    /// It runs when one of these changed since it last ran. Empty: every time.
    pub(crate) files: &'s [Pattern],
    /// A failure is tried again each time, because its cause may lie outside the files; and how it last ended is kept in
    /// any case.
    pub(crate) tries_again: bool,
    pub(crate) effect: Effect,
    /// What is wrong, in words that go before a colon.
    pub(crate) wrong: &'static str,
    pub(crate) advice: String,
}

impl Required<'_> {
    /// Runs the command, or goes by how it ended when the files were last as they are.
    pub(crate) fn verdict(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let run = self.run();
        if self.files.is_empty() {
            return Ok(self.said(&Outcome::of(context.command(&run)?), false));
        }
        // Both are asked for before either is lacking, so that they are fetched together.
        let (kept, tree) = (context.state(RAN), context.tree(&self.patterns()));
        let (kept, tree) = (kept?, tree?);
        let kept = kept.and_then(|kept| Kept::deserialize(kept).ok());
        let counts = |kept: &Kept| {
            kept.tree == tree
                && kept.run == run.command
                && (!self.tries_again || kept.outcome.exit_code == Some(0))
        };
        if let Some(kept) = kept.filter(counts) {
            return Ok(self.said(&kept.outcome, true));
        }
        Ok(self.said(&Outcome::of(context.command(&run)?), false))
    }

    /// How the command ended when it last ran, if the files are as they were then. It is not run. `None`: it has not run
    /// since.
    pub(crate) fn last(&self, context: &Context<'_>) -> Result<Option<Verdict>, Fault> {
        let (kept, tree) = (context.state(RAN), self.state_of_files(context));
        let (kept, tree) = (kept?, tree?);
        let kept = kept.and_then(|kept| Kept::deserialize(kept).ok());
        let kept = kept.filter(|kept| kept.tree == tree && kept.run == self.run.0);
        Ok(kept.map(|kept| self.said(&kept.outcome, true)))
    }

    /// Asks for how it last ended, so that it is fetched with all else that costs little.
    pub(crate) fn prime(&self, context: &Context<'_>) {
        if self.keeps() {
            let _ = context.state(RAN);
        }
    }

    /// Asks for the state of the files that matter to it.
    pub(crate) fn prime_files(&self, context: &Context<'_>) {
        if !self.files.is_empty() {
            let _ = context.tree(&self.patterns());
        }
    }

    /// Keeps how the command ended, if this decision had it run.
    pub(crate) fn observe(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        let run = self.run();
        if !self.keeps() || !context.spec.on.contains(&context.event.kind) {
            return Ok(());
        }
        let Some(end) = context.ended(&run) else { return Ok(()) };
        let tree = self.state_of_files(context)?.to_owned();
        let kept = Kept { run: run.command, tree, outcome: Outcome::of(end) };
        let kept = serde_json::to_value(kept).map_err(|error| Fault::Failed(error.to_string()))?;
        changes.set(context.key(RAN), kept);
        Ok(())
    }

    /// Whether how it ends is kept.
    fn keeps(&self) -> bool {
        self.tries_again || !self.files.is_empty()
    }

    /// The state of the files that matter to it. Where it runs every time, none do.
    fn state_of_files<'a>(&self, context: &Context<'a>) -> Result<&'a str, Missing> {
        if self.files.is_empty() { Ok("") } else { context.tree(&self.patterns()) }
    }

    fn run(&self) -> Run {
        Run { command: self.run.0.clone(), timeout_ms: self.timeout.0 }
    }

    fn patterns(&self) -> Vec<String> {
        self.files.iter().map(|pattern| pattern.0.clone()).collect()
    }

    fn said(&self, outcome: &Outcome, is_kept: bool) -> Verdict {
        let how = match outcome.exit_code {
            Some(0) => return Verdict::allow(),
            Some(code) => format!("exited with code {code}"),
            None => "was ended by a signal".to_owned(),
        };
        let since = match (is_kept, self.files) {
            (false, _) => "",
            (true, []) => " when it last ran",
            (true, _) => " when it last ran; the files have not changed since",
        };
        let mut reason = format!("{}: `{}` {how}{since}.", self.wrong, self.run.0);
        if !outcome.output.is_empty() {
            reason.push_str(" The end of its output:\n");
            reason.push_str(&outcome.output);
        }
        let found = Found::new(format!("`{}` {how}\n{}", self.run.0, outcome.digest()));
        let verdict = Verdict::new(self.effect, reason).advise(self.advice.as_str()).finding(found);
        verdict.with("command", self.run.0.as_str()).with("exit_code", outcome.exit_code)
    }
}

/// What is kept between two looks.
#[derive(Serialize, Deserialize)]
struct Kept {
    run: String,
    tree: String,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
struct Outcome {
    exit_code: Option<i32>,
    /// Empty where all went well.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    output: String,
    /// A digest of all that it printed, where the output is not all of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digest: String,
}

impl Outcome {
    fn of(end: &CommandEnd) -> Self {
        if end.exit_code == Some(0) {
            return Outcome { exit_code: end.exit_code, output: String::new(), digest: String::new() };
        }
        let whole = end.output.trim_end();
        let output = last_lines(whole, SHOWN).to_owned();
        let digest = match end.digest.as_str() {
            "" if output.len() == whole.len() => String::new(),
            "" => SteadyDigest::of(whole),
            digest => digest.to_owned(),
        };
        Outcome { exit_code: end.exit_code, output, digest }
    }

    /// What tells this end from others: all that was printed, without what differs from run to run.
    fn digest(&self) -> String {
        if self.digest.is_empty() { SteadyDigest::of(&self.output) } else { self.digest.clone() }
    }
}

/// The last lines of a text that fit, or the end of the last one where it alone does not.
fn last_lines(text: &str, limit: usize) -> &str {
    let Some(over) = text.len().checked_sub(limit).filter(|over| *over > 0) else { return text };
    let from = (over..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = text.get(from..).unwrap_or_default();
    match end.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => end,
    }
}

/// A command line of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommandLine(pub String);

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = String::deserialize(deserializer)?;
        if line.trim().is_empty() {
            return Err(D::Error::custom("a command to run is missing"));
        }
        if line.contains('\0') || line.len() > MAX_LINE {
            let message = format!("a command has no more than {MAX_LINE} bytes, and none that is zero");
            return Err(D::Error::custom(message));
        }
        // The line is shown to agents and kept in records.
        if !secrets::scan(&line).is_empty() {
            return Err(D::Error::custom(
                "a command that holds a secret is shown to agents; read it from a file",
            ));
        }
        Ok(CommandLine(line))
    }
}

/// How long a command may take, in milliseconds. In a pack it is a number of seconds, or a text such as `90s` or `10m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub u64);

impl Timeout {
    /// So many minutes.
    pub(crate) const fn minutes(minutes: u64) -> Self {
        Timeout(minutes * 60_000)
    }

    /// So many seconds.
    pub(crate) const fn seconds(seconds: u64) -> Self {
        Timeout(seconds * 1_000)
    }
}

impl Serialize for Timeout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{}ms", self.0))
    }
}

impl<'de> Deserialize<'de> for Timeout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::try_from(Seconds::deserialize(deserializer)?.duration().as_millis()) {
            Ok(millis @ 1..=MAX_MILLIS) => Ok(Timeout(millis)),
            _ => Err(D::Error::custom("a timeout is at least a millisecond, and at most a day")),
        }
    }
}

impl JsonSchema for Timeout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of seconds, or a duration such as `500ms`, `90s` or `10m`, of at most a day.",
            "anyOf": [
                {"type": "number", "minimum": 0.001, "maximum": MAX_MILLIS / 1_000},
                {"type": "string", "pattern": "^[0-9.]+ *[a-z]+$"}
            ]
        })
    }
}

/// All files below the root.
pub(crate) fn all_files() -> Vec<Pattern> {
    vec![Pattern("**".to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (value, millis) in [
            (json!(5), 5_000),
            (json!("50ms"), 50),
            (json!("1.5s"), 1_500),
            (json!("90s"), 90_000),
            (json!("10 m"), 600_000),
            (json!("24h"), MAX_MILLIS),
        ] {
            assert_eq!(serde_json::from_value::<Timeout>(value).unwrap(), Timeout(millis));
        }
        for value in [
            json!(0),
            json!("0s"),
            json!("25h"),
            json!("soon"),
            json!(-1),
            json!("99999999999999999h"),
            json!(null),
        ] {
            assert!(serde_json::from_value::<Timeout>(value.clone()).is_err(), "{value}");
        }
        let timeout = Timeout::minutes(10);
        assert_eq!(
            serde_json::from_value::<Timeout>(serde_json::to_value(timeout).unwrap()).unwrap(),
            timeout
        );
    }

    #[test]
    fn a_command_has_something_to_run() {
        for line in ["make test", "DB_PASSWORD=test npm run check", "TOKEN=$CI_TOKEN ./run.sh"] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_ok(), "{line}");
        }
        for line in ["KEY=AKIAABCDEFGHIJKLMNOP make", "", "  \n", "a\0b", &"x".repeat(MAX_LINE + 1)] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_err());
        }
    }

    #[test]
    fn all_that_was_printed_counts_for_what_was_found() {
        let of = |output: String, digest: &str| {
            let end =
                CommandEnd { exit_code: Some(1), output, digest: digest.into(), ..CommandEnd::default() };
            let outcome = Outcome::of(&end);
            assert!(outcome.output.len() <= SHOWN);
            outcome.digest()
        };
        let long =
            |test: &str, time: &str| format!("test {test} failed in {time}\n{}", "more\n".repeat(1_000));
        assert_eq!(of(long("issue_1234", "0.3s"), ""), of(long("issue_1234", "11.25s"), ""));
        assert_ne!(of(long("issue_1234", "0.3s"), ""), of(long("issue_5678", "0.3s"), ""));
        assert_eq!(of("a".into(), ""), of("a\n".into(), ""));
        assert_ne!(of("the same end".into(), "one"), of("the same end".into(), "two"));
    }

    #[test]
    fn the_end_of_an_output_begins_with_a_line() {
        assert_eq!(last_lines("one\ntwo\nthree", 8), "three");
        assert_eq!(last_lines("one\ntwo", 10), "one\ntwo");
        assert_eq!(last_lines("äääää", 5), "ää");
        assert_eq!(last_lines("long line\n", 5), "line\n");
        assert_eq!(last_lines("", 5), "");
    }
}
