//! The kinds of personal data, and the countries with ids of their own.

use super::identities;

/// The kinds that belong to no country.
const KINDS: &[&str] = &[
    "bank-account",
    "credit-card",
    "date-of-birth",
    "driving-licence",
    "email",
    "gps-coordinate",
    "iban",
    "ip-address",
    "mac-address",
    "passport",
    "person-name",
    "phone",
    "postal-address",
    "postal-code",
    "vehicle",
];

/// Returns all kinds of personal data, sorted.
pub fn kinds() -> Vec<&'static str> {
    sorted(KINDS.iter().copied().chain(identities::kinds()))
}

/// Returns all countries that have ids of their own, by ISO code, sorted.
pub fn countries() -> Vec<&'static str> {
    sorted(identities::countries())
}

fn sorted(names: impl Iterator<Item = &'static str>) -> Vec<&'static str> {
    names.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}
