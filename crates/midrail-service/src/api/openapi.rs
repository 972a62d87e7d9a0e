//! The OpenAPI document, made of the same schemas as the files in `schema/`, and the page that shows it.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::routing::get;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::access::Right;
use crate::api::docs;
use crate::app::App;
use crate::problem::Problem;
use crate::stream_body::with_type;

/// One method of one path.
#[derive(Default)]
pub(crate) struct Operation {
    /// `get` or `post`.
    pub(crate) method: &'static str,
    /// The path, with its parameter in braces.
    pub(crate) path: &'static str,
    /// Its name in generated clients.
    pub(crate) id: &'static str,
    pub(crate) tag: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) parameters: Vec<Value>,
    pub(crate) body: Option<Content>,
    /// The answers: status, description and body.
    pub(crate) answers: Vec<(u16, String, Option<Content>)>,
    /// The problems of this operation, in addition to those of every request.
    pub(crate) problems: Vec<u16>,
    /// It lasts until the caller disconnects or an answer arrives, and takes no slot.
    pub(crate) is_long: bool,
}

/// A body.
pub(crate) struct Content {
    media: &'static str,
    schema: fn(&mut SchemaGenerator) -> Value,
}

impl Content {
    /// JSON of a type.
    pub(crate) fn json<T: JsonSchema>() -> Self {
        Content::json_as::<T>("application/json")
    }

    /// JSON of a type with a media type of its own, such as lines.
    pub(crate) fn json_as<T: JsonSchema>(media: &'static str) -> Self {
        Content { media, schema: |generator| generator.subschema_for::<T>().to_value() }
    }

    /// Text of another media type.
    pub(crate) fn text(media: &'static str) -> Self {
        Content { media, schema: |_| json!({"type": "string"}) }
    }
}

/// The schema of a parameter, without references.
pub(crate) fn inline_schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().subschema_for::<T>().to_value()
}

impl Operation {
    /// Takes the fields of a type as query parameters.
    pub(crate) fn takes_query<T: JsonSchema>(&mut self) {
        let mut schema = inline_schema::<T>();
        let required = schema.get("required").cloned().unwrap_or_default();
        let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
        for (name, schema) in fields.into_iter().flatten() {
            let mut schema = std::mem::take(schema);
            let description = schema.as_object_mut().and_then(|schema| {
                schema.remove("default");
                schema.remove("description")
            });
            let is_required = required.as_array().is_some_and(|names| names.contains(&json!(name)));
            self.parameter("query", name, &description.unwrap_or_default(), is_required, schema);
        }
    }

    /// Takes the parameter in the path.
    pub(crate) fn takes_path<T: JsonSchema>(&mut self) {
        let name =
            self.path.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map_or("", |(name, _)| name);
        let description = match name {
            "seq" => "The number of the record",
            "revision" => "The revision of the policy",
            "name" => "The name of the approver",
            _ => "The id, with every character that is not a letter or a digit percent-encoded",
        };
        self.parameter("path", name, &json!(description), true, inline_schema::<T>());
    }

    /// Takes a parameter.
    pub(crate) fn parameter(
        &mut self,
        place: &str,
        name: &str,
        description: &Value,
        required: bool,
        schema: Value,
    ) {
        self.parameters.push(json!({
            "name": name, "in": place, "description": description, "required": required, "schema": schema,
        }));
    }
}

/// The document.
#[derive(Default)]
pub(crate) struct Document {
    paths: BTreeMap<&'static str, Map<String, Value>>,
    generator: Option<SchemaGenerator>,
}

impl Document {
    pub(crate) fn add(&mut self, operation: Operation, right: Right) {
        let generator = self.generator.get_or_insert_with(|| {
            SchemaSettings::draft2020_12()
                .with(|settings| {
                    settings.definitions_path = "/components/schemas".into();
                    settings.meta_schema = None;
                })
                .into_generator()
        });
        let mut content = |content: &Content| json!({content.media: {"schema": (content.schema)(generator)}});
        let mut answers = Map::new();
        for (status, description, body) in &operation.answers {
            let mut answer = Map::from_iter([("description".to_owned(), json!(description))]);
            answer.extend(body.as_ref().map(|body| ("content".to_owned(), content(body))));
            answers.insert(status.to_string(), answer.into());
        }
        let mut problems: Vec<u16> = match right {
            Right::Open => vec![],
            // A program with this right may name a project that does not exist yet, also by an invalid name.
            Right::Decide => vec![401, 403, 404, 409, 422, 429, 503],
            _ => vec![401, 403, 404, 429, 503],
        };
        problems.extend(operation.problems);
        if !operation.is_long {
            problems.extend([503, 504]);
        }
        if operation.body.is_some() {
            problems.extend([400, 408, 413, 415, 422]);
        }
        if !operation.parameters.is_empty() {
            problems.push(400);
        }
        let problem = Content::json_as::<Problem>("application/problem+json");
        for status in problems {
            answers.insert(
                status.to_string(),
                json!({"description": "A problem", "content": content(&problem)}),
            );
        }
        let mut parameters = operation.parameters;
        if right != Right::Open {
            parameters.push(json!({"$ref": "#/components/parameters/project"}));
        }
        let security = match right {
            Right::Open => json!([]),
            Right::Decide | Right::Ask => json!([{}, {"key": []}]),
            Right::Known | Right::Read | Right::ReadAll => {
                json!([{}, {"key": []}, {"login": [], "csrf": []}])
            }
            Right::Answer | Right::Administer => json!([{"login": [], "csrf": []}]),
        };
        // Keys have one right to read. A key that is limited to agents reads what belongs to them.
        let shown_right = if right == Right::ReadAll { Right::Read } else { right };
        let mut entry = json!({
            "operationId": operation.id, "tags": [operation.tag], "summary": operation.summary,
            "parameters": parameters, "responses": answers, "security": security,
            "x-midrail-right": format!("{shown_right:?}").to_lowercase(),
        });
        if let (Some(entry), Some(body)) = (entry.as_object_mut(), &operation.body) {
            entry.insert("requestBody".to_owned(), json!({"required": true, "content": content(body)}));
        }
        self.paths.entry(operation.path).or_default().insert(operation.method.to_owned(), entry);
    }

    /// Builds the JSON document from all operations.
    pub(crate) fn build(&mut self) -> Value {
        let schemas =
            self.generator.as_mut().map(|generator| generator.take_definitions(true)).unwrap_or_default();
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Midrail", "version": env!("CARGO_PKG_VERSION"),
                "summary": "Guardrails for AI agents: every event of an agent in, one decision out.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "paths": self.paths,
            "components": {
                "schemas": schemas,
                "parameters": {"project": {
                    "name": "midrail-project", "in": "header", "required": false,
                    "description": "The project. Absent: the key's only one, the person's own, or `default`.",
                    "schema": {"type": "string", "maxLength": 100},
                }},
                "securitySchemes": {
                    "key": {"type": "http", "scheme": "bearer", "description": "The key of a program: `midrail key add`."},
                    "login": {"type": "apiKey", "in": "cookie", "name": "midrail_session", "description": "A person who has logged in."},
                    "csrf": {"type": "apiKey", "in": "header", "name": "x-csrf-token", "description": "For requests of people that change something."},
                },
            },
        })
    }
}

/// The routes, with the document and the page that shows it.
pub(crate) fn serve(router: Router<App>, mut document: Document) -> Router<App> {
    let document = document.build();
    let page: Bytes = docs::page(&document).into_string().into();
    let text: Bytes = serde_json::to_vec(&document).unwrap_or_default().into();
    router
        .route("/v1/openapi.json", get(move || async move { with_type("application/json", text) }))
        .route("/v1/docs", get(move || async move { with_type("text/html; charset=utf-8", page) }))
        .route("/v1/docs.css", get(|| async { with_type("text/css; charset=utf-8", docs::STYLE) }))
}
