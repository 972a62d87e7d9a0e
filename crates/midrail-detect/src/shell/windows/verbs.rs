//! What commands of Windows do: translated where POSIX has a counterpart, and told as dangers where it has none.

use midrail_core::Severity::{self, Critical, High, Medium};
use midrail_core::{Confidence, Danger};

use super::path::posix;
use super::{MOST, Translated};
use crate::shell::invocation::{Arg, Folder, Input, Invocation};

/// One command of PowerShell or cmd.
#[derive(Debug, Clone, Default)]
pub(super) struct Command {
    /// Its words; the first is the program.
    pub(super) words: Vec<Arg>,
    /// It holds something that came from elsewhere.
    pub(super) is_fetched: bool,
    /// It holds something that was decoded, into what is not known.
    pub(super) is_decoded: bool,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A danger without a POSIX counterpart: the program, words that must all stand in its arguments, and what it means.
pub(super) struct Row {
    pub(super) rule: &'static str,
    programs: &'static [&'static str],
    words: &'static [&'static str],
    severity: Severity,
    reason: &'static str,
    safer: &'static str,
    /// A line that it must find, and one that it must not.
    #[cfg_attr(not(test), expect(dead_code, reason = "the examples are there for readers and for tests"))]
    pub(super) examples: [&'static str; 2],
}

const fn row(
    rule: &'static str,
    programs: &'static [&'static str],
    words: &'static [&'static str],
    severity: Severity,
    (reason, safer): (&'static str, &'static str),
    examples: [&'static str; 2],
) -> Row {
    Row { rule, programs, words, severity, reason, safer, examples }
}

const COPIES: (&str, &str) = ("Deletes the copies that files are restored from", "let a person do it");
const BOOT: (&str, &str) = ("Changes how the machine boots", "let a person do it");
const LOGS: (&str, &str) = ("Clears event logs", "export them first, with `wevtutil epl`");
const KEYS: (&str, &str) = ("Deletes from the registry", "export the key with `reg export` first");
const GUARD: (&str, &str) = ("Switches protection off", "leave protection on");
const WALL: (&str, &str) = ("Switches the firewall off or resets it", "open the one port that is needed");
const POLICY: (&str, &str) = ("Lets any script run", "set it for the process only: `-Scope Process`");
const SERVICE: (&str, &str) = ("Stops, disables or deletes a service or device", "ask first");
const ACCOUNT: (&str, &str) = ("Deletes an account, a group or a share", "disable it instead");
const ADDED: (&str, &str) = ("Adds an account, or a member to a group", "let a person do it");
const TRACES: (&str, &str) = ("Removes the history of what was run", "leave it as it is");
const TASK: (&str, &str) = ("Deletes a scheduled task", "disable it instead");
const RIGHTS: (&str, &str) = ("Changes the rights of whole folders", "name the file that is meant");
const MIRROR: (&str, &str) = ("Deletes whatever the source does not have", "leave it out, or try /L first");
const MACHINE: (&str, &str) = ("Removes a virtual machine or its disks", "export it first");

/// The dangers. A word that ends in `*` stands for the start of one.
pub(super) const ROWS: &[Row] = &[
    row(
        "windows-shadow-copies",
        &["vssadmin"],
        &["delete", "shadows"],
        Critical,
        COPIES,
        ["vssadmin delete shadows /all", "vssadmin list shadows"],
    ),
    row(
        "windows-shadow-copies",
        &["vssadmin"],
        &["resize", "shadowstorage"],
        High,
        COPIES,
        ["vssadmin resize shadowstorage /for=C:", "vssadmin list shadowstorage"],
    ),
    row(
        "windows-shadow-copies",
        &["wmic"],
        &["shadowcopy", "delete"],
        Critical,
        COPIES,
        ["wmic shadowcopy delete", "wmic shadowcopy list"],
    ),
    row(
        "windows-backup",
        &["wbadmin"],
        &["delete"],
        Critical,
        COPIES,
        ["wbadmin delete catalog -quiet", "wbadmin get versions"],
    ),
    row(
        "windows-boot",
        &["bcdedit"],
        &["/set"],
        High,
        BOOT,
        ["bcdedit /set x recoveryenabled No", "bcdedit /enum"],
    ),
    row(
        "windows-boot",
        &["bcdedit"],
        &["/delete"],
        Critical,
        BOOT,
        ["bcdedit /delete x", "bcdedit /enum all"],
    ),
    row("windows-logs", &["wevtutil"], &["cl"], High, LOGS, ["wevtutil cl System", "wevtutil qe System"]),
    row(
        "windows-logs",
        &["wevtutil"],
        &["clear-log"],
        High,
        LOGS,
        ["wevtutil clear-log System", "wevtutil el"],
    ),
    row(
        "windows-logs",
        &["clear-eventlog", "remove-eventlog", "limit-eventlog"],
        &[],
        High,
        LOGS,
        ["Clear-EventLog System", "Get-EventLog System"],
    ),
    row(
        "windows-registry",
        &["reg"],
        &["delete"],
        High,
        KEYS,
        ["reg delete HKLM\\X /f", "reg query HKLM\\X"],
    ),
    row(
        "windows-free-space",
        &["cipher"],
        &["/w*"],
        High,
        ("Overwrites free space, so that nothing deleted can be restored", "leave it out"),
        ["cipher /w:D", "cipher /e x"],
    ),
    row(
        "windows-journal",
        &["fsutil"],
        &["usn", "deletejournal"],
        High,
        ("Deletes the journal of changed files", "leave it out"),
        ["fsutil usn deletejournal /d C:", "fsutil usn queryjournal C:"],
    ),
    row(
        "windows-disk",
        &["diskpart"],
        &["/s"],
        High,
        ("Runs a script that may wipe disks", "let a person do it"),
        ["diskpart /s x.txt", "diskpart"],
    ),
    row(
        "windows-defender",
        &["set-mppreference"],
        &["-disable*"],
        High,
        GUARD,
        ["Set-MpPreference -DisableRealtimeMonitoring 1", "Get-MpPreference"],
    ),
    row(
        "windows-defender",
        &["add-mppreference"],
        &["-exclusion*"],
        Medium,
        GUARD,
        ["Add-MpPreference -ExclusionPath x", "Get-MpThreat"],
    ),
    row(
        "windows-firewall",
        &["netsh"],
        &["firewall", "disable"],
        High,
        WALL,
        ["netsh firewall set opmode disable", "netsh firewall show state"],
    ),
    row(
        "windows-firewall",
        &["netsh"],
        &["advfirewall", "off"],
        High,
        WALL,
        ["netsh advfirewall set allprofiles state off", "netsh advfirewall show allprofiles"],
    ),
    row(
        "windows-firewall",
        &["netsh"],
        &["advfirewall", "reset"],
        Medium,
        WALL,
        ["netsh advfirewall reset", "netsh interface show interface"],
    ),
    row(
        "windows-firewall",
        &["set-netfirewallprofile"],
        &["false"],
        High,
        WALL,
        ["Set-NetFirewallProfile -Enabled False", "Set-NetFirewallProfile -Enabled True"],
    ),
    row(
        "windows-firewall",
        &["set-netfirewallprofile"],
        &["$false"],
        High,
        WALL,
        ["Set-NetFirewallProfile -Enabled $false", "Get-NetFirewallProfile"],
    ),
    row(
        "windows-execution-policy",
        &["set-executionpolicy"],
        &["bypass"],
        Medium,
        POLICY,
        ["Set-ExecutionPolicy Bypass", "Set-ExecutionPolicy Bypass -Scope Process"],
    ),
    row(
        "windows-execution-policy",
        &["set-executionpolicy"],
        &["unrestricted"],
        Medium,
        POLICY,
        ["Set-ExecutionPolicy Unrestricted", "Set-ExecutionPolicy RemoteSigned"],
    ),
    row(
        "windows-restore",
        &["disable-computerrestore"],
        &[],
        High,
        ("Switches system restore off", "leave it on"),
        ["Disable-ComputerRestore C", "Enable-ComputerRestore C"],
    ),
    row(
        "windows-service",
        &[
            "stop-service",
            "remove-service",
            "disable-netadapter",
            "disable-localuser",
            "disable-scheduledtask",
        ],
        &[],
        Medium,
        SERVICE,
        ["Stop-Service x", "Get-Service x"],
    ),
    row(
        "windows-service",
        &["set-service"],
        &["disabled"],
        Medium,
        SERVICE,
        ["Set-Service x -StartupType Disabled", "Set-Service x -StartupType Manual"],
    ),
    row("windows-service", &["sc"], &["delete"], High, SERVICE, ["sc.exe delete x", "sc.exe query x"]),
    row("windows-service", &["sc"], &["stop"], Medium, SERVICE, ["sc.exe stop x", "sc.exe start x"]),
    row("windows-service", &["net", "net1"], &["stop"], Medium, SERVICE, ["net stop x", "net start x"]),
    row(
        "windows-account",
        &["net", "net1"],
        &["/delete"],
        High,
        ACCOUNT,
        ["net user x /delete", "net user x"],
    ),
    row(
        "windows-account-added",
        &["net", "net1"],
        &["/add"],
        Medium,
        ADDED,
        ["net user x y /add", "net user x y"],
    ),
    row(
        "windows-account-added",
        &["new-localuser", "add-localgroupmember"],
        &[],
        Medium,
        ADDED,
        ["New-LocalUser x", "Get-LocalUser x"],
    ),
    row("windows-traces", &["clear-history"], &[], Medium, TRACES, ["Clear-History", "Get-History"]),
    row(
        "windows-account",
        &[
            "remove-localuser",
            "remove-localgroup",
            "remove-aduser",
            "remove-adgroup",
            "remove-adcomputer",
            "remove-adorganizationalunit",
            "remove-mailbox",
        ],
        &[],
        High,
        ACCOUNT,
        ["Remove-ADUser x", "Get-ADUser x"],
    ),
    row(
        "windows-task",
        &["schtasks"],
        &["/delete"],
        Medium,
        TASK,
        ["schtasks /delete /tn x /f", "schtasks /query"],
    ),
    row(
        "windows-task",
        &["unregister-scheduledtask"],
        &[],
        Medium,
        TASK,
        ["Unregister-ScheduledTask x", "Get-ScheduledTask x"],
    ),
    row(
        "windows-machine",
        &["remove-vm", "remove-vmsnapshot", "remove-vmharddiskdrive"],
        &[],
        High,
        MACHINE,
        ["Remove-VM x", "Get-VM x"],
    ),
    row(
        "windows-recycle-bin",
        &["clear-recyclebin"],
        &[],
        Medium,
        ("Empties the recycle bin", "leave it to the user"),
        ["Clear-RecycleBin -Force", "Clear-Host"],
    ),
    row("windows-rights", &["takeown"], &["/r"], Medium, RIGHTS, ["takeown /f x /r", "takeown /f x"]),
    row("windows-rights", &["icacls"], &["/reset"], Medium, RIGHTS, ["icacls x /reset /t", "icacls x"]),
    row("windows-mirror", &["robocopy"], &["/mir"], High, MIRROR, ["robocopy a b /mir", "robocopy a b /e"]),
    row(
        "windows-mirror",
        &["robocopy"],
        &["/purge"],
        High,
        MIRROR,
        ["robocopy a b /e /purge", "robocopy a b"],
    ),
];

/// Parameters of cmdlets that take a value which is no path.
const VALUED: &[&str] = &[
    "include",
    "exclude",
    "filter",
    "erroraction",
    "ea",
    "warningaction",
    "encoding",
    "depth",
    "value",
    "method",
    "headers",
    "body",
    "usebasicparsing",
    "credential",
    "stream",
    "name",
    "id",
    "itemtype",
    "scope",
    "executionpolicy",
    "contenttype",
    "useragent",
    "argumentlist",
    "workingdirectory",
    "verb",
    "windowstyle",
];

impl Command {
    /// The program's name, without folder and `.exe`, in small letters.
    fn program(&self) -> String {
        let word = self.words.first().filter(|word| word.is_known()).map_or("", |word| word.text.as_str());
        let name = word.rsplit(['/', '\\']).next().unwrap_or(word).to_ascii_lowercase();
        name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(&name).to_owned()
    }

    fn args(&self) -> &[Arg] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Whether a switch of this name is set; names may be cut off: `-rec`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.args().iter().any(|arg| {
            arg.text.strip_prefix('-').is_some_and(|given| {
                let given = given.split(':').next().unwrap_or("").to_ascii_lowercase();
                !given.is_empty() && name.starts_with(&given)
            })
        })
    }

    fn has_word(&self, wanted: &str) -> bool {
        self.args().iter().any(|arg| {
            let word = arg.text.to_ascii_lowercase();
            wanted.strip_suffix('*').map_or(word == wanted, |start| word.starts_with(start))
        })
    }

    /// The value of a parameter: `-Path x`, `-Path:x`.
    pub(super) fn value(&self, names: &[&str]) -> Option<Arg> {
        let mut args = self.args().iter();
        while let Some(arg) = args.next() {
            let Some(given) = arg.text.strip_prefix('-') else {
                continue;
            };
            let (given, inline) =
                given.split_once(':').map_or((given, None), |(name, value)| (name, Some(value)));
            let given = given.to_ascii_lowercase();
            if !given.is_empty() && names.iter().any(|name| name.starts_with(&given)) {
                return inline.map(Arg::known).or_else(|| args.next().cloned());
            }
        }
        None
    }

    /// What is neither a parameter nor its value, with paths in POSIX terms.
    pub(super) fn targets(&self) -> Vec<Arg> {
        let mut targets = Vec::new();
        let mut args = self.args().iter();
        while let Some(arg) = args.next() {
            match arg.text.strip_prefix('-').map(str::to_ascii_lowercase) {
                Some(name) if VALUED.iter().any(|known| name.len() > 1 && known.starts_with(&name)) => {
                    args.next();
                }
                Some(_) => {}
                None => targets.push(translated(arg)),
            }
        }
        targets
    }

    /// The targets of a command of cmd, whose switches start with a slash.
    fn slash_targets(&self) -> Vec<Arg> {
        self.args().iter().filter(|arg| !is_switch(&arg.text)).map(translated).collect()
    }

    fn has_slash(&self, name: u8) -> bool {
        self.args().iter().filter(|arg| is_switch(&arg.text)).any(|arg| {
            // `/s/q` are two.
            arg.text.split('/').any(|switch| {
                switch.as_bytes().first().is_some_and(|letter| letter.eq_ignore_ascii_case(&name))
            })
        })
    }
}

fn is_switch(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|name| {
        let name = name.split([':', '/']).next().unwrap_or("");
        !name.is_empty()
            && name.len() <= 8
            && name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'-')
    })
}

/// A word with its path in POSIX terms. What is unknown stays where it is.
fn translated(arg: &Arg) -> Arg {
    if !arg.is_known() {
        // Backslashes and slashes are as long as each other: the places of unknown parts stay right.
        return Arg { text: arg.text.replace('\\', "/"), ..arg.clone() };
    }
    let text = posix(&arg.text);
    let is_glob = text.contains(['*', '?']);
    Arg { text, unknown: Vec::new(), is_glob }
}

/// Tells what a command does. `is_cmd`: its switches start with a slash.
pub(super) fn tell(command: &Command, is_cmd: bool, out: &mut Translated) {
    if command.words.is_empty() || out.invocations.len() + out.dangers.len() >= MOST {
        return;
    }
    let program = command.program();
    if is_fetched_file(&program, out) {
        out.runs_downloaded_code = true;
    }
    let row = ROWS.iter().find(|row| {
        row.programs.contains(&program.as_str()) && row.words.iter().all(|word| command.has_word(word))
    });
    if let Some(row) = row {
        let is_for_process = program == "set-executionpolicy" && command.has_word("process");
        let is_tried = !is_cmd && command.has("whatif");
        if !is_for_process && !is_tried {
            return danger(command, row, out);
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
                return danger(command, &HISTORY, out);
            }
            if targets.iter().any(|target| is_registry(&target.text)) {
                return danger(command, &REGISTRY, out);
            }
            let is_folder = matches!(program.as_str(), "rd" | "rmdir") && is_cmd && !is_recursive;
            let mut args: Vec<Arg> =
                [flag(is_recursive, "-r"), flag(is_forced, "-f")].into_iter().flatten().collect();
            args.extend(targets.into_iter().flat_map(split_list));
            // `del folder\*` and `del folder` both empty it.
            invoke(command, if is_folder { "rmdir" } else { "rm" }, args, out);
        }
        "remove-itemproperty" | "clear-itemproperty" => danger(command, &REGISTRY, out),
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

const HISTORY: Row = row("windows-traces", &[], &[], Medium, TRACES, ["", ""]);
const REGISTRY: Row = row("windows-registry", &[], &[], High, KEYS, ["", ""]);

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

fn transfer(command: &Command, program: &str, is_cmd: bool, out: &mut Translated) {
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
fn note_fetched(command: &Command, program: &str, out: &mut Translated) {
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

fn is_fetched_file(program: &str, out: &Translated) -> bool {
    let is_program = |file: &String| {
        file == program || file.strip_suffix(".exe").or_else(|| file.strip_suffix(".cmd")) == Some(program)
    };
    !program.is_empty() && out.fetched.iter().any(is_program)
}

/// `forfiles /p C:\x /s /c "cmd /c del @path"`
fn for_files(command: &Command, out: &mut Translated) {
    let after = |name: &str| {
        let place = command.args().iter().position(|arg| arg.text.eq_ignore_ascii_case(name))?;
        command.args().get(place + 1).map(|arg| arg.text.clone())
    };
    let folder = after("/p").unwrap_or_else(|| ".".to_owned());
    let pattern = after("/m").unwrap_or_else(|| "*".to_owned());
    let found = format!("{}\\{pattern}", folder.trim_end_matches('\\'));
    if let Some(line) = after("/c").filter(|_| out.may_start()) {
        let line = line.replace("@path", &found).replace("@file", &found);
        super::cmd::read(&line, super::DEEPEST - 1, out);
    }
}

fn start_process(command: &Command, out: &mut Translated) {
    let targets = command.targets();
    let program = command.value(&["filepath"]).or_else(|| targets.first().cloned());
    let list = command.value(&["argumentlist", "args"]);
    let Some(program) = program.filter(Arg::is_known) else {
        return;
    };
    let mut words = vec![program];
    for part in list.into_iter().chain(targets.into_iter().skip(1)).flat_map(split_list) {
        words.extend(part.text.split_ascii_whitespace().map(Arg::known));
    }
    let started = Command { words, ..command.clone() };
    let rest = |from: usize| {
        let words: Vec<&str> = started.words.iter().skip(from).map(|word| word.text.as_str()).collect();
        words.join(" ")
    };
    let is_flag = |word: &Arg, flags: &[&str]| flags.iter().any(|flag| word.text.eq_ignore_ascii_case(flag));
    match started.program().as_str() {
        "powershell" | "pwsh" | "cmd" if !out.may_start() => return,
        "powershell" | "pwsh" => {
            return super::powershell::read(&rest(0), super::DEEPEST - 1, out);
        }
        "cmd" => {
            if let Some(at) = started.words.iter().position(|word| is_flag(word, &["/c", "/k"])) {
                super::cmd::read(&rest(at + 1), super::DEEPEST - 1, out);
            }
            return;
        }
        _ => {}
    }
    // Started once more by the same name it would not end.
    if !matches!(started.program().as_str(), "start-process" | "saps" | "start") {
        tell(&started, false, out);
    }
}

fn note(list: &mut Vec<String>, target: Option<&Arg>) {
    if let Some(target) = target.filter(|target| !target.text.is_empty())
        && list.len() < MOST
    {
        list.push(target.text.clone());
    }
}

fn invoke(command: &Command, program: &str, args: Vec<Arg>, out: &mut Translated) {
    out.invocations.push(Invocation {
        program: program.to_owned(),
        args,
        folder: Folder::Known(String::new()),
        is_remote: false,
        is_privileged: false,
        has_more_args: false,
        input: Input::Inherited,
        start: command.start,
        end: command.end,
    });
}

fn danger(command: &Command, row: &Row, out: &mut Translated) {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    out.dangers.push(Danger {
        rule: row.rule.to_owned(),
        severity: row.severity,
        confidence: Confidence::High,
        reason: row.reason.to_owned(),
        safer: row.safer.to_owned(),
        command: words.join(" "),
        start: command.start,
        end: command.end,
        ..Danger::default()
    });
}
