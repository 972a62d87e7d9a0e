//! The rows of `data`: everything known about programs, SQL, Windows and other languages, compiled by the build script.

mod condition;

use midrail_core::{Confidence, Severity};

pub(crate) use self::condition::{Condition, OptionPattern, Pattern, Term, TermKind};

type Text = &'static str;
type List = &'static [&'static str];
type Rows<T> = &'static [T];
type Ids = &'static [&'static Rule];
type Conditions = &'static [Condition];
type Examples = ();

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        #[allow(dead_code, reason = "examples exist in the data only")]
        pub(crate) struct $name { $($(#[$note])* pub(crate) $field: $type,)* }
    )*};
}

macro_rules! choices {
    ($($(#[$doc:meta])* $name:ident { $($(#[$note:meta])* $variant:ident,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$note])* $variant,)* }
    )*};
}

include!("../data/rows.rs.in");
include!(concat!(env!("OUT_DIR"), "/tables.rs"));

#[cfg(test)]
pub(crate) mod tests;
