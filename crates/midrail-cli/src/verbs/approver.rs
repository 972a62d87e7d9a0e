//! `midrail approver`: the people who may answer, and the keys by which they are known.

use midrail::store::Approver;
use midrail::{Engine, Load, Person, Store};
use serde_json::json;
use std::sync::Arc;

use crate::clock;
use crate::exit::{self, Exit};
use crate::failure::{Failure, count};
use crate::input::{Packs, StoreFile};
use crate::key::{self, MaybeSigner};
use crate::output::{Output, Style, short};
use crate::table::{self, cell, styled};
use crate::when;

/// Say who may answer requests: add, list, revoke.
#[derive(Debug, clap::Args)]
#[command(after_help = exit::OF_APPROVALS)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    Add(Add),
    List(List),
    Revoke(Revoke),
}

/// Let someone answer requests. Prints their key, once: it is kept nowhere. The first needs nobody's leave; every other
/// is added by a human operator, or by whoever was first
#[derive(Debug, clap::Args)]
struct Add {
    /// Their name
    name: String,
    /// A role in which they answer, such as reviewer, architect or human_operator. Can be given several times
    #[arg(long = "role", value_name = "ROLE", required = true)]
    roles: Vec<String>,
    #[command(flatten)]
    signer: MaybeSigner,
    #[command(flatten)]
    packs: Packs,
    #[command(flatten)]
    store: StoreFile,
}

/// List who may answer, and who once could.
#[derive(Debug, clap::Args)]
struct List {
    #[command(flatten)]
    store: StoreFile,
}

/// Take from someone the right to answer. What they have approved and nobody has used is taken back. Who may add others
/// may do so, and everyone for themselves
#[derive(Debug, clap::Args)]
struct Revoke {
    /// Their name
    name: String,
    #[command(flatten)]
    signer: MaybeSigner,
    #[command(flatten)]
    store: StoreFile,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, Failure> {
    match &args.verb {
        Verb::Add(args) => add(args, output),
        Verb::List(args) => list(args, output),
        Verb::Revoke(args) => revoke(args, output),
    }
}

/// The engine under the rules of the organisation and the user. Neither a folder nor a pack of one's own says who may
/// make approvers.
fn engine(store: Arc<dyn Store>) -> Result<Engine, Failure> {
    let loaded = Load::default().load()?;
    let engine = Engine::builder(loaded.policy, &loaded.source).clock(clock::clock());
    Ok(engine.store(store).build()?)
}

/// Who says so. The first approver is made by whoever sets up the store.
fn signed(signer: &MaybeSigner, engine: &Engine) -> Result<Option<Person>, Failure> {
    match (signer.signer(), engine.has_approvers()?) {
        (Some(signer), _) => key::ask(&signer, engine).map(Some),
        (None, false) => Ok(None),
        (None, true) => Err(Failure::new("there are approvers already, and one of them has to say so").help(
            "name one with `--as NAME`: a human operator, or whoever was first; their key is asked for",
        )),
    }
}

fn add(args: &Add, output: &mut Output) -> Result<Exit, Failure> {
    let engine = engine(args.store.to_change()?)?;
    let mut roles = args.roles.clone();
    roles.dedup();
    let policy = args.packs.here().load()?.policy;
    let authorities = policy.authorities();
    let known = || authorities.order.iter().chain(&authorities.supervisors).chain(&authorities.humans);
    let of_service = [midrail::ADMIN, midrail_service::VIEWER];
    let is_known =
        |role: &&String| known().any(|other| other == *role) || of_service.contains(&role.as_str());
    for role in roles.iter().filter(|role| !is_known(role)) {
        output.note(&format!(
            "the policy here does not rank the role `{role}` ({}): it answers only what is put to exactly this role",
            authorities.order.join(", ")
        ));
    }
    let by = signed(&args.signer, &engine)?;
    let key = engine.add_approver(&args.name, &roles, by.as_ref())?;
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

fn list(args: &List, output: &mut Output) -> Result<Exit, Failure> {
    let approvers = args.store.to_list()?.approvers()?;
    let cells = |approver: &Approver| {
        let style = |text: String| match approver.revoked {
            Some(_) => styled(text, Style::Dim),
            None => cell(text),
        };
        let revoked = approver.revoked.map(|time| format!("revoked {}", when::full(time)));
        vec![
            style(short(&approver.name, 40).into_owned()),
            style(short(&approver.roles.join(", "), 60).into_owned()),
            styled(when::full(approver.created), Style::Dim),
            styled(revoked.unwrap_or_default(), Style::Dim),
        ]
    };
    let heads = ["name", "roles", "since", ""];
    let nobody = "nobody may answer yet; `midrail approver add NAME --role ROLE` lets someone";
    table::print(&approvers, &heads, nobody, cells, table::as_it_is, output)?;
    Ok(Exit::Good)
}

fn revoke(args: &Revoke, output: &mut Output) -> Result<Exit, Failure> {
    let engine = engine(args.store.existing()?)?;
    let by = signed(&args.signer, &engine)?;
    let taken_back = engine.revoke_approver(&args.name, by.as_ref())?;
    if output.is_json() {
        output.json(&json!({"revoked": args.name, "taken_back": taken_back}))?;
    } else {
        output.line(format!(
            "{} answers nothing any more; {} that nobody had used {} taken back",
            short(&args.name, 60),
            count(taken_back, "approval"),
            if taken_back == 1 { "is" } else { "are" }
        ))?;
    }
    Ok(Exit::Good)
}
