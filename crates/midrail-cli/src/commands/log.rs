//! `midrail log`: the events of agents, the decisions and the messages. It never writes to the store.

mod entry;
mod line;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use midrail::store::{AuditEntry, AuditFilter, MAX_PAGE};
use midrail::{Effect, Store};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use self::entry::Entry;
use self::line::Printer;
use crate::error::{CliError, CliResult, InvalidValue};
use crate::exit::Exit;
use crate::input::StoreArgs;
use crate::output::{Output, short};
use crate::time;

/// How often `--follow` looks for new records.
const INTERVAL: Duration = Duration::from_millis(400);

/// How often an unreadable store is retried, because it may be being created.
const TRIES: u32 = 10;

/// The most records that are searched without an index.
const MOST: usize = 100_000;

/// Show what agents did, the decisions, and the messages they received.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Keep showing new entries until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Only this session; the beginning or the end of its id is enough
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only this agent, or agents with this role
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only entries with this effect: allow, warn, redact, contain, retry, escalate, block, halt
    #[arg(long, value_name = "EFFECT", conflicts_with = "stopped")]
    effect: Option<Effect>,
    /// Only stopped actions: retry, escalate, block, halt
    #[arg(long)]
    stopped: bool,
    /// Only calls for which Midrail vouches, so that no user was asked
    #[arg(long)]
    vouched: bool,
    /// Only entries since this time: 2026-11-15T10:00:00Z, 2026-11-15, or a duration ago such as 2h
    #[arg(long, value_name = "TIME", value_parser = time::parse)]
    since: Option<Timestamp>,
    /// Only this tool
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// The most entries shown, the latest ones
    #[arg(short = 'n', long, value_name = "N", default_value_t = 30, value_parser = limit)]
    limit: usize,
    #[command(flatten)]
    store: StoreArgs,
}

fn limit(text: &str) -> Result<usize, InvalidValue> {
    let number = text.parse().ok().filter(|number| (1..=100_000).contains(number));
    number.ok_or_else(|| InvalidValue(format!("`{text}` is not a number from 1 to 100000")))
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    let Some(store) = open(args, output)? else { return Ok(Exit::Good) };
    let session = args.session.as_deref().map(|name| session(&*store, name, args.follow)).transpose()?;
    // Records that arrive meanwhile are shown afterwards.
    let mut last = store.head()?.map_or(0, |head| head.seq);
    let mut printer = Printer::default();
    let filters = args.filters(session);
    let (entries, is_cut) = past(args, filters.clone(), &*store, last)?;
    if entries.is_empty() && !args.follow && !output.is_json {
        output.line("no such records")?;
    }
    entries.iter().for_each(|entry| printer.fit(entry, output));
    for entry in &entries {
        printer.print(entry, output)?;
    }
    if is_cut {
        output.note(&format!(
            "only the last {MOST} records were searched; narrow the search with `--since` or `--session`"
        ));
    }
    if !args.follow {
        return Ok(Exit::Good);
    }
    loop {
        output.flush()?;
        if !wait(INTERVAL)? {
            return Ok(Exit::Good);
        }
        // Records are read only if there are new ones.
        while store.head()?.is_some_and(|head| head.seq > last) {
            let page = store.entries(&AuditFilter {
                after_seq: Some(last),
                limit: Some(64),
                ..AuditFilter::default()
            })?;
            let Some(newest) = page.last() else { break };
            last = newest.seq;
            let fits = |entry: &&AuditEntry| filters.iter().any(|filter| filter.matches(&entry.labels));
            for entry in page.iter().filter(fits).map(Entry::new).filter(|entry| args.shows(entry)) {
                printer.print(&entry, output)?;
            }
        }
    }
}

/// The store to show. `None`: standard output was closed.
fn open(args: &Args, output: &mut Output) -> CliResult<Option<Arc<dyn Store>>> {
    if !args.follow {
        return args.store.open_for_list().map(Some);
    }
    let path = args.store.display_path()?;
    if !path.exists() {
        output.note("there is no store yet; waiting for the first record");
    }
    let mut tries = 0;
    loop {
        match args.store.read_only() {
            Ok(store) => return Ok(Some(store)),
            // A store that is being created may not be readable yet.
            Err(failure) if path.exists() && tries >= TRIES => return Err(failure),
            Err(_) => tries += u32::from(path.exists()),
        }
        output.flush()?;
        if !wait(INTERVAL)? {
            return Ok(None);
        }
    }
}

/// Waits. `false`: standard output was closed.
fn wait(time: Duration) -> CliResult<bool> {
    let out = io::stdout();
    let time = Timespec::try_from(time).map_err(|error| CliError::from_error(&error))?;
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    match poll(&mut watched, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(CliError::from_error(&error)),
    }
    let gone = PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL;
    Ok(!watched.iter().any(|fd| fd.revents().intersects(gone)))
}

/// The session with an id, or with a part of it.
fn session(store: &dyn Store, name: &str, may_come: bool) -> CliResult<String> {
    let of =
        |name: &str| AuditFilter { session: Some(name.to_owned()), limit: Some(1), ..AuditFilter::default() };
    if !store.entries(&of(name))?.is_empty() {
        return Ok(name.to_owned());
    }
    let all = store.sessions()?.into_iter().map(|info| info.session);
    let fitting: Vec<String> = all.filter(|it| it.starts_with(name) || it.ends_with(name)).take(6).collect();
    match fitting.as_slice() {
        [only] => Ok(only.clone()),
        [] if may_come => Ok(name.to_owned()),
        [] => Err(CliError::new(format!("there is no session `{}`", short(name, 60)))
            .help("`midrail log` shows sessions at the start of each line")),
        several => {
            let names: Vec<String> = several.iter().map(|name| short(name, 60).into_owned()).collect();
            Err(CliError::new(format!("`{}` matches several sessions", short(name, 60)))
                .help(format!("give more of the id: {}", names.join(", "))))
        }
    }
}

impl Args {
    fn filters(&self, session: Option<String>) -> Vec<AuditFilter> {
        let filter = AuditFilter {
            session,
            tool: self.tool.clone(),
            effect: self.effect,
            since: self.since,
            newest_first: true,
            ..AuditFilter::default()
        };
        if !self.stopped {
            return vec![filter];
        }
        // There is an index for one effect, but not for several.
        let stopped = Effect::LADDER.into_iter().filter(|effect| !effect.allows());
        stopped.map(|effect| AuditFilter { effect: Some(effect), ..filter.clone() }).collect()
    }

    fn shows(&self, entry: &Entry) -> bool {
        (!self.vouched || entry.decision.vouched) && self.is_of_agent(entry)
    }

    fn is_of_agent(&self, entry: &Entry) -> bool {
        self.agent.as_deref().is_none_or(|agent| {
            entry.agent(|agent| &agent.id) == Some(agent) || entry.agent(|agent| &agent.role) == Some(agent)
        })
    }
}

/// The latest matching entries, the oldest first, and whether there may be more.
fn past(
    args: &Args,
    filters: Vec<AuditFilter>,
    store: &dyn Store,
    last: u64,
) -> CliResult<(Vec<Entry>, bool)> {
    let first_page = args.limit.saturating_mul(2).clamp(16, MAX_PAGE);
    let mut pages = Pages::new(store, filters, last.saturating_add(1), first_page);
    let agent = args.agent.as_ref().and_then(|agent| serde_json::to_string(agent).ok());
    let mut shown: VecDeque<Entry> = VecDeque::new();
    // Results come before their calls. A quiet result is shown with its call.
    let mut results: BTreeMap<String, u64> = BTreeMap::new();
    let mut joined = 0;
    for seen in 0.. {
        let visible = shown.len().saturating_sub(joined);
        if visible >= args.limit {
            break;
        }
        if seen >= MOST {
            shown.retain(|entry| !entry.is_joined);
            return Ok((shown.into(), true));
        }
        let Some(entry) = pages.next()? else { break };
        // Records that do not contain what is wanted are not parsed.
        if agent.as_ref().is_some_and(|agent| !entry.body.contains(agent))
            || (args.vouched && !entry.body.contains("\"vouched\":true"))
        {
            continue;
        }
        let mut entry = Entry::new(&entry);
        if !args.shows(&entry) {
            continue;
        }
        if let Some(call) = entry.result_of() {
            results.insert(call, entry.seq);
        } else if let Some(seq) = entry.call().and_then(|call| results.remove(&call))
            && let Ok(at) = shown.binary_search_by_key(&seq, |other| other.seq)
            && let Some(result) = shown.get_mut(at)
        {
            entry.outcome = result.own_outcome(Some(entry.time));
            if result.is_quiet() {
                result.is_joined = true;
                joined += 1;
            }
        }
        shown.push_front(entry);
    }
    shown.retain(|entry| !entry.is_joined);
    Ok((shown.into(), false))
}

/// Records that fit any of some filters, the newest first.
struct Pages<'s> {
    store: &'s dyn Store,
    sources: Vec<Source>,
}

struct Source {
    filter: AuditFilter,
    page: VecDeque<AuditEntry>,
    is_over: bool,
}

impl<'s> Pages<'s> {
    /// Those before a record. The first page is small: most who look want the end of the log.
    fn new(store: &'s dyn Store, filters: Vec<AuditFilter>, before: u64, first_page: usize) -> Self {
        let source = |filter: AuditFilter| Source {
            filter: AuditFilter { after_seq: Some(before), limit: Some(first_page), ..filter },
            page: VecDeque::new(),
            is_over: false,
        };
        Pages { store, sources: filters.into_iter().map(source).collect() }
    }

    /// The next older one.
    fn next(&mut self) -> CliResult<Option<AuditEntry>> {
        for source in &mut self.sources {
            if source.page.is_empty() && !source.is_over {
                source.page = self.store.entries(&source.filter)?.into();
                source.is_over = source.page.is_empty();
                source.filter.after_seq = source.page.back().map(|last| last.seq);
                source.filter.limit = Some(MAX_PAGE);
            }
        }
        let newest = self.sources.iter_mut().max_by_key(|source| source.page.front().map(|entry| entry.seq));
        Ok(newest.and_then(|source| source.page.pop_front()))
    }
}
