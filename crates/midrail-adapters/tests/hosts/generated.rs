//! Files that are generated from the hosts: the reference page, and the lists that crates below this one use.
//! `MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts generated` writes them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use midrail::EventKind;
use midrail::core::ActionType;
use midrail::core::glob::path_matches;
use midrail_adapters::hosts;

use crate::host_file;

const HEAD: &str = "<!-- Generated from the adapters. -->

# Hosts

How `midrail hook HOST EVENT` decides each event of a coding agent, and what the agent can do with the answer. If an agent
cannot do something, Midrail chooses the nearest stricter alternative: it blocks a text that cannot be changed, blocks every
later action of a run that cannot be ended, and holds an action while an approver decides if the agent cannot ask its user.
A note that an answer cannot carry follows with the next answer that can.

- **block**: block a call or prompt, withhold a result, or make an agent continue that wants to stop
- **ask**: ask the user of the agent
- **redact**: replace a text
- **notes**: give the agent a note with an answer that allows
- **halt**: end the run
- **vouch**: make a call for which a decision vouches without a question to the user

Midrail allows and records events that are not listed. Events of the kind `observed` only report something, or another event
decides the same action.
";

const MCP_CLIENTS: &str = "
## MCP clients

`midrail init` runs the MCP servers in these files through `midrail mcp wrap`. A relative path is in a project, `~` and variables are a
user's, and `/` is a machine's.

| client | `--agent` | files | fields with servers |
|---|---|---|---|
";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Compares a file with its generated text, or writes it.
fn check(path: &str, text: &str) {
    let file = repository().join(path);
    if std::env::var_os("MIDRAIL_WRITE").is_some() {
        fs::write(&file, text).unwrap();
    }
    let how = "MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts generated";
    assert!(fs::read_to_string(&file).unwrap_or_default() == text, "{path} is stale: write it with `{how}`");
}

#[test]
fn reference_page_is_current() {
    let mut text = HEAD.to_owned();
    for host in hosts::ALL.iter() {
        write!(text, "\n## {}\n\n`midrail hook {}`\n\n", host.title, host.name).unwrap();
        text += "| event | kind | block | ask | redact | notes | halt | vouch |\n|---|---|---|---|---|---|---|---|\n";
        for hook_event in host.hook_events {
            let can = hook_event.capabilities;
            let cells = [can.block, can.ask, can.redact, can.notes, can.halt, can.vouch];
            let cells = cells.map(|can| if can { " yes |" } else { " |" }).concat();
            writeln!(text, "| {} | {} |{cells}", hook_event.name, hook_event.kind.as_str()).unwrap();
        }
        write!(text, "\n{}", fs::read_to_string(host_file(host, "facts.md")).unwrap()).unwrap();
    }
    text += MCP_CLIENTS;
    for client in hosts::MCP_CLIENTS {
        let code =
            |files: &[&str]| files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ");
        let (files, fields) = (code(client.files), code(client.fields));
        writeln!(text, "| {} | `{}` | {files} | {fields} |", client.title, client.name).unwrap();
    }
    check("docs/reference/hosts.md", &text);
}

#[test]
fn protected_settings_are_current() {
    let mut text = "# Generated from the hosts in midrail-adapters.\n== hosts\n".to_owned();
    for host in hosts::ALL {
        writeln!(text, "\n# {}\n{}", host.title, host.settings_files.join("\n")).unwrap();
    }
    text += "\n# Files that define agents or register tool servers.\n== extensions\n";
    for client in hosts::MCP_CLIENTS {
        writeln!(text, "\n# {}\n{}", client.title, client.extension_files.join("\n")).unwrap();
    }
    check("crates/midrail-guardrails/data/host_settings.txt", &text);
}

#[test]
fn files_that_disable_hooks_are_protected() {
    let protected: Vec<&str> = hosts::ALL.iter().flat_map(|host| host.settings_files).copied().collect();
    for file in hosts::ALL.iter().flat_map(|host| host.disabling_files) {
        assert!(protected.iter().any(|pattern| path_matches(pattern, file)), "{file}");
    }
}

#[test]
fn files_that_register_servers_are_protected() {
    let settings = hosts::ALL.iter().flat_map(|host| host.settings_files);
    let protected: Vec<&str> = settings
        .chain(hosts::MCP_CLIENTS.iter().flat_map(|client| client.extension_files))
        .copied()
        .collect();
    for file in hosts::MCP_CLIENTS.iter().flat_map(|client| client.files.iter().chain(client.plugin_files)) {
        let file = file.replace('*', "any").to_lowercase();
        let is_protected = protected.iter().any(|pattern| path_matches(&pattern.to_lowercase(), &file));
        assert!(is_protected, "{file} is not protected");
    }
}

#[test]
fn tool_names_are_current() {
    let mut tools: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (kind, names) in hosts::ALL.iter().flat_map(|host| host.tools) {
        let key = match kind {
            ActionType::FileRead => "file-readers",
            ActionType::FileWrite => "file-writers",
            ActionType::Command => "command-runners",
            ActionType::Network => "network-tools",
            other => panic!("there is no list for {other:?}"),
        };
        tools.entry(key).or_default().extend(names.iter());
    }
    let mut text =
        "# Generated from the hosts in midrail-adapters: their tools, by what they do.\n".to_owned();
    for (key, names) in tools {
        writeln!(text, "\n{key} = [").unwrap();
        for name in names {
            writeln!(text, "    \"{name}\",").unwrap();
        }
        writeln!(text, "]").unwrap();
    }
    check("crates/midrail-shell/data/words/host_tools.toml", &text);
}

#[test]
fn event_that_can_be_blocked_is_decided() {
    for host in hosts::ALL {
        for hook_event in host.hook_events {
            let can = hook_event.capabilities;
            let name = format!("{} {}", host.name, hook_event.name);
            assert!(!can.block || hook_event.kind != EventKind::Observed, "{name}");
            assert!(!can.ask || can.block, "{name}");
        }
    }
}

#[test]
fn guide_lists_every_settings_file() {
    let guide = fs::read_to_string(repository().join("docs/guide/coding-agents.md")).unwrap();
    for host in hosts::ALL {
        let row = guide.lines().find(|line| line.starts_with(&format!("| {} |", host.title))).unwrap();
        for file in [host.files.project, host.files.user, host.files.managed] {
            assert!(row.contains(file), "{row} does not contain {file}");
        }
    }
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") && !path.ends_with("hosts") && !path.ends_with("target") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// Whether a code contains a word: `nextCursor` is another one than `Cursor`.
fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| !code[..at].ends_with(|it: char| it.is_alphanumeric()))
}

/// Adding a host touches its folder and the line `mod NAME;` in `hosts.rs`.
#[test]
fn only_its_folder_names_a_host() {
    let mut files = Vec::new();
    sources(&repository().join("crates"), &mut files);
    let mut named = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let module = file.ends_with("midrail-adapters/src/hosts.rs");
        if !module
            && hosts::MCP_CLIENTS
                .iter()
                .any(|host| code.contains(&format!("\"{}\"", host.name)) || has_word(code, host.title))
        {
            let path = file.strip_prefix(repository().join("crates")).unwrap();
            named.insert(path.display().to_string());
        }
    }
    assert_eq!(named, BTreeSet::new());
}
