//! The JSON Schemas of packs, events and decisions, generated from the types.

use midrail_core::{Decision, Event};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, json_schema};
use serde_json::Value;

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
    let mut schema = json_schema!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Midrail pack",
        "description": "A pack: a versioned file of guardrails and settings.",
        "anyOf": dialects,
    });
    schema.insert("$defs".to_owned(), Value::Object(generator.take_definitions(true)));
    schema.to_value()
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
