//! Whether agents trust hooks and folders, as far as they tell.

use std::path::Path;

use serde_json::Value;

use super::switches::json;
use super::{CheckResult, Registered};
use crate::setup::agent::{Agent, InstallScope};
use crate::setup::places::Environment;
use crate::setup::{codex, gemini_cli};

/// Whether an agent runs the hooks that are registered.
pub(super) fn findings(
    agent: Agent,
    files: &[Registered],
    program: Option<&Path>,
    places: &Environment,
) -> Vec<CheckResult> {
    let is_in_project_alone = files.iter().all(|file| file.scope == InstallScope::Project);
    match agent {
        Agent::Codex => of_codex(files, program, places),
        Agent::GeminiCli if is_in_project_alone => vec![of_gemini(places)],
        Agent::CopilotCli if is_in_project_alone => vec![of_copilot(places)],
        Agent::ClaudeCode | Agent::GeminiCli | Agent::CopilotCli | Agent::Cursor | Agent::OpenCode => {
            Vec::new()
        }
    }
}

fn of_codex(files: &[Registered], program: Option<&Path>, places: &Environment) -> Vec<CheckResult> {
    if files.iter().any(|file| file.scope == InstallScope::Managed) {
        return vec![CheckResult::good("managed hooks need no trust")];
    }
    let is_for_project = files.iter().any(|file| file.scope == InstallScope::Project);
    let is_in_project_alone = files.iter().all(|file| file.scope == InstallScope::Project);
    let user = if is_for_project { "" } else { " --user" };
    let look = "type `/hooks` in Codex and look";
    let Some(program) = program else {
        return vec![CheckResult::bad(
            "whether Codex trusts the hooks could not be looked at: `codex` is not on the search path",
            look,
        )];
    };
    match codex::known(program, places) {
        Err(why) => {
            vec![CheckResult::bad(
                format!("whether Codex trusts the hooks could not be looked at: {why}"),
                look,
            )]
        }
        Ok(known) if known.is_empty() && is_in_project_alone && !codex::is_trusted_project(places) => {
            vec![CheckResult::bad(
                "Codex does not read these hooks: the project is not trusted",
                "start `codex` here and trust the project, or run `midrail init --user --agent codex --trust`",
            )]
        }
        Ok(known) if known.is_empty() => vec![CheckResult::bad(
            "Codex does not read these hooks: it does not list any of them",
            "type `/hooks` in Codex, which tells what it reads, and look whether its settings switch hooks off",
        )],
        Ok(known) => {
            let open: Vec<&str> = known
                .iter()
                .filter(|known| known.status != "trusted" && known.status != "managed")
                .map(|known| known.key.rsplit(':').nth(2).unwrap_or(&known.key))
                .collect();
            if open.is_empty() {
                vec![CheckResult::good("Codex trusts the hooks")]
            } else {
                vec![CheckResult::bad(
                    format!("Codex does not trust, and so does not run: {}", open.join(", ")),
                    format!(
                        "type `/hooks` in Codex and trust them, or run `midrail init{user} --agent codex --trust`"
                    ),
                )]
            }
        }
    }
}

/// Gemini CLI keeps one word for each folder; the one that is nearest counts.
fn of_gemini(places: &Environment) -> CheckResult {
    let mend = "start `gemini` here and trust the folder, or run `midrail init --user --agent gemini-cli`";
    let enabled = InstallScope::ALL.into_iter().rev().find_map(|scope| {
        let path = (gemini_cli::HOST.file)(places, scope)?;
        json(&path).pointer("/security/folderTrust/enabled").and_then(Value::as_bool)
    });
    let words = json(&places.gemini.join("trustedFolders.json"));
    let project = places.project.canonicalize().unwrap_or_else(|_| places.project.clone());
    let mut nearest: Option<(usize, &str)> = None;
    for (folder, word) in words.as_object().into_iter().flatten() {
        let Some(word) = word.as_str() else { continue };
        let folder = Path::new(folder);
        let folder = if word == "TRUST_PARENT" { folder.parent().unwrap_or(folder) } else { folder };
        let depth = folder.components().count();
        if project.starts_with(folder) && nearest.is_none_or(|(deepest, _)| depth >= deepest) {
            nearest = Some((depth, word));
        }
    }
    match (enabled, nearest.map(|(_, word)| word)) {
        (Some(false), _) => CheckResult::good("Gemini CLI does not ask whether folders are trusted"),
        (_, Some("TRUST_FOLDER" | "TRUST_PARENT")) => CheckResult::good("Gemini CLI trusts this folder"),
        (_, Some(_)) => {
            CheckResult::bad("Gemini CLI does not trust this folder, and so does not read its hooks", mend)
        }
        (Some(true), None) => CheckResult::bad(
            "Gemini CLI has not been told yet to trust this folder, and does not read its hooks before",
            mend,
        ),
        (None, None) => CheckResult::caution(
            "Gemini CLI reads the hooks of this folder only if it trusts it, where it asks for trust at all",
            mend,
        )
        .open(),
    }
}

/// Copilot CLI keeps a list of folders.
fn of_copilot(places: &Environment) -> CheckResult {
    let project = places.project.canonicalize().unwrap_or_else(|_| places.project.clone());
    let is_trusted = ["config.json", "settings.json"].iter().any(|name| {
        let settings = json(&places.copilot.join(name));
        let lists = ["trusted_folders", "trustedFolders"].into_iter();
        let folders = lists.filter_map(|key| settings.get(key)?.as_array().cloned()).flatten();
        let mut folders = folders.filter_map(|folder| folder.as_str().map(str::to_owned));
        folders.any(|folder| project.starts_with(&folder) || places.project.starts_with(&folder))
    });
    match is_trusted {
        true => CheckResult::good("Copilot CLI trusts this folder"),
        false => CheckResult::caution(
            "Copilot CLI has not been told yet to trust this folder, and does not read its hooks before",
            "start `copilot` here and trust the folder, or run `midrail init --user --agent copilot-cli`",
        )
        .open(),
    }
}
