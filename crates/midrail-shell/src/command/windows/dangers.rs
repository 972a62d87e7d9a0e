//! The table of what commands of Windows destroy in ways that have no POSIX counterpart.

use midrail_core::Severity::{self, Critical, High, Medium};

/// A danger without a POSIX counterpart: the program, words that must all stand in its arguments, and what it means.
pub(super) struct Row {
    pub(super) rule: &'static str,
    pub(super) programs: &'static [&'static str],
    pub(super) words: &'static [&'static str],
    pub(super) severity: Severity,
    pub(super) reason: &'static str,
    pub(super) safer: &'static str,
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
    row(
        "windows-rights",
        &["icacls"],
        &["/grant*", "everyone:*"],
        Medium,
        ("Lets every user of the machine use these files", "name the one user who needs them"),
        ["icacls C:\\x /grant Everyone:F /T", "icacls x /grant me:R"],
    ),
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

/// Rows that no words tell: what they are about is seen by their targets.
pub(super) const HISTORY: Row = row("windows-traces", &[], &[], Medium, TRACES, ["", ""]);
pub(super) const REGISTRY: Row = row("windows-registry", &[], &[], High, KEYS, ["", ""]);
