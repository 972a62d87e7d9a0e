//! Commands that guardrails run: when they run, their stored results, and the verdicts on them.

use midrail_core::{
    Changes, CommandOutcome, Context, Effect, Fault, Missing, PackCommand, StopFinding, Verdict,
};
use midrail_scan::output_digest::StableDigest;
use midrail_scan::secrets;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::seconds::Seconds;
use crate::settings::Pattern;

/// The slice with the last result.
const RAN: &str = "ran";

/// Maximum size of the stored and reported output in bytes.
const SHOWN: usize = 2_000;

/// Maximum length of a command line.
const MAX_LINE: usize = 8 << 10;

/// Maximum timeout: one day.
const MAX_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// A command that must succeed, and the messages for its failure.
pub(crate) struct RequiredCommand<'s> {
    pub(crate) run: &'s CommandLine,
    pub(crate) timeout: Timeout,
    /// It runs if one of these changed since the last run. Empty: every time.
    pub(crate) files: &'s [Pattern],
    /// Whether a failed command runs again each time, because the cause may be outside of the files. Its last result
    /// is then always stored.
    pub(crate) tries_again: bool,
    pub(crate) effect: Effect,
    /// The reason of a failure, before a colon.
    pub(crate) wrong: &'static str,
    pub(crate) advice: String,
}

impl RequiredCommand<'_> {
    /// The verdict on the command, from a new run or from the stored result if the files are unchanged.
    pub(crate) fn verdict(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        let run = self.run();
        if self.files.is_empty() {
            return Ok(self.result_verdict(&CommandResult::new(context.command(&run)?), false));
        }
        // Request both facts before the first one is missing, so that they are fetched together.
        let (kept, tree) = (context.state(RAN), context.tree_digest(&self.patterns()));
        let (kept, tree) = (kept?, tree?);
        let kept = kept.and_then(|kept| StoredResult::deserialize(kept).ok());
        let counts = |kept: &StoredResult| {
            kept.tree == tree
                && kept.run == run.command
                && (!self.tries_again || kept.outcome.exit_code == Some(0))
        };
        if let Some(kept) = kept.filter(counts) {
            return Ok(self.result_verdict(&kept.outcome, true));
        }
        Ok(self.result_verdict(&CommandResult::new(context.command(&run)?), false))
    }

    /// The verdict on the stored result, if the files are unchanged. The command is not run. `None`: there is no
    /// current result.
    pub(crate) fn last(&self, context: &Context<'_>) -> Result<Option<Verdict>, Fault> {
        let (kept, tree) = (context.state(RAN), self.state_of_files(context));
        let (kept, tree) = (kept?, tree?);
        let kept = kept.and_then(|kept| StoredResult::deserialize(kept).ok());
        let kept = kept.filter(|kept| kept.tree == tree && kept.run == self.run.0);
        Ok(kept.map(|kept| self.result_verdict(&kept.outcome, true)))
    }

    /// Requests the stored result, so that it is fetched together with other cheap facts.
    pub(crate) fn prime(&self, context: &Context<'_>) {
        if self.keeps() {
            let _ = context.state(RAN);
        }
    }

    /// Requests the state of the relevant files.
    pub(crate) fn prime_files(&self, context: &Context<'_>) {
        if !self.files.is_empty() {
            let _ = context.tree_digest(&self.patterns());
        }
    }

    /// Stores the result of the command, if this decision ran it.
    pub(crate) fn observe(&self, context: &Context<'_>, changes: &mut Changes) -> Result<(), Fault> {
        let run = self.run();
        if !self.keeps() || !context.spec.on.contains(&context.event.kind) {
            return Ok(());
        }
        let Some(end) = context.command_if_run(&run) else { return Ok(()) };
        let tree = self.state_of_files(context)?.to_owned();
        let kept = StoredResult { run: run.command, tree, outcome: CommandResult::new(end) };
        let kept = serde_json::to_value(kept).map_err(|error| Fault::Failed(error.to_string()))?;
        changes.set(context.key(RAN), kept);
        Ok(())
    }

    /// Whether its result is stored.
    fn keeps(&self) -> bool {
        self.tries_again || !self.files.is_empty()
    }

    /// The state of the relevant files. Empty if it runs every time.
    fn state_of_files<'a>(&self, context: &Context<'a>) -> Result<&'a str, Missing> {
        if self.files.is_empty() { Ok("") } else { context.tree_digest(&self.patterns()) }
    }

    fn run(&self) -> PackCommand {
        PackCommand { command: self.run.0.clone(), timeout_ms: self.timeout.0 }
    }

    fn patterns(&self) -> Vec<String> {
        self.files.iter().map(|pattern| pattern.0.clone()).collect()
    }

    fn result_verdict(&self, outcome: &CommandResult, is_stored: bool) -> Verdict {
        let how = match outcome.exit_code {
            Some(0) => return Verdict::allow(),
            Some(code) => format!("exited with code {code}"),
            None => "was ended by a signal".to_owned(),
        };
        let since = match (is_stored, self.files) {
            (false, _) => "",
            (true, []) => " when it last ran",
            (true, _) => " when it last ran; the files have not changed since",
        };
        let mut reason = format!("{}: `{}` {how}{since}.", self.wrong, self.run.0);
        if !outcome.output.is_empty() {
            reason.push_str(" The end of its output:\n");
            reason.push_str(&outcome.output);
        }
        let found = StopFinding::new(format!("`{}` {how}\n{}", self.run.0, outcome.digest()));
        let verdict = Verdict::new(self.effect, reason).advise(self.advice.as_str()).with_stop_finding(found);
        verdict.with("command", self.run.0.as_str()).with("exit_code", outcome.exit_code)
    }
}

/// The stored result.
#[derive(Serialize, Deserialize)]
struct StoredResult {
    run: String,
    tree: String,
    #[serde(flatten)]
    outcome: CommandResult,
}

#[derive(Serialize, Deserialize)]
struct CommandResult {
    exit_code: Option<i32>,
    /// Empty after a success.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    output: String,
    /// A digest of the whole output, if it was shortened.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    digest: String,
}

impl CommandResult {
    fn new(end: &CommandOutcome) -> Self {
        if end.exit_code == Some(0) {
            return CommandResult { exit_code: end.exit_code, output: String::new(), digest: String::new() };
        }
        let whole = end.output.trim_end();
        let output = last_lines(whole, SHOWN).to_owned();
        let digest = match end.digest.as_str() {
            "" if output.len() == whole.len() => String::new(),
            "" => StableDigest::compute(whole),
            digest => digest.to_owned(),
        };
        CommandResult { exit_code: end.exit_code, output, digest }
    }

    /// A digest of the whole output, without parts that differ from run to run.
    fn digest(&self) -> String {
        if self.digest.is_empty() { StableDigest::compute(&self.output) } else { self.digest.clone() }
    }
}

/// The last lines of a text within a limit, or the end of the last line if it is too long.
fn last_lines(text: &str, limit: usize) -> &str {
    let Some(over) = text.len().checked_sub(limit).filter(|over| *over > 0) else { return text };
    let from = (over..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = text.get(from..).unwrap_or_default();
    match end.split_once('\n') {
        Some((_, rest)) if !rest.is_empty() => rest,
        _ => end,
    }
}

/// A valid command line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct CommandLine(pub String);

impl<'de> Deserialize<'de> for CommandLine {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = String::deserialize(deserializer)?;
        if line.trim().is_empty() {
            return Err(D::Error::custom("the command is empty"));
        }
        if line.contains('\0') || line.len() > MAX_LINE {
            let message = format!("a command has at most {MAX_LINE} bytes and contains no NUL byte");
            return Err(D::Error::custom(message));
        }
        // The line is shown to agents and stored in records.
        if !secrets::scan(&line).is_empty() {
            return Err(D::Error::custom(
                "the command contains a secret and would be shown to agents; read the secret from a file",
            ));
        }
        Ok(CommandLine(line))
    }
}

/// A timeout in milliseconds. In a pack it is a number of seconds, or a text such as `90s` or `10m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout(pub u64);

impl Timeout {
    /// A timeout in minutes.
    pub(crate) const fn minutes(minutes: u64) -> Self {
        Timeout(minutes * 60_000)
    }

    /// A timeout in seconds.
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
            _ => Err(D::Error::custom("a timeout is between one millisecond and one day")),
        }
    }
}

impl JsonSchema for Timeout {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timeout".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A number of seconds, or a duration such as `500ms`, `90s` or `10m`, of at most one day.",
            "anyOf": [
                {"type": "number", "minimum": 0.001, "maximum": MAX_MILLIS / 1_000},
                {"type": "string", "pattern": "^[0-9.]+ *[a-z]+$"}
            ]
        })
    }
}

/// The pattern of all files below the root.
pub(crate) fn all_files() -> Vec<Pattern> {
    vec![Pattern("**".to_owned())]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn timeouts_are_parsed() {
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
    fn invalid_commands_are_rejected() {
        for line in ["make test", "DB_PASSWORD=test npm run check", "TOKEN=$CI_TOKEN ./run.sh"] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_ok(), "{line}");
        }
        for line in ["KEY=AKIAABCDEFGHIJKLMNOP make", "", "  \n", "a\0b", &"x".repeat(MAX_LINE + 1)] {
            assert!(serde_json::from_value::<CommandLine>(json!(line)).is_err());
        }
    }

    #[test]
    fn whole_output_identifies_a_finding() {
        let of = |output: String, digest: &str| {
            let end = CommandOutcome {
                exit_code: Some(1),
                output,
                digest: digest.into(),
                ..CommandOutcome::default()
            };
            let outcome = CommandResult::new(&end);
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
    fn shortened_output_begins_with_a_line() {
        assert_eq!(last_lines("one\ntwo\nthree", 8), "three");
        assert_eq!(last_lines("one\ntwo", 10), "one\ntwo");
        assert_eq!(last_lines("äääää", 5), "ää");
        assert_eq!(last_lines("long line\n", 5), "line\n");
        assert_eq!(last_lines("", 5), "");
    }
}
