//! Why packs could not be read.

use std::path::PathBuf;

use midrail_pack::DiagnosticReport;
use midrail_pack::diagnostic::nearest;

use crate::features::MissingFeature;
use crate::shipped;

/// Why packs could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// A file could not be read.
    #[error("could not read `{path}`: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is no text.
    #[error("{path}:{line}:{column}: the file is not UTF-8: byte {at} does not belong there", path = path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// The line of that byte, from 1.
        line: usize,
        /// Its column in characters, from 1.
        column: usize,
        /// The first byte that does not fit.
        at: usize,
    },
    /// A file is larger than a pack can be.
    #[error("`{path}` is larger than {limit} bytes", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// A file has an ending that no pack has.
    #[error("`{path}` is no pack: a pack ends in `.yaml`, `.yml` or `.json`, and a script in `.js` or `.mjs`", path = path.display())]
    NoPack {
        /// The file.
        path: PathBuf,
    },
    /// A folder holds no pack.
    #[error("there is no pack in `{path}`", path = path.display())]
    Empty {
        /// The folder.
        path: PathBuf,
    },
    /// Packs have problems, each at its place.
    #[error("{}", joined(.0))]
    Problems(Vec<DiagnosticReport>),
    /// The policy needs a Cargo feature that this build lacks.
    #[error(transparent)]
    MissingFeature(#[from] MissingFeature),
    /// A layer has no packs but those in a folder of it, which is not read.
    #[error("the packs in `{path}` are not read", path = path.display())]
    Nested {
        /// The folder.
        path: PathBuf,
    },
    /// No pack has an overlay for the environment that was named.
    #[error("no pack has an overlay for the environment `{name}`")]
    UnknownEnv {
        /// The environment that was named.
        name: String,
        /// Those that packs have overlays for.
        known: Vec<String>,
    },
}

impl LoadError {
    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            LoadError::Io { path, .. } if path.to_string_lossy().contains([':', '{', '\n']) => Some(
                "name a file; write the text of a pack into one, such as `.midrail/pack.yaml`".to_owned(),
            ),
            LoadError::Io { path, source } if source.kind() == std::io::ErrorKind::NotFound => {
                Some(shipped::suggest(
                    &path.to_string_lossy(),
                    |near| format!("did you mean the shipped pack `{near}`?"),
                    |names| format!("the shipped packs are {names}"),
                ))
            }
            LoadError::Nested { .. } => Some("move them to the directory above".to_owned()),
            LoadError::UnknownEnv { known, .. } if known.is_empty() => {
                Some("no pack has overlays; leave `--env` out, or add `env:` to a pack".to_owned())
            }
            LoadError::UnknownEnv { name, known } => {
                Some(match nearest(name, known.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("there are overlays for {}", known.join(", ")),
                })
            }
            _ => None,
        }
    }
}

impl From<DiagnosticReport> for LoadError {
    fn from(report: DiagnosticReport) -> Self {
        LoadError::Problems(vec![report])
    }
}

impl From<Vec<DiagnosticReport>> for LoadError {
    fn from(reports: Vec<DiagnosticReport>) -> Self {
        LoadError::Problems(reports)
    }
}

fn joined(reports: &[DiagnosticReport]) -> String {
    let texts: Vec<String> = reports.iter().map(ToString::to_string).collect();
    texts.join("\n\n")
}
