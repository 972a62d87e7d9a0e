//! MCP servers: what they offer, what waits for a person with its differences, and their calls.

use std::collections::BTreeMap;

use maud::{Markup, html};
use midrail::EventKind;
use midrail::admin::{McpDefinition, PinnedServer};
use midrail::store::AuditFilter;
use serde_json::json;

use super::context;
use super::layout::View;
use super::widgets::{self, short_line, whole};
use crate::access::Right;
use crate::api::input::Named;
use crate::problem::HandlerResult;

/// The latest calls of all servers.
struct LatestCalls {
    /// The tool, and whether the call was stopped.
    calls: Vec<(String, bool)>,
    /// The number of calls of any tool that were searched.
    searched: usize,
}

impl LatestCalls {
    fn load(view: &View) -> HandlerResult<Self> {
        let filter =
            AuditFilter { kind: Some(EventKind::BeforeTool), newest_first: true, ..AuditFilter::default() };
        let entries = view.caller.project.store().entries(&filter)?;
        let searched = entries.len();
        let stops = |effect: &str| matches!(effect, "retry" | "escalate" | "block" | "halt");
        let call = |labels: midrail::store::Labels| Some((labels.tool?, stops(&labels.effect)));
        Ok(LatestCalls {
            calls: entries.into_iter().filter_map(|entry| call(entry.labels)).collect(),
            searched,
        })
    }

    /// The calls of a server by tool: all, and those that were stopped.
    fn of(&self, server: &PinnedServer) -> BTreeMap<&str, (u64, u64)> {
        let prefix = format!("mcp__{}__", server.name);
        let mut tools: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for (tool, is_stopped) in &self.calls {
            if let Some(name) = tool.strip_prefix(&prefix) {
                let (all, stopped) = tools.entry(name).or_default();
                *all += 1;
                *stopped += u64::from(*is_stopped);
            }
        }
        tools
    }
}

pub(crate) fn list(view: &View, (): ()) -> HandlerResult<Markup> {
    let mut servers = view.caller.project.engine().admin().list::<PinnedServer>()?;
    // Those that wait for a person come first.
    servers.sort_by_key(|server| std::cmp::Reverse(server.waiting > 0));
    let latest = LatestCalls::load(view)?;
    view.page("MCP servers", "/mcp", html! {
        div.page-head { h1 { "MCP servers" } }
        section.card.flush {
            @if servers.is_empty() {
                (widgets::empty("No MCP server was seen", html! {
                    p { "A server appears here once a client starts it through " code { "midrail mcp wrap" } ". " code { "midrail init" } " changes the settings of the clients on this machine." }
                }))
            } @else {
                div.scroll { table.list {
                    thead { tr { th { "server" } th { "definitions" } th.num { "calls" } th.num { "stopped" } th { "first seen" } th { "launch" } } }
                    tbody { @for server in &servers { (row(server, &latest, view)) } }
                } }
            }
        }
        @if !servers.is_empty() { p.muted { "Calls are counted in the latest " (widgets::many(whole(latest.searched), "call")) " of this project." } }
    })
}

fn row(server: &PinnedServer, latest: &LatestCalls, view: &View) -> Markup {
    let at = format!("/mcp/pins/{}", widgets::escape(&server.key));
    let (calls, stopped) =
        latest.of(server).values().fold((0, 0), |sum, tool| (sum.0 + tool.0, sum.1 + tool.1));
    html! {
        tr data-item data-href=(at) {
            td { a href=(at) { strong { (short_line(&server.name, 40)) } } }
            td {
                (widgets::count(whole(server.pinned))) " accepted"
                @if server.waiting > 0 { " " span.badge.sev-medium { (widgets::count(whole(server.waiting))) " waiting" } }
            }
            td.num.roomy { (widgets::count(calls)) }
            td.num.roomy { @if stopped > 0 { (widgets::count(stopped)) } @else { span.muted { "0" } } }
            td.roomy { @if let Some(since) = server.since { (widgets::ago(since, view.now)) } }
            td.about { code.muted { (short_line(server.launch.as_deref().unwrap_or_default(), 70)) } }
        }
    }
}

pub(crate) fn show(view: &View, Named(key): Named<String>) -> HandlerResult<Markup> {
    let admin = view.caller.project.engine().admin();
    let server = admin.mcp_server(&key)?;
    let definitions = admin.mcp_definitions(&server)?;
    let latest = LatestCalls::load(view)?;
    let calls = latest.of(&server);
    let (mut waiting, accepted): (Vec<_>, Vec<_>) =
        definitions.iter().partition(|definition| definition.hash.is_some());
    // What is suspicious comes first, and is accepted one by one.
    waiting.sort_by_key(|definition| (definition.finding.is_none(), definition.state != "changed"));
    let plain: Vec<&McpDefinition> =
        waiting.iter().copied().filter(|definition| definition.finding.is_none()).collect();
    let may_answer = view.caller.may(Right::Answer);
    let forget = json!({"server": server.key}).to_string();
    view.page(short_line(&server.name, 40), "/mcp", html! {
        div.page-head {
            h1 { (short_line(&server.name, 60)) }
            @if may_answer { div.actions {
                @if plain.len() > 1 {
                    @let all = if plain.len() == waiting.len() { "" } else { " that have no finding" };
                    (accept(&server, &plain, &format!("Accept {}{all}", plain.len())))
                }
                button.button.quiet type="button" data-post="/v1/mcp/forget" data-body=(forget) data-next="/mcp" { "Forget" }
            } }
        }
        section.card {
            dl {
                @if let Some(launch) = &server.launch { div { dt { "Launch" } dd { code { (short_line(launch, 400)) } } } }
                div { dt { "Key" } dd { (widgets::hash(&server.key)) } }
                @if let Some(since) = server.since { div { dt { "First seen" } dd { (widgets::ago(since, view.now)) } } }
                @if let Some(by) = &server.trusted_by { div { dt { "Accepted by" } dd { (short_line(by, 60)) span.muted { ", as a launch command" } } } }
            }
        }
        @if !waiting.is_empty() {
            h2 { "Waiting for a person" }
            p.muted { "The model does not see these definitions, and calls of these tools wait for an approval. Read what changed before you accept it." }
            @for definition in waiting { (waiting_card(&server, definition, may_answer)) }
        }
        section.card {
            div.card-head { h2 { "Accepted" } span.muted { (widgets::many(whole(accepted.len()), "definition")) } }
            @if accepted.is_empty() { p.muted { "No definition is in force." } }
            @for definition in accepted {
                details.alike {
                    summary { code { (short_line(&definition.name, 80)) } " " (count_of(&calls, &definition.name)) }
                    pre.code { code { (widgets::mark_redactions(definition.pinned.as_deref().unwrap_or("The text is not stored."))) } }
                }
            }
        }
        (calls_card(&server, &calls, latest.searched))
    })
}

fn count_of(calls: &BTreeMap<&str, (u64, u64)>, name: &str) -> Markup {
    html! { @if let Some((all, _)) = calls.get(name) { span.muted { (widgets::many(*all, "call")) } } }
}

fn waiting_card(server: &PinnedServer, definition: &McpDefinition, may_answer: bool) -> Markup {
    let is_changed = definition.state == "changed";
    let new = definition.waiting.as_deref().unwrap_or_default();
    html! {
        article.card.request data-item {
            div.request-head {
                span class={ "badge " (if is_changed { "sev-high" } else { "sev-medium" }) } { (definition.state) }
                strong { code { (short_line(&definition.name, 80)) } }
            }
            @if let Some(finding) = &definition.finding { p.notice.bad { strong { "Found: " } (widgets::inline_code(finding)) } }
            @match &definition.pinned {
                Some(old) if is_changed => (context::diff(old, new)),
                _ => pre.code { code { (widgets::mark_redactions(new)) } },
            }
            @if may_answer { div.request-foot { (accept(server, &[definition], "Accept")) } }
        }
    }
}

/// The button that accepts exactly the definitions that the page shows.
fn accept(server: &PinnedServer, definitions: &[&McpDefinition], name: &str) -> Markup {
    let shown: BTreeMap<&str, &str> = definitions
        .iter()
        .filter_map(|definition| Some((definition.name.as_str(), definition.hash.as_deref()?)))
        .collect();
    let body = json!({"server": server.key, "definitions": shown}).to_string();
    let is_plain = definitions.iter().all(|definition| definition.finding.is_none());
    html! { button.button.approve[is_plain].quiet[!is_plain] type="button" data-post="/v1/mcp/trust" data-body=(body) { (name) } }
}

fn calls_card(server: &PinnedServer, calls: &BTreeMap<&str, (u64, u64)>, searched: usize) -> Markup {
    html! {
        section.card {
            div.card-head { h2 { "Calls" } span.muted { "in the latest " (widgets::many(whole(searched), "call")) " of this project" } }
            @if calls.is_empty() { p.muted { "No call of this server." } } @else {
                div.scroll { table.list.compact {
                    thead { tr { th { "tool" } th.num { "calls" } th.num { "stopped" } } }
                    tbody { @for (tool, (all, stopped)) in calls {
                        @let at = format!("/audit{}", widgets::query(&[("tool", &format!("mcp__{}__{tool}", server.name))]));
                        tr data-item data-href=(at) {
                            td { a href=(at) { code { (short_line(tool, 80)) } } }
                            td.num { (widgets::count(*all)) }
                            td.num { (widgets::count(*stopped)) }
                        }
                    } }
                } }
            }
        }
    }
}
