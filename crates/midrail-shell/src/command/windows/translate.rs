//! Translates commands of Windows to POSIX programs, and reports dangers that have no POSIX counterpart.

use midrail_core::{Confidence, Danger};

use super::command::{WindowsCommand, is_switch, translated};
use super::translation::{DEEPEST, MOST, Translation};
use crate::command::invocation::{Arg, Invocation, joined};
use crate::tables::{WINDOWS_RULES, WindowsRule};

/// Translates a command. `is_cmd`: its switches begin with a slash.
pub(super) fn translate(command: &WindowsCommand, is_cmd: bool, out: &mut Translation) {
    if command.words.is_empty() || out.invocations.len() + out.dangers.len() >= MOST {
        return;
    }
    let program = command.program();
    if is_fetched_file(&program, out) {
        out.runs_downloaded_code = true;
    }
    let has_words = |words: &&str| words.split(' ').all(|word| command.has_word(word));
    let rule = WINDOWS_RULES.iter().find(|rule| {
        rule.programs.contains(&program.as_str())
            && (rule.words.is_empty() || rule.words.iter().any(has_words))
    });
    if let Some(rule) = rule {
        let is_for_process = program == "set-executionpolicy" && command.has_word("process");
        let is_tried = !is_cmd && command.has("whatif");
        if !is_for_process && !is_tried {
            return danger(command, rule, out);
        }
    }
    let slashes = |name: u8| is_cmd && command.has_slash(name);
    let flag = |is_set: bool, text: &str| is_set.then(|| Arg::known(text));
    match program.as_str() {
        "remove-item" | "ri" | "rm" | "rmdir" | "rd" | "del" | "erase" => {
            if !is_cmd && command.has("whatif") {
                return;
            }
            let is_recursive = slashes(b's')
                || (!is_cmd && command.has("recurse"))
                || command.has_word("-rf")
                || command.has_word("-fr");
            let is_forced = slashes(b'q')
                || slashes(b'f')
                || (!is_cmd && command.has("force"))
                || command.has_word("-rf");
            let targets = if is_cmd { command.slash_targets() } else { command.targets() };
            if targets.iter().any(|target| target.text.to_ascii_lowercase().ends_with(".historysavepath")) {
                return named_danger(command, "windows-traces", out);
            }
            if targets.iter().any(|target| is_registry(&target.text)) {
                return named_danger(command, "windows-registry", out);
            }
            let is_folder = matches!(program.as_str(), "rd" | "rmdir") && is_cmd && !is_recursive;
            let mut args: Vec<Arg> =
                [flag(is_recursive, "-r"), flag(is_forced, "-f")].into_iter().flatten().collect();
            args.extend(targets.into_iter().flat_map(split_list));
            // `del folder\*` and `del folder` both empty it.
            invoke(command, if is_folder { "rmdir" } else { "rm" }, args, out);
        }
        "remove-itemproperty" | "clear-itemproperty" => named_danger(command, "windows-registry", out),
        "clear-content" | "clc" => {
            let mut args = vec![Arg::known("-s"), Arg::known("0")];
            args.extend(command.targets());
            invoke(command, "truncate", args, out);
        }
        "format" if is_cmd => {
            let drive = command.args().iter().find(|arg| arg.text.len() <= 3 && arg.text.contains(':'));
            if let Some(drive) = drive {
                invoke(command, "mkfs", vec![Arg::known(device(&drive.text))], out);
            }
        }
        "format-volume" => {
            let drive = command.value(&["driveletter"]).map_or_else(|| "C".to_owned(), |arg| arg.text);
            invoke(command, "mkfs", vec![Arg::known(device(&drive))], out);
        }
        "clear-disk" | "initialize-disk" | "remove-partition" | "reset-physicaldisk" => {
            let disk = command
                .value(&["number", "disknumber", "driveletter"])
                .map_or_else(|| "0".to_owned(), |arg| arg.text);
            invoke(command, "wipefs", vec![Arg::known("-a"), Arg::known(device(&disk))], out);
        }
        "diskpart" => invoke(command, "diskpart", command.args().to_vec(), out),
        "stop-computer" | "restart-computer" => invoke(command, "shutdown", vec![Arg::known("now")], out),
        "shutdown" if command.args().iter().any(|arg| is_switch(&arg.text) || arg.text.starts_with('-')) => {
            let stops = [b's', b'r', b'p', b'h', b'l'].iter().any(|name| command.has_slash(*name))
                || ["-s", "-r", "-p", "-h"].iter().any(|name| command.has_word(name));
            if stops {
                invoke(command, "shutdown", vec![Arg::known("now")], out);
            }
        }
        "stop-process" | "spps" | "kill" | "taskkill" => {
            let names = command.value(&["name", "processname"]);
            let image = command.args().iter().position(|arg| arg.text.eq_ignore_ascii_case("/im"));
            let image = image.and_then(|place| command.args().get(place + 1)).cloned();
            match names.or(image) {
                Some(name) => invoke(command, "pkill", vec![name], out),
                None => invoke(command, "kill", command.slash_targets(), out),
            }
        }
        "copy-item" | "cpi" | "copy" | "xcopy" | "cp" => transfer(command, "cp", is_cmd, out),
        "move-item" | "mi" | "move" | "mv" | "rename-item" | "ren" | "rni" => {
            transfer(command, "mv", is_cmd, out)
        }
        "set-content" | "sc" | "add-content" | "ac" | "out-file" | "tee-object" | "new-item" | "ni" => {
            let target = command
                .value(&["filepath", "path", "literalpath"])
                .or_else(|| command.targets().into_iter().next());
            note(&mut out.writes, target.as_ref());
        }
        "get-content" | "gc" | "type" | "cat" => {
            let targets = if is_cmd { command.slash_targets() } else { command.targets() };
            targets.iter().for_each(|target| note(&mut out.reads, Some(target)));
        }
        "invoke-webrequest" | "iwr" | "invoke-restmethod" | "irm" | "curl" | "wget"
        | "start-bitstransfer" | "bitsadmin" | "certutil" => {
            command.args().iter().for_each(|arg| out.host(&arg.text));
            note(
                &mut out.writes,
                command.value(&["outfile", "destination"]).map(|arg| translated(&arg)).as_ref(),
            );
            note_fetched(command, &program, out);
            if matches!(program.as_str(), "curl" | "wget") {
                invoke(command, &program, command.args().to_vec(), out);
            }
        }
        "start-process" | "saps" | "start" => start_process(command, out),
        // Both run a script from wherever it lies.
        "mshta" | "regsvr32" | "rundll32" | "msiexec" => {
            let is_remote = command.args().iter().any(|arg| {
                let arg = arg.text.to_ascii_lowercase();
                arg.contains("http://") || arg.contains("https://") || arg.starts_with("javascript:")
            });
            command.args().iter().for_each(|arg| out.host(&arg.text));
            out.runs_downloaded_code |= is_remote && program != "msiexec";
        }
        "forfiles" if is_cmd => for_files(command, out),
        "invoke-sqlcmd" => {
            let query = command.value(&["query"]).map(|arg| arg.text).unwrap_or_default();
            out.dangers.extend(crate::sql::scan(&query).iter().map(|hit| crate::sql::danger(&query, hit)));
        }
        name if name.starts_with("remove-az") => {
            let noun = match name.get(9..).unwrap_or("") {
                "resourcegroup" => "group",
                noun => noun,
            };
            let mut args = vec![Arg::known(noun), Arg::known("delete")];
            args.extend(command.args().iter().cloned());
            invoke(command, "az", args, out);
        }
        "remove-s3bucket" | "remove-s3object" => {
            let mut args =
                vec![Arg::known("s3"), Arg::known(if program == "remove-s3bucket" { "rb" } else { "rm" })];
            args.extend(command.args().iter().cloned());
            invoke(command, "aws", args, out);
        }
        "" => {}
        name if name.starts_with(['$', '[', '@', '%', '+', ',', '.']) => {}
        name => invoke(command, name, command.args().to_vec(), out),
    }
}

fn is_registry(target: &str) -> bool {
    let target = target.to_ascii_lowercase();
    ["hklm:", "hkcu:", "hkcr:", "hku:", "registry::", "hkey_"].iter().any(|start| target.starts_with(start))
}

fn device(drive: &str) -> String {
    format!("/dev/disk-{}", drive.trim_matches([':', '\\', '/']).to_ascii_lowercase())
}

/// `a,b` is a list in PowerShell.
fn split_list(arg: Arg) -> Vec<Arg> {
    if !arg.is_known() || !arg.text.contains(',') {
        return vec![arg];
    }
    arg.text
        .split(',')
        .filter(|part| !part.is_empty())
        .map(|part| Arg { is_glob: part.contains(['*', '?']), ..Arg::known(part.trim()) })
        .collect()
}

fn transfer(command: &WindowsCommand, program: &str, is_cmd: bool, out: &mut Translation) {
    let mut targets = if is_cmd { command.slash_targets() } else { command.targets() };
    if let Some(source) = targets.first() {
        note(&mut out.reads, Some(source));
    }
    if let Some(target) = targets.get(1) {
        note(&mut out.writes, Some(target));
    }
    targets.truncate(2);
    invoke(command, program, targets, out);
}

/// What one of these fetches into a file is remembered: it may be run afterwards.
fn note_fetched(command: &WindowsCommand, program: &str, out: &mut Translation) {
    let file = match program {
        "certutil" | "bitsadmin" => {
            let fetches = command.args().iter().any(|arg| arg.text.contains("://"));
            command.args().last().filter(|_| fetches).cloned()
        }
        "wget" | "curl" => command.value(&["outfile"]),
        _ => command.value(&["outfile", "destination"]),
    };
    let name = file.map(|file| base_name(&file.text)).unwrap_or_default();
    if !name.is_empty() && out.fetched.len() < MOST {
        out.fetched.push(name);
    }
}

fn base_name(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or(path).to_ascii_lowercase()
}

fn is_fetched_file(program: &str, out: &Translation) -> bool {
    let is_program = |file: &String| {
        file == program || file.strip_suffix(".exe").or_else(|| file.strip_suffix(".cmd")) == Some(program)
    };
    !program.is_empty() && out.fetched.iter().any(is_program)
}

/// `forfiles /p C:\x /s /c "cmd /c del @path"`
fn for_files(command: &WindowsCommand, out: &mut Translation) {
    let after = |name: &str| {
        let place = command.args().iter().position(|arg| arg.text.eq_ignore_ascii_case(name))?;
        command.args().get(place + 1).map(|arg| arg.text.clone())
    };
    let folder = after("/p").unwrap_or_else(|| ".".to_owned());
    let pattern = after("/m").unwrap_or_else(|| "*".to_owned());
    let found = format!("{}\\{pattern}", folder.trim_end_matches('\\'));
    if let Some(line) = after("/c").filter(|_| out.may_start()) {
        let line = line.replace("@path", &found).replace("@file", &found);
        out.read_cmd(&line, DEEPEST - 2);
    }
}

fn start_process(command: &WindowsCommand, out: &mut Translation) {
    let targets = command.targets();
    let program = command.value(&["filepath"]).or_else(|| targets.first().cloned());
    let list = command.value(&["argumentlist", "args"]);
    let Some(program) = program.filter(Arg::is_known) else { return };
    let mut words = vec![program];
    for part in list.into_iter().chain(targets.into_iter().skip(1)).flat_map(split_list) {
        words.extend(part.text.split_ascii_whitespace().map(Arg::known));
    }
    let started = WindowsCommand { words, ..command.clone() };
    if matches!(started.program().as_str(), "powershell" | "pwsh" | "cmd")
        && (!out.may_start() || out.start_shell(&started, DEEPEST - 1))
    {
        return;
    }
    // Started once more by the same name it would not end.
    if !matches!(started.program().as_str(), "start-process" | "saps" | "start") {
        translate(&started, false, out);
    }
}

fn note(list: &mut Vec<String>, target: Option<&Arg>) {
    if let Some(target) = target.filter(|target| !target.text.is_empty())
        && list.len() < MOST
    {
        list.push(target.text.clone());
    }
}

fn invoke(command: &WindowsCommand, program: &str, args: Vec<Arg>, out: &mut Translation) {
    let (start, end) = (command.start, command.end);
    out.invocations.push(Invocation {
        program: program.to_owned(),
        args,
        start,
        end,
        ..Invocation::default()
    });
}

/// The danger of a rule that the targets of a command decide.
fn named_danger(command: &WindowsCommand, id: &str, out: &mut Translation) {
    WINDOWS_RULES.iter().find(|rule| rule.id == id).into_iter().for_each(|rule| danger(command, rule, out));
}

fn danger(command: &WindowsCommand, rule: &WindowsRule, out: &mut Translation) {
    out.dangers.push(Danger {
        rule: rule.id.to_owned(),
        severity: rule.severity,
        confidence: Confidence::High,
        reason: rule.reason.to_owned(),
        safer: rule.safer.to_owned(),
        command: joined(&command.words),
        start: command.start,
        end: command.end,
        ..Danger::default()
    });
}
