//! What a scan looks for: which countries, which kinds.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{KINDS, identity};

/// Which personal data is looked for. The default is all of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Countries whose numbers are looked for, by ISO code in lower case. None: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locales: Option<Vec<String>>,
    /// The only kinds to look for. None: all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Vec<String>>,
    /// Kinds not to look for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// Whether to report data that is made up for examples, such as `user@example.com`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub placeholders: bool,
}

impl Settings {
    /// The words in these settings that name no country or kind. A caller should refuse them: a scan cannot heed them.
    pub fn unknown(&self) -> Vec<&str> {
        let kinds = self.only.iter().flatten().chain(&self.except);
        let unknown_kinds = kinds.filter(|kind| !is_kind(kind));
        let locales = self.locales.iter().flatten();
        let unknown_locales =
            locales.filter(|code| !identity::countries().any(|known| known == code.as_str()));
        unknown_kinds.chain(unknown_locales).map(String::as_str).collect()
    }
}

fn is_kind(kind: &str) -> bool {
    KINDS.contains(&kind) || identity::kinds().any(|known| known == kind)
}

/// Settings in the form in which the rules ask.
#[derive(Debug, Clone, Default)]
pub(super) struct Allowed {
    locales: Option<BTreeSet<String>>,
    only: Option<BTreeSet<String>>,
    except: BTreeSet<String>,
    /// Report what is made up for examples.
    pub(super) placeholders: bool,
}

impl Allowed {
    pub(super) fn new(settings: &Settings) -> Self {
        let set = |words: &Vec<String>| words.iter().map(|word| word.to_ascii_lowercase()).collect();
        Allowed {
            locales: settings.locales.as_ref().map(set),
            only: settings.only.as_ref().map(set),
            except: set(&settings.except),
            placeholders: settings.placeholders,
        }
    }

    /// Whether a kind is looked for.
    pub(super) fn kind(&self, kind: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(kind)) && !self.except.contains(kind)
    }

    /// Whether the numbers of one of some countries are looked for.
    pub(super) fn country(&self, countries: &[&str]) -> bool {
        let is_on = |locales: &BTreeSet<String>| countries.iter().any(|country| locales.contains(*country));
        countries.is_empty() || self.locales.as_ref().is_none_or(is_on)
    }
}
