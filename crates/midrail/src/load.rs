//! Finds and reads packs: those that are named, or the layers of a folder.

mod cache;
mod cedar_files;
mod error;
mod pack_file;
mod script_checks;

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use midrail_core::{Mode, Policy, hex};
use midrail_pack::diagnostic::excerpt;
use midrail_pack::raw::NO_BASE;
use midrail_pack::{DiagnosticReport, Layer, PackDocument, PolicySource};
use sha2::{Digest, Sha256};

use self::cache::CachedPolicy;
pub use self::cache::PolicyCache;
pub use self::error::LoadError;
use self::pack_file::{ABSENT, PackFile, SCRIPT, ScriptFile, base_digest, digest};
pub use crate::stored_policy::StoredPolicyError;
use crate::{features, paths, recipes, shipped};

/// Which packs to read.
#[derive(Debug, Clone, Default)]
pub struct Load {
    /// Files and folders that are named. They replace the layers; the default pack and the always-on built-ins stay.
    pub packs: Vec<PathBuf>,
    /// The environment whose overlay is applied.
    pub env: Option<String>,
    /// The folder whose layers are read where no pack is named.
    pub folder: Option<PathBuf>,
    /// The default pack is not added, as if a pack had `extends: none`: tests check exactly what a pack declares.
    pub is_exact: bool,
    /// Where compiled packs are kept between processes. `None`: nowhere.
    pub cache: Option<PolicyCache>,
}

/// A policy, and what it was made of.
pub struct LoadedPolicy {
    /// The policy.
    pub policy: Policy,
    /// What its packs say.
    pub source: PolicySource,
    /// The packs with their texts. Empty where the policy came from the cache.
    pub documents: Vec<(Layer, PackDocument)>,
    /// What the files were when they were read.
    pub mark: SourceMark,
}

/// What the files of a policy were at a moment. Two marks are the same where no file was changed, added or removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMark {
    /// A digest of the packs that are named or found in layers, with their paths and texts.
    packs: String,
    /// The files that they build on, with a digest of each. One that is not there may come.
    bases: BTreeMap<PathBuf, String>,
}

/// Reads a policy pack with the overlay of an environment: a file, a folder, or the name of a shipped pack.
///
/// ```
/// # fn main() -> Result<(), midrail::LoadError> {
/// let loaded = midrail::load_policy_pack("midrail:default", None)?;
/// assert!(loaded.policy.get("safety-001").is_some());
/// # Ok(())
/// # }
/// ```
pub fn load_policy_pack(path: impl Into<PathBuf>, env: Option<&str>) -> Result<LoadedPolicy, LoadError> {
    Load { packs: vec![path.into()], env: env.map(str::to_owned), ..Load::default() }.load()
}

impl Load {
    /// Reads the packs and compiles the policy.
    pub fn load(&self) -> Result<LoadedPolicy, LoadError> {
        self.load_and_mark().0
    }

    /// The same, with what the files were, whether or not they make a policy.
    pub(crate) fn load_and_mark(&self) -> (Result<LoadedPolicy, LoadError>, SourceMark) {
        let files = self.files();
        let mut mark = SourceMark { packs: packs_digest(&files), ..SourceMark::default() };
        let loaded = files.and_then(|files| {
            let key = self.cache_key(&files);
            if let Some(cached) = self.cached(&key, &mark.packs) {
                mark = cached.mark.clone();
                return Ok(cached);
            }
            let loaded = self.read(files, &mut mark)?;
            self.keep(&key, &loaded);
            Ok(loaded)
        });
        (loaded, mark)
    }

    /// What the files are now, with those that the packs of another mark built on.
    pub(crate) fn mark_as(&self, other: &SourceMark) -> SourceMark {
        let bases = other.bases.keys().map(|path| (path.clone(), base_digest(path)));
        SourceMark { packs: packs_digest(&self.files()), bases: bases.collect() }
    }

    /// Reads the packs with their texts, whatever is cached.
    pub fn documents(&self) -> Result<LoadedPolicy, LoadError> {
        let files = self.files();
        let mut mark = SourceMark { packs: packs_digest(&files), ..SourceMark::default() };
        self.read(files?, &mut mark)
    }

    /// Reads a text as the pack file that it would be at a path.
    pub(crate) fn documents_of(&self, path: &Path, text: &str) -> Result<LoadedPolicy, LoadError> {
        let file = PackFile { layer: Layer::Project, path: path.to_owned(), text: text.to_owned() };
        self.read(vec![file], &mut SourceMark::default())
    }

    fn read(&self, files: Vec<PackFile>, mark: &mut SourceMark) -> Result<LoadedPolicy, LoadError> {
        let mut reader = Reader {
            env: self.env.as_deref(),
            documents: Vec::new(),
            reports: Vec::new(),
            envs: BTreeSet::new(),
            bases: &mut mark.bases,
            has_default: !self.is_exact,
            base_count: 0,
        };
        for file in files.iter().filter(|file| !is_script(&file.path)) {
            reader.add(file, None, &mut Vec::new())?;
        }
        let default =
            PackFile { layer: Layer::Default, ..PackFile::shipped(shipped::DEFAULT.0, shipped::DEFAULT.1) };
        let is_default = |document: &PackDocument| Path::new(&document.path) == default.path;
        if reader.has_default && !reader.documents.iter().any(|(_, document)| is_default(document)) {
            reader.add(&default, None, &mut Vec::new())?;
            reader.documents.rotate_right(1);
        }
        for file in files.iter().filter(|file| is_script(&file.path)) {
            reader.add_script(&ScriptFile::read(&file.path, file.layer)?)?;
        }
        reader.add_guests(self.folder.as_deref().filter(|_| self.packs.is_empty()))?;
        if !reader.reports.is_empty() {
            return Err(LoadError::Problems(reader.reports));
        }
        if let Some(env) = &self.env
            && !reader.envs.contains(env)
        {
            let known = reader.envs.into_iter().collect();
            return Err(LoadError::UnknownEnv { name: env.clone(), known });
        }
        let (policy, source) =
            midrail_pack::compile_policy(&reader.documents).map_err(LoadError::Problems)?;
        features::check(&policy, &source)?;
        Ok(LoadedPolicy { policy, source, documents: reader.documents, mark: mark.clone() })
    }

    /// The files of the policy, with their texts, highest layer first. What they extend is not among them.
    fn files(&self) -> Result<Vec<PackFile>, LoadError> {
        if !self.packs.is_empty() {
            let mut files = Vec::new();
            for path in &self.packs {
                match shipped::pack(&path.to_string_lossy()) {
                    Some((name, text)) if !path.exists() => files.push(PackFile::shipped(name, text)),
                    _ => files.extend(pack_files(path, Layer::Project, true)?),
                }
            }
            return Ok(files);
        }
        let mut files = Vec::new();
        for (layer, folder) in paths::layers(self.folder.as_deref()) {
            // Only a folder that is not there is no layer; one that cannot be read, and a link to nowhere, is an error.
            match folder.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound && folder.symlink_metadata().is_err() => {}
                Err(source) => return Err(LoadError::Io { path: folder, source }),
                Ok(_) => files.extend(pack_files(&folder, layer, false)?),
            }
        }
        Ok(files)
    }

    /// A digest of the packs and of what else decides which policy they make. The files that they build on are only known once
    /// the packs are read: they are kept with the policy, and compared when it is used.
    fn cache_key(&self, files: &[PackFile]) -> Option<String> {
        self.cache.as_ref()?;
        let mut hash = Sha256::new();
        // Another build may have other guardrails to make a policy of, and so other revisions.
        let program = std::env::current_exe().and_then(|path| path.metadata());
        let build = program.and_then(|program| Ok((program.len(), program.modified()?))).ok();
        hash.update(format!("midrail {} {build:?}\n", env!("CARGO_PKG_VERSION")));
        hash.update(format!("{:?} {}", self.env, self.is_exact));
        if files.iter().any(|file| file.path.is_relative()) {
            // What such a pack names is found from here.
            hash.update(format!(" {:?}", std::env::current_dir().ok()?));
        }
        for file in files {
            if file.layer == Layer::Organisation {
                return None;
            }
            hash.update(format!("\n{} {} {}\n", file.layer.as_str(), file.path.display(), file.text.len()));
            hash.update(&file.text);
        }
        Some(hex::encode(&hash.finalize()))
    }

    fn cached(&self, key: &Option<String>, packs: &str) -> Option<LoadedPolicy> {
        let CachedPolicy { revision, bases, source } = self.cache.as_ref()?.read(key.as_ref()?)?;
        let source: PolicySource = serde_json::from_str(&source).ok()?;
        let policy = source.compile_with_revision(&revision).ok()?;
        let mark = SourceMark { packs: packs.to_owned(), bases };
        Some(LoadedPolicy { policy, source, documents: Vec::new(), mark })
    }

    fn keep(&self, key: &Option<String>, LoadedPolicy { policy, source, documents, mark }: &LoadedPolicy) {
        let (Some(cache), Some(key)) = (&self.cache, key) else { return };
        // The scripts of a neighbouring tool may appear later.
        if documents.iter().any(|(_, document)| document.pack.scripts.deft == Some(true)) {
            return;
        }
        let revision = policy.revision().to_string();
        cache.write(key, &CachedPolicy { revision, bases: mark.bases.clone(), source: source.to_json() });
    }
}

impl LoadedPolicy {
    /// The guardrails of the default pack that the policy does not enforce to the same extent: their labels, with what is lost
    /// if they are not missing altogether.
    pub fn unprotected(&self) -> Vec<String> {
        let default = Load { packs: vec![shipped::DEFAULT.0.into()], ..Load::default() }.load();
        let Some(lost) = default.ok().and_then(|default| self.source.losses(&default.source).ok()) else {
            return vec!["unknown: the packs cannot be compared with the default pack".to_owned()];
        };
        let is_shadow = self.policy.mode() == Mode::Shadow;
        let named = lost.into_iter().map(|(id, losses)| {
            let label = midrail_guardrails::label(&id);
            if losses.is_empty() || is_shadow { label } else { format!("{label}: {}", losses.join("; ")) }
        });
        named.collect()
    }

    /// Reports the packs that omit the default pack, with what is not protected then.
    pub fn missing_default(&self) -> Vec<DiagnosticReport> {
        let omits = |document: &&PackDocument| document.pack.extends.iter().any(|name| name == NO_BASE);
        let documents = self.documents.iter().map(|(_, document)| document).filter(omits);
        let report = |document: &PackDocument| {
            let missing = self.unprotected();
            let help = "remove `extends: none` to add the default pack, or add the guardrails that you need";
            let message = format!("the default pack is omitted; not protected: {}", missing.join(", "));
            (!missing.is_empty()).then(|| document.report_at("/extends", message, Some(help.to_owned())))
        };
        documents.filter_map(report).collect()
    }
}

/// The packs at a path: the file itself, or every pack file of a folder, by name.
fn pack_files(path: &Path, layer: Layer, is_named: bool) -> Result<Vec<PackFile>, LoadError> {
    if !path.is_dir() {
        // A file that does not exist is reported as that, whatever its ending.
        if !is_pack(path) && !is_script(path) && path.symlink_metadata().is_ok() {
            return Err(LoadError::NoPack { path: path.to_owned() });
        }
        return Ok(vec![PackFile::read(path, layer)?]);
    }
    let io = |source| LoadError::Io { path: path.to_owned(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(path).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let is_hooks = path.file_name().is_some_and(|name| name == SCRIPT);
        // A folder with the name of a pack is an error, not a pack less.
        if is_pack(&path) || is_hooks {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() && is_named {
        return Err(LoadError::Empty { path: path.to_owned() });
    }
    let nested = path.join(NESTED);
    if paths.is_empty() && holds_pack(&nested) {
        return Err(LoadError::Nested { path: nested });
    }
    paths.iter().map(|path| PackFile::read(path, layer)).collect()
}

/// A digest of packs with their places, or of why they could not be read.
fn packs_digest(files: &Result<Vec<PackFile>, LoadError>) -> String {
    let mut hash = Sha256::new();
    match files {
        Ok(files) => {
            for PackFile { layer, path, text } in files {
                hash.update(format!("{} {:?} {}\n{text}\n", layer.as_str(), path, text.len()));
            }
        }
        Err(error) => hash.update(format!("error {error}")),
    }
    hex::encode(&hash.finalize())
}

/// A folder in a layer in which packs are not read.
const NESTED: &str = "packs";

/// Whether there is a pack directly in a folder.
fn holds_pack(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().any(|entry| is_pack(&entry.path()))
}

fn is_pack(path: &Path) -> bool {
    has_ending(path, &["yaml", "yml", "json"]) && !cedar_files::is_cedar_json(path)
}

fn is_script(path: &Path) -> bool {
    has_ending(path, &["js", "mjs"])
}

/// Whether a file has one of several endings. Case is ignored: `pack.YAML` is a pack, too.
fn has_ending(path: &Path, endings: &[&str]) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

struct Reader<'l> {
    env: Option<&'l str>,
    documents: Vec<(Layer, PackDocument)>,
    reports: Vec<DiagnosticReport>,
    /// The environments that packs have overlays for.
    envs: BTreeSet<String>,
    /// The files that packs build on, or would if they were there.
    bases: &'l mut BTreeMap<PathBuf, String>,
    /// The default pack is added.
    has_default: bool,
    /// How many packs were read because others extend them.
    base_count: usize,
}

/// The most packs that one pack extends.
const MAX_EXTENDS: usize = 32;

/// The most packs that are read because others extend them.
const MAX_BASES: usize = 256;

impl Reader<'_> {
    /// Adds a file, after the ones that it builds on.
    fn add(
        &mut self,
        file: &PackFile,
        base_of: Option<&str>,
        above: &mut Vec<PathBuf>,
    ) -> Result<(), LoadError> {
        above.push(file.identity());
        let documents = match PackDocument::read(&file.path.display().to_string(), &file.text, self.env) {
            Ok(documents) => documents,
            Err(report) => {
                self.reports.push(report);
                above.pop();
                return Ok(());
            }
        };
        for mut document in documents {
            self.read_scripts(file, &mut document);
            self.reports.extend(cedar_files::read(file, &mut document, self.bases));
            let count = document.pack.extends.iter().count();
            if count > MAX_EXTENDS {
                let message =
                    format!("the pack extends {count} packs, and at most {MAX_EXTENDS} are allowed");
                let help = "put packs that belong together into one, and extend that".to_owned();
                self.reports.push(document.report_at("/extends", message, Some(help)));
                continue;
            }
            for (at, name) in document.pack.extends.iter().enumerate() {
                if name == NO_BASE {
                    self.has_default = false;
                    continue;
                }
                let (message, help) = match self.base(file, name) {
                    Ok(Some(base)) if above.contains(&base.identity()) => {
                        let round = above.iter().cloned().chain([base.identity()]);
                        let names: Vec<String> = round.map(|path| path.display().to_string()).collect();
                        let names = names.join(" -> ");
                        let help = "remove one of these `extends`".to_owned();
                        (format!("packs extend each other in a circle: {names}"), Some(help))
                    }
                    Ok(Some(_)) if self.base_count >= MAX_BASES => {
                        let help = "extend fewer packs, or extend a pack only once".to_owned();
                        (format!("packs extend more than {MAX_BASES} packs in all"), Some(help))
                    }
                    Ok(Some(base)) => {
                        self.base_count += 1;
                        self.add(&base, Some(&document.path), above)?;
                        continue;
                    }
                    Ok(None) => {
                        let help = shipped::suggest(
                            name,
                            |near| format!("did you mean `{near}`?"),
                            |names| format!("name a file relative to this one, or a shipped pack: {names}"),
                        );
                        let help = recipes::help(name).unwrap_or(help);
                        let name = excerpt(name);
                        (format!("there is no file and no shipped pack `{name}` to extend"), Some(help))
                    }
                    Err(error) => (error.to_string(), error.help()),
                };
                self.reports.push(document.report_at(&format!("/extends/{at}"), message, help));
            }
            self.envs.extend(document.pack.env.keys().cloned());
            if let Some(path) = base_of {
                document = document.as_base_of(path);
            }
            self.documents.push((file.layer, document));
        }
        above.pop();
        Ok(())
    }

    /// Adds a script as the pack that it is.
    fn add_script(&mut self, script: &ScriptFile) -> Result<(), LoadError> {
        let mut settings = pack_file::settings_for(script.layer, &self.documents);
        if script.is_guest {
            settings = pack_file::guest_settings(script, settings);
            let config = script.path.with_file_name("config.json");
            self.bases.insert(config.clone(), base_digest(&config));
            self.bases.insert(script.path.clone(), base_digest(&script.path));
        }
        self.bases.extend(script.imports.clone());
        self.documents.push((script.layer, script.document(&settings)?));
        Ok(())
    }

    /// Adds the scripts of a neighbouring tool, where a pack allows them.
    fn add_guests(&mut self, folder: Option<&Path>) -> Result<(), LoadError> {
        if self.documents.iter().any(|(_, document)| document.pack.scripts.deft == Some(true)) {
            for script in pack_file::guests(folder)? {
                self.add_script(&script)?;
            }
        }
        Ok(())
    }

    /// Reads the scripts that a pack names, relative to its file.
    fn read_scripts(&mut self, file: &PackFile, document: &mut PackDocument) {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        let mut problems = Vec::new();
        for (at, script) in pack_file::named(&mut document.pack) {
            let Some(name) = &script.file else { continue };
            let path = folder.join(name);
            let path = std::path::absolute(&path).unwrap_or(path);
            self.bases.insert(path.clone(), base_digest(&path));
            match ScriptFile::read(&path, file.layer) {
                Ok(read) => {
                    script.belongs = read.belongs();
                    script.digest = Some(read.digest);
                    self.bases.extend(read.imports);
                }
                Err(error) => problems.push((at, error)),
            }
            script.file = Some(path.display().to_string());
        }
        for (at, error) in problems {
            let help = error.help().unwrap_or_else(|| "name a file relative to this one".to_owned());
            self.reports.push(document.report_at(&at, error.to_string(), Some(help)));
        }
    }

    /// What a pack builds on: a file relative to it, or a shipped pack.
    fn base(&mut self, file: &PackFile, name: &str) -> Result<Option<PackFile>, LoadError> {
        let folder = file.path.parent().unwrap_or(Path::new("."));
        let path = folder.join(name);
        if path.is_file() {
            let base = PackFile::read(&path, file.layer);
            let digest =
                base.as_ref().map_or_else(|_| base_digest(&path), |base| digest(base.text.as_bytes()));
            self.bases.insert(path, digest);
            return base.map(Some);
        }
        self.bases.insert(path, ABSENT.to_owned());
        let shipped = shipped::pack(name);
        Ok(shipped.map(|(name, text)| PackFile { layer: file.layer, ..PackFile::shipped(name, text) }))
    }
}
