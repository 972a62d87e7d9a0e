//! How a guardrail of the catalogue is made from the settings that a pack gives it under `with:`.

use std::sync::Arc;

use midrail_core::{Guardrail, glob};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Something wrong with the settings of a guardrail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    /// Where, as a JSON pointer into the settings.
    pub at: String,
    /// What, in serde's words.
    pub message: String,
}

type Build = fn(&Value) -> Result<Arc<dyn Guardrail>, SettingsProblem>;

/// How a guardrail is made, and what its settings look like.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    build: Build,
    schema: Option<fn(&mut SchemaGenerator) -> Schema>,
}

impl Settings {
    /// A guardrail that is its settings.
    pub(crate) const fn of<G: Guardrail + DeserializeOwned + JsonSchema + 'static>() -> Self {
        Settings { build: read::<G>, schema: Some(SchemaGenerator::subschema_for::<G>) }
    }

    /// A guardrail that has none.
    pub(crate) const fn none<G: Guardrail + Default + 'static>() -> Self {
        Settings { build: plain::<G>, schema: None }
    }

    /// The guardrail with these settings.
    pub fn build(&self, settings: &Value) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
        (self.build)(settings)
    }

    /// The guardrail with its defaults.
    pub fn default(&self) -> Option<Arc<dyn Guardrail>> {
        self.build(&Value::Object(serde_json::Map::new())).ok()
    }

    /// The JSON Schema of the settings, where there are any.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        self.schema.map(|schema| schema(generator))
    }
}

fn read<G: Guardrail + DeserializeOwned + 'static>(
    settings: &Value,
) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    match serde_path_to_error::deserialize::<_, G>(settings) {
        Ok(guardrail) => Ok(Arc::new(guardrail)),
        Err(error) => {
            let at = error.path().iter().filter_map(|segment| match segment {
                serde_path_to_error::Segment::Seq { index } => Some(format!("/{index}")),
                serde_path_to_error::Segment::Map { key } => Some(format!("/{key}")),
                _ => None,
            });
            Err(SettingsProblem { at: at.collect(), message: error.inner().to_string() })
        }
    }
}

fn plain<G: Guardrail + Default + 'static>(settings: &Value) -> Result<Arc<dyn Guardrail>, SettingsProblem> {
    match settings {
        Value::Object(map) if map.is_empty() => Ok(Arc::new(G::default())),
        Value::Object(map) => {
            let name = map.keys().next().map(String::as_str).unwrap_or_default();
            Err(SettingsProblem {
                at: format!("/{name}"),
                message: "this guardrail has no settings".to_owned(),
            })
        }
        _ => Err(SettingsProblem { at: String::new(), message: "settings are a map".to_owned() }),
    }
}

/// A glob pattern of a setting, which was checked when it was read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Pattern(pub String);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pattern = String::deserialize(deserializer)?;
        match glob::check(&pattern) {
            Ok(()) => Ok(Pattern(pattern)),
            Err(why) => Err(D::Error::custom(format!("the pattern `{pattern}` {why}"))),
        }
    }
}

/// A folder of a setting: not the whole disk, and not nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Folder(pub String);

impl<'de> Deserialize<'de> for Folder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let folder = String::deserialize(deserializer)?;
        let named = folder.split('/').any(|part| !matches!(part, "" | "." | ".." | "~"));
        match named {
            true => Ok(Folder(folder.trim_end_matches('/').to_owned())),
            false => Err(D::Error::custom(format!("`{folder}` names no folder of its own"))),
        }
    }
}

impl Pattern {
    /// Whether a tool's name fits.
    pub fn fits_name(&self, name: &str) -> bool {
        glob::name_matches(&self.0, name)
    }
}
