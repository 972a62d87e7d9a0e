//! The OpenAPI document, made of the same schemas as the files in `schema/`, and the page that shows it.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::access::Right;
use crate::api::docs;
use crate::app::App;
use crate::problem::Problem;

/// How long a request lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// As long as the work takes: it holds one of the places, and its time is limited.
    Short,
    /// Until the caller disconnects or an answer arrives: it takes no slot.
    Long,
}

/// One method of one place.
pub(crate) struct Operation {
    /// `get`, `post` …
    pub(crate) method: &'static str,
    /// The place, with its parameters in braces.
    pub(crate) path: &'static str,
    /// Its name for programs that are made from the document.
    pub(crate) id: &'static str,
    /// What it belongs to.
    pub(crate) tag: &'static str,
    /// What it does, in a line.
    pub(crate) summary: &'static str,
    /// Its parameters.
    pub(crate) parameters: Vec<Parameter>,
    /// The body that it takes.
    pub(crate) body: Option<Content>,
    /// What it answers: the status, what that means, and the body.
    pub(crate) answers: Vec<(u16, &'static str, Option<Content>)>,
    /// The problems of this operation, in addition to those of every request.
    pub(crate) problems: &'static [u16],
}

/// A body.
pub(crate) struct Content {
    media: &'static str,
    schema: fn(&mut SchemaGenerator) -> Value,
}

/// A parameter.
pub(crate) struct Parameter {
    name: &'static str,
    place: Place,
    about: &'static str,
    schema: Value,
}

/// The location of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Path,
    Query,
    Header,
}

impl Content {
    /// JSON of a type.
    pub(crate) fn json<T: JsonSchema>() -> Self {
        Content { media: "application/json", schema: |made| made.subschema_for::<T>().to_value() }
    }

    /// JSON of a type, in a form that has a name of its own: lines, for instance.
    pub(crate) fn json_as<T: JsonSchema>(media: &'static str) -> Self {
        Content { media, schema: |made| made.subschema_for::<T>().to_value() }
    }

    /// Text of another kind.
    pub(crate) fn text(media: &'static str) -> Self {
        Content { media, schema: |_| json!({"type": "string"}) }
    }
}

impl Operation {
    /// An operation that answers 200.
    pub(crate) fn new(
        method: &'static str,
        path: &'static str,
        id: &'static str,
        tag: &'static str,
        summary: &'static str,
    ) -> Self {
        let (parameters, body, answers, problems) = (Vec::new(), None, Vec::new(), [].as_slice());
        Operation { method, path, id, tag, summary, parameters, body, answers, problems }
    }

    /// Takes JSON of a type.
    pub(crate) fn takes<T: JsonSchema>(mut self) -> Self {
        self.body = Some(Content::json::<T>());
        self
    }

    /// Takes JSON of a type in another form.
    pub(crate) fn takes_as<T: JsonSchema>(mut self, media: &'static str) -> Self {
        self.body = Some(Content::json_as::<T>(media));
        self
    }

    /// Answers JSON of a type.
    pub(crate) fn gives<T: JsonSchema>(self, about: &'static str) -> Self {
        self.answers(200, about, Some(Content::json::<T>()))
    }

    /// Answers something else.
    pub(crate) fn answers(mut self, status: u16, about: &'static str, content: Option<Content>) -> Self {
        self.answers.push((status, about, content));
        self
    }

    /// Can end in these problems, too.
    pub(crate) fn fails(mut self, problems: &'static [u16]) -> Self {
        self.problems = problems;
        self
    }

    /// Has a parameter of a type.
    pub(crate) fn with<T: JsonSchema>(
        mut self,
        place: Place,
        name: &'static str,
        about: &'static str,
    ) -> Self {
        let mut made = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator();
        let schema = made.subschema_for::<T>().to_value();
        self.parameters.push(Parameter { name, place, about, schema });
        self
    }
}

/// The document.
#[derive(Default)]
pub(crate) struct Document {
    paths: BTreeMap<&'static str, Map<String, Value>>,
    generator: Option<SchemaGenerator>,
}

impl Document {
    pub(crate) fn add(&mut self, operation: Operation, right: Right, lifetime: Lifetime) {
        let generator = self.generator.get_or_insert_with(|| {
            SchemaSettings::draft2020_12()
                .with(|settings| {
                    settings.definitions_path = "/components/schemas".into();
                    settings.meta_schema = None;
                })
                .into_generator()
        });
        let content = |generator: &mut SchemaGenerator, content: &Content| json!({content.media: {"schema": (content.schema)(generator)}});
        let mut answers = Map::new();
        for (status, about, body) in &operation.answers {
            let mut answer = json!({"description": about});
            if let (Some(body), Some(answer)) = (body, answer.as_object_mut()) {
                answer.insert("content".to_owned(), content(generator, body));
            }
            answers.insert(status.to_string(), answer);
        }
        let of_all: &[u16] = match right {
            Right::Open => &[],
            // A program that decides may name a project that is not there yet, by a name that none can have.
            Right::Decide => &[401, 403, 404, 409, 422, 429, 503],
            _ => &[401, 403, 404, 429, 503],
        };
        let of_time: &[u16] = if lifetime == Lifetime::Short { &[503, 504] } else { &[] };
        let of_body: &[u16] = if operation.body.is_some() { &[400, 413, 415, 422] } else { &[] };
        let of_parameters: &[u16] = if operation.parameters.is_empty() { &[] } else { &[400] };
        let problem = Content {
            media: "application/problem+json",
            schema: |made| made.subschema_for::<Problem>().to_value(),
        };
        for status in
            of_all.iter().chain(of_time).chain(of_body).chain(of_parameters).chain(operation.problems)
        {
            let told = json!({"description": "A problem", "content": content(generator, &problem)});
            answers.insert(status.to_string(), told);
        }
        let parameters: Vec<Value> = operation
            .parameters
            .iter()
            .map(|Parameter { name, place, about, schema }| {
                let place_word = match place {
                    Place::Path => "path",
                    Place::Query => "query",
                    Place::Header => "header",
                };
                json!({"name": name, "in": place_word, "description": about, "required": *place == Place::Path, "schema": schema})
            })
            .chain((right != Right::Open).then(|| json!({"$ref": "#/components/parameters/project"})))
            .collect();
        let mut told = json!({
            "operationId": operation.id, "tags": [operation.tag], "summary": operation.summary,
            "parameters": parameters, "responses": answers,
        });
        if let Some(told) = told.as_object_mut() {
            if let Some(body) = &operation.body {
                told.insert(
                    "requestBody".to_owned(),
                    json!({"required": true, "content": content(generator, body)}),
                );
            }
            let security = match right {
                Right::Open => json!([]),
                Right::Decide | Right::Ask => json!([{}, {"key": []}]),
                Right::Known | Right::Read | Right::ReadAll => {
                    json!([{}, {"key": []}, {"login": [], "csrf": []}])
                }
                Right::Answer | Right::Administer => json!([{"login": [], "csrf": []}]),
            };
            told.insert("security".to_owned(), security);
            // For keys it is one right. One that is for some agents has it for what is theirs alone.
            let right = if right == Right::ReadAll { Right::Read } else { right };
            told.insert("x-midrail-right".to_owned(), json!(format!("{right:?}").to_lowercase()));
        }
        self.paths.entry(operation.path).or_default().insert(operation.method.to_owned(), told);
    }

    /// The document as JSON.
    pub(crate) fn told(&mut self) -> Value {
        let schemas =
            self.generator.as_mut().map(SchemaGenerator::take_definitions_of_all).unwrap_or_default();
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
                    "csrf": {"type": "apiKey", "in": "header", "name": "x-csrf-token", "description": "For what people change."},
                },
            },
        })
    }
}

trait Definitions {
    fn take_definitions_of_all(&mut self) -> Map<String, Value>;
}

impl Definitions for SchemaGenerator {
    fn take_definitions_of_all(&mut self) -> Map<String, Value> {
        self.take_definitions(true)
    }
}

/// The routes, with the document and the page that shows it.
pub(crate) fn serve(router: Router<App>, mut document: Document) -> Router<App> {
    let document = document.told();
    let page: Bytes = docs::page(&document).into_string().into();
    let text: Bytes = serde_json::to_vec(&document).unwrap_or_default().into();
    let told = move || async move { ([(CONTENT_TYPE, "application/json")], text).into_response() };
    let shown = move || async move { ([(CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response() };
    let styled = || async { ([(CONTENT_TYPE, "text/css; charset=utf-8")], docs::STYLE) };
    router
        .route("/v1/openapi.json", get(told))
        .route("/v1/docs", get(shown))
        .route("/v1/docs.css", get(styled))
}
