//! The page that shows the OpenAPI document. It is rendered once, without scripts.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, html};
use serde_json::{Value, json};

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

/// How deep an example goes.
const DEEP: usize = 4;

/// A call of an operation with curl.
fn curl(document: &Value, method: &str, path: &str, operation: &Value) -> String {
    let path = shell_variables(path);
    let mut lines = vec![format!("curl \"http://127.0.0.1:7420{path}\"")];
    if method != "get" {
        lines.push(format!("-X {}", method.to_uppercase()));
    }
    let right = text(operation, "x-midrail-right");
    match right {
        "open" => {}
        "answer" | "administer" => {
            lines.push("-b cookies.txt".to_owned());
            if method != "get" {
                lines.push("-H \"x-csrf-token: $CSRF\"".to_owned());
            }
        }
        _ => lines.push("-H \"Authorization: Bearer $MIDRAIL_KEY\"".to_owned()),
    }
    if let Some((media, body)) = map(operation.pointer("/requestBody/content")).next() {
        lines.push(format!("-H 'Content-Type: {media}'"));
        let schema = body.get("schema").unwrap_or(&Value::Null);
        let example =
            known(text(operation, "operationId")).unwrap_or_else(|| of(document, schema, DEEP).to_string());
        lines.push(format!("-d '{example}'"));
    }
    lines.join(" \\\n  ")
}

/// A path with its parameters as shell variables: `{id}` as `$ID`.
fn shell_variables(path: &str) -> String {
    match path.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (name, after))) => format!("{before}${}{after}", name.to_uppercase()),
        None => path.to_owned(),
    }
}

/// Examples that are more helpful than generated ones.
fn known(id: &str) -> Option<String> {
    let event =
        json!({"kind": "before_tool", "session": "s-1", "tool": {"name": "Bash", "args": {"command": "ls"}}});
    let lines = match id {
        "decide" => vec![event],
        "decide_batch" => vec![json!({"events": [event]})],
        "decide_conversation" => {
            let prompt = json!({"kind": "before_model", "session": "s-1", "text": "What is new?"});
            vec![json!({"events": [prompt], "new": 1})]
        }
        "stream" => {
            vec![json!({"open": {"session": "s-1"}}), json!({"text": "Hello"}), json!({"finish": true})]
        }
        "add_key" => vec![json!({"name": "ci", "projects": ["default"], "rights": ["decide"]})],
        "policy_validate" => {
            vec![json!({"name": "pack.yaml", "text": "pack: mine\nguardrails:\n  - {id: no-x, tools: x}\n"})]
        }
        _ => return None,
    };
    Some(lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n"))
}

/// An example value of a schema, with its required fields.
fn of(document: &Value, schema: &Value, deep: usize) -> Value {
    let schema = resolve(document, schema);
    if let Some(value) = schema.get("const").or_else(|| schema.get("default")) {
        return value.clone();
    }
    if let Some(first) = list(schema.get("enum")).next() {
        return first.clone();
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"));
    if let Some(first) = list(choices).next().filter(|_| deep > 0) {
        return of(document, first, deep - 1);
    }
    let kind = match schema.get("type") {
        Some(Value::String(kind)) => kind.as_str(),
        several => list(several).filter_map(Value::as_str).next().unwrap_or("object"),
    };
    match kind {
        "string" => json!("…"),
        "integer" | "number" => json!(1),
        "boolean" => json!(true),
        "null" => Value::Null,
        "array" if deep > 0 => json!([of(document, schema.get("items").unwrap_or(&Value::Null), deep - 1)]),
        "array" => json!([]),
        _ => {
            let needed: Vec<&str> = list(schema.get("required")).filter_map(Value::as_str).collect();
            let own = map(schema.get("properties"))
                .filter(|(name, _)| deep > 0 && needed.contains(&name.as_str()))
                .map(|(name, field)| (name.clone(), of(document, field, deep - 1)));
            Value::Object(own.collect())
        }
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// The definition that a schema refers to, or the schema itself.
fn resolve<'d>(document: &'d Value, value: &'d Value) -> &'d Value {
    let pointer = value.get("$ref").and_then(Value::as_str).and_then(|place| place.strip_prefix('#'));
    pointer.and_then(|pointer| document.pointer(pointer)).unwrap_or(value)
}

/// The fields of an object.
fn map(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}
