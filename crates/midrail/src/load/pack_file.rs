//! Reads the files of a policy within limits: packs, scripts and the files that scripts import.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use midrail_core::{OnFault, hex};
use midrail_guardrails::Script;
use midrail_pack::raw::{Guard, Pack, Scripts};
use midrail_pack::{Layer, PackDocument};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::error::LoadError;
use crate::paths;

/// The largest file that is read as a pack.
const MAX_PACK: u64 = 1 << 20;

/// A pack file or a script with its text.
pub(super) struct PackFile {
    pub(super) layer: Layer,
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl PackFile {
    pub(super) fn shipped(name: &str, text: &str) -> Self {
        PackFile {
            layer: Layer::Project,
            path: PathBuf::from(format!("midrail:{name}")),
            text: text.to_owned(),
        }
    }

    pub(super) fn read(path: &Path, layer: Layer) -> Result<Self, LoadError> {
        let io = |source| LoadError::Io { path: path.to_owned(), source };
        let too_large = || LoadError::TooLarge { path: path.to_owned(), limit: MAX_PACK };
        let bytes = paths::read_limited(path, MAX_PACK).map_err(io)?.ok_or_else(too_large)?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..at).unwrap_or_default();
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
            let column = String::from_utf8_lossy(last).chars().count() + 1;
            LoadError::NotUtf8 { path: path.to_owned(), line, column, at }
        })?;
        Ok(PackFile { layer, path: path.to_owned(), text })
    }

    /// The file itself, whatever it is called.
    pub(super) fn identity(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }
}

/// A digest of a file.
pub(super) fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes))
}

/// Stands for the digest of a file that is not there.
pub(super) const ABSENT: &str = "absent";

/// A digest of a file that packs build on.
pub(super) fn base_digest(path: &Path) -> String {
    if !path.is_file() {
        return ABSENT.to_owned();
    }
    match paths::read_limited(path, MAX_PACK) {
        Ok(bytes) => bytes.map_or_else(|| "too large".to_owned(), |bytes| digest(&bytes)),
        Err(error) => error.to_string(),
    }
}

/// The file of hooks next to the packs of a layer.
pub(super) const SCRIPT: &str = "guardrails.js";

/// Files that a script may consist of.
const MAX_FILES: usize = 64;

/// A script with all files that it imports.
pub(super) struct ScriptFile {
    pub(super) layer: Layer,
    pub(super) path: PathBuf,
    /// It is read because a pack allows scripts of that place.
    pub(super) is_guest: bool,
    /// A digest of its text and of everything that it imports.
    pub(super) digest: String,
    /// The files that it imports, with a digest of each.
    pub(super) imports: BTreeMap<PathBuf, String>,
}

impl ScriptFile {
    /// Reads a script and what it imports. A file that cannot be read is reported when the script runs: it may never be
    /// imported.
    pub(super) fn read(path: &Path, layer: Layer) -> Result<Self, LoadError> {
        let main = PackFile::read(path, layer)?;
        let mut imports = BTreeMap::new();
        let mut pending = imported(path, &main.text);
        while let Some(next) = pending.pop() {
            if imports.len() >= MAX_FILES || imports.contains_key(&next) {
                continue;
            }
            let text = PackFile::read(&next, layer).map(|file| file.text).unwrap_or_default();
            pending.extend(imported(&next, &text));
            imports.insert(next, digest(text.as_bytes()));
        }
        let mut all = digest(main.text.as_bytes());
        for (path, digest) in &imports {
            all.push_str(&format!("\n{} {digest}", path.display()));
        }
        let digest = if imports.is_empty() { all } else { digest(all.as_bytes()) };
        Ok(ScriptFile { layer, path: path.to_owned(), is_guest: false, digest, imports })
    }

    /// The files that belong to it: its imports, and the configuration of a guest.
    pub(super) fn belongs(&self) -> Vec<String> {
        let config = self.is_guest.then(|| self.path.with_file_name("config.json"));
        let files = self.imports.keys().cloned().chain(config);
        files.map(|path| path.display().to_string()).collect()
    }

    /// The pack that it is: one guardrail, which no lower layer can switch off.
    pub(super) fn document(&self, settings: &Scripts) -> Result<PackDocument, LoadError> {
        let usual = Script::default();
        let (id, priority) = match (self.layer, self.is_guest) {
            (Layer::Default | Layer::Organisation, _) => ("organisation-script", 89),
            (Layer::Project, false) => ("project-script", 90),
            (Layer::User, false) => ("user-script", 91),
            (Layer::Project, true) => ("project-deft-script", 92),
            (Layer::User, true) => ("user-deft-script", 93),
        };
        let script = Script {
            file: Some(self.path.display().to_string()),
            digest: Some(self.digest.clone()),
            input_timeout: settings.input_timeout.unwrap_or(usual.input_timeout),
            output_timeout: settings.output_timeout.unwrap_or(usual.output_timeout),
            memory_mb: settings.memory_mb.unwrap_or(usual.memory_mb),
            code: None,
            belongs: self.belongs(),
        };
        let guard = Guard {
            id: Some(id.to_owned()),
            priority: Some(priority),
            script: Some(script),
            enabled: settings.enabled.filter(|enabled| !enabled),
            on_error: settings.on_error,
            max_attempts: settings.max_attempts,
            on_exhausted: settings.on_exhausted,
            approver: settings.approver.clone(),
            lock: Some(true),
            ..Guard::default()
        };
        let pack = Pack { pack: SCRIPT.to_owned(), guardrails: vec![guard], ..Pack::default() };
        PackDocument::from_pack(&self.path.display().to_string(), pack)
            .map_err(|report| LoadError::Problems(vec![report]))
    }
}

/// The settings of a script: those of packs of its layer or above, the highest first.
pub(super) fn settings_for(layer: Layer, documents: &[(Layer, PackDocument)]) -> Scripts {
    let mut above: Vec<&(Layer, PackDocument)> = documents.iter().filter(|(of, _)| *of <= layer).collect();
    above.sort_by_key(|(of, _)| *of);
    let says = || above.iter().map(|(_, document)| &document.pack.scripts);
    Scripts {
        enabled: says().find_map(|scripts| scripts.enabled),
        deft: says().find_map(|scripts| scripts.deft),
        on_error: says().find_map(|scripts| scripts.on_error),
        input_timeout: says().find_map(|scripts| scripts.input_timeout),
        output_timeout: says().find_map(|scripts| scripts.output_timeout),
        memory_mb: says().find_map(|scripts| scripts.memory_mb),
        max_attempts: says().find_map(|scripts| scripts.max_attempts),
        approver: says().find_map(|scripts| scripts.approver.clone()),
        on_exhausted: says().find_map(|scripts| scripts.on_exhausted),
    }
}

/// Scripts of another tool, which packs can allow: that of the project, and the user's.
pub(super) fn guests(folder: Option<&Path>) -> Result<Vec<ScriptFile>, LoadError> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (layer, place) in paths::deft(folder) {
        let path = place.join(SCRIPT);
        if path.symlink_metadata().is_ok() && seen.insert(path.clone()) {
            found.push(ScriptFile { is_guest: true, ..ScriptFile::read(&path, layer)? });
        }
    }
    Ok(found)
}

/// The settings from the configuration next to a script of another tool.
pub(super) fn guest_settings(script: &ScriptFile, settings: Scripts) -> Scripts {
    let config = script.path.with_file_name("config.json");
    let text = std::fs::read_to_string(config).unwrap_or_default();
    let config: Value = serde_json::from_str(&text).unwrap_or_default();
    let said = |name: &str| config.get("guardrails")?.get(name);
    let enabled = said("enabled").and_then(Value::as_bool);
    let on_error = match said("failMode").and_then(Value::as_str) {
        Some("open") => Some(OnFault::Allow),
        Some("closed") => Some(OnFault::Block),
        _ => None,
    };
    // The settings of packs have precedence.
    Scripts { enabled: settings.enabled.or(enabled), on_error: settings.on_error.or(on_error), ..settings }
}

/// The files that a script imports by its text: relative paths of scripts, wherever they stand in quotes.
fn imported(path: &Path, text: &str) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let quoted = text.split(['"', '\'', '`']).skip(1);
    let names = quoted.filter(|part| part.starts_with("./") || part.starts_with("../"));
    let is_script = |name: &&str| name.ends_with(".js") || name.ends_with(".mjs");
    names.filter(is_script).map(|name| folder.join(name)).collect()
}

/// The scripts that the guardrails of a pack name, with their places in it.
pub(super) fn named(pack: &mut Pack) -> Vec<(String, &mut Script)> {
    fn of<'p>(at: &str, guards: &'p mut [Guard], found: &mut Vec<(String, &'p mut Script)>) {
        for (i, guard) in guards.iter_mut().enumerate() {
            if let Some(script) = &mut guard.script {
                found.push((format!("{at}/{i}/script"), script));
            }
        }
    }
    let mut found = Vec::new();
    of("/guardrails", &mut pack.guardrails, &mut found);
    for (name, agent) in &mut pack.agents {
        of(&format!("/agents/{name}/guardrails"), &mut agent.guardrails, &mut found);
        for (section, part) in &mut agent.sections {
            of(&format!("/agents/{name}/sections/{section}/guardrails"), &mut part.guardrails, &mut found);
        }
    }
    found
}
