//! The pull request that a call reviews, merges or opens, from a forge's command line or a tool's arguments.

use midrail_core::{CommandCall, Context, Missing, ToolCall};
use serde_json::Value;

use super::shown;
use crate::shared::data::{GIT, TOOLS};
use crate::shared::objections::all;
use crate::shared::text::plain_text;

/// The subject of a review or merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A pull request by number, with its repository if given: `12`, `me/site#12`.
    Pull(String),
    /// A branch.
    Branch(String),
    /// Unknown.
    Unknown,
}

/// The step of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Open,
    Approve,
    Merge,
}

/// A call that concerns a pull request.
#[derive(Debug)]
pub(crate) struct PullCall {
    pub(crate) step: Step,
    pub(crate) subject: Subject,
    pub(crate) call: String,
}

/// The `gh` and `glab` calls of one step.
pub(crate) fn pull_calls(
    context: &Context<'_>,
    calls: &[CommandCall],
    step: Step,
) -> Result<impl Iterator<Item = PullCall>, Missing> {
    let pulls: Vec<Option<PullCall>> = all(calls.iter().map(|call| pull_call(context, call)))?;
    Ok(pulls.into_iter().flatten().filter(move |pull| pull.step == step))
}

/// The step of a `gh` or `glab` call, if it concerns a pull request.
fn pull_call(context: &Context<'_>, call: &CommandCall) -> Result<Option<PullCall>, Missing> {
    if !matches!(call.program.as_str(), "gh" | "glab") {
        return Ok(None);
    }
    let mut options: Vec<(&str, &str)> = Vec::new();
    let mut operands: Vec<(usize, &str)> = Vec::new();
    let mut args = call.args.iter().map(String::as_str).enumerate();
    let mut is_review = false;
    let takes_value = |option: &str| GIT.has("forge options with a value", option);
    while let Some((at, word)) = args.next() {
        // In a review, `-a` approves and `-r` requests changes; elsewhere they take a value.
        let is_flag = is_review && matches!(word, "-a" | "-r" | "-c");
        match word {
            _ if !word.starts_with('-') || word.len() < 2 => {
                is_review |= word == "review";
                operands.push((at, word));
            }
            _ if word.starts_with("--") && word.contains('=') => options.extend(word.split_once('=')),
            // `-XPUT` and `-R=me/site`.
            _ if let Some((name, value)) = word.split_at_checked(2)
                && name != "--"
                && !value.is_empty()
                && takes_value(name) =>
            {
                options.push((name, value.strip_prefix('=').unwrap_or(value)));
            }
            _ if !is_flag && takes_value(word) => {
                options.push((word, args.next().map_or("", |(_, value)| value)))
            }
            _ => options.push((word, "")),
        }
    }
    let has = |names: &[&str]| options.iter().any(|(name, _)| names.contains(name));
    let value =
        |names: &[&str]| options.iter().rev().find(|(name, _)| names.contains(name)).map(|(_, value)| *value);
    if has(&["--help", "-h"]) {
        return Ok(None);
    }
    let word = |at: usize| operands.get(at).map_or("", |(_, word)| *word);
    let step = match (word(0), word(1)) {
        ("pr" | "mr", "merge" | "accept") if !has(&["--disable-auto"]) => Step::Merge,
        ("pr", "review") if has(&["--approve", "-a"]) => Step::Approve,
        ("mr", "approve") => Step::Approve,
        ("pr" | "mr", "create" | "new") => Step::Open,
        ("api", path) => return Ok(from_api_call(call, path, &options)),
        _ => return Ok(None),
    };
    let subject = match operands.get(2) {
        Some((at, _)) if call.unknown.contains(at) => Subject::Unknown,
        Some((_, named)) if step != Step::Open => parse_subject(named, value(&["-R", "--repo"])),
        _ if call.has_more_args => Subject::Unknown,
        _ => match value(&["-H", "--head", "-s", "--source-branch"]).filter(|_| step == Step::Open) {
            Some(head) => Subject::Branch(head.rsplit(':').next().unwrap_or(head).to_owned()),
            None => current(context)?,
        },
    };
    Ok(Some(PullCall { step, subject, call: shown(call) }))
}

/// The checked-out branch.
fn current(context: &Context<'_>) -> Result<Subject, Missing> {
    Ok(context.git()?.and_then(|git| git.branch.clone()).map_or(Subject::Unknown, Subject::Branch))
}

/// The step of an API call such as `gh api -X PUT repos/me/site/pulls/12/merge`.
fn from_api_call(call: &CommandCall, path: &str, options: &[(&str, &str)]) -> Option<PullCall> {
    let made = |step, subject| Some(PullCall { step, subject, call: shown(call) });
    let says = |text: &str| options.iter().any(|(_, value)| value.to_ascii_lowercase().contains(text));
    let parts: Vec<&str> = path.split(['?', '#']).next()?.trim_matches('/').split('/').collect();
    let repository = match parts.as_slice() {
        // Placeholders mean the repository of the working directory.
        ["repos", owner, repo, ..] if !owner.starts_with(['{', ':']) => Some(format!("{owner}/{repo}")),
        ["projects", project, ..] if !project.starts_with(':') => Some((*project).to_owned()),
        _ => None,
    };
    let found = parts.windows(3).find_map(|part| match part {
        ["pulls" | "merge_requests", number, last] => {
            Some((parse_subject(number, repository.as_deref()), *last))
        }
        _ => None,
    });
    let changes = options.iter().any(|(name, _)| {
        matches!(*name, "-X" | "--method" | "-f" | "-F" | "--field" | "--raw-field" | "--input")
    });
    let is_get = options
        .iter()
        .any(|(name, value)| matches!(*name, "-X" | "--method") && value.eq_ignore_ascii_case("get"));
    if !changes || is_get {
        return None;
    }
    match found {
        Some((subject, "merge")) => made(Step::Merge, subject),
        Some((subject, "reviews")) if says("event=approve") => made(Step::Approve, subject),
        Some((subject, "approve")) => made(Step::Approve, subject),
        Some(_) => None,
        None if parts.last() == Some(&"merges") => made(Step::Merge, Subject::Unknown),
        None if path == "graphql" && (says("mergepullrequest") || says("pullrequestautomerge")) => {
            made(Step::Merge, Subject::Unknown)
        }
        None => None,
    }
}

/// The subject named by a word: `12`, `#12`, a URL or a branch.
fn parse_subject(word: &str, repository: Option<&str>) -> Subject {
    let is_number =
        |text: &str| !text.is_empty() && text.len() < 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = word.trim_start_matches(['#', '!']);
    if is_number(number) {
        let number = number.trim_start_matches('0');
        return Subject::Pull(match repository {
            Some(repository) => format!("{repository}#{number}"),
            None => number.to_owned(),
        });
    }
    if let Some((_, rest)) = word.split_once("://") {
        let parts: Vec<&str> = rest.split('/').filter(|part| !matches!(*part, "-" | "")).collect();
        return match parts.as_slice() {
            [_, path @ .., "pull" | "merge_requests", number] if is_number(number) => {
                Subject::Pull(format!("{}#{number}", path.join("/")))
            }
            _ => Subject::Unknown,
        };
    }
    Subject::Branch(word.rsplit(':').next().unwrap_or(word).to_owned())
}

/// The subject of a pull request tool.
pub(crate) fn tool_subject(tool: &ToolCall) -> Subject {
    let text = |name: &str| match tool.args.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let repository = match (text("owner"), text("repo")) {
        (Some(owner), Some(repo)) => Some(format!("{owner}/{repo}")),
        (None, Some(repo)) => Some(repo),
        _ => text("project_id"),
    };
    let branch = || ["branch", "head", "source_branch", "head_branch"].iter().find_map(|name| text(name));
    match TOOLS.list("pull request numbers").iter().find_map(|name| text(name)) {
        Some(number) => parse_subject(&number, repository.as_deref()),
        None => branch().map_or(Subject::Unknown, Subject::Branch),
    }
}

/// The number of a newly opened pull request, from the URL in the answer.
pub(crate) fn opened_number(content: &Value) -> Option<String> {
    let text = plain_text(content);
    ["/pull/", "/merge_requests/"].iter().find_map(|mark| {
        let (_, rest) = text.split_once(mark)?;
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        rest.get(..end).filter(|number| !number.is_empty() && number.len() < 12).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_pull_requests_are_recognised() {
        let pull = |text: &str| Subject::Pull(text.to_owned());
        assert_eq!(parse_subject("12", None), pull("12"));
        assert_eq!(parse_subject("#012", None), pull("12"));
        assert_eq!(parse_subject("12", Some("me/site")), pull("me/site#12"));
        assert_eq!(parse_subject("https://forge.example/me/site/pull/12", None), pull("me/site#12"));
        assert_eq!(
            parse_subject("https://forge.example/me/site/-/merge_requests/12", None),
            pull("me/site#12")
        );
        assert_eq!(parse_subject("me:feature/x", None), Subject::Branch("feature/x".into()));
        assert_eq!(
            opened_number(&Value::from("see https://forge.example/me/site/pull/31\n")),
            Some("31".into())
        );
        assert_eq!(opened_number(&Value::from("nothing")), None);
    }
}
