//! Validates a pack from a request. Nothing that it names is run or read; a pack that needs local files is invalid.

use midrail::pack::diagnostic::{DiagnosticRecord, excerpt};
use midrail::pack::raw::NO_BASE;
use midrail::pack::{DiagnosticReport, Layer, PackDocument, compile_policy, lint};
use midrail::shipped;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::input::check_length;
use crate::problem::{HandlerResult, Problem};

/// The largest pack.
const MAX_PACK: usize = 1 << 20;

/// How many packs may build on each other.
const MAX_BASES: usize = 32;

/// A pack to check.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Candidate {
    /// The file name that problems show. No file of that name is read.
    #[serde(default = "default_name")]
    #[schemars(length(min = 1, max = 200))]
    name: String,
    /// Its text: YAML or JSON, at most 1 MB.
    #[schemars(length(min = 1))]
    text: String,
    /// The environment whose overlay is applied.
    #[serde(default)]
    env: Option<String>,
}

fn default_name() -> String {
    "pack.yaml".to_owned()
}

/// The result of a check.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Validation {
    /// Whether it is valid.
    valid: bool,
    /// Its revision, as the only pack of a policy.
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<String>,
    /// The guardrails that would be in force, with the always-on ones.
    guardrails: Vec<String>,
    /// Errors.
    problems: Vec<DiagnosticRecord>,
    /// Likely mistakes.
    warnings: Vec<DiagnosticRecord>,
}

/// Checks a pack.
pub(crate) fn validated(candidate: &Candidate) -> HandlerResult<Validation> {
    check_length("name", &candidate.name, 200)?;
    check_length("text", &candidate.text, MAX_PACK)?;
    let mut reader = Reader { env: candidate.env.as_deref(), documents: Vec::new(), reports: Vec::new() };
    reader.add(&candidate.name, &candidate.text, None, &mut Vec::new());
    let Reader { documents, mut reports, .. } = reader;
    let knows = |env: &String| documents.iter().any(|(_, document)| document.pack.env.contains_key(env));
    if let Some(env) = &candidate.env
        && reports.is_empty()
        && !knows(env)
    {
        return Err(Problem::invalid(format!(
            "the pack has no overlay for the environment `{}`",
            excerpt(env)
        )));
    }
    let mut made = None;
    if reports.is_empty() {
        match compile_policy(&documents) {
            Ok((policy, _)) => made = Some(policy),
            Err(found) => reports.extend(found),
        }
    }
    let warnings =
        lint(&documents).into_iter().filter(|found| made.is_some() && found.path == candidate.name);
    Ok(Validation {
        valid: made.is_some(),
        revision: made.as_ref().map(|policy| policy.revision().to_string()),
        guardrails: made
            .iter()
            .flat_map(|policy| policy.entries().iter().map(|entry| entry.spec.id.to_string()))
            .collect(),
        problems: reports.iter().flat_map(DiagnosticReport::plain).collect(),
        warnings: warnings
            .map(|found| DiagnosticRecord {
                file: found.path,
                line: found.line,
                column: found.column,
                message: found.message,
                help: found.help,
            })
            .collect(),
    })
}

struct Reader<'c> {
    env: Option<&'c str>,
    documents: Vec<(Layer, PackDocument)>,
    reports: Vec<DiagnosticReport>,
}

impl Reader<'_> {
    /// Adds a text after the shipped packs that it builds on.
    fn add(&mut self, path: &str, text: &str, base_of: Option<&str>, above: &mut Vec<String>) {
        let env = self.env.filter(|_| base_of.is_none());
        let documents = match PackDocument::read(path, text, env) {
            Ok(documents) => documents,
            Err(report) => return self.reports.push(report),
        };
        above.push(path.to_owned());
        for mut document in documents {
            self.refuse_files(&mut document, base_of.is_none());
            let bases = document.pack.extends.iter().enumerate();
            for (at, name) in bases.filter(|(_, name)| *name != NO_BASE) {
                let place = format!("/extends/{at}");
                let shown = excerpt(name);
                match shipped::pack(name) {
                    _ if above.len() > MAX_BASES => {}
                    Some((name, _)) if above.contains(&format!("midrail:{name}")) => {}
                    Some((name, text)) => {
                        self.add(&format!("midrail:{name}"), text, Some(&document.path), above);
                    }
                    None => {
                        let message =
                            format!("`{shown}` is not a shipped pack, and no file is read to check a pack");
                        let help = "check it on its machine with `midrail lint`".to_owned();
                        self.reports.push(document.report_at(&place, message, Some(help)));
                    }
                }
            }
            if let Some(path) = base_of {
                document = document.as_base_of(path);
            }
            self.documents.push((Layer::Project, document));
        }
        above.pop();
    }

    /// Rejects a pack that uses script files, which cannot be checked without reading them.
    fn refuse_files(&mut self, document: &mut PackDocument, is_candidate: bool) {
        if !is_candidate {
            return;
        }
        let files: Vec<String> = document.pack.scripts().filter_map(|script| script.file.clone()).collect();
        let help = || Some("check it on its machine with `midrail lint`".to_owned());
        for file in files {
            let message =
                format!("it names the script `{}`, and no file is read to check a pack", excerpt(&file));
            let at = document.pack.guardrails.iter().position(|guard| {
                guard.script.as_ref().is_some_and(|script| script.file.as_deref() == Some(&file))
            });
            let place = at.map_or_else(|| "/guardrails".to_owned(), |at| format!("/guardrails/{at}/script"));
            self.reports.push(document.report_at(&place, message, help()));
        }
        if document.pack.scripts.deft == Some(true) {
            let message =
                "it puts scripts of this machine in force, and no file is read to check a pack".to_owned();
            self.reports.push(document.report_at("/scripts", message, help()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Validation {
        validated(&Candidate { name: "p.yaml".to_owned(), text: text.to_owned(), env: None }).unwrap()
    }

    #[test]
    fn valid_pack_has_no_problems() {
        let found = check("pack: p\nextends: midrail:default\nguardrails:\n  - {id: g, tools: x}\n");
        assert!(found.valid, "{found:?}");
        assert!(found.guardrails.contains(&"g".to_owned()));
        assert!(found.revision.is_some());
    }

    #[test]
    fn problems_have_locations() {
        let found = check("pack: p\nguardrails:\n  - {id: g, tool: x}\n  - {id: h, effect: explode}\n");
        assert!(!found.valid && found.problems.len() >= 2, "{found:?}");
        assert!(found.problems.iter().all(|problem| problem.file == "p.yaml" && problem.line >= 3));
    }

    #[test]
    fn validation_reads_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("base.yaml");
        std::fs::write(&secret, "pack: [ s3cr3t-content\n").unwrap();
        for text in [
            format!("pack: p\nextends: {}\n", secret.display()),
            "pack: p\nextends: ../../etc/passwd\n".to_owned(),
            format!("pack: p\nguardrails:\n  - {{id: g, script: {{file: {}}}}}\n", secret.display()),
            "pack: p\nscripts: {deft: true}\n".to_owned(),
        ] {
            let found = check(&text);
            let text_found = format!("{found:?}");
            assert!(!found.valid, "{text}: {text_found}");
            assert!(text_found.contains("no file is read"), "{text}: {text_found}");
            assert!(!text_found.contains("s3cr3t"), "{text_found}");
        }
    }

    #[test]
    fn validation_runs_no_command() {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().join("mark");
        let text = format!(
            "pack: p\nguardrails:\n  - id: g\n    deep: {{command: [touch, {}]}}\n    check: answer.ok\n",
            mark.display()
        );
        let _ = check(&text);
        assert!(!mark.exists());
    }
}
