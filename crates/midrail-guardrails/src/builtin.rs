//! The description of a built-in guardrail: its names, its defaults, how it is built, and its page.

use std::sync::Arc;

use midrail_core::{Category, EventKind, Guardrail, OnFault, Risk};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::shared::settings::SettingsProblem;

/// A built-in guardrail.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// Its id in decisions and logs.
    pub id: &'static str,
    /// Its readable name: that of its page for a numbered id such as `safety-001`, otherwise the id itself.
    pub name: &'static str,
    /// Other names that packs may use.
    pub aliases: &'static [&'static str],
    /// Its category.
    pub category: Category,
    /// Its default priority in the chain.
    pub priority: u32,
    /// The kinds of event that it checks by default.
    pub on: &'static [EventKind],
    /// The kinds of event that it can check.
    pub events: &'static [EventKind],
    /// Whether it is part of every policy.
    pub always_on: bool,
    /// The lowest risk of a task at which it runs. `None`: it always runs.
    pub from_risk: Option<Risk>,
    /// Whether no bypass can lift it.
    pub never_bypassed: bool,
    /// Whether only a person may approve what it escalates.
    pub needs_person: bool,
    /// Whether it calls an external classifier, LLM judge or command.
    pub is_deep: bool,
    /// Whether it can replace parts of a text.
    pub redacts: bool,
    /// The key of a pack that configures it.
    pub pack_key: PackKey,
    /// Builds it from the settings under `with:`.
    pub settings: Constructor,
    /// Its reference page in Markdown, which `midrail explain` shows.
    pub page: &'static str,
}

/// The key of a pack that configures a guardrail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PackKey {
    /// `use`.
    Use,
    /// `cedar`.
    Cedar,
    /// `completion`.
    Completion,
    /// `count`.
    Count,
    /// `deep`.
    Deep,
    /// `feedback`.
    Feedback,
    /// `flow`.
    Flow,
    /// `modify`.
    Modify,
    /// `read_before_write`.
    ReadBeforeWrite,
    /// `redact`.
    Redact,
    /// `require_before`, `sequential`, `keyed` or `rules`.
    Rules,
    /// `script`.
    Script,
}

impl PackKey {
    /// Whether `use: NAME` is enough to configure the guardrail.
    pub fn allows_use(self) -> bool {
        match self {
            PackKey::Use | PackKey::Completion | PackKey::ReadBeforeWrite => true,
            PackKey::Cedar
            | PackKey::Count
            | PackKey::Deep
            | PackKey::Feedback
            | PackKey::Flow
            | PackKey::Modify
            | PackKey::Redact
            | PackKey::Rules
            | PackKey::Script => false,
        }
    }
}

impl Builtin {
    /// A guardrail that is part of a policy where a pack uses it. Its settings are the fields of `G`.
    pub(crate) const fn new<G: Guardrail + DeserializeOwned + JsonSchema + 'static>(
        id: &'static str,
        category: Category,
        priority: u32,
        on: &'static [EventKind],
    ) -> Self {
        Builtin::with(id, category, priority, on, Constructor::with_settings::<G>())
    }

    /// The same for a guardrail without settings.
    pub(crate) const fn without_settings<G: Guardrail + Default + 'static>(
        id: &'static str,
        category: Category,
        priority: u32,
        on: &'static [EventKind],
    ) -> Self {
        Builtin::with(id, category, priority, on, Constructor::without_settings::<G>())
    }

    /// A guardrail with a constructor of its own.
    pub(crate) const fn with(
        id: &'static str,
        category: Category,
        priority: u32,
        on: &'static [EventKind],
        settings: Constructor,
    ) -> Self {
        Builtin {
            id,
            name: id,
            aliases: &[],
            category,
            priority,
            on,
            events: on,
            always_on: false,
            from_risk: None,
            never_bypassed: false,
            needs_person: false,
            is_deep: false,
            redacts: false,
            pack_key: PackKey::Use,
            settings,
            page: "",
        }
    }

    pub(crate) const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Builtin { aliases, ..self }
    }

    /// A guardrail that can check other kinds of event than those it checks by default.
    pub(crate) const fn supports(self, events: &'static [EventKind]) -> Self {
        Builtin { events, ..self }
    }

    pub(crate) const fn always_on(self) -> Self {
        Builtin { always_on: true, ..self }
    }

    pub(crate) const fn min_risk(self, risk: Risk) -> Self {
        Builtin { from_risk: Some(risk), ..self }
    }

    /// The page, and the readable name that its file has.
    pub(crate) const fn with_page(self, name: &'static str, page: &'static str) -> Self {
        let name = if is_numbered(self.id.as_bytes()) { name } else { self.id };
        Builtin { name, page, ..self }
    }

    /// Every name that packs may use.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let name = (self.name != self.id).then_some(self.name);
        std::iter::once(self.id).chain(name).chain(self.aliases.iter().copied())
    }

    /// The first sentence of its page.
    pub fn summary(&self) -> &'static str {
        let text = self.page.split("\n\n").nth(1).unwrap_or_default();
        let end = text.find(". ").or_else(|| text.find(".\n")).map_or(text.len(), |end| end + 1);
        text.get(..end).unwrap_or(text).trim()
    }

    /// The effect of a failure, unless a pack sets another one.
    pub fn on_error(&self) -> OnFault {
        if self.is_deep || self.pack_key == PackKey::Flow {
            OnFault::Escalate
        } else if self.pack_key == PackKey::Feedback {
            OnFault::Allow
        } else {
            OnFault::Block
        }
    }
}

/// The kinds of event with a call of a tool. A guardrail that finds the call unacceptable afterwards withholds its result.
pub(crate) const CALLS: &[EventKind] = &[EventKind::BeforeTool, EventKind::AfterTool];

/// The kinds of event with texts that a guardrail can search.
pub(crate) const TEXTS: &[EventKind] = &[
    EventKind::BeforeModel,
    EventKind::ModelChunk,
    EventKind::AfterModel,
    EventKind::BeforeTool,
    EventKind::AfterTool,
    EventKind::BeforeHandoff,
    EventKind::BeforeStop,
];

/// What the guardrails with numbered ids of one kind have in common.
pub(crate) struct Family {
    category: Category,
    priority: u32,
    from_risk: Option<Risk>,
}

pub(crate) const SAFETY: Family = Family::new(Category::Safety, 10, Some(Risk::Medium));
pub(crate) const COMPLIANCE: Family = Family::new(Category::Compliance, 20, Some(Risk::Medium));
pub(crate) const HANDOFF: Family = Family::new(Category::Compliance, 20, None);
pub(crate) const BUDGET: Family = Family::new(Category::Budget, 30, Some(Risk::High));
pub(crate) const SCOPE: Family = Family::new(Category::Scope, 40, Some(Risk::High));
pub(crate) const QUALITY: Family = Family::new(Category::Quality, 50, Some(Risk::High));

impl Family {
    const fn new(category: Category, priority: u32, from_risk: Option<Risk>) -> Self {
        Family { category, priority, from_risk }
    }

    /// A guardrail of the family, whose settings are the fields of `G`.
    pub(crate) const fn builtin<G: Guardrail + DeserializeOwned + JsonSchema + 'static>(
        &self,
        id: &'static str,
        on: &'static [EventKind],
    ) -> Builtin {
        Builtin { from_risk: self.from_risk, ..Builtin::new::<G>(id, self.category, self.priority, on) }
    }
}

/// Whether an id ends in `-` and three digits.
const fn is_numbered(id: &[u8]) -> bool {
    match id {
        [.., b'-', a, b, c] => a.is_ascii_digit() && b.is_ascii_digit() && c.is_ascii_digit(),
        _ => false,
    }
}

type Build = fn(&Value) -> Result<Arc<dyn Guardrail>, SettingsProblem>;

/// Builds a guardrail from its settings, and describes them.
#[derive(Debug, Clone, Copy)]
pub struct Constructor {
    pub(crate) build: Build,
    pub(crate) schema: Option<fn(&mut SchemaGenerator) -> Schema>,
}

impl Constructor {
    const fn with_settings<G: Guardrail + DeserializeOwned + JsonSchema + 'static>() -> Self {
        Constructor { build: deserialize::<G>, schema: Some(SchemaGenerator::subschema_for::<G>) }
    }

    const fn without_settings<G: Guardrail + Default + 'static>() -> Self {
        Constructor { build: default_without_settings::<G>, schema: None }
    }

    /// The guardrail with these settings.
    pub fn build(&self, settings: &Value) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
        (self.build)(settings)
    }

    /// The guardrail with its defaults.
    pub fn default(&self) -> Option<Arc<dyn Guardrail>> {
        self.build(&Value::Object(serde_json::Map::new())).ok()
    }

    /// The JSON Schema of the settings, if there are any.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        self.schema.map(|schema| schema(generator))
    }
}

fn deserialize<G: Guardrail + DeserializeOwned + 'static>(
    settings: &Value,
) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    Ok(Arc::new(parse_settings::<G>(settings)?))
}

/// Parses settings. An error contains its place.
pub(crate) fn parse_settings<T: DeserializeOwned>(settings: &Value) -> Result<T, SettingsProblem> {
    // The place is determined only for an error.
    T::deserialize(settings).or_else(|_| serde_path_to_error::deserialize(settings)).map_err(|error| {
        let at = error.path().iter().filter_map(|segment| match segment {
            serde_path_to_error::Segment::Seq { index } => Some(format!("/{index}")),
            serde_path_to_error::Segment::Map { key } => Some(format!("/{key}")),
            _ => None,
        });
        SettingsProblem::with_help(at.collect::<String>(), error.inner().to_string(), "")
    })
}

fn default_without_settings<G: Guardrail + Default + 'static>(
    settings: &Value,
) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    let problem = |at: String, message: &str| Err(SettingsProblem::with_help(at, message, ""));
    match settings {
        Value::Object(map) => match map.keys().next() {
            None => Ok(Arc::new(G::default())),
            Some(name) => problem(format!("/{name}"), "this guardrail has no settings"),
        },
        _ => problem(String::new(), "settings are a map"),
    }
}
