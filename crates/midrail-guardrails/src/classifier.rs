//! Classifiers that packs name by what they are for. Where nobody is configured to be asked there is no answer, so
//! `on_error` speaks.

use std::any::Any;
use std::sync::Arc;

use midrail_core::{Context, Effect, EventKind, Fault, Guardrail, Verdict};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::deep::{Deep, DeepSettings};

/// A classifier, where one is configured.
pub struct Classifier(Option<Deep>);

impl<'de> Deserialize<'de> for Classifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty) {
            return Ok(Classifier(None));
        }
        let settings = DeepSettings::deserialize(value).map_err(D::Error::custom)?;
        Ok(Classifier(Some(Deep::new(settings, None))))
    }
}

impl JsonSchema for Classifier {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        DeepSettings::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        DeepSettings::json_schema(generator)
    }
}

impl Guardrail for Classifier {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        match &self.0 {
            Some(deep) => deep.check(context),
            None => Err(Fault::Failed("no classifier is configured for it".to_owned())),
        }
    }

    fn outside(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        self.0.as_ref()?.outside()
    }

    fn may_be_late(&self) -> bool {
        self.0.is_some()
    }

    fn late(&self, context: &Context<'_>, answer: &Value) -> Result<Verdict, Fault> {
        match &self.0 {
            Some(deep) => deep.late(context, answer),
            None => Ok(Verdict::allow()),
        }
    }

    fn may_retry(&self, _: EventKind) -> bool {
        false
    }

    fn unanswered(&self, then: Effect) -> Effect {
        if self.0.is_some() { then } else { Effect::Allow }
    }

    fn objection(&self) -> Effect {
        Effect::Block
    }
}
