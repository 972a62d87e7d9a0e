//! `midrail demo`: a scripted agent session through the real engine, with files on disk and a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use midrail::admin::Person;
use midrail::store::{AuditLog, TrustAnchor};
use midrail::{
    Clock, Decision, Effect, Engine, Event, Load, ManualClock, Permit, SessionHandle, SqliteStore, Store,
    ToolResult,
};
use midrail_adapters::wire;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::clock;
use crate::decision::Timeline;
use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::input::quoted;
use crate::output::Output;
use crate::paint::Style;

/// Run a scripted agent under guardrails, and show every decision and the audit log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep the folder with the project and the store
    #[arg(long)]
    keep: bool,
}

/// The project's own pack.
const PACK: &str = include_str!("demo/shop.yaml");

const MAIN: &str = "fn main() {\n    println!(\"Helo, shop!\");\n}\n";

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let cannot = |error: std::io::Error| CliError::new(format!("could not make the demo's folder: {error}"));
    let folder = tempfile::Builder::new().prefix("midrail-demo-").tempdir().map_err(cannot)?;
    let project = folder.path().join("shop");
    lay_out(&project).map_err(cannot)?;
    let store = Arc::new(SqliteStore::open(folder.path().join("midrail.db"))?);

    if !output.is_json {
        introduce(&project, output)?;
    }
    let mut player = Player::new(&project, store.clone(), output)?;
    player.play()?;
    let (timeline, clock) = (player.timeline, player.clock);
    let signed = store.checkpoint_now(clock.now())?.map_or(0, |checkpoint| checkpoint.seq);
    if output.is_json {
        keep(folder, args.keep);
        return Ok(Exit::Good);
    }
    output.line(format!("\n{}\n", timeline.summary(output.paint)))?;
    conclude(&store, signed, folder, args.keep, output)
}

/// The project that the agent works on.
fn lay_out(project: &Path) -> std::io::Result<()> {
    for (path, content) in
        [("src/main.rs", MAIN), (".env", "PAYMENT_KEY=only-for-people\n"), (".midrail/shop.yaml", PACK)]
    {
        let path = project.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, content)?;
    }
    Ok(())
}

fn introduce(project: &Path, output: &mut Output) -> CliResult<()> {
    let paint = output.paint;
    output.line(
        paint.style(Style::Strong, "An agent works on a shop. Midrail decides everything that it does."),
    )?;
    output.line(format!(
        "The project is {}. Its guardrails are the default pack and this one:\n",
        quoted(project)
    ))?;
    for line in PACK.lines() {
        let line = if line.is_empty() { String::new() } else { format!("    {line}") };
        output.line(paint.style(Style::Note, line))?;
    }
    Ok(())
}

fn conclude(
    store: &Arc<SqliteStore>,
    signed: u64,
    folder: TempDir,
    is_kept: bool,
    output: &mut Output,
) -> CliResult {
    let paint = output.paint;
    let verification = store.verify(&TrustAnchor::default(), &mut |_, _| {})?;
    if let Some(misfit) = &verification.misfit {
        return Err(CliError::new(format!(
            "record {} of the audit log does not match: {}",
            misfit.seq, misfit.detail
        )));
    }
    output.line(format!(
        "{} the audit log is intact: {} records in a hash chain, signed up to record {signed}",
        paint.style(Style::Good, "✓"),
        verification.records,
    ))?;
    let path = store.path().to_owned();
    let fate = if is_kept { "kept" } else { "removed now; --keep keeps it" };
    output.line(paint.style(Style::Dim, format!("  the store was {} ({fate})", quoted(&path))))?;
    keep(folder, is_kept);

    output.section("What to do next")?;
    let next = if is_kept {
        let path = path.display();
        [
            (format!("midrail audit list --store {path}"), "every decision of this session"),
            (format!("midrail explain --decision 1 --store {path}"), "why the first one came out so"),
        ]
    } else {
        [
            ("midrail policy".to_owned(), "the guardrails that hold in a folder of yours"),
            ("midrail explain read_before_write".to_owned(), "what one of them does, and its settings"),
        ]
    };
    let longest = next.iter().map(|(command, _)| command.chars().count()).max().unwrap_or(0);
    for (command, what) in next {
        output.line(format!("  {}  {what}", paint.style(Style::Note, format!("{command:<longest$}"))))?;
    }
    Ok(Exit::Good)
}

fn keep(folder: TempDir, is_kept: bool) {
    if is_kept {
        let _ = folder.keep();
    }
}

/// Plays the script.
struct Player<'o> {
    project: PathBuf,
    engine: Arc<Engine>,
    session: SessionHandle,
    clock: Arc<ManualClock>,
    timeline: Timeline,
    output: &'o mut Output,
}

impl<'o> Player<'o> {
    fn new(project: &Path, store: Arc<dyn Store>, output: &'o mut Output) -> CliResult<Self> {
        let pack = project.join(".midrail/shop.yaml");
        let loaded = Load { packs: vec![pack], ..Load::default() }.load()?;
        // The session takes two minutes on its own clock, and ends now.
        let start = clock::now().checked_sub(SignedDuration::from_secs(120)).unwrap_or_default();
        let clock = Arc::new(ManualClock::at(start));
        let engine =
            Engine::builder(loaded.policy, &loaded.source).store(store).clock(clock.clone()).build()?;
        let engine = Arc::new(engine);
        let session = engine.session("demo").cwd(project.to_string_lossy());
        Ok(Player {
            project: project.to_owned(),
            engine,
            session,
            clock,
            timeline: Timeline::single_session(),
            output,
        })
    }

    fn play(&mut self) -> CliResult<()> {
        let main = json!({"file_path": "src/main.rs"});
        let write = json!({"file_path": "src/main.rs", "content": MAIN.replace("Helo", "Hello")});

        self.scene("It wants to overwrite a file that it has never seen.")?;
        self.act("Write", &write, Effect::Block)?;
        self.scene("It reads the file, and then may write it.")?;
        self.act("Read", &main, Effect::Allow)?;
        self.act("Write", &write, Effect::Allow)?;

        self.scene("It looks for credentials. One file is out of reach, and a key in a command's output is taken out.")?;
        self.act("Read", &json!({"file_path": ".env"}), Effect::Block)?;
        self.act("Bash", &json!({"command": "printenv"}), Effect::Redact)?;

        self.scene("It deploys before the tests have passed.")?;
        self.act("deploy", &json!({"to": "production"}), Effect::Block)?;
        self.act("run_tests", &json!({"that": "fail"}), Effect::Allow)?;
        self.act("deploy", &json!({"to": "production"}), Effect::Block)?;
        self.act("run_tests", &json!({}), Effect::Allow)?;
        self.act("deploy", &json!({"to": "production"}), Effect::Allow)?;

        self.scene("Meanwhile a colleague changes the file, so what the agent has read is stale.")?;
        self.colleague()?;
        let edit = json!({"file_path": "src/main.rs", "old_string": "shop", "new_string": "customer"});
        self.act("Edit", &edit, Effect::Block)?;
        self.act("Read", &main, Effect::Allow)?;
        self.act("Edit", &edit, Effect::Allow)?;

        self.scene("It tries to loosen its own guardrails. It may look, and not touch.")?;
        self.act("Read", &json!({"file_path": ".midrail/shop.yaml"}), Effect::Allow)?;
        self.act(
            "Write",
            &json!({"file_path": ".midrail/shop.yaml", "content": "pack: shop"}),
            Effect::Block,
        )?;

        self.scene("It asks for something that people decide. Ada, a maintainer, approves it: once, and for this alone.")?;
        let publish = json!({"version": "1.0"});
        let approval = self.act("publish", &publish, Effect::Escalate)?.approval;
        if let Some(approval) = approval {
            let ada = Person::authenticated("ada", ["maintainer"]);
            self.engine.approvals().answer(&approval.id, true, &ada, Some("looks good"))?;
        }
        self.act("publish", &publish, Effect::Allow)?;
        self.act("publish", &publish, Effect::Escalate)?;
        Ok(())
    }

    fn scene(&mut self, text: &str) -> CliResult<()> {
        if self.output.is_json {
            return Ok(());
        }
        let text = self.output.paint.style(Style::Strong, text);
        self.output.line(format!("\n{text}"))
    }

    /// A guarded call: decided, run with its permit, and its result decided. `expected` is the strongest effect.
    fn act(&mut self, tool: &str, args: &Value, expected: Effect) -> CliResult<Decision> {
        let before = Event::before_tool(tool, args.clone());
        let (mut decision, permit) = self.session.ask(&before);
        self.show(&before, &decision)?;
        if let Some(permit) = permit {
            let result = self.run(&permit);
            let after = Event::after_tool(tool, args.clone(), result);
            let result = self.session.decide(after.clone());
            self.show(&after, &result)?;
            if result.effect > decision.effect {
                decision = result;
            }
        }
        if decision.effect == expected {
            return Ok(decision);
        }
        let found = format!("`{tool}` came out as {} ({})", decision.effect, decision.reason);
        Err(CliError::new(format!("the demo did not go as planned: {found}")).help("please report this"))
    }

    /// The tools of the demo. They can be reached with a permit only.
    fn run(&self, permit: &Permit<'_>) -> ToolResult {
        let path = self.project.join(permit.text("file_path").unwrap_or_default());
        let done = match permit.tool() {
            "Read" => fs::read_to_string(path),
            "Write" => {
                fs::write(path, permit.text("content").unwrap_or_default()).map(|()| "written".to_owned())
            }
            "Edit" => fs::read_to_string(&path).and_then(|text| {
                let (old, new) = (permit.text("old_string"), permit.text("new_string"));
                let text = text.replace(old.unwrap_or_default(), new.unwrap_or_default());
                fs::write(path, text).map(|()| "edited".to_owned())
            }),
            // An invented key in the format of a real one.
            "Bash" => Ok("AWS_REGION=eu-west-1\nAWS_ACCESS_KEY_ID=AKIAQ4ZTX7RK2MPLWN3J\n".to_owned()),
            "run_tests" if permit.text("that").is_some() => {
                Err(std::io::Error::other("1 of 12 tests failed"))
            }
            "run_tests" => Ok("12 tests passed".to_owned()),
            other => Ok(format!("{other}: done")),
        };
        done.map_or_else(|error| ToolResult::failed(error.to_string()), ToolResult::ok)
    }

    fn colleague(&mut self) -> CliResult<()> {
        let changed = MAIN.replace("Helo, shop!", "Welcome to the shop!");
        fs::write(self.project.join("src/main.rs"), changed)
            .map_err(|error| CliError::new(format!("could not change the demo's file: {error}")))
    }

    fn show(&mut self, event: &Event, decision: &Decision) -> CliResult<()> {
        self.clock.advance(5.0);
        if self.output.is_json {
            return self.output.json_text(&wire::encode(decision));
        }
        for line in self.timeline.add(self.clock.now(), event, decision, self.output) {
            self.output.line(line)?;
        }
        Ok(())
    }
}
