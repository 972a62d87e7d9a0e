//! Which countries and kinds a scan looks for.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::kinds::{countries, kinds};

/// Which personal data to look for. The default is all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Countries whose ids to look for, by ISO code in lower case. `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locales: Option<Vec<String>>,
    /// The only kinds to look for. `None` means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Kinds not to look for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether to report data of examples, such as `user@example.com`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub placeholders: bool,
}

impl Settings {
    /// Returns the names in these settings that are no country or kind. A scan ignores them, so a caller should reject them.
    pub fn unknown(&self) -> Vec<&str> {
        let (kinds, countries) = (kinds(), countries());
        let unknown_kinds = self.only.iter().flatten().chain(&self.except);
        let unknown_kinds = unknown_kinds.filter(|kind| !kinds.contains(&kind.as_str()));
        let unknown_locales =
            self.locales.iter().flatten().filter(|code| !countries.contains(&code.as_str()));
        unknown_kinds.chain(unknown_locales).map(String::as_str).collect()
    }
}

/// Settings as sets, for the rules.
#[derive(Debug, Clone, Default)]
pub(super) struct KindFilter {
    locales: Option<BTreeSet<String>>,
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
    /// Whether to report data of examples.
    pub(super) placeholders: bool,
}

impl KindFilter {
    pub(super) fn new(settings: &Settings) -> Self {
        let set = |words: &Vec<String>| words.iter().map(|word| word.to_ascii_lowercase()).collect();
        KindFilter {
            locales: settings.locales.as_ref().map(set),
            only: settings.only.as_ref().map(set),
            except: set(&settings.except),
            placeholders: settings.placeholders,
        }
    }

    /// Whether to look for a kind.
    pub(super) fn kind(&self, kind: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(kind)) && !self.except.contains(kind)
    }

    /// Whether to look for the ids of one of some countries.
    pub(super) fn country(&self, countries: &[&str]) -> bool {
        let is_on = |locales: &BTreeSet<String>| countries.iter().any(|country| locales.contains(*country));
        countries.is_empty() || self.locales.as_ref().is_none_or(is_on)
    }
}
