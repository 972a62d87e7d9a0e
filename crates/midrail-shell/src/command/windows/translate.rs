//! Translates commands of Windows to POSIX programs, and reports dangers that have no POSIX counterpart.

use midrail_core::{Confidence, Danger};

use super::command::{WindowsCommand, is_switch, translated};
use super::translation::{DEEPEST, MOST, Translation};
use crate::command::invocation::{Arg, Invocation, joined};
use crate::tables::{WINDOWS_RULES, WindowsRule};

/// Translates a command that is given an input.
pub(super) fn translate(command: &WindowsCommand, input: &str, out: &mut Translation) {
    if command.words.is_empty() || out.invocations.len() + out.dangers.len() >= MOST {
        return;
    }
    let program = command.program();
    if program == "diskpart" && input.to_ascii_lowercase().contains("clean") {
        let words = ["clear-disk", "-Number", "0"].map(Arg::known).to_vec();
        return translate(&command.with_words(words), "", out);
    }
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
        if !is_for_process && !command.has("whatif") {
            return danger(command, rule, out);
        }
    }
    let slashes = |name: u8| command.is_cmd && command.has_slash(name);
    let flag = |is_set: bool, text: &str| is_set.then(|| Arg::known(text));
    match program.as_str() {
        "remove-item" | "ri" | "rm" | "rmdir" | "rd" | "del" | "erase" => {
            if command.has("whatif") {
                return;
            }
            let has_word = |words: &[&str]| words.iter().any(|word| command.has_word(word));
            let is_recursive = slashes(b's') || command.has("recurse") || has_word(&["-rf", "-fr"]);
            let is_forced = slashes(b'q') || slashes(b'f') || command.has("force") || has_word(&["-rf"]);
            let targets = command.files();
            if targets.iter().any(|target| target.text.to_ascii_lowercase().ends_with(".historysavepath")) {
                return named_danger(command, "windows-traces", out);
            }
            if targets.iter().any(|target| is_registry(&target.text)) {
                return named_danger(command, "windows-registry", out);
            }
            let is_folder = matches!(program.as_str(), "rd" | "rmdir") && command.is_cmd && !is_recursive;
            let flags = [flag(is_recursive, "-r"), flag(is_forced, "-f")].into_iter().flatten();
            let args = flags.chain(targets.into_iter().flat_map(split_list)).collect();
            // `del folder\*` and `del folder` both empty it.
            invoke(if is_folder { "rmdir" } else { "rm" }, args, out);
        }
        "remove-itemproperty" | "clear-itemproperty" => named_danger(command, "windows-registry", out),
        "clear-content" | "clc" => {
            invoke("truncate", with_words(["-s", "0"], command.targets()), out);
        }
        "format" if command.is_cmd => {
            let drive = command.args().iter().find(|arg| arg.text.len() <= 3 && arg.text.contains(':'));
            if let Some(drive) = drive {
                invoke("mkfs", vec![Arg::known(device(&drive.text))], out);
            }
        }
        "format-volume" => {
            let drive = command.value(&["driveletter"]).map_or_else(|| "C".to_owned(), |arg| arg.text);
            invoke("mkfs", vec![Arg::known(device(&drive))], out);
        }
        "clear-disk" | "initialize-disk" | "remove-partition" | "reset-physicaldisk" => {
            let disk = command
                .value(&["number", "disknumber", "driveletter"])
                .map_or_else(|| "0".to_owned(), |arg| arg.text);
            invoke("wipefs", vec![Arg::known("-a"), Arg::known(device(&disk))], out);
        }
        "stop-computer" | "restart-computer" => invoke("shutdown", vec![Arg::known("now")], out),
        "shutdown" if command.args().iter().any(|arg| is_switch(&arg.text) || arg.text.starts_with('-')) => {
            let stops = [b's', b'r', b'p', b'h', b'l'].iter().any(|name| command.has_slash(*name))
                || ["-s", "-r", "-p", "-h"].iter().any(|name| command.has_word(name));
            if stops {
                invoke("shutdown", vec![Arg::known("now")], out);
            }
        }
        "stop-process" | "spps" | "kill" | "taskkill" => {
            let names = command.value(&["name", "processname"]);
            let image = command.args().iter().position(|arg| arg.text.eq_ignore_ascii_case("/im"));
            let image = image.and_then(|place| command.args().get(place + 1)).cloned();
            match names.or(image) {
                Some(name) => invoke("pkill", vec![name], out),
                None => invoke("kill", command.slash_targets(), out),
            }
        }
        "copy-item" | "cpi" | "copy" | "xcopy" | "cp" => transfer(command, "cp", out),
        "move-item" | "mi" | "move" | "mv" | "rename-item" | "ren" | "rni" => transfer(command, "mv", out),
        "set-content" | "sc" | "add-content" | "ac" | "out-file" | "tee-object" | "new-item" | "ni" => {
            let target = command
                .value(&["filepath", "path", "literalpath"])
                .or_else(|| command.targets().into_iter().next());
            note(&mut out.writes, target.as_ref());
        }
        "get-content" | "gc" | "type" | "cat" => {
            command.files().iter().for_each(|target| note(&mut out.reads, Some(target)));
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
                invoke(&program, command.args().to_vec(), out);
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
            out.is_opaque |=
                command.args().iter().any(|arg| arg.text.to_ascii_lowercase().starts_with("vbscript:"));
        }
        "forfiles" if command.is_cmd => for_files(command, out),
        "invoke-sqlcmd" => {
            let query = command.value(&["query"]).map(|arg| arg.text).unwrap_or_default();
            out.dangers.extend(crate::sql::scan(&query).iter().map(|hit| crate::sql::danger(&query, hit)));
        }
        name if name.starts_with("remove-az") => {
            let noun = match name.get(9..).unwrap_or("") {
                "resourcegroup" => "group",
                noun => noun,
            };
            invoke("az", with_words([noun, "delete"], command.args().to_vec()), out);
        }
        "remove-s3bucket" => invoke("aws", with_words(["s3", "rb"], command.args().to_vec()), out),
        "remove-s3object" => invoke("aws", with_words(["s3", "rm"], command.args().to_vec()), out),
        "set-location" | "sl" | "cd" | "chdir" | "push-location" | "pushd" => {
            let folder = if command.is_cmd { command.slash_targets() } else { command.targets() };
            invoke("cd", folder.into_iter().take(1).collect(), out);
        }
        "" => {}
        name if name.starts_with(['$', '[', '@', '%', '+', ',', '.']) => {}
        name => invoke(name, command.args().to_vec(), out),
    }
}

/// Arguments with two words in front of them.
fn with_words(words: [&str; 2], args: Vec<Arg>) -> Vec<Arg> {
    words.map(Arg::known).into_iter().chain(args).collect()
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

fn transfer(command: &WindowsCommand, program: &str, out: &mut Translation) {
    let mut targets = command.files();
    note(&mut out.reads, targets.first());
    note(&mut out.writes, targets.get(1));
    targets.truncate(2);
    invoke(program, targets, out);
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
    let started = WindowsCommand { is_cmd: false, ..command.with_words(words) };
    if matches!(started.program().as_str(), "powershell" | "pwsh" | "cmd")
        && (!out.may_start() || out.start_shell(&started, DEEPEST - 1))
    {
        return;
    }
    // Started once more by the same name it would not end.
    if !matches!(started.program().as_str(), "start-process" | "saps" | "start") {
        translate(&started, "", out);
    }
}

fn note(list: &mut Vec<String>, target: Option<&Arg>) {
    if let Some(target) = target.filter(|target| !target.text.is_empty())
        && list.len() < MOST
    {
        list.push(target.text.clone());
    }
}

fn invoke(program: &str, args: Vec<Arg>, out: &mut Translation) {
    out.invocations.push(Invocation { program: program.to_owned(), args, ..Invocation::default() });
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
        ..Danger::default()
    });
}
