//! The validator of JSON Schemas. Its descriptions of problems contain no values, because these may be secrets.

use std::fmt;

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;

use super::text::shorten;

/// Maximum length of a problem.
const MAX_TEXT: usize = 201;

/// The name of the schema. References are resolved against it.
const NAME: &str = "schema:/";

/// A compiled JSON Schema.
pub(super) struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl fmt::Debug for Validator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Validator").finish_non_exhaustive()
    }
}

impl Validator {
    /// Compiles a schema, or describes what is wrong with it.
    pub(super) fn compile(schema: &Value) -> Result<Validator, String> {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        let compiled = match compiler.add_resource(NAME, schema.clone()) {
            Ok(()) => compiler.compile(NAME, &mut schemas),
            Err(error) => Err(error),
        };
        match compiled {
            Ok(root) => Ok(Validator { schemas, root }),
            Err(CompileError::ValidationError { src, .. }) => {
                let mut problems = Vec::new();
                collect(&src, 1, &mut problems);
                let (at, what) = problems.pop().unwrap_or_default();
                Err(format!("this is not a valid JSON Schema: `{at}` {what}"))
            }
            Err(error) => Err(format!("this is not a valid JSON Schema: {error}")),
        }
    }

    /// The problems of a value, up to a maximum: their places, as JSON pointers, and descriptions.
    pub(super) fn problems(&self, value: &Value, most: usize) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.root) {
            collect(&error, most, &mut problems);
        }
        problems
    }
}

/// Adds the problems that an error consists of.
fn collect(error: &ValidationError<'_, '_>, most: usize, problems: &mut Vec<(String, String)>) {
    use ErrorKind::{AllOf, Group, Reference, Schema};
    if matches!(error.kind, Group | Schema { .. } | Reference { .. } | AllOf) && !error.causes.is_empty() {
        error.causes.iter().for_each(|cause| collect(cause, most, problems));
    } else if problems.len() < most {
        let at = error.instance_location.to_string();
        let at = if at.is_empty() { "/" } else { &at };
        problems.push((shorten(at, MAX_TEXT), shorten(&describe(&error.kind), MAX_TEXT)));
    }
}

/// What is wrong, without the value.
fn describe(kind: &ErrorKind<'_, '_>) -> String {
    use ErrorKind as E;
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match kind {
        E::Type { want, .. } => {
            let types: Vec<String> = want.iter().map(|it| it.to_string()).collect();
            format!("is not of type {}", types.join(" or "))
        }
        E::Enum { want } => {
            let values: Vec<String> = want.iter().map(Value::to_string).collect();
            format!("is not one of {}", values.join(", "))
        }
        E::Const { want } => format!("is not {want}"),
        E::Format { want, .. } => format!("is not of the format `{want}`"),
        E::Pattern { want, .. } => format!("does not match `{want}`"),
        E::Required { want } => format!("lacks {}", list(want)),
        E::Dependency { prop, missing } | E::DependentRequired { prop, missing } => {
            format!("has `{prop}` and lacks {}", list(missing))
        }
        E::AdditionalProperties { got } => {
            let names: Vec<&str> = got.iter().map(AsRef::as_ref).collect();
            format!("has unknown members: {}", list(&names))
        }
        E::PropertyName { prop } => format!("has a member with a wrong name: `{prop}`"),
        E::MinProperties { want, .. } => format!("has fewer than {want} members"),
        E::MaxProperties { want, .. } => format!("has more than {want} members"),
        E::MinItems { want, .. } => format!("has fewer than {want} items"),
        E::MaxItems { want, .. } => format!("has more than {want} items"),
        E::AdditionalItems { got } => format!("has {got} items too many"),
        E::UniqueItems { .. } => "has two equal items".to_owned(),
        E::Contains => "has no item of the required kind".to_owned(),
        E::MinContains { want, .. } => format!("has fewer than {want} items of the required kind"),
        E::MaxContains { want, .. } => format!("has more than {want} items of the limited kind"),
        E::MinLength { want, .. } => format!("is shorter than {want} characters"),
        E::MaxLength { want, .. } => format!("is longer than {want} characters"),
        E::Minimum { want, .. } => format!("is less than {want}"),
        E::Maximum { want, .. } => format!("is greater than {want}"),
        E::ExclusiveMinimum { want, .. } => format!("is not greater than {want}"),
        E::ExclusiveMaximum { want, .. } => format!("is not less than {want}"),
        E::MultipleOf { want, .. } => format!("is not a multiple of {want}"),
        E::ContentEncoding { want, .. } => format!("is not encoded as `{want}`"),
        E::ContentMediaType { want, .. } => format!("is not of the media type `{want}`"),
        E::AnyOf | E::OneOf(None) => "conforms to none of the alternatives".to_owned(),
        E::OneOf(Some(_)) => "conforms to more than one of the alternatives".to_owned(),
        E::Not => "conforms to what the schema excludes".to_owned(),
        E::FalseSchema => "is not allowed".to_owned(),
        E::RefCycle { .. } => "cannot be validated: the references of the schema form a circle".to_owned(),
        E::Group | E::Schema { .. } | E::Reference { .. } | E::AllOf | E::ContentSchema => {
            "does not conform to the schema".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn problems_are_described_without_the_value() {
        let secret = "hunter2-hunter2";
        for (schema, value, what) in [
            (json!({"type": ["integer", "null"]}), json!(secret), "is not of type null or integer"),
            (json!({"enum": ["a", 1]}), json!(secret), "is not one of \"a\", 1"),
            (json!({"const": true}), json!(secret), "is not true"),
            (json!({"pattern": "^v"}), json!(secret), "does not match `^v`"),
            (json!({"minLength": 99}), json!(secret), "is shorter than 99 characters"),
            (json!({"maxLength": 2}), json!(secret), "is longer than 2 characters"),
            (json!({"not": {}}), json!(secret), "conforms to what the schema excludes"),
            (json!(false), json!(secret), "is not allowed"),
            (
                json!({"anyOf": [{"type": "null"}, {"type": "array"}]}),
                json!(secret),
                "conforms to none of the alternatives",
            ),
            (json!({"oneOf": [{}, {}]}), json!(secret), "conforms to more than one of the alternatives"),
            (json!({"allOf": [{"type": "null"}]}), json!(secret), "is not of type null"),
            (json!({"minItems": 2}), json!([secret]), "has fewer than 2 items"),
            (json!({"uniqueItems": true}), json!([secret, secret]), "has two equal items"),
            (json!({"contains": {"type": "null"}}), json!([secret]), "has no item of the required kind"),
            (json!({"required": ["a", "b"]}), json!({"c": secret}), "lacks `a`, `b`"),
            (json!({"additionalProperties": false}), json!({"c": secret}), "has unknown members: `c`"),
            (json!({"dependentRequired": {"c": ["d"]}}), json!({"c": secret}), "has `c` and lacks `d`"),
            (
                json!({"propertyNames": {"maxLength": 1}}),
                json!({"cc": secret}),
                "has a member with a wrong name: `cc`",
            ),
            (json!({"maximum": 5}), json!(12_345_678), "is greater than 5"),
            (json!({"multipleOf": 5}), json!(12_345_678), "is not a multiple of 5"),
            (
                json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "email"}),
                json!(secret),
                "is not of the format `email`",
            ),
        ] {
            let problems = Validator::compile(&schema).unwrap().problems(&value, 3);
            assert_eq!(problems, [("/".to_owned(), what.to_owned())], "{schema}");
        }
    }

    #[test]
    fn places_are_pointers_into_the_value() {
        let schema = json!({"properties": {"a": {"items": {"$ref": "#/$defs/n"}}}, "$defs": {"n": {"type": "integer"}}});
        let problems = Validator::compile(&schema).unwrap().problems(&json!({"a": [1, "x", "y", "z"]}), 2);
        let places: Vec<&str> = problems.iter().map(|(at, _)| at.as_str()).collect();
        assert_eq!(places, ["/a/1", "/a/2"]);
    }
}
