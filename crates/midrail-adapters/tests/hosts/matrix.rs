//! docs/reference/hosts.md, from the adapters. `MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts matrix` writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use midrail::EventKind;
use midrail_adapters::hosts;

const HEAD: &str = "<!-- Generated from the adapters. -->

# Hosts

What `midrail hook HOST EVENT` makes of each event of a coding agent, and what the agent can do with the answer. What it
cannot do becomes the nearest stricter thing that it can: a text that cannot be changed is blocked, a run that cannot be
ended has every later action blocked, a person who cannot be asked through the agent is asked by Midrail while the action
is held. A note that cannot be told goes with the next answer that can.

- **block**: stop a call or a prompt, withhold a result, keep an agent at work that wants to stop
- **ask**: ask the user who sits before the agent
- **redact**: pass on a changed text
- **notes**: tell the agent something beside an answer that lets pass
- **halt**: end the run

Events that are not listed pass, and are put on record. Those of the kind `observed` have been decided about elsewhere, or
only tell something.
";

/// What a host cannot do, and what follows.
const FOOT: &[(&str, &[&str])] = &[
    (
        "claude-code",
        &[
            "The error of a call that failed (PostToolUseFailure) is with the model before anybody is asked.",
            "Files that a prompt mentions with `@` are read without a tool call: each has to pass as a read.",
        ],
    ),
    (
        "codex",
        &[
            "What it types into a program that runs on (`write_stdin`) is asked nobody. So what opens a program that waits for \
             typing (`bash`, `python3`, `ssh host`) is blocked; commands run one by one.",
            "A changed result stands in the reason for which the result is withheld.",
            "It would take a question to its user for no answer, and go on.",
            "SessionEnd has one second.",
        ],
    ),
    (
        "gemini-cli",
        &[
            "A changed result stands in the reason for which the result is withheld.",
            "It puts what SessionStart tells into the first prompt, where it would be judged as the user's words: an agent is not \
             told its limits at the start, and notes go with BeforeAgent.",
            "A changed text of the model (AfterModel) loses the calls that came with it.",
            "Its question to its user waits forever where there is none, and is not used.",
        ],
    ),
    (
        "copilot-cli",
        &[
            "The names that begin with a capital letter are those that it shares with Claude Code.",
            "Only permissionRequest can end a run, and it comes where preToolUse let a call pass: a halted run has each call \
             blocked, and is ended by the first request for permission.",
            "A hook that takes too long is passed over: Midrail answers before that.",
            "The error of a call that failed cannot be changed.",
        ],
    ),
    (
        "cursor",
        &[
            "Results of tools cannot be changed or withheld. beforeReadFile shows a file's content before the model has it, and \
             is judged as the result of the read.",
            "Register preToolUse and postToolUse, and not the events for single tools beside them: a call would be decided twice.",
            "Its question to its user is passed over in one of its modes, and is not used.",
        ],
    ),
    (
        "opencode",
        &[
            "It calls Midrail through a plugin, which `midrail init` puts in place.",
            "An agent that wants to stop is sent back by a message of its own, as OpenCode has stopped already. `opencode run` \
             has ended by then: there, nothing keeps an agent at work.",
            "Sub-agents are not kept at work: what they returned is with the agent that started them.",
        ],
    ),
];

#[test]
fn matrix_page_is_fresh() {
    let mut text = HEAD.to_owned();
    for adapter in hosts::ALL {
        write!(text, "\n## {}\n\n`midrail hook {}`\n\n", adapter.title(), adapter.name()).unwrap();
        text += "| event | kind | block | ask | redact | notes | halt |\n|---|---|---|---|---|---|---|\n";
        for hook_event in adapter.hook_events() {
            let can = hook_event.capabilities;
            let cells = [can.block, can.ask, can.redact, can.notes, can.halt];
            let cells = cells.map(|can| if can { " yes |" } else { " |" }).concat();
            writeln!(text, "| {} | {} |{cells}", hook_event.name, hook_event.kind.as_str()).unwrap();
        }
        let notes = FOOT.iter().find(|(name, _)| *name == adapter.name()).map(|(_, notes)| *notes).unwrap();
        text.push('\n');
        for note in notes {
            writeln!(text, "- {note}").unwrap();
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/hosts.md");
    if std::env::var_os("MIDRAIL_WRITE").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    let how = "MIDRAIL_WRITE=1 cargo test -p midrail-adapters --test hosts matrix";
    assert!(found == text, "docs/reference/hosts.md is stale; write it anew with `{how}`");
}

#[test]
fn what_can_be_stopped_is_never_merely_observed() {
    for adapter in hosts::ALL {
        for hook_event in adapter.hook_events() {
            assert!(
                !hook_event.capabilities.block || hook_event.kind != EventKind::Observed,
                "{} {}",
                adapter.name(),
                hook_event.name
            );
            assert!(
                !hook_event.capabilities.ask || hook_event.capabilities.block,
                "{} {}",
                adapter.name(),
                hook_event.name
            );
        }
    }
}
