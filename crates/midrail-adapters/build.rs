//! Compiles the hosts: `src/hosts/NAME/host.toml` describes the host of the module `NAME`, which has an adapter of the same
//! name, `SETUP`, `TRANSCRIPTS` and `POLICY`. A folder without a module describes a client that has no hooks.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde::Deserialize;

/// What a host can do with an answer.
const CAPABILITIES: [&str; 6] = ["block", "ask", "redact", "notes", "halt", "vouch"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Host {
    name: String,
    title: String,
    timeout: u64,
    #[serde(default)]
    quick_events: Vec<String>,
    #[serde(default)]
    known_events: Vec<String>,
    programs: Vec<String>,
    user_message: Option<String>,
    environment_file: Option<String>,
    #[serde(default)]
    disabling_variables: Vec<String>,
    #[serde(default)]
    disabling_files: Vec<String>,
    shell: String,
    #[serde(default = "yes")]
    follows_links: bool,
    blocks_on_timeout_since: Option<[u64; 3]>,
    settings_files: Vec<String>,
    extension_files: Vec<String>,
    files: Files,
    mcp: McpSettings,
    plugin: Option<Plugin>,
    trial: Option<Trial>,
    #[serde(default)]
    sandbox: HostSandbox,
    live: Option<Live>,
    #[serde(default)]
    remarks: BTreeMap<String, String>,
    tools: BTreeMap<String, Vec<String>>,
    event: Vec<HookEvent>,
}

/// A client without hooks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Client {
    name: String,
    title: String,
    extension_files: Vec<String>,
    mcp: McpSettings,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct McpSettings {
    files: Vec<String>,
    fields: Vec<String>,
    #[serde(default)]
    plugin_files: Vec<String>,
    address: Option<AddressForm>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct AddressForm {
    #[serde(default)]
    untyped: String,
    #[serde(default)]
    typed: String,
    #[serde(default)]
    types: (String, String),
    headers: String,
    environment: String,
    #[serde(default)]
    one_list: bool,
    #[serde(default)]
    named_variables: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Files {
    folder: (String, String, String),
    traces: Vec<String>,
    project: String,
    user: String,
    #[serde(default)]
    managed: String,
    #[serde(default)]
    managed_macos: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plugin {
    hooks: String,
    #[serde(default)]
    manifest: String,
    r#use: String,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct HostSandbox {
    state: Vec<String>,
    keep: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Trial {
    #[serde(default)]
    file: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Live {
    args: Vec<String>,
    tool: String,
    input: String,
    env: BTreeMap<String, String>,
    #[serde(default)]
    files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct HookEvent {
    name: String,
    kind: String,
    #[serde(default)]
    can: Vec<String>,
    #[serde(default)]
    register: bool,
    on_failure: Option<String>,
    seconds: Option<u32>,
}

fn yes() -> bool {
    true
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/hosts");
    println!("cargo::rerun-if-changed={}", folder.display());
    let (mut hosts, mut clients) = (BTreeMap::new(), BTreeMap::new());
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path().join("host.toml");
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let module = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let module = module.ok_or("a host needs a name in UTF-8")?.to_owned();
        let invalid = |error: toml::de::Error| format!("{}: {error}", path.display());
        if folder.join(format!("{module}.rs")).exists() {
            let host: Host = toml::from_str(&text).map_err(invalid)?;
            hosts.insert(module, host);
        } else {
            let client: Client = toml::from_str(&text).map_err(invalid)?;
            clients.insert(module, client);
        }
    }
    let mut list = String::from("[\n");
    let mut client_list = String::from("[\n");
    for (module, host) in hosts {
        write_host(&module, &host, &mut list)?;
        write_client(&host.name, &host.title, &host.extension_files, &host.mcp, &mut client_list)?;
    }
    for client in clients.values() {
        write_client(&client.name, &client.title, &client.extension_files, &client.mcp, &mut client_list)?;
    }
    let out = env::var("OUT_DIR")?;
    fs::write(Path::new(&out).join("hosts.rs"), list + "]\n")?;
    fs::write(Path::new(&out).join("clients.rs"), client_list + "]\n")?;
    Ok(())
}

fn write_client(
    name: &str,
    title: &str,
    extension_files: &[String],
    McpSettings { files, fields, plugin_files, address }: &McpSettings,
    list: &mut String,
) -> std::fmt::Result {
    let address = match address {
        None => "None".to_owned(),
        Some(AddressForm { untyped, typed, types, headers, environment, one_list, named_variables }) => {
            format!(
                "Some(AddressForm {{ untyped: {untyped:?}, typed: {typed:?}, types: {types:?}, headers: {headers:?}, \
             environment: {environment:?}, one_list: {one_list}, named_variables: {named_variables} }})"
            )
        }
    };
    writeln!(
        list,
        "McpClient {{ name: {name:?}, title: {title:?}, extension_files: &{extension_files:?}, files: &{files:?}, \
         fields: &{fields:?}, plugin_files: &{plugin_files:?}, address: {address} }},"
    )
}

fn write_host(module: &str, host: &Host, list: &mut String) -> std::fmt::Result {
    let adapter = variant(module);
    let Files { folder, traces, project, user, managed, managed_macos } = &host.files;
    writeln!(
        list,
        "HostSpec {{ adapter: &{module}::{adapter}, setup: {module}::SETUP, transcripts: {module}::TRANSCRIPTS, policy: &{module}::POLICY, \
         name: {:?}, title: {:?}, timeout: Duration::from_secs({}), quick_events: &{:?}, known_events: &{:?}, programs: &{:?}, \
         user_message: {:?}, environment_file: {:?}, disabling_variables: &{:?}, disabling_files: &{:?}, shell: HookShell::{}, follows_links: {}, blocks_on_timeout_since: {:?}, settings_files: &{:?}, \
         files: HostFiles {{ folder: {folder:?}, traces: &{traces:?}, project: {project:?}, user: {user:?}, \
         managed: {managed:?}, managed_macos: {managed_macos:?} }},",
        host.name,
        host.title,
        host.timeout,
        host.quick_events,
        host.known_events,
        host.programs,
        host.user_message,
        host.environment_file,
        host.disabling_variables,
        host.disabling_files,
        variant(&host.shell),
        host.follows_links,
        host.blocks_on_timeout_since,
        host.settings_files,
    )?;
    match &host.plugin {
        None => list.push_str("plugin: None, "),
        Some(Plugin { hooks, manifest, r#use }) => write!(
            list,
            "plugin: Some(HostPlugin {{ hooks: {hooks:?}, manifest: {manifest:?}, activation: {:?} }}), ",
            r#use
        )?,
    }
    match &host.trial {
        None => list.push_str("trial: None, "),
        Some(Trial { file, text, args, env }) => {
            let env: String = env.iter().map(|it| format!("{it:?}, ")).collect();
            write!(
                list,
                "trial: Some(HostTrial {{ file: {file:?}, text: {text:?}, args: &{args:?}, env: &[{env}] }}), "
            )?;
        }
    }
    let HostSandbox { state, keep } = &host.sandbox;
    write!(list, "sandbox: HostSandbox {{ state: &{state:?}, keep: &{keep:?} }}, ")?;
    match &host.live {
        None => list.push_str("live: None, "),
        Some(Live { args, tool, input, env, files }) => {
            let pairs =
                |map: &BTreeMap<String, String>| map.iter().map(|it| format!("{it:?}, ")).collect::<String>();
            let (env, files) = (pairs(env), pairs(files));
            write!(
                list,
                "live: Some(LiveTest {{ args: &{args:?}, tool: {tool:?}, input: {input:?}, env: &[{env}], files: &[{files}] }}), "
            )?;
        }
    }
    list.push_str("remarks: &[");
    for (scope, text) in &host.remarks {
        write!(list, "(InstallScope::{}, {text:?}), ", variant(scope))?;
    }
    list.push_str("], tools: &[");
    for (kind, names) in &host.tools {
        write!(list, "(ActionType::{}, &{names:?}), ", variant(kind))?;
    }
    list.push_str("], hook_events: &[\n");
    for event in &host.event {
        write!(list, "hook_event({:?}, EventKind::{}, Capabilities {{ ", event.name, variant(&event.kind))?;
        let can: BTreeSet<&str> = event.can.iter().map(String::as_str).collect();
        // An unknown one is a field that does not exist.
        for capability in can.union(&BTreeSet::from(CAPABILITIES)) {
            write!(list, "{capability}: {}, ", can.contains(capability))?;
        }
        list.push_str("})");
        if event.register {
            list.push_str(".register()");
        }
        if let Some(answer) = &event.on_failure {
            write!(list, ".on_failure(OnFailure::{})", variant(answer))?;
        }
        if let Some(seconds) = event.seconds {
            write!(list, ".within({seconds})")?;
        }
        list.push_str(",\n");
    }
    list.push_str("] },\n");
    Ok(())
}

/// A Rust name: `before_tool` is `BeforeTool`.
fn variant(name: &str) -> String {
    let capitalize = |word: &str| {
        let (first, rest) = word.split_at_checked(1).unwrap_or_default();
        first.to_uppercase() + rest
    };
    name.split(['_', '-']).map(capitalize).collect()
}
