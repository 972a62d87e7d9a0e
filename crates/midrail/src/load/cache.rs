//! Compiled packs that are kept between processes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use midrail_core::hex;
use midrail_pack::{Layer, PolicySource};
use midrail_scan::secrets;
use sha2::{Digest, Sha256};

use super::pack_file::{PackFile, base_digest};
use super::{Load, LoadedPolicy, SourceMark};
use crate::paths;

/// Compiled packs that are kept between processes.
///
/// They are sealed with a key, so that only a process that can read the key can write them. Packs of the organisation
/// are never cached, because the user does not own them.
#[derive(Debug, Clone)]
pub struct PolicyCache {
    /// The folder.
    pub folder: PathBuf,
    /// The key of the seal.
    pub key: [u8; 32],
}

impl PolicyCache {
    fn seal(&self, key: &str, sealed: &str) -> String {
        secrets::fingerprint(&format!("midrail-cache-v3\n{key}\n{sealed}"), &self.key)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}

impl Load {
    /// A digest of the packs and of what else decides which policy they make. The files that they build on are only known once
    /// the packs are read: they are kept with the policy, and compared when it is used.
    pub(super) fn cache_key(&self, files: &[PackFile]) -> Option<String> {
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

    /// The policy that was kept, if the files that it was built on are the same now.
    pub(super) fn cached(&self, key: &Option<String>, packs: &str) -> Option<LoadedPolicy> {
        let (cache, key) = (self.cache.as_ref()?, key.as_ref()?);
        let text = std::fs::read_to_string(cache.path(key)).ok()?;
        let (seal, sealed) = text.split_once('\n')?;
        if seal != cache.seal(key, sealed) {
            log::warn!("the compiled packs in `{}` were changed, and are read past", cache.folder.display());
            return None;
        }
        let (revision, rest) = sealed.split_once('\n')?;
        let (bases, body) = rest.split_once('\n')?;
        let bases: BTreeMap<PathBuf, String> = serde_json::from_str(bases).ok()?;
        if bases.iter().any(|(path, digest)| base_digest(path) != *digest) {
            return None;
        }
        let source: PolicySource = serde_json::from_str(body).ok()?;
        let policy = source.compile_with_revision(revision).ok()?;
        let mark = SourceMark { packs: packs.to_owned(), bases };
        Some(LoadedPolicy { policy, source, documents: Vec::new(), mark })
    }

    /// Keeps a policy. A cache that cannot be written costs time and nothing else.
    pub(super) fn keep(&self, key: &Option<String>, loaded: &LoadedPolicy) {
        let (Some(cache), Some(key)) = (&self.cache, key) else { return };
        // The scripts of a neighbouring tool may appear later.
        if loaded.documents.iter().any(|(_, document)| document.pack.scripts.deft == Some(true)) {
            return;
        }
        // A path that is not UTF-8 has no JSON.
        let Ok(bases) = serde_json::to_string(&loaded.mark.bases) else { return };
        let sealed = format!("{}\n{bases}\n{}", loaded.policy.revision(), loaded.source.to_json());
        let sealed = format!("{}\n{sealed}", cache.seal(key, &sealed));
        if let Err(error) = paths::write_private(&cache.path(key), sealed.as_bytes()) {
            log::debug!("the compiled packs could not be kept: {error}");
        }
    }
}
