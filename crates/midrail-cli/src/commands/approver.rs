//! `midrail approver`: the people who may answer, and the keys by which they are known.

use midrail::admin::Person;
use midrail::{Engine, Load, Store};
use serde_json::json;
use std::sync::Arc;

use crate::approver_key::{self, OptionalSigner};
use crate::clock;
use crate::error::{CliError, count};
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs};
use crate::output::{Output, short};
use crate::table;

/// Manage the people who may answer requests.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::APPROVALS)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Add(Add),
    List(List),
    Revoke(Revoke),
}

/// Add an approver and print their key, which is not stored. The first approver needs no permission; every other is
/// added by a human operator or by the first approver
#[derive(Debug, clap::Args)]
struct Add {
    /// The name
    name: String,
    /// A role, such as reviewer, architect or human_operator. Can be given several times
    #[arg(long = "role", value_name = "ROLE", required = true)]
    roles: Vec<String>,
    #[command(flatten)]
    signer: OptionalSigner,
    #[command(flatten)]
    packs: PackArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// List approvers, also revoked ones.
#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    store: StoreArgs,
}

/// Revoke an approver and their approvals that are not used yet. Approvers may revoke themselves; for others it
/// takes the permission to add approvers
#[derive(Debug, clap::Args)]
struct Revoke {
    /// The name
    name: String,
    #[command(flatten)]
    signer: OptionalSigner,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
    match &args.command {
        Command::Add(args) => add(args, output),
        Command::List(args) => list(args, output),
        Command::Revoke(args) => revoke(args, output),
    }
}

/// The engine under the rules of the organisation and the user. Neither a folder nor a pack of one's own says who may
/// make approvers.
fn engine(store: Arc<dyn Store>) -> Result<Engine, CliError> {
    let loaded = Load::default().load()?;
    let engine = Engine::builder(loaded.policy, &loaded.source).clock(clock::clock());
    Ok(engine.store(store).build()?)
}

/// The approver who authorises the change. The first approver needs none.
fn signed(signer: &OptionalSigner, engine: &Engine) -> Result<Option<Person>, CliError> {
    match (signer.signer(), engine.admin().has_approvers()?) {
        (Some(signer), _) => approver_key::read(&signer, engine).map(Some),
        (None, false) => Ok(None),
        (None, true) => Err(CliError::new("there are approvers already: one of them has to authorise this")
            .help("name one with `--as NAME`: a human operator or the first approver")),
    }
}

fn add(args: &Add, output: &mut Output) -> Result<Exit, CliError> {
    let engine = engine(args.store.open_or_create()?)?;
    let mut roles = args.roles.clone();
    roles.dedup();
    let policy = args.packs.here().load()?.policy;
    let authorities = policy.authorities();
    let known = || authorities.order.iter().chain(&authorities.supervisors).chain(&authorities.humans);
    let of_service = [midrail::admin::ADMIN, midrail_service::VIEWER];
    let is_known =
        |role: &&String| known().any(|other| other == *role) || of_service.contains(&role.as_str());
    for role in roles.iter().filter(|role| !is_known(role)) {
        output.note(&format!(
            "the policy here does not rank the role `{role}` ({}): it answers only what is put to exactly this role",
            authorities.order.join(", ")
        ));
    }
    let by = signed(&args.signer, &engine)?;
    let key = engine.admin().add_approver(&args.name, &roles, by.as_ref())?;
    if output.is_json() {
        output.json(&json!({"name": args.name, "roles": roles, "key": key}))?;
        return Ok(Exit::Good);
    }
    output.line(&key)?;
    output.line(format!(
        "This is the key of {} ({}), shown this once. Keep it where no agent can read it.",
        short(&args.name, 60),
        short(&roles.join(", "), 120)
    ))?;
    Ok(Exit::Good)
}

fn list(args: &List, output: &mut Output) -> Result<Exit, CliError> {
    let approvers = args.store.open_for_list()?.approvers()?;
    table::list(&approvers, output)?;
    Ok(Exit::Good)
}

fn revoke(args: &Revoke, output: &mut Output) -> Result<Exit, CliError> {
    let engine = engine(args.store.open_existing()?)?;
    let by = signed(&args.signer, &engine)?;
    let taken_back = engine.admin().revoke_approver(&args.name, by.as_ref())?;
    if output.is_json() {
        output.json(&json!({"revoked": args.name, "taken_back": taken_back}))?;
    } else {
        output.line(format!(
            "{} is revoked, with {}",
            short(&args.name, 60),
            count(taken_back, "unused approval")
        ))?;
    }
    Ok(Exit::Good)
}
