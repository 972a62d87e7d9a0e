//! Rewrites a server at an address into a command of the proxy, and back. Keys move from headers to variables, so that no
//! process shows them in its arguments. An entry is rewritten only if the way back restores every byte.

use std::ops::Range;
use std::path::Path;

use super::entries::{ADDRESSES, entries, words};
use super::text_edit::{Edit, apply, proxy_command, quoted};
use super::tree::{self, Field, Node, Value};
use crate::mcp::http::upstream::{UpstreamError, check};
use crate::mcp_client::{AddressForm, McpClient};

/// A settings file.
#[derive(Clone, Copy)]
pub(super) struct SettingsFile<'f> {
    pub(super) text: &'f str,
    pub(super) path: &'f Path,
    pub(super) client: &'f McpClient,
}

/// Why the proxy cannot take the place of a server at an address.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    #[error("it uses OAuth (`{0}`), whose tokens are bound to the address, so a proxy cannot pass them on")]
    OAuth(String),
    #[error(
        "it is reached at an address without a key in a header; if it uses OAuth, its tokens are bound to the address, and a \
         proxy cannot pass them on"
    )]
    NoKey,
    #[error("it uses the older transport with SSE, which Midrail does not proxy")]
    OldTransport,
    #[error("its address has a query, which may contain a secret that the arguments of a proxy would show")]
    Query,
    #[error("its address has a part that looks like a secret, which the arguments of a proxy would show")]
    Secret,
    #[error("`init` does not know how `{0}` applies to a server that is a program")]
    Field(String),
    #[error("its settings have a form that `init` does not change")]
    Form,
    #[error("its address cannot be given to the proxy: {0}")]
    Url(String),
    #[error("{0}")]
    Header(UpstreamError),
}

/// The start of the variables that contain headers.
const VARIABLE: &str = "MIDRAIL_HEADER_";

/// Fields of clients that name variables: headers whose values are in variables, the variable of a bearer token, and the
/// variables that a program inherits.
const HEADER_VARIABLES: &str = "env_http_headers";
const BEARER_VARIABLE: &str = "bearer_token_env_var";
const INHERITED: &str = "env_vars";

/// Fields that mean the same for servers at an address and for programs.
const COMMON: [&str; 23] = [
    "alwaysAllow",
    "alwaysLoad",
    "autoApprove",
    "default_tools_approval_mode",
    "description",
    "disabled",
    "disabledTools",
    "disabled_tools",
    "enabled",
    "enabledTools",
    "enabled_tools",
    "excludeTools",
    "gallery",
    "includeTools",
    "required",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "timeout",
    "tool_timeout_sec",
    "tools",
    "trust",
    "version",
    "name",
];

/// The settings file with the proxy in place of one of its servers, the one at the place `at`.
pub(super) fn wrap(
    file: SettingsFile<'_>,
    at: usize,
    name: &str,
    server: &Value,
    program: &str,
) -> Result<String, Obstacle> {
    let form = file.client.address.ok_or(Obstacle::Form)?;
    let edits = wrap_edits(file, form, name, server, program)?;
    let written = apply(file.text, edits);
    // INVARIANT: the client reads a command of the proxy, and `uninstall` restores every byte without a backup.
    let restored = tree::parse(&written, file.path).ok().and_then(|tree| {
        let (_, server) = entries(&tree, file.client.fields).ok()?.into_iter().nth(at)?;
        let is_proxied = words(server)?.first().is_some_and(|first| first == program);
        is_proxied.then(|| unwrap(SettingsFile { text: &written, ..file }, server)).flatten()
    });
    if restored.as_deref() == Some(file.text) { Ok(written) } else { Err(Obstacle::Form) }
}

fn wrap_edits(
    file: SettingsFile<'_>,
    form: AddressForm,
    name: &str,
    server: &Value,
    program: &str,
) -> Result<Vec<Edit>, Obstacle> {
    let find = |name: &str| server.fields().iter().find(|field| field.name == name);
    let text_of = |name: &str| find(name).and_then(|field| field.value.text());
    let kind = text_of("type");
    let is_old = kind.is_some_and(|kind| kind.eq_ignore_ascii_case("sse"));
    let field = if find("type").is_some() { form.typed } else { form.untyped };
    let address = find(field).filter(|_| !field.is_empty());
    let url =
        address.and_then(|field| field.value.text()).or_else(|| ADDRESSES.iter().find_map(|it| text_of(it)));
    let path = url.unwrap_or_default().split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if is_old || path.ends_with("/sse") {
        return Err(Obstacle::OldTransport);
    }
    let is_known = |name: &str| {
        name == field
            || name == "type"
            || name == form.headers
            || COMMON.contains(&name)
            || (form.named_variables && [HEADER_VARIABLES, BEARER_VARIABLE].contains(&name))
    };
    let is_address = |name: &str| ADDRESSES.contains(&name);
    let is_unknown = |field: &&Field| !is_known(&field.name) && !is_address(&field.name);
    if let Some(Field { name, .. }) = server.fields().iter().find(is_unknown) {
        let lower = name.to_ascii_lowercase();
        let is_oauth = ["auth", "scope", "client_id", "clientid"].iter().any(|word| lower.contains(word));
        return Err(if is_oauth { Obstacle::OAuth(name.clone()) } else { Obstacle::Field(name.clone()) });
    }
    let (Some(address), Some(url)) = (address, url) else { return Err(Obstacle::Form) };
    let fields = server.fields();
    let is_twice = fields.iter().any(|field| fields.iter().filter(|it| it.name == field.name).count() > 1);
    let is_only = fields.iter().filter(|it| is_address(&it.name)).count() == 1;
    if is_twice || !is_only || find("type").is_some() && kind != Some(form.types.0) {
        return Err(Obstacle::Form);
    }
    if url.contains('?') {
        return Err(Obstacle::Query);
    }
    if path.split('/').skip(3).any(is_secret) {
        return Err(Obstacle::Secret);
    }
    let mut edits = Vec::new();
    let mut options = vec![quoted("--url"), raw(file.text, &address.value)];
    let mut headers = Vec::new();
    let mut add = |header: &str, variable: &str, value: &str| {
        headers.push((header.to_owned(), value.to_owned()));
        options.extend([quoted("--header-env"), quoted(&format!("{header}={variable}"))]);
    };
    if let Some(field) = find(form.headers) {
        let key = key_range(file.text, field).ok_or(Obstacle::Form)?;
        edits.push(Edit { range: key.clone(), text: like(file.text, &key, form.environment) });
        let mut variables: Vec<String> = Vec::new();
        for header in table(&field.value)? {
            let value = header.value.text().ok_or(Obstacle::Form)?;
            let variable = variable_of(&header.name, &variables);
            let key = key_range(file.text, header).ok_or(Obstacle::Form)?;
            edits.push(Edit { range: key.clone(), text: like(file.text, &key, &variable) });
            add(&header.name, &variable, value);
            variables.push(variable);
        }
    }
    match (find(HEADER_VARIABLES), find(BEARER_VARIABLE)) {
        (Some(_), Some(_)) => return Err(Obstacle::Form),
        (Some(field), None) => {
            let key = key_range(file.text, field).ok_or(Obstacle::Form)?;
            edits.push(Edit { range: key, text: INHERITED.to_owned() });
            let table_range = field.value.range.clone();
            let is_inline = file.text.get(table_range.clone()).is_some_and(|text| text.starts_with('{'));
            if !is_inline || field.value.is_in_lines() {
                return Err(Obstacle::Form);
            }
            edits.push(Edit { range: table_range.start..table_range.start + 1, text: "[".to_owned() });
            edits.push(Edit { range: table_range.end - 1..table_range.end, text: "]".to_owned() });
            for header in table(&field.value)? {
                let variable = header.value.text().ok_or(Obstacle::Form)?;
                let key = key_range(file.text, header).ok_or(Obstacle::Form)?;
                edits.push(Edit { range: key.start..header.value.range.start, text: String::new() });
                add(&header.name, variable, "x");
            }
        }
        (None, Some(field)) => {
            let variable = field.value.text().ok_or(Obstacle::Form)?;
            let key = key_range(file.text, field).ok_or(Obstacle::Form)?;
            edits.push(Edit { range: key, text: INHERITED.to_owned() });
            let list = format!("[{}]", raw(file.text, &field.value));
            edits.push(Edit { range: field.value.range.clone(), text: list });
            headers.push(("Authorization".to_owned(), "x".to_owned()));
            options.extend([quoted("--bearer-env"), quoted(variable)]);
        }
        (None, None) => {}
    }
    let (checked, _) = check(url, &headers).map_err(|error| match error {
        // The address itself may contain a secret.
        UpstreamError::Url(_, why) => Obstacle::Url(why),
        error => Obstacle::Header(error),
    })?;
    if !headers.iter().any(|(header, _)| is_key(header)) && !checked.is_loopback() {
        return Err(Obstacle::NoKey);
    }
    if let Some(kind) = find("type") {
        edits.push(Edit { range: kind.value.range.clone(), text: quoted(form.types.1) });
    }
    let start = proxy_command(program, name);
    let command: Vec<String> = start.iter().map(|word| quoted(word)).chain(options).collect();
    edits.extend(command_edits(file, server, address, form, &command).ok_or(Obstacle::Form)?);
    Ok(edits)
}

/// Replaces an address with a command.
fn command_edits(
    file: SettingsFile<'_>,
    server: &Value,
    address: &Field,
    form: AddressForm,
    command: &[String],
) -> Option<Vec<Edit>> {
    let key = key_range(file.text, address)?;
    let key_edit = |name: &str| Edit { range: key.clone(), text: like(file.text, &key, name) };
    let value = address.value.range.clone();
    if form.one_list {
        return Some(vec![
            key_edit("command"),
            Edit { range: value, text: format!("[{}]", command.join(", ")) },
        ]);
    }
    let (program, args) = command.split_first()?;
    let between = between(file.text, server, key.start);
    let head = file.text.get(key.end..value.start)?;
    let args_key = like(file.text, &key, "args");
    let text = format!("{program}{between}{args_key}{head}[{}]", args.join(", "));
    Some(vec![key_edit("command"), Edit { range: value, text }])
}

/// What is between a command and its arguments.
fn between(text: &str, server: &Value, key: usize) -> String {
    let before = text.get(..key).unwrap_or_default();
    if server.is_in_lines() {
        // The name may be dotted.
        let line = before.rfind('\n').map_or(0, |at| at + 1);
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        return format!("{newline}{}", text.get(line..key).unwrap_or_default());
    }
    let space = before.rfind(|c: char| !c.is_whitespace()).map_or(0, |at| at + 1);
    let space = before.get(space..).filter(|space| space.contains('\n')).unwrap_or(" ");
    format!(",{space}")
}

/// The settings file with the address of a server in place of the proxy. `None`: the entry is not one that [`wrap`] writes.
pub(super) fn unwrap(file: SettingsFile<'_>, server: &Value) -> Option<String> {
    let form = file.client.address?;
    let text = file.text;
    let find = |name: &str| server.fields().iter().find(|field| field.name == name);
    let options = ProxyOptions::of(&words(server)?)?;
    let command = find("command")?;
    let mut edits = Vec::new();
    let key = key_range(text, command)?;
    let kind = find("type");
    let field = if kind.is_some() { form.typed } else { form.untyped };
    if field.is_empty() {
        return None;
    }
    if let Some(kind) = kind {
        edits.push(Edit { range: kind.value.range.clone(), text: quoted(form.types.0) });
    }
    let (list, end) = match find("args") {
        Some(args) => {
            let next = key_range(text, args)?.start;
            let separator = text.get(command.value.range.end..next)?.trim();
            let is_adjacent = if server.is_in_lines() {
                separator == between(text, server, key.start).trim()
            } else {
                separator == ","
            };
            (is_adjacent.then_some(&args.value)?, args.value.range.end)
        }
        None => (&command.value, command.value.range.end),
    };
    let Node::List(items) = &list.node else { return None };
    let url = items.iter().skip_while(|item| item.text() != Some("--url")).nth(1)?;
    edits.push(Edit { range: key.clone(), text: like(text, &key, field) });
    edits.push(Edit { range: command.value.range.start..end, text: raw(text, url) });
    let mut inherited = options.headers.iter();
    if let Some(env) = find(form.environment) {
        let key = key_range(text, env)?;
        edits.push(Edit { range: key.clone(), text: like(text, &key, form.headers) });
        for variable in table(&env.value).ok()? {
            let (header, _) = inherited.next().filter(|(_, known)| *known == variable.name)?;
            let is_own = variable.name.starts_with(VARIABLE);
            let key = key_range(text, variable).filter(|_| is_own)?;
            edits.push(Edit { range: key.clone(), text: like(text, &key, header) });
        }
    }
    let rest: Vec<&(String, String)> = inherited.collect();
    match (find(INHERITED), &options.bearer) {
        (None, None) => {}
        (Some(list), bearer) => {
            let key = key_range(text, list)?;
            let Node::List(items) = &list.value.node else { return None };
            let range = list.value.range.clone();
            if let Some(bearer) = bearer {
                let [variable] = items.as_slice() else { return None };
                let is_meant = variable.text() == Some(bearer) && rest.is_empty();
                let text = raw(text, is_meant.then_some(variable)?);
                edits.push(Edit { range: key, text: BEARER_VARIABLE.to_owned() });
                edits.push(Edit { range, text });
                return Some(apply(file.text, edits));
            }
            edits.push(Edit { range: key, text: HEADER_VARIABLES.to_owned() });
            edits.push(Edit { range: range.start..range.start + 1, text: "{".to_owned() });
            edits.push(Edit { range: range.end - 1..range.end, text: "}".to_owned() });
            for (item, (header, variable)) in items.iter().zip(&rest) {
                let at = item.range.start;
                let is_meant = item.text() == Some(variable.as_str());
                let name = is_meant.then(|| if is_bare(header) { header.clone() } else { quoted(header) })?;
                edits.push(Edit { range: at..at, text: format!("{name} = ") });
            }
            (items.len() == rest.len()).then_some(())?;
            return Some(apply(text, edits));
        }
        (None, Some(_)) => return None,
    }
    rest.is_empty().then(|| apply(text, edits))
}

/// The options of a proxy that [`wrap`] writes.
struct ProxyOptions {
    headers: Vec<(String, String)>,
    bearer: Option<String>,
}

impl ProxyOptions {
    fn of(words: &[String]) -> Option<Self> {
        let [_, mcp, wrap, rest @ ..] = words else { return None };
        if mcp != "mcp" || wrap != "wrap" {
            return None;
        }
        let rest = match rest {
            [server, rest @ ..] if server.starts_with("--server=") => rest,
            [server, _, rest @ ..] if server == "--server" => rest,
            _ => return None,
        };
        let [url, _, rest @ ..] = rest else { return None };
        let mut options = ProxyOptions { headers: Vec::new(), bearer: None };
        for pair in rest.chunks(2) {
            match pair {
                [option, value] if option == "--header-env" => {
                    let (header, variable) = value.split_once('=')?;
                    options.headers.push((header.to_owned(), variable.to_owned()));
                }
                [option, value] if option == "--bearer-env" && options.bearer.is_none() => {
                    options.bearer = Some(value.clone());
                }
                _ => return None,
            }
        }
        (url == "--url").then_some(options)
    }
}

/// The variable for a header. Two headers never share one.
fn variable_of(header: &str, taken: &[String]) -> String {
    let name = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let mut variable: String = VARIABLE.chars().chain(header.chars().map(name)).collect();
    while taken.contains(&variable) {
        variable.push('_');
    }
    variable
}

/// Whether a header carries a key, so that the server needs no OAuth.
fn is_key(header: &str) -> bool {
    let lower = header.to_ascii_lowercase();
    ["auth", "key", "token", "secret", "cookie", "password"].iter().any(|word| lower.contains(word))
}

/// Whether a part of a path looks like a secret: a long word of letters and digits.
fn is_secret(part: &str) -> bool {
    part.len() >= 20
        && part.chars().any(|c| c.is_ascii_digit())
        && part.chars().any(|c| c.is_ascii_alphabetic())
}

fn table(value: &Value) -> Result<&[Field], Obstacle> {
    match &value.node {
        Node::Table { fields, .. } => Ok(fields),
        Node::Text(_) | Node::List(_) | Node::Other => Err(Obstacle::Form),
    }
}

fn raw(text: &str, value: &Value) -> String {
    text.get(value.range.clone()).unwrap_or_default().to_owned()
}

/// The place of a field's name. In JSON, the place of a key is that of the whole field.
fn key_range(text: &str, field: &Field) -> Option<Range<usize>> {
    let key = text.get(field.key.clone())?;
    if field.key.end <= field.value.range.start || !key.starts_with('"') {
        return (!key.is_empty()).then(|| field.key.clone());
    }
    let mut is_escaped = false;
    let end = key.char_indices().skip(1).find_map(|(at, c)| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end.then_some(at + 1)
    })?;
    Some(field.key.start..field.key.start + end)
}

/// A name, in quotes if the one in its place has them.
fn like(text: &str, key: &Range<usize>, name: &str) -> String {
    let has_quotes = text.get(key.clone()).is_some_and(|key| key.starts_with(['"', '\'']));
    if has_quotes || !is_bare(name) { quoted(name) } else { name.to_owned() }
}

/// Whether TOML needs no quotes for a name.
fn is_bare(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
