//! The choices that the data files offer. The build script reads them, and the tables that it writes contain them.

use serde::Deserialize;

/// Where a key is in relation to its keyword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Position {
    /// The key begins with the keyword.
    Start,
    /// The keyword is part of the name that the key is assigned to. The pattern is that of the value.
    Assigned,
    /// The keyword is in the key or before it. The pattern is searched for around it.
    Inside,
}

/// What a match may extend over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Span {
    /// No space and no quote.
    #[default]
    Word,
    /// No line break.
    Line,
    /// Anything.
    Block,
}

/// When an id needs one of its words nearby.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NeedsWord {
    /// Never: shape and rules leave little doubt.
    Never,
    /// If the number has no separators, or only spaces, as columns of a table have.
    IfBare,
    /// Always.
    Always,
}

/// Where a phrase counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Counts {
    /// Anywhere.
    #[default]
    Anywhere,
    /// Not by itself: signs of several families have to be near each other.
    Weak,
    /// Only in a text that is hardly longer: elsewhere it is an everyday phrase.
    Alone,
    /// Only in markup that people do not see.
    Hidden,
    /// Only behind a mark of a chat format.
    Tagged,
    /// Not by itself: it addresses a machine that reads the text.
    Address,
    /// Not by itself: it addresses a model by its name, as people do who work with one.
    Name,
    /// Behind an address or a name.
    Order,
    /// Behind an address. Behind a name it is an everyday request.
    Request,
    /// At the start of a sentence in a value of structured data from outside of the project.
    Data,
    /// At the same place, and only for the model.
    Hint,
}
