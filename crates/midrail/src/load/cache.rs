//! Compiled packs that are kept between processes, sealed with a key.

use std::collections::BTreeMap;
use std::path::PathBuf;

use midrail_scan::secrets;

use super::pack_file::base_digest;
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

/// What is kept of a policy.
pub(super) struct CachedPolicy {
    /// Its revision.
    pub(super) revision: String,
    /// The files that its packs build on, with a digest of each.
    pub(super) bases: BTreeMap<PathBuf, String>,
    /// Its packs as JSON.
    pub(super) source: String,
}

impl PolicyCache {
    /// What was kept with a key, if the files that it was built on are the same now.
    pub(super) fn read(&self, key: &str) -> Option<CachedPolicy> {
        let text = std::fs::read_to_string(self.path(key)).ok()?;
        let (seal, sealed) = text.split_once('\n')?;
        if seal != self.seal(key, sealed) {
            log::warn!("the compiled packs in `{}` were changed, and are read past", self.folder.display());
            return None;
        }
        let (revision, rest) = sealed.split_once('\n')?;
        let (bases, source) = rest.split_once('\n')?;
        let bases: BTreeMap<PathBuf, String> = serde_json::from_str(bases).ok()?;
        let is_current = bases.iter().all(|(path, digest)| base_digest(path) == *digest);
        let cached = || CachedPolicy { revision: revision.to_owned(), bases, source: source.to_owned() };
        is_current.then(cached)
    }

    /// Keeps a policy. A cache that cannot be written costs time and nothing else.
    pub(super) fn write(&self, key: &str, CachedPolicy { revision, bases, source }: &CachedPolicy) {
        // A path that is not UTF-8 has no JSON.
        let Ok(bases) = serde_json::to_string(bases) else { return };
        let sealed = format!("{revision}\n{bases}\n{source}");
        let sealed = format!("{}\n{sealed}", self.seal(key, &sealed));
        if let Err(error) = paths::write_private(&self.path(key), sealed.as_bytes()) {
            log::debug!("the compiled packs could not be kept: {error}");
        }
    }

    fn seal(&self, key: &str, sealed: &str) -> String {
        secrets::fingerprint(&format!("midrail-cache-v3\n{key}\n{sealed}"), &self.key)
    }

    fn path(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.json"))
    }
}
