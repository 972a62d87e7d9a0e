//! Reads one pack file or script, within limits.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use midrail_core::hex;
use midrail_pack::Layer;
use sha2::{Digest, Sha256};

use super::error::LoadError;

/// The largest file that is read as a pack.
pub(super) const MAX_PACK: u64 = 1 << 20;

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
        if !path.metadata().map_err(io)?.is_file() {
            // A pipe would be waited for without end.
            return Err(io(std::io::Error::other("it is no ordinary file")));
        }
        let mut bytes = Vec::new();
        File::open(path).map_err(io)?.take(MAX_PACK + 1).read_to_end(&mut bytes).map_err(io)?;
        if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > MAX_PACK {
            return Err(LoadError::TooLarge { path: path.to_owned(), limit: MAX_PACK });
        }
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
