//! `midrail approvals`: requests to people, and their answers.

mod view;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use midrail::admin::{ApprovalView, Person, group_requests, session_around};
use midrail::approvals::{Approvals, BypassRequest, policy_for_record};
use midrail::core::duration::span;
use midrail::store::{Approval, ApprovalFilter, UnknownUrgency, Urgency};
use midrail::{Engine, EngineResult, EventKind, Policy, Store};

use self::view::{head, no_override_reason, review_line, status};
use crate::admin_args::{self, Group};
use crate::approver_key::{self, Signer};
use crate::clock;
use crate::commands::audit::records::no_record;
use crate::error::{CliError, CliResult, count};
use crate::exit::{self, Exit};
use crate::input::{PackArgs, StoreArgs, guardrail_name};
use crate::list::list_or;
use crate::output::{Output, short};
use crate::paint::Style;
use crate::time;

pub(crate) type Args = Group<Command, StoreArgs>;

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// List pending requests, the latest last. Reviews that are due come first.
    #[command(after_help = exit::APPROVALS)]
    List(ListArgs),
    /// Show a request: the action, the reason, the agent, the session around it, and the time left.
    #[command(after_help = exit::APPROVALS)]
    Show {
        /// The request
        id: String,
    },
    /// Approve a request: the agent may make the call once.
    #[command(after_help = exit::APPROVALS)]
    Approve(Approve),
    /// Deny a request, or revoke an approval that is not used yet.
    #[command(after_help = exit::APPROVALS)]
    Deny(Answer),
    /// Request approval for a blocked action, or make an escalation urgent.
    // Agents may use this subcommand, so it has no option that could change the policy.
    #[command(after_help = exit::APPROVALS)]
    Request(Request),
    /// Wait for the answer to a request.
    #[command(after_help = exit::WAIT)]
    Wait {
        /// The request
        id: String,
        /// The longest wait: 500ms, 45s, 10m
        #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = time::parse_duration)]
        timeout: Duration,
    },
    /// File the review of an emergency override.
    #[command(after_help = exit::APPROVALS)]
    Review {
        /// The request
        id: String,
        #[command(flatten)]
        who: Signer,
        /// What happened, whether it was justified, and what to do about it
        #[arg(long, value_name = "TEXT")]
        text: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {
    /// Also requests that are closed
    #[arg(long, conflicts_with = "state")]
    all: bool,
    /// Only requests in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,
    /// Only requests that this role may answer now
    #[arg(long, value_name = "ROLE")]
    mine_role: Option<String>,
    /// Only requests whose review is overdue
    #[arg(long, conflicts_with_all = ["all", "state", "mine_role"])]
    overdue: bool,
    #[command(flatten)]
    packs: PackArgs,
}

/// The states of a request.
const STATES: [&str; 7] = ["pending", "override", "approved", "denied", "timed-out", "expired", "used"];

#[derive(Debug, clap::Args)]
pub(crate) struct Answer {
    /// The request
    id: String,
    #[command(flatten)]
    who: Signer,
    /// A note for the record
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Approve {
    #[command(flatten)]
    answer: Answer,
    /// Also treat the destination of the call as named in this session
    #[arg(long)]
    name_destination: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Request {
    /// The record of the decision that blocked the action, as `check` prints it
    #[arg(long = "decision", value_name = "SEQ")]
    seq: u64,
    /// Why the action is needed
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// normal: no answer means no. urgent: no answer escalates to the next authority. emergency: as the pack
    /// defines
    #[arg(long, value_name = "URGENCY", default_value = "normal", value_parser = ["normal", "urgent", "emergency"])]
    urgency: String,
    /// The guardrail to bypass [default: the one that decided]
    #[arg(long, value_name = "ID", value_parser = guardrail_name)]
    guardrail: Option<String>,
}

/// Records of the session before and after the request that are shown.
const AROUND: (usize, usize) = (6, 4);

pub(crate) fn run(Group { command, shared: file }: &Args, output: &mut Output) -> CliResult {
    match command {
        Command::List(args) => list(args, file, output),
        Command::Show { id } => {
            let store = file.read_only()?;
            let now = clock::now();
            admin_args::settle(file, &*store, now)?;
            let view = ApprovalView::new(find(&*store, id)?, now);
            let history = session_around(&*store, &view.approval, AROUND)?;
            view::show(&view, &history, now, output)?;
            Ok(Exit::Good)
        }
        Command::Approve(args) if args.name_destination => {
            answer_with(&args.answer, true, file, output, |approvals, person, note| {
                approvals.approve_and_name(&args.answer.id, person, note)
            })
        }
        Command::Approve(args) => answer(&args.answer, true, file, output),
        Command::Deny(args) => answer(args, false, file, output),
        Command::Request(args) => request(args, file, output),
        Command::Wait { id, timeout } => wait(id, *timeout, file, output),
        Command::Review { id, who, text } => {
            let engine = engine_for_request(file.open_existing()?, id)?;
            let person = approver_key::read(who, &engine)?;
            let reviewed = engine.approvals().review(id, &person, text)?;
            let text =
                format!("the review of {} is filed by {}", short(&reviewed.id, 40), short(person.name(), 60));
            output.done(&ApprovalView::new(reviewed, engine.now()), text)
        }
    }
}

/// The engine in which a request is answered.
fn engine_for_request(store: Arc<dyn Store>, id: &str) -> CliResult<Engine> {
    let approval = find(&*store, id)?;
    admin_args::engine_for_approval(store, &approval)
}

/// A request by its id.
fn find(store: &dyn Store, id: &str) -> CliResult<Approval> {
    let found = store.approval(id)?;
    found.ok_or_else(|| {
        CliError::new(format!("there is no approval `{}`", short(id, 60)))
            .help("`midrail approvals list --all` shows all of them")
    })
}

fn list(args: &ListArgs, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.open_for_list()?;
    let now = clock::now();
    admin_args::settle(file, &*store, now)?;
    let policy = args.mine_role.as_ref().map(|_| args.packs.here().load()).transpose()?;
    let policy = policy.map(|loaded| loaded.policy);
    let views = |filter: &ApprovalFilter| -> CliResult<Vec<ApprovalView>> {
        let found = store.approvals(filter)?.into_iter();
        Ok(found.map(|approval| ApprovalView::new(approval, now)).collect())
    };
    let mut due = views(&ApprovalFilter { needs_review: true, ..ApprovalFilter::default() })?;
    due.retain(|view| !args.overdue || view::is_overdue(view));
    let mut rows = if args.overdue { due.clone() } else { views(&ApprovalFilter::default())? };
    rows.retain(|view| args.overdue || args.matches(view, policy.as_ref()));
    rows.reverse();
    if output.is_json {
        let is_listed = |view: &ApprovalView| rows.iter().any(|row| row.approval.id == view.approval.id);
        let others: Vec<ApprovalView> = due.iter().filter(|view| !is_listed(view)).cloned().collect();
        rows.splice(0..0, others);
    } else {
        let paint = output.paint;
        output.lines(due.iter().map(|view| review_line(view, now, paint)))?;
        if due.iter().any(view::is_overdue) && !args.overdue {
            output.line("")?;
        }
        if args.overdue && !due.is_empty() {
            return Ok(Exit::Good);
        }
    }
    let empty = match &args.state {
        _ if args.overdue => "no review is overdue".to_owned(),
        Some(state) => format!("no requests are {}", state.replace('-', " ")),
        None if args.all => "no requests yet".to_owned(),
        None => "no requests are pending".to_owned(),
    };
    let hidden =
        if output.is_json || args.all || args.state.is_some() { Vec::new() } else { hide_alike(&mut rows) };
    list_or(&rows, &empty, output)?;
    output.lines(hidden.iter().map(|line| output.paint.style(Style::Dim, line)).collect::<Vec<_>>())?;
    let waiting = rows.iter().filter(|view| view.authority.is_some()).count();
    if waiting > 0 && output.is_terminal && !output.is_json {
        let text =
            format!("{} pending; show one with `midrail approvals show ID`", count(waiting, "request"));
        output.line(output.paint.style(Style::Dim, text))?;
    }
    Ok(Exit::Good)
}

/// The most alike calls that the queue shows.
const MAX_ALIKE: usize = 3;

/// Leaves out calls that differ from several others only in their arguments, and describes what is left out.
fn hide_alike(rows: &mut Vec<ApprovalView>) -> Vec<String> {
    let mut lines = Vec::new();
    for group in group_requests(rows.iter().map(|view| view.approval.clone()).collect()) {
        let Some(hidden) = group.calls.get(MAX_ALIKE..).filter(|hidden| !hidden.is_empty()) else { continue };
        let is_hidden = |id: &str| hidden.iter().flatten().any(|approval| approval.id == id);
        rows.retain(|view| !is_hidden(&view.approval.id));
        if let Some(first) = hidden.first().and_then(|call| call.first()) {
            let who = first.requested_by.as_deref().unwrap_or("an agent");
            lines.push(format!(
                "{} of {} for {} like these; `midrail approvals list --state pending` shows all",
                count(hidden.len(), "more call"),
                short(who, 40),
                short(first.subject(), 40)
            ));
        }
    }
    lines
}

impl ListArgs {
    fn matches(&self, view: &ApprovalView, policy: Option<&Policy>) -> bool {
        let has_state = match &self.state {
            Some(state) => view.status == state.replace('-', " "),
            None => self.all || view.authority.is_some(),
        };
        let may_answer = |role: &str| {
            let authority = view.authority.as_deref().zip(policy);
            authority.is_some_and(|(authority, policy)| policy.authorities().may_decide(role, authority))
        };
        has_state && self.mine_role.as_deref().is_none_or(may_answer)
    }
}

fn answer(args: &Answer, approve: bool, file: &StoreArgs, output: &mut Output) -> CliResult {
    answer_with(args, approve, file, output, |approvals, person, note| {
        approvals.answer(&args.id, approve, person, note)
    })
}

/// Answers a request, and shows what follows.
fn answer_with(
    args: &Answer,
    approve: bool,
    file: &StoreArgs,
    output: &mut Output,
    act: impl FnOnce(Approvals<'_>, &Person, Option<&str>) -> EngineResult<Approval>,
) -> CliResult {
    let engine = engine_for_request(file.open_existing()?, &args.id)?;
    let person = approver_key::read(&args.who, &engine)?;
    let answered = act(engine.approvals(), &person, args.note.as_deref())?;
    let now = engine.now();
    let view = ApprovalView::new(answered, now);
    let text = output.paint.style(Style::Dim, consequence(&view.approval, approve, now));
    output.done(&view, format!("{}\n{text}", head(&view, output)))
}

/// What an answer leads to.
fn consequence(answered: &Approval, approve: bool, now: Timestamp) -> String {
    let role = answered.decided_role.as_deref().map(|role| format!(" as {role}")).unwrap_or_default();
    let by = format!("{}{role}", short(answered.decided_by.as_deref().unwrap_or_default(), 60));
    let what = match (approve, &answered.taken_back, answered.event) {
        (false, Some(was), _) => {
            let whose = short(was.by.as_deref().unwrap_or("someone"), 60);
            return format!("  by {by}; the approval by {whose} is revoked, and the call is blocked");
        }
        (false, None, Some(EventKind::BeforeStop)) => return format!("  by {by}; the agent has to continue"),
        (false, None, _) => return format!("  by {by}; the call stays blocked"),
        // The quarantine of an agent is lifted with another subcommand.
        (true, _, Some(EventKind::OnError)) => {
            return format!(
                "  by {by}; this allows no call, and a quarantine stays in force: midrail quarantine lift"
            );
        }
        (true, _, Some(EventKind::BeforeStop)) => "the agent may stop once although work is missing",
        (true, ..) => "the same call is allowed once",
    };
    let within = answered.deadline().map(|end| format!(", within {}", span(end.duration_since(now))));
    format!("  by {by}; {what}{}", within.unwrap_or_default())
}

fn request(args: &Request, file: &StoreArgs, output: &mut Output) -> CliResult {
    let store = file.open_existing()?;
    let entry = store.entry(args.seq)?.ok_or_else(|| no_record(file, &*store, args.seq))?;
    let policy = policy_for_record(&*store, args.seq)?;
    let engine = admin_args::engine_for_policy(store, policy, &entry.labels.session)?;
    let urgency: Urgency =
        args.urgency.parse().map_err(|error: UnknownUrgency| CliError::from_error(&error))?;
    let (guardrail, reason) = (args.guardrail.clone(), args.reason.clone());
    let now = engine.now();
    let requested =
        engine.approvals().request(&BypassRequest { seq: args.seq, guardrail, reason, urgency })?;
    let view = ApprovalView::new(requested, now);
    let (paint, request) = (output.paint, &view.approval);
    let id = short(&request.id, 40);
    let authority = short(view.authority.as_deref().unwrap_or(&request.approver), 40);
    let within =
        view.deadline.map(|end| format!(" within {}", span(end.duration_since(now)))).unwrap_or_default();
    let dim = |text: String| paint.style(Style::Dim, text);
    let mut lines = vec![
        head(&view, output),
        dim(format!(
            "  for a person (`{authority}`) to answer{within}: midrail approvals approve {id} --as NAME"
        )),
    ];
    if let Some(why) = no_override_reason(request) {
        lines.push(paint.style(Style::Caution, format!("  {why}")));
    } else if let Some(at) = request.override_at {
        let within = span(at.max(now).duration_since(now));
        lines.push(dim(format!("  without an answer, an emergency override grants it in {within}")));
    }
    lines.push(dim(format!("  once it is approved, repeat the same call; midrail approvals wait {id}")));
    output.done(&view, lines.join("\n"))
}

fn wait(id: &str, timeout: Duration, file: &StoreArgs, output: &mut Output) -> CliResult {
    let engine = engine_for_request(admin_args::open_for_reading(file)?, id)?;
    let view = ApprovalView::new(engine.approvals().wait(id, timeout)?, engine.now());
    let by =
        view.approval.decided_by.as_deref().map(|by| format!("  by {}", short(by, 60))).unwrap_or_default();
    let text = format!("{}  {}{by}", status(&view, output), short(&view.approval.id, 40));
    output.done(&view, text)?;
    Ok(match view.status.as_str() {
        "approved" | "used" | "override" => Exit::Good,
        "denied" => Exit::Denied,
        "timed out" | "expired" => Exit::TimedOut,
        _ => Exit::Pending,
    })
}
