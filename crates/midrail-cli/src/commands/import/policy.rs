//! `midrail import --policy`: the permission rules of a coding agent as a pack.

use std::fs;
use std::path::{Path, PathBuf};

use midrail_adapters::host::HostSpec;
use midrail_adapters::hosts;
use midrail_adapters::policy::{FileScope, Imported, PolicyFile, RuleSource};
use midrail_adapters::setup::Environment;
use serde_json::json;

use crate::error::{CliError, CliResult, count, with_fields};
use crate::exit::Exit;
use crate::input::quoted;
use crate::output::Output;

/// The largest file with rules.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// Imports the rules of a host from files, or from its usual places.
pub(super) fn run(host: &str, files: &[String], out: Option<&Path>, output: &mut Output) -> CliResult {
    let host = find(host)?;
    let env = Environment::detect(Path::new("."), None);
    let files = match files {
        [] => {
            let env = env.as_ref().ok_or_else(|| {
                CliError::new("cannot find permission rules: `HOME` is not set").help("name the files")
            })?;
            found_files(host, env)?
        }
        names => named_files(host, names, env.as_ref())?,
    };
    if files.is_empty() {
        return Err(CliError::new(format!("found no permission rules of {}", host.policy.title))
            .help("name the files: `midrail import --policy HOST FILE`"));
    }
    let imported = host.policy.import(&files);
    if imported.is_empty() {
        let names: Vec<String> = files.iter().map(|file| quoted(Path::new(&file.name))).collect();
        let message = format!("found no permission rules of {} in {}", host.policy.title, names.join(", "));
        return Err(CliError::new(message).help("check that the files belong to this host"));
    }
    if let Some(path) = out {
        fs::write(path, &imported.yaml)
            .map_err(|error| CliError::new(format!("could not write {}: {error}", quoted(path))))?;
    }
    if output.is_json {
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        output.json(&with_fields(&imported, json!({"host": host.policy.name, "files": names})))?;
        return Ok(Exit::Good);
    }
    if out.is_none() {
        output.text(&imported.yaml)?;
    }
    report(&imported, output);
    Ok(Exit::Good)
}

/// The names of hosts with permission rules.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    hosts::ALL.iter().map(|host| host.policy.name)
}

/// The host with a name.
pub(crate) fn find(name: &str) -> CliResult<&'static HostSpec> {
    hosts::ALL.iter().find(|host| host.policy.name == name).ok_or_else(|| {
        let names: Vec<&str> = names().collect();
        CliError::new(format!("`{name}` is not a host with permission rules"))
            .help(format!("the hosts are {}", names.join(", ")))
    })
}

/// The files of the usual places that exist.
fn found_files(host: &HostSpec, env: &Environment) -> CliResult<Vec<PolicyFile>> {
    let mut found = Vec::new();
    for (scope, place) in host.policy_files(env) {
        for path in expand(&place) {
            let name = path.strip_prefix(&env.project).unwrap_or(&path).display().to_string();
            found.extend(read(&path, name, scope)?);
        }
    }
    Ok(found)
}

/// The files of a place: one file, or all files with an ending, in the order of their names.
fn expand(place: &Path) -> Vec<PathBuf> {
    let ending = place.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_prefix("*."));
    let Some(ending) = ending else { return vec![place.to_owned()] };
    let entries = place.parent().and_then(|folder| fs::read_dir(folder).ok());
    let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect();
    paths.sort();
    paths
}

fn named_files(host: &HostSpec, names: &[String], env: Option<&Environment>) -> CliResult<Vec<PolicyFile>> {
    let usual: Vec<(FileScope, PathBuf)> = env.map(|env| host.policy_files(env)).unwrap_or_default();
    let mut files = Vec::new();
    for name in names {
        let path = Path::new(name);
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let is_there =
            |place: &Path| expand(place).iter().any(|it| it.canonicalize().is_ok_and(|it| it == real));
        // A file elsewhere is read as that of a project.
        let scope =
            usual.iter().find(|(_, place)| is_there(place)).map_or(FileScope::Project, |(scope, _)| *scope);
        let file = read(path, name.clone(), scope)?;
        files.push(file.ok_or_else(|| CliError::new(format!("{} does not exist", quoted(path))))?);
    }
    files.sort_by_key(|file| file.scope);
    Ok(files)
}

/// A file, if it exists.
fn read(path: &Path, name: String, scope: FileScope) -> CliResult<Option<PolicyFile>> {
    let failed =
        |error: &dyn std::fmt::Display| CliError::new(format!("could not read {}: {error}", quoted(path)));
    match fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
        Ok(data) if data.len() > MAX_BYTES => return Err(failed(&"it is larger than 16 MiB")),
        Ok(_) => {}
    }
    let text = fs::read(path).map_err(|error| failed(&error))?;
    let text = String::from_utf8(text).map_err(|_| failed(&"it is not UTF-8"))?;
    Ok(Some(PolicyFile { name, text, scope }))
}

/// Prints what became of each rule, on standard error.
fn report(imported: &Imported, output: &mut Output) {
    let mut lines = vec![format!("taken: {}", count(imported.taken.len(), "rule"))];
    for (title, findings) in [
        ("stricter", &imported.stricter),
        ("left out", &imported.left_out),
        ("dead in the original", &imported.dead),
    ] {
        let findings = findings.iter().map(|finding| (&finding.source, finding.reason.as_str()));
        lines.extend(section(title, &findings.collect::<Vec<_>>()));
    }
    output.report(&lines);
}

/// A section of a report: each reason with its rules.
pub(crate) fn section(title: &str, findings: &[(&RuleSource, &str)]) -> Vec<String> {
    if findings.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!("{title}: {}", count(findings.len(), "rule"))];
    let mut reasons: Vec<&str> = Vec::new();
    for (_, reason) in findings {
        if !reasons.contains(reason) {
            reasons.push(reason);
        }
    }
    for reason in reasons {
        lines.push(format!("  {reason}:"));
        for (source, _) in findings.iter().filter(|(_, it)| *it == reason) {
            let line = if source.line > 0 { format!(":{}", source.line) } else { String::new() };
            lines.push(format!("    {}{line}  {}", source.file, source.rule).trim_end().to_owned());
        }
    }
    lines
}
