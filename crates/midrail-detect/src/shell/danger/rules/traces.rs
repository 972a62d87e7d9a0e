//! What wipes the traces of what was done: histories and logs.

use midrail_core::Severity::{High, Medium};

use super::super::rule::{Rule, rule};

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("history-clear", &["history", "fc"], High, "Deletes the record of past commands")
        .when(&["-c|-d", "-p @0", "-W @/dev/null", "clear|delete", "-w @/dev/null"])
        .unless(&["-d !@*"])
        .safer("leave the history to the user")
        .stops(&["history -c", "history -cw", "history -d 5", "history clear"])
        .passes(&["history", "history 25", "history -a", "fc -l"]),
    rule(
        "history-off",
        &["unset", "export", "set", "declare", "setopt", "unsetopt", "shopt"],
        High,
        "Keeps the shell from recording commands",
    )
        .when(&[
            "... HISTFILE|HISTSIZE|HISTFILESIZE|HISTFILE=/dev/null|HISTSIZE=0|HISTFILESIZE=0|\
             SAVEHIST=0|HISTFILE=|HISTCONTROL=ignoreall|HISTIGNORE=[*]",
            "+o history", "... histnostore",
        ])
        .unless(&["-p !@*=*", "HISTSIZE|HISTFILE|HISTFILESIZE !-*-unset"])
        .safer("leave the history to the user")
        .stops(&["export HISTFILE=/dev/null", "export HISTSIZE=0", "set +o history"])
        .passes(&["export PATH=x", "unset FOO", "set -e", "export HISTSIZE=10000", "set -o history"]),
    rule("history-unset", &["unset"], High, "Keeps the shell from recording commands")
        .when(&["... HISTFILE|HISTSIZE|HISTFILESIZE|PROMPT_COMMAND"])
        .safer("leave the history to the user")
        .stops(&["unset HISTFILE", "unset -v HISTSIZE HISTFILE"])
        .passes(&["unset X"]),
    rule("journal-wipe", &["journalctl"], Medium, "Deletes logs of the machine")
        .when(&["--vacuum-time|--vacuum-size|--vacuum-files|--vacuum-time=*|--rotate|--relinquish-var"])
        .safer("leave the logs to the user")
        .stops(&["journalctl --vacuum-time=1s", "journalctl --rotate --vacuum-size=1M"])
        .passes(&["journalctl -u x", "journalctl -f", "journalctl --disk-usage"]),
    rule(
        "logs-wipe",
        &[
            "wevtutil", "clear-eventlog", "dmesg", "lastlog", "utmpdump", "auditctl", "log", "faillog",
            "fsutil",
        ],
        High,
        "Deletes logs of the machine",
    )
        .when(&[
            "cl|clear-log", "-C|--clear|-c|--read-clear", "-f|--force", "erase", "-r|-C", "-D",
            "usn deletejournal", "-LogName",
        ])
        .unless(&["-d|--debug", "-l|-s|-w|-k"])
        .safer("leave the logs to the user")
        .stops(&[
            "wevtutil cl Security", "dmesg -C", "dmesg --clear", "log erase --all", "auditctl -D",
            "fsutil usn deletejournal /D C:",
        ])
        .passes(&["dmesg", "dmesg -T", "wevtutil qe System", "log show", "auditctl -l"]),
    rule("timestamps", &["touch"], Medium, "Makes files look as if they had not been changed")
        .when(&["-r|--reference @/etc/*|/bin/*|/usr/*|/var/log/*", "-t @/etc/*|/bin/*|/usr/*|/var/log/*"])
        .likely()
        .safer("leave the times of files alone")
        .stops(&["touch -r /bin/ls /etc/passwd"])
        .passes(&["touch a", "touch -t 202001010000 a"]),
    rule("history-elsewhere", &["fc"], High, "Keeps the shell from recording commands where the user looks")
        .when(&["-p|-P"])
        .safer("leave the history to the user")
        .stops(&["fc -p", "fc -p /dev/null 0 0"])
        .passes(&["fc -l", "fc -s"]),
];
