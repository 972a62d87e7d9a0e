//! `midrail approver`: the people who may answer requests, and their keys.

use midrail::admin::Person;
use midrail::{Engine, Load};
use serde_json::json;

use crate::admin_args::{Group, engine};
use crate::approver_key::OptionalSigner;
use crate::error::{CliError, CliResult, count};
use crate::input::{PackArgs, StoreArgs};
use crate::list::list;
use crate::output::{Output, short};

pub(crate) type Args = Group<Command, StoreArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Add an approver and print their key, which is not stored. The first approver needs no permission; every other
    /// is added by a human operator or by the first approver
    Add {
        /// The name
        name: String,
        /// A role, such as reviewer, architect or human_operator. Can be given several times
        #[arg(long = "role", value_name = "ROLE", required = true)]
        roles: Vec<String>,
        #[command(flatten)]
        signer: OptionalSigner,
        #[command(flatten)]
        packs: PackArgs,
    },
    /// List approvers, also revoked ones
    List,
    /// Revoke an approver and their approvals that are not used yet. Approvers may revoke themselves; for others it
    /// takes the permission to add approvers
    Revoke {
        /// The name
        name: String,
        #[command(flatten)]
        signer: OptionalSigner,
    },
}

/// The approver who authorises the change. The first approver needs none.
fn authorised(signer: &OptionalSigner, engine: &Engine) -> CliResult<Option<Person>> {
    let by = signer.read(engine)?;
    if by.is_none() && engine.admin().has_approvers()? {
        return Err(CliError::new("there are approvers already: one of them has to authorise this")
            .help("name one with `--as NAME`: a human operator or the first approver"));
    }
    Ok(by)
}

pub(crate) fn run(Group { command, shared: file }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::Add { name, roles, signer, packs } => {
            // The packs of a project do not determine who may change approvers.
            let engine = engine(file.open_or_create()?, &Load::default())?;
            let mut roles = roles.clone();
            roles.dedup();
            note_unknown_roles(&roles, packs, output)?;
            let by = authorised(signer, &engine)?;
            let key = engine.admin().add_approver(name, &roles, by.as_ref())?;
            let (shown, as_roles) = (short(name, 60), roles.join(", "));
            let text = format!(
                "{key}\nThis is the key of {shown} ({}), shown this once. Keep it where no agent can read it.",
                short(&as_roles, 120)
            );
            output.done(&json!({"name": name, "roles": roles, "key": key}), text)
        }
        Command::List => list(&file.open_for_list()?.approvers()?, output),
        Command::Revoke { name, signer } => {
            let engine = engine(file.open_existing()?, &Load::default())?;
            let by = authorised(signer, &engine)?;
            let revoked = engine.admin().revoke_approver(name, by.as_ref())?;
            let text = format!("{} is revoked, with {}", short(name, 60), count(revoked, "unused approval"));
            output.done(&json!({"revoked": name, "taken_back": revoked}), text)
        }
    }
}

fn note_unknown_roles(roles: &[String], packs: &PackArgs, output: &mut Output) -> CliResult<()> {
    let policy = packs.here().load()?.policy;
    let authorities = policy.authorities();
    let known = || authorities.order.iter().chain(&authorities.supervisors).chain(&authorities.humans);
    let of_service = [midrail::admin::ADMIN, midrail_service::VIEWER];
    for role in roles.iter().filter(|role| !known().any(|other| other == *role)) {
        if !of_service.contains(&role.as_str()) {
            output.note(&format!(
                "the policy here does not rank the role `{role}` ({}): it can only answer requests to exactly this role",
                authorities.order.join(", ")
            ));
        }
    }
    Ok(())
}
