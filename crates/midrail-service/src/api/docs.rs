//! The page that shows the OpenAPI document. It is rendered once, without scripts.

mod example;
mod schema;

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, html};
use serde_json::Value;

use self::example::curl;
use self::schema::{list, map, resolve, text};

/// An operation of the document, with its method and place.
struct OperationDoc<'d> {
    method: &'d str,
    path: &'d str,
    body: &'d Value,
}

/// The style of the page, on top of the console's style.
pub(super) const STYLE: &str = include_str!("docs/docs.css");

/// The page of a document.
pub(super) fn page(document: &Value) -> Markup {
    let mut groups: BTreeMap<&str, Vec<OperationDoc<'_>>> = BTreeMap::new();
    for (path, methods) in map(document.get("paths")) {
        for (method, body) in map(Some(methods)) {
            let tag = list(body.get("tags")).next().and_then(Value::as_str).unwrap_or("other");
            groups.entry(tag).or_default().push(OperationDoc { method, path, body });
        }
    }
    let info = document.get("info").unwrap_or(&Value::Null);
    let schemas = document.pointer("/components/schemas");
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Midrail API " (text(info, "version")) }
                link rel="stylesheet" href="/assets/console.css";
                link rel="stylesheet" href="/v1/docs.css";
            }
            body class="docs" {
                header class="docs-head" {
                    h1 { "Midrail API" }
                    p { (text(info, "summary")) }
                    p {
                        "Version " (text(info, "version")) ". The same for programs: "
                        a href="/v1/openapi.json" { "openapi.json" } "."
                    }
                    (nav(&groups))
                }
                main class="docs-main" {
                    (access())
                    @for (tag, operations) in &groups {
                        section id=(format!("group-{tag}")) class="docs-group" {
                            h2 { (tag) }
                            @for doc in operations { (operation(document, doc)) }
                        }
                    }
                    section id="schemas" class="docs-group" {
                        h2 { "Schemas" }
                        @for (name, body) in map(schemas) { (schema(name, body)) }
                    }
                }
            }
        }
    }
}

fn nav(groups: &BTreeMap<&str, Vec<OperationDoc<'_>>>) -> Markup {
    html! {
        nav aria-label="Contents" class="docs-nav" {
            ul {
                @for (tag, operations) in groups {
                    li {
                        a href=(format!("#group-{tag}")) { (tag) }
                        ul {
                            @for doc in operations {
                                li { a href=(format!("#{}", text(doc.body, "operationId"))) { code { (doc.method.to_uppercase()) " " (doc.path) } } }
                            }
                        }
                    }
                }
                li { a href="#schemas" { "Schemas" } }
            }
        }
    }
}

fn access() -> Markup {
    html! {
        section id="access" class="docs-group" {
            h2 { "Authentication" }
            p {
                "Programs send " code { "Authorization: Bearer KEY" } "; " code { "midrail key add NAME" }
                " creates a key. People log in with their approver key and get a cookie; requests that change something need the header "
                code { "x-csrf-token" } ". Until there is a key, programs on this machine may request decisions without one."
            }
            p {
                "Errors are returned as " code { "application/problem+json" } " with " code { "type" } ", "
                code { "title" } ", " code { "status" } ", " code { "detail" } " and often " code { "help" } "."
            }
        }
    }
}

fn operation(document: &Value, doc: &OperationDoc<'_>) -> Markup {
    let right = text(doc.body, "x-midrail-right");
    let content = doc.body.pointer("/requestBody/content");
    let is_problem = |answer: &Value| answer.pointer("/content/application~1problem+json").is_some();
    let all = || map(doc.body.get("responses"));
    let answers = all().filter(|(_, answer)| !is_problem(answer));
    let problems: Vec<&String> =
        all().filter(|(_, answer)| is_problem(answer)).map(|(status, _)| status).collect();
    html! {
        article id=(text(doc.body, "operationId")) class="docs-operation" {
            h3 { span class=(format!("method method-{}", doc.method)) { (doc.method.to_uppercase()) } " " code { (doc.path) } }
            p { (text(doc.body, "summary")) "." }
            p class="docs-right" { "Requires the right " code { (right) } "." }
            (parameters(document, doc.body.get("parameters")))
            @for (media, body) in map(content) {
                h4 { "Body" }
                p { code { (media) } ": " (kind(body.get("schema").unwrap_or(&Value::Null))) }
            }
            h4 { "Answers" }
            dl {
                @for (status, answer) in answers {
                    dt { code { (status) } }
                    dd {
                        (text(answer, "description"))
                        @for (media, body) in map(answer.get("content")) {
                            ": " (kind(body.get("schema").unwrap_or(&Value::Null))) " as " code { (media) }
                        }
                    }
                }
            }
            @if !problems.is_empty() {
                p class="docs-right" {
                    "Problems: " @for (at, status) in problems.iter().enumerate() { @if at > 0 { ", " } code { (status) } }
                    ", returned as a " a href="#schema-Problem" { "Problem" } "."
                }
            }
            h4 { "Example" }
            pre { code { (curl(document, doc.method, doc.path, doc.body)) } }
        }
    }
}

fn parameters(document: &Value, all: Option<&Value>) -> Markup {
    let resolved: Vec<&Value> = list(all).map(|one| resolve(document, one)).collect();
    let row = |one: &Value| {
        let is_required = one.get("required") == Some(&Value::Bool(true));
        let name = html! { code { (text(one, "name")) } @if is_required { " (required)" } };
        let kind = kind(one.get("schema").unwrap_or(&Value::Null));
        [name, html! { (text(one, "in")) }, kind, html! { (text(one, "description")) }]
    };
    html! {
        @if !resolved.is_empty() {
            h4 { "Parameters" }
            (table(["name", "in", "type", "about"], resolved.into_iter().map(row)))
        }
    }
}

fn schema(name: &str, body: &Value) -> Markup {
    let required: Vec<&str> = list(body.get("required")).filter_map(Value::as_str).collect();
    let properties: Vec<(&String, &Value)> = map(body.get("properties")).collect();
    let row = |(field, of): (&String, &Value)| {
        let name = html! { code { (field) } @if required.contains(&field.as_str()) { " (required)" } };
        [name, kind(of), html! { (text(of, "description")) }]
    };
    html! {
        article id=(format!("schema-{name}")) class="docs-schema" {
            h3 { code { (name) } }
            p { (text(body, "description")) }
            @if properties.is_empty() { p { (kind(body)) } }
            @else { (table(["field", "type", "about"], properties.into_iter().map(row))) }
        }
    }
}

fn table<const N: usize>(heads: [&str; N], rows: impl Iterator<Item = [Markup; N]>) -> Markup {
    html! {
        table {
            thead { tr { @for head in heads { th scope="col" { (head) } } } }
            tbody { @for row in rows { tr { @for cell in row { td { (cell) } } } } }
        }
    }
}

/// A schema in short, with a link to its definition.
fn kind(schema: &Value) -> Markup {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str).and_then(|place| place.rsplit('/').next())
    {
        return html! { a href=(format!("#schema-{name}")) { (name) } };
    }
    let choices: Vec<&Value> = list(schema.get("anyOf").or_else(|| schema.get("oneOf"))).collect();
    if !choices.is_empty() {
        return html! {
            @for (at, choice) in choices.iter().enumerate() { @if at > 0 { " or " } (kind(choice)) }
        };
    }
    if let Some(constant) = schema.get("const") {
        return html! { code { (constant.to_string()) } };
    }
    if let Some(words) = schema.get("enum") {
        return html! {
            @for (at, word) in list(Some(words)).enumerate() { @if at > 0 { ", " } code { (word.to_string()) } }
        };
    }
    let types: Vec<&str> = match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        several => list(several).filter_map(Value::as_str).collect(),
    };
    html! {
        @if types.contains(&"array") { "list of " (kind(schema.get("items").unwrap_or(&Value::Null))) }
        @else if types.is_empty() { "anything" }
        @else { (types.join(" or ")) }
    }
}
