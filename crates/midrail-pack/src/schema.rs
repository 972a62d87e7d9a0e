//! The JSON Schemas of packs, events and decisions, generated from the types.

use std::collections::BTreeSet;

use midrail_core::{Decision, Event};
use midrail_guardrails::{Builtin, CATALOGUE};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::dialect::{HookDocument, PolicyPack, ToolPolicy};
use crate::raw::Pack;

/// The schema of a pack file in any dialect, for editors.
pub fn pack() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let dialects = [
        generator.subschema_for::<Pack>(),
        generator.subschema_for::<HookDocument>(),
        generator.subschema_for::<PolicyPack>(),
        generator.subschema_for::<ToolPolicy>(),
    ];
    let settings: Vec<Value> = CATALOGUE.iter().filter_map(|page| settings(page, &mut generator)).collect();
    let mut schema = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Midrail pack",
        "description": "A pack: a versioned file of guardrails and settings.",
        "anyOf": dialects,
    });
    let mut definitions = generator.take_definitions(true);
    if let Some(Value::Object(guard)) = definitions.get_mut("Guard").and_then(|it| it.pointer_mut("/anyOf/1"))
    {
        guard.insert("allOf".to_owned(), Value::Array(settings));
    }
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    schema.to_value()
}

/// The schema of `with:` for one built-in.
fn settings(page: &Builtin, generator: &mut SchemaGenerator) -> Option<Value> {
    let spellings = |name: &str| [name.to_owned(), name.replace('_', "-"), name.replace('-', "_")];
    let names: BTreeSet<String> = page.names().flat_map(spellings).collect();
    let with = page.settings.schema(generator)?;
    Some(json!({
        "if": {"properties": {"use": {"enum": names}}, "required": ["use"]},
        "then": {"properties": {"with": with}},
    }))
}

/// The schema of an event.
pub fn event() -> Value {
    titled::<Event>("Midrail event")
}

/// The schema of a decision.
pub fn decision() -> Value {
    titled::<Decision>("Midrail decision")
}

fn titled<T: JsonSchema>(title: &str) -> Value {
    let mut schema: Schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>();
    schema.insert("title".to_owned(), Value::from(title));
    schema.to_value()
}
