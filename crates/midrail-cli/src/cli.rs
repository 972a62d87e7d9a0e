//! The command line.

use std::env;
use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::error::CliResult;
use crate::exit;
use crate::global::Global;
use crate::output::Output;

/// Guardrails for AI agents
#[derive(Debug, Parser)]
#[command(name = "midrail", version, after_help = exit::ALL, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

impl Cli {
    /// Reads the command line.
    ///
    /// What runs for every event of an agent, and a proxy that a client waits for, is parsed on its own if possible: building the
    /// parser of all subcommands takes longer than a decision. So does the parser of one, which the command of hooks does
    /// not need.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let rest = |skipped: usize| env::args_os().skip(1 + skipped);
        let named = |at: usize| rest(at).next().and_then(|word| word.into_string().ok());
        let alone = match (named(0).as_deref(), named(1).as_deref()) {
            (Some("hook"), _) => match commands::hook::Args::written_by_init(rest(1)) {
                Some(args) => Some(Cli { command: Command::Hook(args), global: Global::default() }),
                None => Alone::read(rest(0), Command::Hook),
            },
            (Some("check"), _) => Alone::read(rest(0), Command::Check),
            (Some("run"), _) => Alone::read(rest(0), Command::Run),
            (Some("acp"), _) => Alone::read(rest(0), Command::Acp),
            (Some("mcp"), Some("wrap")) => {
                Alone::read(rest(1), |args| Command::Mcp(commands::mcp::Args::wrap(args)))
            }
            _ => None,
        };
        if let Some(alone) = alone {
            return Ok(alone);
        }
        let matches = Cli::command().color(help_colour()).try_get_matches()?;
        Cli::from_arg_matches(&matches)
    }
}

/// The colour of help and usage errors, which are printed before the options are parsed.
fn help_colour() -> ColorChoice {
    let args: Vec<String> = env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args = args.join("=");
    match args.split_once("=--color=").and_then(|(_, rest)| rest.split('=').next()) {
        Some("never") => ColorChoice::Never,
        Some("always") => ColorChoice::Always,
        _ => ColorChoice::Auto,
    }
}

/// One subcommand on its own. Help and errors are left to the full parser.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct Alone<A: clap::Args> {
    #[command(flatten)]
    args: A,
    #[command(flatten)]
    global: Global,
}

impl<A: clap::Args> Alone<A> {
    /// Reads the words of one subcommand. `None`: they are wrong, or ask for help.
    fn read(words: impl Iterator<Item = OsString>, command: impl FnOnce(A) -> Command) -> Option<Cli> {
        let words: Vec<OsString> = words.collect();
        // A subcommand that starts a program would take the option for the program.
        if words.iter().take_while(|word| *word != "--").any(|word| word == "-h" || word == "--help") {
            return None;
        }
        let Alone { args, global } = Alone::try_parse_from(words).ok()?;
        Some(Cli { command: command(args), global })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Init(commands::init::Args),
    Doctor(commands::doctor::Args),
    Try(commands::trial::Args),
    Uninstall(commands::uninstall::Args),
    Check(commands::check::Args),
    Hook(commands::hook::Args),
    Acp(commands::acp::Args),
    Run(commands::run::Args),
    /// Put MCP servers behind a proxy, and manage the pins of their definitions.
    Mcp(commands::mcp::Args),
    /// Trust hosts for a limited time.
    Flow(commands::flow::Args),
    Serve(commands::serve::Args),
    Replay(commands::replay::Args),
    Import(commands::import::Args),
    Export(commands::export::Args),
    Test(commands::test::Args),
    Explain(commands::explain::Args),
    Lint(commands::lint::Args),
    Policy(commands::policy::Args),
    Detect(commands::detect::Args),
    Redact(commands::redact::Args),
    Bench(commands::bench::Args),
    Log(commands::log::Args),
    /// List, show, verify, export and replay the audit log.
    Audit(commands::audit::Args),
    Stats(commands::stats::Args),
    Notices(commands::notices::Args),
    Wrong(commands::wrong::Args),
    /// Manage quarantined agents and halted runs.
    Quarantine(commands::quarantine::Args),
    /// Manage file locks.
    Locks(commands::locks::Args),
    /// Manage the status of tasks.
    Tasks(commands::tasks::Args),
    /// Request and answer approvals.
    Approvals(commands::approvals::Args),
    /// Manage the people who may answer requests.
    #[command(after_help = exit::APPROVALS)]
    Approver(commands::approver::Args),
    /// Manage the API keys of the service.
    Key(commands::key::Args),
    Pause(commands::pause::Args),
    Script(commands::script::Args),
    Shadow(commands::shadow::Args),
    Schema(commands::schema::Args),
    Completions(commands::completions::Args),
    Man(commands::man::Args),
    Demo(commands::demo::Args),
}

impl Command {
    /// Runs the subcommand.
    pub(crate) fn run(self, output: &mut Output) -> CliResult {
        let exit = match self {
            Command::Init(args) => commands::init::run(&args, output),
            Command::Doctor(args) => commands::doctor::run(&args, output),
            Command::Try(args) => commands::trial::run(&args, output),
            Command::Uninstall(args) => commands::uninstall::run(&args, output),
            Command::Check(args) => commands::check::run(args, output),
            Command::Hook(args) => commands::hook::run(&args, output),
            Command::Acp(args) => commands::acp::run(&args, output),
            Command::Run(args) => commands::run::run(&args, output),
            Command::Mcp(args) => commands::mcp::run(&args, output),
            Command::Flow(args) => commands::flow::run(&args, output),
            Command::Serve(args) => commands::serve::run(&args, output),
            Command::Replay(args) => commands::replay::run(&args, output),
            Command::Import(args) => commands::import::run(&args, output),
            Command::Export(args) => commands::export::run(&args, output),
            Command::Test(args) => commands::test::run(&args, output),
            Command::Explain(args) => commands::explain::run(&args, output),
            Command::Lint(args) => commands::lint::run(&args, output),
            Command::Policy(args) => commands::policy::run(&args, output),
            Command::Detect(args) => commands::detect::run(&args, output),
            Command::Redact(args) => commands::redact::run(&args, output),
            Command::Bench(args) => commands::bench::run(&args, output),
            Command::Audit(args) => commands::audit::run(&args, output),
            Command::Log(args) => commands::log::run(&args, output),
            Command::Wrong(args) => commands::wrong::run(&args, output),
            Command::Stats(args) => commands::stats::run(&args, output),
            Command::Notices(args) => commands::notices::run(&args, output),
            Command::Quarantine(args) => commands::quarantine::run(&args, output),
            Command::Locks(args) => commands::locks::run(&args, output),
            Command::Tasks(args) => commands::tasks::run(&args, output),
            Command::Approvals(args) => commands::approvals::run(&args, output),
            Command::Approver(args) => commands::approver::run(&args, output),
            Command::Key(args) => commands::key::run(&args, output),
            Command::Pause(args) => commands::pause::run(&args, output),
            Command::Script(args) => commands::script::run(&args, output),
            Command::Shadow(args) => commands::shadow::run(&args, output),
            Command::Schema(args) => commands::schema::run(&args, output),
            Command::Completions(args) => commands::completions::run(&args, Cli::command(), output),
            Command::Man(args) => commands::man::run(&args, Cli::command(), output),
            Command::Demo(args) => commands::demo::run(&args, output),
        }?;
        output.flush()?;
        Ok(exit)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use midrail::{Effect, Engine, Event, Load};
    use serde_json::json;

    use super::*;

    /// Subcommands that agents may run: they only read, or request an approval.
    const HARMLESS: &[&str] = &[
        "approvals list",
        "approvals request",
        "approvals show",
        "approvals wait",
        "approver list",
        "audit export",
        "audit list",
        "audit replay",
        "audit show",
        "audit verify",
        "bench detect",
        "completions",
        "demo",
        "detect",
        "doctor",
        "explain",
        "export",
        "flow list",
        "import",
        "key list",
        "lint",
        "locks list",
        "log",
        "man",
        "mcp diff",
        "mcp list",
        "mcp show",
        "notices",
        "policy",
        "quarantine list",
        "redact",
        "replay",
        "run",
        "schema",
        "script run",
        "script types",
        "shadow report",
        "stats",
        "tasks list",
        "test",
    ];

    /// Subcommands that only people may run: they change or replace policy, keys, store or service, answer for a person,
    /// or send events in place of a host.
    const PRIVILEGED: &[&str] = &[
        "acp",
        "approvals approve",
        "approvals deny",
        "approvals review",
        "approver add",
        "approver revoke",
        "audit acknowledge",
        "audit archive",
        "audit erase",
        "audit publish",
        "audit rotate-key",
        "check",
        "flow distrust",
        "flow trust",
        "hook",
        "init",
        "key add",
        "key revoke",
        "locks release",
        "locks take",
        "mcp forget",
        "mcp trust",
        "mcp wrap",
        "pause",
        "policy confirm",
        "quarantine add",
        "quarantine lift",
        "serve",
        "tasks set",
        "try",
        "uninstall",
        "wrong",
    ];

    /// The paths of all subcommands that do something.
    fn paths(command: &clap::Command, before: &str, found: &mut BTreeSet<String>) {
        for sub in command.get_subcommands() {
            let path = format!("{before} {}", sub.get_name()).trim().to_owned();
            paths(sub, &path, found);
            if !sub.is_subcommand_required_set() {
                found.insert(path);
            }
        }
    }

    fn options(command: &clap::Command, found: &mut BTreeSet<String>) {
        for option in command.get_arguments().filter(|option| option.get_action().takes_values()) {
            found.extend(option.get_long().map(|name| format!("--{name}")));
            found.extend(option.get_short().map(|name| format!("-{name}")));
        }
        command.get_subcommands().for_each(|sub| options(sub, found));
    }

    /// Whether self-protection blocks a command of an agent.
    fn is_blocked(engine: &Engine, command: &str) -> bool {
        let decision = engine.decide(Event::before_tool("Bash", json!({"command": command})));
        decision.effect == Effect::Block && decision.by.as_deref() == Some("self-protection")
    }

    fn engine() -> Engine {
        let loaded = Load { packs: vec!["midrail:default".into()], ..Load::default() }.load().unwrap();
        Engine::builder(loaded.policy, &loaded.source).build().unwrap()
    }

    #[test]
    fn every_subcommand_is_privileged_or_harmless_and_protected_accordingly() {
        let (mut found, engine) = (BTreeSet::new(), engine());
        paths(&Cli::command(), "", &mut found);
        let listed: BTreeSet<String> =
            HARMLESS.iter().chain(PRIVILEGED).map(|path| (*path).to_owned()).collect();
        assert_eq!(
            found, listed,
            "list every subcommand as harmless or as privileged, and in `midrail.toml`"
        );
        assert_eq!(listed.len(), HARMLESS.len() + PRIVILEGED.len(), "a subcommand is listed twice");
        for path in PRIVILEGED {
            assert!(is_blocked(&engine, &format!("midrail {path} x")), "an agent may run `midrail {path}`");
        }
        assert!(is_blocked(&engine, "midrail run -- midrail pause 1h"), "a sandbox hides no command");
        for path in HARMLESS {
            assert!(
                !is_blocked(&engine, &format!("midrail {path}")),
                "an agent may not run `midrail {path}`"
            );
        }
    }

    /// Otherwise the value of an option could be taken for a harmless subcommand.
    #[test]
    fn self_protection_knows_every_option_with_a_value() {
        let (mut found, engine) = (BTreeSet::new(), engine());
        options(&Cli::command(), &mut found);
        assert!(found.len() > 40, "{found:?}");
        let unknown: Vec<&String> = found
            .iter()
            .filter(|option| !is_blocked(&engine, &format!("midrail approvals {option} request approve a-1")))
            .collect();
        assert!(unknown.is_empty(), "add these to the values of `midrail.toml`: {unknown:?}");
    }

    /// The short way reads the same as the parser, or nothing.
    #[test]
    fn command_of_hooks_is_read_like_any_other() {
        for line in [
            "claude-code",
            "claude-code --proof 7",
            "--proof 7 claude-code",
            "codex PreToolUse --proof 12",
            "cursor beforeShellExecution",
        ] {
            let args = || line.split(' ');
            let parsed: Alone<commands::hook::Args> =
                Alone::try_parse_from(std::iter::once("hook").chain(args())).unwrap();
            if let Some(short) = commands::hook::Args::written_by_init(args().map(Into::into)) {
                assert_eq!(format!("{short:?}"), format!("{:?}", parsed.args), "{line}");
                assert_eq!(format!("{:?}", Global::default()), format!("{:?}", parsed.global));
            } else {
                assert!(line.starts_with('-'), "{line} takes the long way");
            }
        }
        for line in [
            "",
            "unknown",
            "claude-code --pack x",
            "claude-code --proof x",
            "claude-code A B",
            "claude-code --json",
        ] {
            let args = line.split(' ').map(Into::into);
            assert!(commands::hook::Args::written_by_init(args).is_none(), "{line}");
        }
    }
}
