//! What takes this guard away, or answers for a person. The rows' names begin with `midrail-`: self-protection goes by it.

use midrail_core::Severity::{Critical, Medium};

use super::super::rule::{Rule, rule};

pub(super) const RULES: &[Rule] = &[
    rule("midrail-verb", &["midrail"], Critical, "Answers for a person, or switches the agent's own guardrails off")
        .when(&[
            "approve|deny|bypass|override|init|uninstall|disable|pause|resume|login",
            "bypass|quarantine|lock|locks|task|tasks|key|keys|alert|alerts|policy|session|sessions approve|deny|decide|grant|lift|take|release|add|create|remove|revoke|delete|reload|end|reset|set",
            // The verb comes from elsewhere.
            "!* {}",
        ])
        .safer("tell a person what stands in the way")
        .stops(&["midrail approve a-1", "midrail uninstall --yes", "midrail uninstall --user --purge -y", "midrail init --yes --program /tmp/nothing", "midrail pause 1h", "midrail --color never approve a-1", "midrail quarantine lift x", "midrail locks take a --for b", "midrail tasks set t completed", "midrail pause 10m --reason x --as ann", "midrail pause --end", "midrail --json pause 1h --everywhere"])
        .passes(&["midrail explain safety-001", "midrail policy", "midrail test .midrail", "midrail tasks list", "midrail stats", "midrail doctor", "midrail doctor --json", "midrail init --help", "git init", "midrail approve --help", "midrail --version", "midrail log --follow", "midrail pause --help"]),
    // Events are told by hosts. Who could tell them could say that a file was read, or that a halted run begins anew.
    rule("midrail-event", &["midrail"], Critical, "Tells events in the place of the agent's host")
        .when(&["check|hook"])
        .safer("try a pack with `midrail test` or `midrail replay`, which keep no record of it")
        .stops(&["midrail check", "midrail hook claude-code SessionStart", "midrail --json check --pack strict", "midrail check --store /tmp/x.db < event.json"])
        .passes(&["midrail check --help", "midrail test .midrail", "midrail explain safety-001", "midrail script run guardrails.js --event e.json"]),
    // Of the verbs about people, those that read, and the one by which an agent asks. Whatever else there is or comes
    // to be, and what the line does not tell, is for people.
    rule("midrail-approvals", &["midrail"], Critical, "Answers for a person, or says who may answer")
        .when(&["approval|approvals|approver|approvers"])
        .unless(&["approval|approvals list|show|wait|request", "approver|approvers list"])
        .safer("ask with `midrail approvals request --decision SEQ --reason \"…\"`, and let a person answer")
        .stops(&[
            "midrail approvals approve a-1 --as ann",
            "midrail --json -v approvals deny a-1 --as ann",
            "midrail --color never approvals approve a-1",
            "midrail approvals review a-1 --as ann --text request",
            "midrail approvals decide a-1 --approve",
            "midrail approver add me --role architect",
            "midrail approver revoke ann",
            "midrail approvals $VERB a-1 --as ann",
            "midrail approvals --color request approve a-1",
            "midrail approvals --store request approve a-1",
            "/usr/bin/midrail approvals approve a-1",
        ])
        .passes(&[
            "midrail approvals list",
            "midrail approvals show a-1",
            "midrail approvals wait a-1 --timeout 5s",
            "midrail approvals request --decision 3 --reason 'The release waits for it' --urgency urgent",
            "midrail approvals request --reason approve --decision 3",
            "./target/release/midrail --json approvals request --decision 3 --reason 'approve' | jq .id",
            "midrail approver list",
            "midrail approvals approve --help",
        ]),
    rule("midrail-copy", &["cp", "ln", "mv", "install", "rsync", "gcp", "ditto"], Critical, "Puts the agent's guardrails under another name")
        .when(&["@*/midrail ...", "... @*/midrail ...", "midrail ...", "... midrail ..."])
        .safer("call `midrail` by its name; people answer for the rest")
        .stops(&["cp /usr/local/bin/midrail /tmp/zz", "ln -s /usr/bin/midrail mr"])
        .passes(&["cp a.txt b.txt", "ln -s ../common lib"]),
    rule("midrail-remove", &["rm", "unlink", "shred", "srm", "truncate", "chmod", "chown", "setfacl", "chattr", "tee"], Critical, "Takes the agent's own guardrails away")
        .when(&["@/*/midrail|~/*/midrail|$HOME/*/midrail"])
        .unless(&["+x|a+x|u+x|755|0755"])
        .safer("tell a person what stands in the way")
        .stops(&["rm /usr/local/bin/midrail", "rm -f ~/.cargo/bin/midrail", "chmod -x /usr/bin/midrail"])
        .passes(&["rm target/midrail", "chmod +x ~/bin/midrail", "ls -l /usr/bin/midrail", "rm /tmp/midrail.log"]),
    // What calls an agent's guardrails is in its settings.
    rule("midrail-agent", &["claude", "codex", "gemini", "copilot", "cursor-agent", "opencode"], Critical, "Starts an agent without the settings that call its guardrails")
        .when(&["--settings=*hooks*|--settings=*Hooks*|--setting-sources|--bare", "config set|add|remove @*hooks*|*Hooks*", "hooks disable|disable-all|uninstall", "-c=*hooks*|--config=*hooks*|--disable=*hooks*"])
        .safer("start it as it is set up")
        .stops(&["claude -p --settings '{\"hooks\":{}}' hello", "claude config set hooks '{}'", "codex -c features.hooks=false exec x", "claude --setting-sources local -p x"])
        .passes(&["claude -p 'fix the hooks'", "claude --settings settings.json -p x", "codex exec 'add hooks'", "claude config list", "gemini -p hello"]),
    rule("agent-without-questions", &["claude", "codex", "gemini", "copilot", "cursor-agent", "amp", "qwen"], Medium, "Starts an agent that asks nobody before it acts")
        .when(&["--dangerously-skip-permissions|--allow-dangerously-skip-permissions|--permission-mode=bypassPermissions|--yolo|--dangerously-bypass-approvals-and-sandbox|--approval-mode=yolo|--allow-all-tools|--allow-all|--dangerously-allow-all", "-s=danger-full-access|--sandbox=danger-full-access"])
        .safer("start it with its questions on")
        .stops(&["claude --dangerously-skip-permissions -p 'tidy up'", "codex --yolo exec 'tidy up'", "gemini --approval-mode=yolo -p x", "codex -s danger-full-access exec x"])
        .passes(&["claude -p 'what does --yolo do'", "codex exec --full-auto x", "claude --permission-mode plan", "gemini -p x"]),
    rule("midrail-kill", &["kill", "pkill", "killall", "systemctl", "service", "launchctl"], Critical, "Ends the agent's own guardrails")
        .when(&["@*midrail*", "* @*midrail*"])
        .unless(&["status|is-active|show|list-units|cat|print|list", "* status"])
        .safer("tell a person what stands in the way")
        .stops(&["pkill midrail", "pkill -f 'midrail serve'", "killall -9 midrail", "systemctl stop midrail", "kill -9 $(pgrep midrail)"])
        .passes(&["systemctl status midrail", "pkill -f vite", "service midrail status"]),
];
