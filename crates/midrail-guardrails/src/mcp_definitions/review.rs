//! The review of an offered list: which definitions pass, which are withheld, and what becomes of the pins.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use midrail_core::{McpServer, OfferedTool, Redaction};

use super::findings;
use super::settings::{FirstSeen, McpDefinitions};
use crate::prelude::*;
use crate::shared::mcp_pins::{McpNames, McpPin, McpPins, McpTexts, mcp_texts};

/// The most definitions of one server.
const MAX_TOOLS: usize = 2_000;

/// The most bytes of the texts of one server that are kept.
const MAX_TEXTS: usize = 8 << 20;

/// How long after its first list a server can offer further definitions of a first sight.
const FIRST_SIGHT: SignedDuration = SignedDuration::from_mins(10);

/// The reviewed list.
pub(super) struct Review<'a> {
    server: &'a McpServer,
    tools: &'a [OfferedTool],
    states: Vec<State>,
    pins: McpPins,
    /// Those of all servers and the texts of this one, if a definition is new or changed.
    stored: Option<(McpNames, McpTexts)>,
}

/// The state of an offered definition.
enum State {
    /// It is accepted.
    Pinned,
    /// It is accepted, and replaces a definition that waits for a person.
    Restored,
    /// It is accepted now.
    PinnedNow,
    /// The policy does not allow it.
    Denied,
    /// It waits for a person.
    Waiting { is_changed: bool, finding: Option<String>, is_recorded: bool },
}

impl<'a> Review<'a> {
    pub(super) fn new(rules: &McpDefinitions, context: &Context<'a>) -> Result<Self, Missing> {
        let event = context.event;
        let (Some(server), Some(tools)) = (&event.server, &event.tools) else {
            return Err(Missing("the list names no server or no tools".to_owned()));
        };
        let mut pins = McpPins::key(&server.key).read(context)?.unwrap_or_default();
        // The pages and lists at the start of the session in which a server is first seen are one first sight. Some sessions never end.
        let is_soon = pins
            .first_list
            .zip(event.time)
            .is_none_or(|(first, now)| first.checked_add(FIRST_SIGHT).is_ok_and(|until| now <= until));
        let is_first_session = event.session.as_ref() == Some(&pins.first_session);
        let is_first_sight = pins.tools.is_empty() || is_first_session && is_soon;
        if pins.tools.is_empty() {
            pins.since = pins.since.or(event.time);
            pins.first_list = event.time;
            pins.first_session = event.session.clone().unwrap_or_default();
        }
        let mut names: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in tools {
            *names.entry(&tool.name).or_default() += 1;
        }
        let pins_now = is_first_sight && (rules.first_seen == FirstSeen::Pin || pins.trusted_by.is_some());
        let known = |tool: &OfferedTool| {
            pins.tools.get(&tool.name).filter(|pin| pin.pinned.as_ref() == Some(&tool.hash))
        };
        let stored = if tools.iter().all(|tool| known(tool).is_some_and(|pin| !pin.is_waiting())) {
            None
        } else {
            let names = McpNames::key().read(context)?.unwrap_or_default();
            Some((names, mcp_texts(&server.key).read(context)?.unwrap_or_default()))
        };
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let texts = stored.iter().flat_map(|(_, texts)| texts.values());
        let kept: usize = texts.map(|text| size(&text.pinned) + size(&text.waiting)).sum();
        let state = |tool: &OfferedTool| {
            if !rules.allows(&server.name, &tool.name) {
                return State::Denied;
            }
            if let Some(pin) = known(tool) {
                return if pin.is_waiting() { State::Restored } else { State::Pinned };
            }
            let pin = pins.tools.get(&tool.name);
            let is_recorded = pin.is_some_and(|pin| pin.waiting.as_ref() == Some(&tool.hash));
            let is_changed = pin.is_some_and(|pin| pin.pinned.is_some());
            let is_full = pin.is_none() && (pins.tools.len() >= MAX_TOOLS || kept > MAX_TEXTS);
            let finding = match &stored {
                _ if names.get(tool.name.as_str()).is_some_and(|count| *count > 1) => {
                    Some("the list has several definitions of this name".to_owned())
                }
                _ if is_full => Some(format!(
                    "the server has more than {MAX_TOOLS} definitions or {MAX_TEXTS} bytes of them"
                )),
                Some((names, _)) => findings::find(tool, names, &server.key),
                None => None,
            };
            match finding {
                None if !is_changed && !is_recorded && pins_now => State::PinnedNow,
                finding => State::Waiting { is_changed, finding, is_recorded: is_recorded || is_full },
            }
        };
        let states = tools.iter().map(state).collect();
        Ok(Review { server, tools, states, pins, stored })
    }

    fn each(&self) -> impl Iterator<Item = (&'a OfferedTool, &State)> {
        self.tools.iter().zip(&self.states)
    }

    /// Removes what is not accepted, and notifies a person of what is new.
    pub(super) fn verdict(&self) -> Verdict {
        let withheld: Vec<(usize, &OfferedTool, String)> = self
            .each()
            .enumerate()
            .filter_map(|(at, (tool, state))| match state {
                State::Pinned | State::Restored | State::PinnedNow => None,
                State::Denied => Some((at, tool, "the policy does not allow it".to_owned())),
                State::Waiting { finding: Some(finding), .. } => Some((at, tool, finding.clone())),
                State::Waiting { is_changed: true, .. } => {
                    Some((at, tool, "its definition changed".to_owned()))
                }
                State::Waiting { .. } => Some((at, tool, "it is new".to_owned())),
            })
            .collect();
        if withheld.is_empty() {
            return Verdict::allow();
        }
        let server = &self.server.name;
        let listed = withheld.iter().take(10).map(|(_, tool, why)| format!("`{}`: {why}", tool.name));
        let more = withheld.len().saturating_sub(10);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let reason = format!(
            "{} of {} definitions of the MCP server `{server}` are withheld: {}{more}.",
            withheld.len(),
            self.tools.len(),
            listed.collect::<Vec<_>>().join("; ")
        );
        let help = format!(
            "A person reviews them with `midrail mcp diff {server}` and accepts them with `midrail mcp trust {server} --as NAME`."
        );
        let is_news = |state: &State| matches!(state, State::Waiting { is_recorded: false, .. });
        let has_news = self.states.iter().any(is_news);
        let notice = || midrail_core::Notice {
            to: "human_operator".to_owned(),
            message: format!("{reason} Review them with `midrail mcp diff {server}`."),
        };
        Verdict {
            redactions: withheld.iter().map(|(at, ..)| Redaction::of_tool(*at)).collect(),
            notices: has_news.then(notice).into_iter().collect(),
            ..Verdict::new(Effect::Redact, reason.clone()).advise(help).with("server", server.as_str())
        }
    }

    /// Stores new pins, and what waits for a person. A list in which nothing is new changes nothing.
    pub(super) fn record(mut self, changes: &mut Changes) -> Result<(), Missing> {
        let Some((mut names, mut texts)) = self.stored.take() else { return Ok(()) };
        let (server, mut pins, mut is_changed) = (self.server, std::mem::take(&mut self.pins), false);
        for (tool, state) in self.each() {
            let finding = match state {
                State::PinnedNow | State::Restored => None,
                State::Waiting { is_recorded: false, finding, .. } => finding.clone(),
                State::Pinned | State::Denied | State::Waiting { .. } => continue,
            };
            is_changed = true;
            let pin = pins.tools.entry(tool.name.clone()).or_default();
            let text = texts.entry(tool.name.clone()).or_default();
            let shown =
                tool.text.get(..tool.text.floor_char_boundary(findings::MAX_TEXT)).unwrap_or_default();
            if matches!(state, State::PinnedNow | State::Restored) {
                *pin = McpPin { pinned: Some(tool.hash.clone()), ..McpPin::default() };
                names.add(&server.name, &server.key, &tool.name, &tool.hash);
                (text.pinned, text.waiting) = (Some(shown.to_owned()), None);
            } else {
                (pin.waiting, pin.finding) = (Some(tool.hash.clone()), finding);
                text.waiting = Some(shown.to_owned());
            }
        }
        if !is_changed {
            return Ok(());
        }
        pins.name.clone_from(&server.name);
        pins.transport.clone_from(&server.transport);
        pins.launch.clone_from(&server.launch);
        McpPins::key(&server.key).write(changes, &pins)?;
        mcp_texts(&server.key).write(changes, &texts)?;
        McpNames::key().write(changes, &names)
    }
}
