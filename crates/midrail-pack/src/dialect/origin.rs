//! The places of the parts of a translated pack in its original text.

use std::collections::BTreeMap;

/// Pairs of a native place and a place in the text, as JSON pointers. The longest native prefix counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin(BTreeMap<String, String>);

impl Origin {
    /// The place in the text of a native place.
    pub(crate) fn resolve(&self, native: &str) -> String {
        let mut from = native;
        loop {
            if let Some(to) = self.0.get(from) {
                return format!("{to}{}", native.get(from.len()..).unwrap_or_default());
            }
            match from.rfind('/') {
                Some(end) => from = from.get(..end).unwrap_or_default(),
                None => return native.to_owned(),
            }
        }
    }
}

impl FromIterator<(String, String)> for Origin {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(pairs: T) -> Self {
        Origin(pairs.into_iter().collect())
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Origin {
    fn from(pairs: [(&str, &str); N]) -> Self {
        pairs.into_iter().map(|(native, text)| (native.to_owned(), text.to_owned())).collect()
    }
}
