//! Files of `docker compose`: what a service may reach on this machine, and what it runs there, is judged as the same call of
//! `docker run`.

use midrail_core::OpaqueKind;

use super::super::invocation::{Arg, Invocation};
use super::super::options::Arguments;
use super::super::scope::Scope;
use super::state::{Stream, Walk};

/// The files by default.
const NAMES: &[&str] = &[
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
    "compose.override.yaml",
    "compose.override.yml",
    "docker-compose.override.yml",
];

/// Subcommands that start containers.
const STARTING: &[&str] = &["up", "run", "create", "start", "restart", "watch", "scale"];

/// No more services and lines are looked at.
const MAX_SERVICES: usize = 32;
const MAX_LINES: usize = 4_000;

/// A service, as words of `docker run`.
#[derive(Default)]
struct Service {
    options: Vec<String>,
    command: Vec<String>,
}

impl Walk {
    /// Judges the services that a call starts.
    pub(super) fn compose(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let sorted = Arguments::new(invocation);
        let mut words = sorted.operands.iter().map(|arg| arg.text.as_str());
        let first = words.next().unwrap_or_default();
        let is_tool = invocation.program.ends_with("-compose");
        let subcommand = if is_tool { first } else { words.next().unwrap_or_default() };
        let is_stack = first == "stack" && subcommand == "deploy";
        if !(is_stack || (is_tool || first == "compose") && STARTING.contains(&subcommand)) {
            return;
        }
        let options: &[&str] = if is_stack { &["-c", "--compose-file"] } else { &["-f", "--file"] };
        let args = invocation.args.as_slice();
        let mut files: Vec<Arg> = args
            .iter()
            .zip(args.iter().skip(1))
            .filter(|(option, _)| options.contains(&option.text.as_str()))
            .map(|(_, file)| file.clone())
            .collect();
        let attached = args.iter().filter_map(|arg| {
            let (option, file) = arg.text.split_once('=')?;
            options.contains(&option).then(|| arg.tail(arg.text.len() - file.len()))
        });
        files.extend(attached);
        // `COMPOSE_FILE=a.yml:b.yml docker compose up`
        if let Some(named) = scope.first_value("COMPOSE_FILE").filter(|_| files.is_empty()) {
            files.extend(
                named
                    .text
                    .split(':')
                    .map(|file| if named.is_known() { Arg::known(file) } else { Arg::unknown(file) }),
            );
        }
        for file in files.iter().filter(|file| is_elsewhere(&file.text)) {
            self.hide(OpaqueKind::Project, &file.text);
        }
        if files.is_empty() {
            files.extend(NAMES.iter().map(|name| Arg::known(*name)));
        }
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["--project-directory"]) {
            inner.change_folder(Some(folder));
        }
        for file in files {
            let text = match file.text.as_str() {
                "-" | "/dev/stdin" => input.text.clone(),
                _ => self.settings_file(&file, &inner),
            };
            for service in text.iter().flat_map(|text| services(&text.text)) {
                let program = if invocation.program.starts_with("podman") { "podman" } else { "docker" };
                let mut words = vec![Arg::known(program), Arg::known("run")];
                words.extend(service.options.iter().map(|option| word(option)));
                words.push(Arg::known("image"));
                words.extend(service.command.iter().map(|part| word(part)));
                let seen = self.analysis.opaque.len();
                let _ = self.invoke(words, false, &mut inner.clone(), &Stream::default());
                // The container is no code of this machine.
                self.analysis.opaque.truncate(seen);
            }
        }
    }

    /// The text of a file that is no code by itself, but decides what a program does. If the line did not write it, it is listed,
    /// so that its content is looked up.
    fn settings_file(&mut self, file: &Arg, scope: &Scope) -> Option<Arg> {
        let place = scope.place(&file.text);
        if let Some(content) = self.files.get(&place) {
            return content.stream(&place).text;
        }
        if file.is_known() && !scope.is_remote {
            self.list_script(&place);
        } else if !file.is_known() {
            self.may_start(&file.text);
        }
        None
    }
}

/// Whether a file is outside of the project, where its content is not looked up.
fn is_elsewhere(file: &str) -> bool {
    file.starts_with(['~'])
        || file.starts_with("../")
        || ["/tmp/", "/var/tmp/", "/dev/shm/"].iter().any(|it| file.starts_with(it))
}

fn word(text: &str) -> Arg {
    if text.contains('$') { Arg::unknown(text) } else { Arg::known(text) }
}

/// The services of a file in YAML or JSON.
fn services(text: &str) -> Vec<Service> {
    let mut services: Vec<Service> = vec![Service::default()];
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut depth = None;
    let mut is_command = None;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')).take(MAX_LINES) {
        let content = line.trim();
        let depth_here = indent(line);
        if depth_here == 0 && !content.is_empty() {
            depth = None;
        } else if depth.is_none() && content.ends_with(':') {
            depth = Some(depth_here);
        }
        if depth == Some(depth_here) && content.ends_with(':') && services.len() < MAX_SERVICES {
            services.push(Service::default());
        }
        let Some(service) = services.last_mut() else { break };
        // A list below `command:`.
        if let Some(from) = is_command {
            if depth_here >= from
                && let Some(item) = content.strip_prefix("- ")
            {
                service.command.push(unquoted(item).to_owned());
                continue;
            }
            is_command = None;
        }
        for (key, value) in fields(content) {
            match (key, value) {
                ("command" | "entrypoint", "") => is_command = Some(depth_here),
                ("command" | "entrypoint", value) => service.command.extend(command(value)),
                ("privileged", "true") => service.options.push("--privileged".to_owned()),
                ("pid" | "ipc" | "userns_mode" | "uts" | "cgroup", "host") => {
                    service.options.push(format!("--{}=host", key.trim_end_matches("_mode")));
                }
                ("source" | "device", path) if is_path(path) => {
                    service.options.extend(["-v".to_owned(), format!("{path}:/mounted")]);
                }
                _ => {}
            }
        }
        for capability in ["ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE"] {
            if texts(content).any(|text| text == capability) {
                service.options.push(format!("--cap-add={capability}"));
            }
        }
        for volume in texts(content) {
            let Some((here, there)) = volume.split_once(':') else { continue };
            if is_path(here) && there.starts_with('/') {
                service.options.extend(["-v".to_owned(), volume.to_owned()]);
            }
        }
    }
    services.retain(|service| !service.options.is_empty() || !service.command.is_empty());
    services
}

/// Whether a text is a path of this machine, and not the name of a volume.
fn is_path(text: &str) -> bool {
    text.starts_with(['/', '~', '.']) || text.starts_with("$HOME") || text.starts_with("${HOME}")
}

/// The keys of a line with their values: of one, `key: value`, or of several in brackets.
fn fields(line: &str) -> impl Iterator<Item = (&str, &str)> {
    line.split(['{', '}', ',']).filter_map(|part| {
        let (key, value) = part.trim().trim_start_matches("- ").split_once(':')?;
        let is_value = value.is_empty() || value.starts_with([' ', '"', '\'', '[']);
        is_value.then(|| (unquoted(key), unquoted(value)))
    })
}

/// The texts of a line: items of a list and values.
fn texts(line: &str) -> impl Iterator<Item = &str> {
    line.split([' ', '[', ']', '{', '}', ',']).map(unquoted).filter(|text| !text.is_empty())
}

/// The words of a command: a text, or a list in brackets.
fn command(value: &str) -> Vec<String> {
    if let Some(list) = value.strip_prefix('[') {
        return list.trim_end_matches(']').split(',').map(|item| unquoted(item).to_owned()).collect();
    }
    vec!["sh".to_owned(), "-c".to_owned(), value.to_owned()]
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
