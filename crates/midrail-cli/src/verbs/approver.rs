//! `midrail approver`: the people who may answer, and the keys by which they are known.

use midrail::store::Approvers;
use midrail::{Engine, SqliteStore};
use serde_json::json;
use std::sync::Arc;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::input::{Packs, StoreFile};
use crate::output::{Output, Style, short};
use crate::table::{Table, cell, styled};
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

/// Let someone answer requests. Prints their key, once: it is kept nowhere.
#[derive(Debug, clap::Args)]
struct Add {
    /// Their name
    name: String,
    /// A role in which they answer, such as reviewer, architect or human_operator. Can be given several times
    #[arg(long = "role", value_name = "ROLE", required = true)]
    roles: Vec<String>,
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

/// Take from someone the right to answer. What they have answered stands.
#[derive(Debug, clap::Args)]
struct Revoke {
    /// Their name
    name: String,
    #[command(flatten)]
    packs: Packs,
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

fn engine(store: SqliteStore, packs: &Packs) -> Result<Engine, Failure> {
    let loaded = packs.here().load()?;
    Ok(Engine::builder(loaded.policy, &loaded.source).store(Arc::new(store)).build()?)
}

fn add(args: &Add, output: &mut Output) -> Result<Exit, Failure> {
    let engine = engine(SqliteStore::open(args.store.path()?)?, &args.packs)?;
    let mut roles = args.roles.clone();
    roles.dedup();
    let policy = engine.policy();
    let authorities = policy.authorities();
    let known = || authorities.order.iter().chain(&authorities.supervisors).chain(&authorities.humans);
    for role in roles.iter().filter(|role| !known().any(|other| other == *role)) {
        output.note(&format!(
            "the policy here does not rank the role `{role}` ({}): it answers only what is put to exactly this role",
            authorities.order.join(", ")
        ));
    }
    let key = engine.add_approver(&args.name, &roles)?;
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
    let approvers = args.store.read_only()?.approvers()?;
    if output.is_json() {
        for approver in &approvers {
            output.json(approver)?;
        }
        return Ok(Exit::Good);
    }
    if approvers.is_empty() {
        output.line("nobody may answer yet; `midrail approver add NAME --role ROLE` lets someone")?;
        return Ok(Exit::Good);
    }
    let mut table = Table::new(&["name", "roles", "since", ""]);
    for approver in &approvers {
        let style = |text: String| match approver.revoked {
            Some(_) => styled(text, Style::Dim),
            None => cell(text),
        };
        table.row(vec![
            style(short(&approver.name, 40).into_owned()),
            style(short(&approver.roles.join(", "), 60).into_owned()),
            styled(when::full(approver.created), Style::Dim),
            styled(
                approver.revoked.map(|time| format!("revoked {}", when::full(time))).unwrap_or_default(),
                Style::Dim,
            ),
        ]);
    }
    for line in table.lines(output.paint(), 0, output.width()) {
        output.line(line)?;
    }
    Ok(Exit::Good)
}

fn revoke(args: &Revoke, output: &mut Output) -> Result<Exit, Failure> {
    engine(args.store.existing()?, &args.packs)?.revoke_approver(&args.name)?;
    if output.is_json() {
        output.json(&json!({"revoked": args.name}))?;
    } else {
        output.line(format!("{} answers nothing any more", short(&args.name, 60)))?;
    }
    Ok(Exit::Good)
}
