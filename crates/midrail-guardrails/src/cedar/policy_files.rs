//! Parses the policies, entities and the schema, and reports their problems with file, line and column.

use std::collections::BTreeMap;
use std::error::Error;
use std::str::FromStr;

use cedar_policy::{Effect, Entities, Policy, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use miette::Diagnostic;

use crate::cedar::settings::{CedarEntities, CedarSettings};
use crate::shared::settings::SettingsProblem;
use crate::shared::text::shorten;

/// The most problems that are reported.
const MAX_PROBLEMS: usize = 16;

/// The parsed files.
pub(super) struct PolicyFiles {
    pub(super) policies: PolicySet,
    pub(super) entities: Entities,
    pub(super) schema: Option<Schema>,
}

impl PolicyFiles {
    pub(super) fn parse(settings: &CedarSettings) -> Result<Self, Vec<SettingsProblem>> {
        let mut problems = Vec::new();
        let schema = settings.schema.as_ref().and_then(|name| {
            parse_schema(name, text(settings, name)).map_err(|problem| problems.push(problem)).ok()
        });
        let policies = parse_policies(settings, &mut problems);
        if let (Some(schema), Some(policies)) = (&schema, &policies) {
            validate(schema, policies, &mut problems);
        }
        let entities = parse_entities(settings, schema.as_ref()).map_err(|problem| problems.push(problem));
        match (policies, entities) {
            (Some(policies), Ok(entities)) if problems.is_empty() => {
                Ok(PolicyFiles { policies, entities, schema })
            }
            _ => {
                problems.truncate(MAX_PROBLEMS);
                Err(problems)
            }
        }
    }
}

/// The text of a file.
fn text<'s>(settings: &'s CedarSettings, name: &str) -> &'s str {
    settings.files.get(name).map_or("", String::as_str)
}

fn parse_schema(name: &str, text: &str) -> Result<Schema, SettingsProblem> {
    let is_json = name.to_ascii_lowercase().ends_with(".json");
    let parsed = if is_json {
        Schema::from_json_str(text).map_err(|error| problem("/schema", name, text, &error))
    } else {
        let parsed = Schema::from_cedarschema_str(text).map(|(schema, _)| schema);
        parsed.map_err(|error| problem("/schema", name, text, &error))
    };
    parsed.map_err(|problem| {
        let help = "a schema is written in the format of Cedar, or as JSON in a file that ends in `.json`";
        SettingsProblem { help: first(problem.help, help), ..problem }
    })
}

fn parse_entities(settings: &CedarSettings, schema: Option<&Schema>) -> Result<Entities, SettingsProblem> {
    let help = "entities are a JSON list of `{\"uid\": {\"type\": \"Agent\", \"id\": \"a\"}, \"attrs\": {}, \"parents\": []}`";
    let failed = |name: &str, text: &str, error: &dyn Diagnostic| {
        let problem = problem("/entities", name, text, error);
        SettingsProblem { help: first(problem.help, help), ..problem }
    };
    match &settings.entities {
        Some(CedarEntities::File(name)) => {
            let text = text(settings, name);
            Entities::from_json_str(text, schema).map_err(|error| failed(name, "", &error))
        }
        list => {
            let list = match list {
                Some(CedarEntities::List(list)) => list.as_slice(),
                _ => &[],
            };
            let json = serde_json::json!(list);
            Entities::from_json_value(json, schema).map_err(|error| failed("entities", "", &error))
        }
    }
}

/// The policies of all files. `None`: some cannot be parsed.
fn parse_policies(settings: &CedarSettings, problems: &mut Vec<SettingsProblem>) -> Option<PolicySet> {
    let files = settings.policies.iter().enumerate();
    let files = files.map(|(i, name)| (format!("/policies/{i}"), name.as_str(), text(settings, name)));
    let code = settings.code.as_deref().map(|code| ("/code".to_owned(), "code", code));
    let before = problems.len();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut set = PolicySet::new();
    for (at, name, text) in files.chain(code) {
        let parsed = match PolicySet::from_str(text) {
            Ok(parsed) => parsed,
            Err(error) => {
                let problem = problem(&at, name, text, &error);
                let help = "the policy language is described at https://docs.cedarpolicy.com";
                problems.push(SettingsProblem { help: first(problem.help, help), ..problem });
                continue;
            }
        };
        if parsed.num_of_templates() > 0 {
            let message = format!("`{name}` has a policy template, and only policies are evaluated");
            let help = "replace `?principal` and `?resource` by entities";
            problems.push(SettingsProblem::with_help(&at, message, help));
        }
        if parsed.is_empty() {
            let help = "add a policy such as `permit (principal, action, resource);`";
            problems.push(SettingsProblem::with_help(&at, format!("`{name}` has no policy"), help));
        }
        for (policy, line) in with_lines(&parsed, text) {
            let place = format!("{name}:{line}");
            let id = policy.annotation("id").filter(|id| !id.trim().is_empty());
            let id = id.map_or_else(|| place.clone(), str::to_owned);
            if let Some(other) = known.insert(id.clone(), place.clone()) {
                let message = format!("two policies have the id `{}`: {other} and {place}", shorten(&id, 60));
                problems.push(SettingsProblem::with_help(
                    &at,
                    message,
                    "give each `@id` once, and each file",
                ));
            } else if let Err(error) = set.add(policy.new_id(PolicyId::new(&id))) {
                problems.push(problem(&at, name, "", &error));
            }
        }
    }
    let permits = set.policies().any(|policy| policy.effect() == Effect::Permit);
    if !permits && problems.len() == before {
        let message = "no policy permits anything, so every call would be blocked";
        let help = "add `permit (principal, action, resource);`: Cedar denies what no policy permits";
        problems.push(SettingsProblem::with_help("", message, help));
    }
    (problems.len() == before).then_some(set)
}

/// The policies of a text in their order, with their lines.
fn with_lines<'p>(set: &'p PolicySet, text: &str) -> Vec<(&'p Policy, usize)> {
    let number = |policy: &&Policy| -> usize {
        let id: &str = policy.id().as_ref();
        id.strip_prefix("policy").and_then(|number| number.parse().ok()).unwrap_or(usize::MAX)
    };
    let mut policies: Vec<&Policy> = set.policies().collect();
    policies.sort_by_key(number);
    let mut from = 0;
    let lines = policies.into_iter().map(|policy| {
        let source = policy.to_cedar().unwrap_or_default();
        let found = text.get(from..).and_then(|rest| rest.find(&source)).map_or(from, |at| from + at);
        from = found + source.len();
        (policy, position(text, found).0)
    });
    lines.collect()
}

/// Validates the policies against the schema.
fn validate(schema: &Schema, policies: &PolicySet, problems: &mut Vec<SettingsProblem>) {
    let result = Validator::new(schema.clone()).validate(policies, ValidationMode::default());
    let mut messages: Vec<(String, String)> = result
        .validation_errors()
        .map(|error| (message(error), error.help().map(|help| help.to_string()).unwrap_or_default()))
        .collect();
    messages.sort();
    let found = messages.into_iter().map(|(message, help)| {
        let help = first(help, "change the policy, or declare what it uses in the schema");
        SettingsProblem::with_help("/policies", message, help)
    });
    problems.extend(found);
}

/// A problem in a file, with the line and column, if the parser has them.
fn problem(at: &str, name: &str, text: &str, error: &dyn Diagnostic) -> SettingsProblem {
    let span = error.labels().and_then(|mut labels| labels.next());
    let place = span.filter(|_| !text.is_empty()).map(|span| {
        let (line, column) = position(text, span.offset());
        let label = span.label().map(|label| format!(" ({label})")).unwrap_or_default();
        (format!(", line {line}, column {column}"), label)
    });
    let (place, label) = place.unwrap_or_default();
    let message = format!("`{name}`{place}: {}{label}", message(error));
    let help = error.help().map(|help| help.to_string()).unwrap_or_default();
    SettingsProblem::with_help(at, message, help)
}

/// The message of an error with its causes.
fn message(error: &(impl Error + ?Sized)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), 400)
}

/// The line and column of an offset, from 1.
fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..text.floor_char_boundary(offset.min(text.len()))).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// The first text, or the second if that is empty.
fn first(text: String, other: &str) -> String {
    if text.is_empty() { other.to_owned() } else { text }
}
