//! Reads the files of Cedar guardrails: policies, entities and schemas.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use midrail_pack::{DiagnosticReport, PackDocument};

use super::error::LoadError;
use super::pack_file::{PackFile, base_digest};

/// The names of JSON files next to packs that are not packs.
const JSON_FILES: [&str; 2] = ["entities.json", "cedarschema.json"];

/// Whether a file next to packs has entities or a schema of Cedar: `corp.entities.json`.
pub(super) fn is_cedar_json(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    JSON_FILES.iter().any(|known| match name.strip_suffix(known) {
        Some(before) => before.is_empty() || before.ends_with('.'),
        None => false,
    })
}

/// Reads the Cedar files that a pack names, relative to its file, and marks them as files that the policy depends on. The compiler
/// receives their texts.
pub(super) fn read(
    file: &PackFile,
    document: &mut PackDocument,
    bases: &mut BTreeMap<PathBuf, String>,
) -> Vec<DiagnosticReport> {
    let folder = file.path.parent().unwrap_or(Path::new("."));
    let mut problems = Vec::new();
    for (at, cedar) in document.pack.cedar_mut() {
        cedar.files.clear();
        cedar.belongs.clear();
        for (below, name) in cedar.file_names() {
            let path = folder.join(&name);
            let path = std::path::absolute(&path).unwrap_or(path);
            // A file that is missing may be added later.
            bases.insert(path.clone(), base_digest(&path));
            match PackFile::read(&path, file.layer) {
                Ok(read) => {
                    cedar.files.insert(name, read.text);
                }
                Err(error) => problems.push((format!("{at}{below}"), error)),
            }
            cedar.belongs.push(path.display().to_string());
        }
    }
    let report = |(at, error): (String, LoadError)| {
        let help = match &error {
            // The help of a pack names the shipped packs.
            LoadError::Io { .. } => None,
            error => error.help(),
        };
        let help = help.unwrap_or_else(|| "name a file relative to this one".to_owned());
        document.report_at(&at, error.to_string(), Some(help))
    };
    problems.into_iter().map(report).collect()
}
