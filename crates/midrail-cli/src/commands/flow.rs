//! `midrail flow`: hosts that a person trusts for a limited time.

use std::time::Duration;

use midrail::core::TrustedHost;
use midrail::core::duration::span;
use serde_json::json;

use crate::admin_args::{AdminArgs, ChangedBy, Group};
use crate::approver_key::{self, Signer};
use crate::error::{CliError, CliResult};
use crate::output::{Output, short};
use crate::time;

pub(crate) type Args = Group<Command, AdminArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List the hosts that are trusted for a limited time
    List,
    /// Trust a host for a limited time; it takes the key of an approver
    ///
    /// What agents read from it sets no label and names destinations, and data may be sent to it. Sub-domains are other hosts.
    Trust {
        /// The host, such as docs.example.org
        host: String,
        /// For how long: 2h, 24h at most
        #[arg(long = "for", value_name = "TIME", value_parser = time::parse_span)]
        lasts: Duration,
        #[command(flatten)]
        signer: Signer,
    },
    /// End the trust in a host now. No key is needed
    Distrust {
        /// The host
        host: String,
        #[command(flatten)]
        by: ChangedBy,
    },
}

pub(crate) fn run(Group { command, shared: admin }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List => admin.list::<TrustedHost>(output),
        Command::Trust { host, lasts, signer } => {
            let engine = admin.write_engine()?;
            if !engine.admin().has_approvers()? {
                return Err(CliError::new("a host cannot be trusted: there is no approver").help(
                    "a person adds themselves first: `midrail approver add NAME --role human_operator`",
                ));
            }
            let person = approver_key::read(signer, &engine)?;
            let trusted = engine.admin().trust_host(host, *lasts, &person)?;
            let text = format!(
                "{} is trusted until {} ({} left)\n  `midrail flow distrust {}` ends it",
                short(&trusted.host, 200),
                time::date_time(trusted.until),
                span(trusted.until.duration_since(engine.now())),
                short(&trusted.host, 200),
            );
            output.done(&trusted, text)
        }
        Command::Distrust { host, by } => {
            let ended = admin.read_engine()?.admin().distrust_host(host, &by.name())?;
            output.done(
                &json!({"ended": ended}),
                format!("{} is not trusted any more", short(&ended.host, 200)),
            )
        }
    }
}
