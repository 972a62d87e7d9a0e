//! `midrail policy`: the policy in force, layer by layer, with a summary.

use std::collections::BTreeMap;

use midrail::core::{Authorities, Bypass, Definition, Risk};
use midrail::guardrails::builtin;
use midrail::pack::diagnostic::visible;
use midrail::pack::raw::AlertRule;
use midrail::pack::{Channel, GuardrailPlacement, PackDocument, TimeOrDuration, locate_guardrails};
use midrail::{Effect, LoadedPolicy, Mode, Policy, PolicyEntry, Tools, summary};
use serde_json::{Value, json};

use crate::admin_args;
use crate::approver_key::OptionalSigner;
use crate::error::{CliResult, without_nulls};
use crate::exit::Exit;
use crate::input::{PackArgs, StoreArgs};
use crate::output::{Output, short, wrap};
use crate::paint::Style;
use crate::table::{self, Table, cell};
use crate::time;
use crate::yaml;

/// Show the policy in force, its layers and a summary.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    packs: PackArgs,
    /// Only the summary, for an agent's prompt
    #[arg(long, conflicts_with = "for_tool")]
    prompt: bool,
    /// Only the guardrails for this tool
    #[arg(long, value_name = "NAME")]
    for_tool: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Let instances of the service start with a policy while others enforce another one, for 24 hours.
    ///
    /// It takes the key of an administrator, a human operator or the first approver, once there are approvers.
    Confirm {
        /// The revision of the policy [default: that of the packs]
        #[arg(value_name = "REVISION")]
        revision: Option<String>,
        #[command(flatten)]
        signer: OptionalSigner,
        #[command(flatten)]
        store: StoreArgs,
    },
}

/// The width where there is no terminal.
const WIDTH: usize = 80;

fn confirm(
    revision: Option<&str>,
    signer: &OptionalSigner,
    (store, packs): (&StoreArgs, &PackArgs),
    output: &mut Output,
) -> CliResult {
    let engine = admin_args::engine(store.open_or_create()?, &packs.here())?;
    let by = signer.read(&engine)?;
    let own = engine.policy().revision().to_string();
    let confirmed = engine.admin().confirm_policy(revision.unwrap_or(&own), by.as_ref())?;
    let text = format!(
        "instances may start with the policy {} until {}\n  restart them one after the other; `midrail serve` and the \
         console show which instances still enforce another policy",
        confirmed.revision,
        time::date_time(confirmed.until)
    );
    output.done(&confirmed, text)
}

pub(crate) fn run(args: &Args, output: &mut Output) -> CliResult {
    if let Some(Command::Confirm { revision, signer, store }) = &args.command {
        return confirm(revision.as_deref(), signer, (store, &args.packs), output);
    }
    if !output.is_terminal && !args.prompt {
        output.width = WIDTH;
    }
    let loaded = args.packs.here().documents()?;
    let sentences = summary::sentences(&loaded.policy);
    let places: BTreeMap<String, GuardrailPlacement> = locate_guardrails(&loaded.documents)
        .into_iter()
        .map(|placement| (placement.id.clone(), placement))
        .collect();
    let entries: Vec<&PolicyEntry> = match &args.for_tool {
        Some(tool) => loaded.policy.entries_for_tool(tool),
        None => loaded.policy.entries().iter().collect(),
    };
    let view = View { loaded: &loaded, places, entries };
    match (output.is_json, args.prompt) {
        (true, true) => output.json(&json!({"prompt": sentences}))?,
        (true, false) => output.json(&view.as_json(&sentences))?,
        (false, true) => {
            output.lines(prompt(&sentences))?;
        }
        (false, false) if args.for_tool.is_some() => view.print_layers(output)?,
        (false, false) => {
            view.print_layers(output)?;
            view.print_unprotected(output)?;
            view.print_definitions(output)?;
            print_fields("risks", &routing_lines(&loaded.policy), output)?;
            view.print_approvals(output)?;
            view.print_alerts(output)?;
            view.print_channels(output)?;
            view.print_summary(&sentences, output)?;
        }
    }
    Ok(Exit::Good)
}

/// Prints names, each with a text below it, with a title, unless there are none.
fn print_items(title: &str, items: Vec<(String, String)>, output: &mut Output) -> CliResult<()> {
    if items.is_empty() {
        return Ok(());
    }
    output.section(title)?;
    for (name, text) in items {
        output.line(format!("  {name}"))?;
        output.lines(
            wrap(&text, output.width.saturating_sub(4)).into_iter().map(|line| format!("    {line}")),
        )?;
    }
    Ok(())
}

/// Prints named texts with a title, unless there are none.
fn print_fields(title: &str, fields: &[(&str, String)], output: &mut Output) -> CliResult<()> {
    if fields.is_empty() {
        return Ok(());
    }
    output.section(title)?;
    output.fields(fields)
}

fn prompt(sentences: &[String]) -> Vec<String> {
    if sentences.is_empty() {
        return vec!["No guardrails limit what you do beyond the usual care.".to_owned()];
    }
    let intro = "Guardrails check everything that you do. Actions that break one of these rules are blocked or changed:";
    std::iter::once(intro.to_owned())
        .chain(sentences.iter().map(|sentence| format!("- {}", visible(sentence))))
        .collect()
}

struct View<'l> {
    loaded: &'l LoadedPolicy,
    places: BTreeMap<String, GuardrailPlacement>,
    entries: Vec<&'l PolicyEntry>,
}

impl View<'_> {
    fn of_document(&self, document: Option<usize>) -> Vec<&PolicyEntry> {
        let place =
            |entry: &&&PolicyEntry| self.places.get(&*entry.spec.id).map(|placement| placement.document);
        self.entries.iter().filter(|entry| place(entry) == document).copied().collect()
    }

    fn print_layers(&self, output: &mut Output) -> CliResult<()> {
        let paint = output.paint;
        let always_on = self.of_document(None);
        if !always_on.is_empty() {
            output.line(format!("{}  in every policy", paint.style(Style::Strong, "always on")))?;
            self.print_entries(&always_on, output)?;
        }
        for (at, (layer, document)) in self.loaded.documents.iter().enumerate() {
            let entries = self.of_document(Some(at));
            let pack = &document.pack;
            let version = pack.version.as_ref().map(|version| format!(" {}", version.0)).unwrap_or_default();
            let mut about = format!("pack {}{version}", pack.pack);
            if let Some(base) = &document.base_of {
                about.push_str(&format!(", extended by {base}"));
            }
            if pack.lock {
                about.push_str(", locked");
            }
            if pack.mode == Some(Mode::Shadow) {
                about.push_str(", shadow");
            }
            let (layer, path) = (layer.as_str(), visible(&document.path));
            let length = layer.len() + path.chars().count() + about.chars().count() + 4;
            let about = paint.style(Style::Dim, visible(&about));
            let layer = paint.style(Style::Strong, layer);
            if length <= output.width {
                output.line(format!("{layer}  {path}  {about}"))?;
            } else {
                output.lines([format!("{layer}  {path}"), format!("  {about}")])?;
            }
            self.print_entries(&entries, output)?;
        }
        let revision = self.loaded.policy.revision();
        // One space, so that it fits 80 columns.
        output.line(format!("{} {revision}", paint.style(Style::Strong, "revision")))
    }

    fn print_entries(&self, entries: &[&PolicyEntry], output: &mut Output) -> CliResult<()> {
        if entries.is_empty() {
            output.line(output.paint.style(Style::Dim, "  no guardrails here"))?;
            return output.line("");
        }
        let table = Table::of(
            entries,
            &[
                ("priority", &|entry| cell(entry.spec.priority.to_string())),
                ("effect", &|entry| table::effect(effect(entry))),
                ("guardrail", &|entry| table::guardrail(&entry.spec.id)),
            ],
        );
        let mut lines = table.lines(output.paint, 2, output.width).into_iter();
        output.lines(lines.next())?;
        // Below the guardrail: the columns before it are 10 and as wide as the widest effect.
        let widest = entries.iter().map(|entry| effect(entry).as_str().len()).max().unwrap_or(0).max(6);
        let indent = " ".repeat(widest + 14);
        for (line, entry) in lines.zip(entries) {
            output.line(line)?;
            for line in wrap(&self.details(entry), output.width.saturating_sub(indent.len()).max(20)) {
                output.line(format!("{indent}{}", output.paint.style(Style::Dim, line)))?;
            }
        }
        output.line("")
    }

    /// When a guardrail applies, and its settings that are not the usual ones.
    fn details(&self, entry: &PolicyEntry) -> String {
        let spec = &entry.spec;
        let kinds: Vec<&str> = spec.on.iter().map(|kind| kind.as_str()).collect();
        let own = entry.guardrail.tools();
        let tools = tool_list(&spec.tools, &own);
        let parts = [
            Some(format!("on {}", kinds.join(", "))),
            tools.map(|names| format!("tools {}", short(&names.join(", "), 200))),
            spec.from_risk.map(|risk| format!("from {} risk", risk.as_str())),
            (spec.mode == Mode::Shadow).then(|| "shadow".to_owned()),
            self.is_locked(&spec.id).then(|| "locked".to_owned()),
            match &spec.bypass {
                Bypass::Emergency => None,
                Bypass::Never => Some("no bypass".to_owned()),
                Bypass::By(role) => Some(format!("bypass by {}", short(role, 40))),
            },
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether lower layers cannot loosen it. Always-on guardrails count as locked.
    fn is_locked(&self, id: &str) -> bool {
        let is_always_on = builtin(id).is_some_and(|page| page.always_on);
        is_always_on || self.places.get(id).is_some_and(|placement| placement.locked)
    }

    fn print_definitions(&self, output: &mut Output) -> CliResult<()> {
        for definition in self.loaded.policy.definitions() {
            let name = output.paint.style(Style::Strong, "definition");
            output.line(format!("\n{name}  {}", visible(&definition.name)))?;
            for line in yaml::lines(&definition_json(definition)) {
                let indent = line.len() - line.trim_start().len();
                let room = output.width.saturating_sub(indent + 6).max(20);
                for (at, part) in wrap(line.trim_start(), room).into_iter().enumerate() {
                    let indent = " ".repeat(indent + if at == 0 { 2 } else { 6 });
                    output.line(format!("{indent}{part}"))?;
                }
            }
        }
        Ok(())
    }

    /// Who answers requests.
    fn print_approvals(&self, output: &mut Output) -> CliResult<()> {
        let authorities = self.loaded.policy.authorities();
        let emergency = match &authorities.emergency {
            None => "off: only a person can bypass a guardrail".to_owned(),
            Some(rule) => format!(
                "for `{}`: granted without an answer within {}, review due within {}",
                rule.description,
                seconds(rule.wait_s),
                seconds(rule.review_within_s)
            ),
        };
        let time = format!(
            "{} for each to answer a request to bypass a guardrail",
            seconds(authorities.bypass_timeout_s)
        );
        let fields = [
            ("order", authorities.order.join(" < ")),
            ("supervisor", authorities.supervisors.join(", ")),
            ("people", authorities.humans.join(", ")),
            ("time", time),
            ("emergency", emergency),
        ];
        print_fields("approvals", &fields, output)
    }

    /// The channels of notices.
    fn print_channels(&self, output: &mut Output) -> CliResult<()> {
        let named = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name} {}", short(value, 200)))
        };
        let items = self.channels().into_iter().map(|(to, channel)| {
            let log = if channel.log == Some(false) { "not in the log" } else { "in the log" };
            let parts = [
                named("webhook", &channel.webhook),
                named("command", &channel.command),
                Some(log.to_owned()),
            ];
            (short(to, 40).into_owned(), parts.into_iter().flatten().collect::<Vec<_>>().join("; "))
        });
        print_items("notices  (all notices are stored: midrail notices)", items.collect(), output)
    }

    /// The channels by recipient. A higher layer takes precedence.
    fn channels(&self) -> BTreeMap<&str, &Channel> {
        let mut channels = BTreeMap::new();
        for (to, channel) in self.loaded.source.0.iter().flat_map(|layered| &layered.pack.notify) {
            channels.entry(to.as_str()).or_insert(channel);
        }
        channels
    }

    fn print_alerts(&self, output: &mut Output) -> CliResult<()> {
        let items = self.alerts().map(|(document, alert)| {
            let (condition, action) = (short(&alert.condition, 200), short(&alert.action, 200));
            let pack = short(&document.pack.pack, 40);
            (short(&alert.name, 40).into_owned(), format!("{condition}: {action} (pack {pack})"))
        });
        print_items("alerts", items.collect(), output)
    }

    fn alerts(&self) -> impl Iterator<Item = (&PackDocument, &AlertRule)> {
        let documents = self.loaded.documents.iter().map(|(_, document)| document);
        documents.flat_map(|document| document.pack.alerts.iter().map(move |alert| (document, alert)))
    }

    fn print_summary(&self, sentences: &[String], output: &mut Output) -> CliResult<()> {
        if sentences.is_empty() {
            return Ok(());
        }
        output.section("summary (--prompt prints only this)")?;
        for sentence in sentences {
            for (at, line) in wrap(sentence, output.width.saturating_sub(4)).into_iter().enumerate() {
                output.line(format!("  {} {line}", if at == 0 { "•" } else { " " }))?;
            }
        }
        Ok(())
    }

    /// What the default pack would protect, and this policy does not.
    fn print_unprotected(&self, output: &mut Output) -> CliResult<()> {
        let missing = self.loaded.unprotected();
        if missing.is_empty() {
            return Ok(());
        }
        output.section("not protected")?;
        let text = output.paint.style(Style::Caution, missing.join(", "));
        output.fields(&[
            ("missing", text),
            ("why", "no pack enforces these guardrails of the default pack to the same extent".to_owned()),
        ])
    }

    fn as_json(&self, sentences: &[String]) -> Value {
        let documents = self.loaded.documents.iter();
        let packs: Vec<Value> = documents
            .map(|(layer, document)| {
                without_nulls(json!({
                    "layer": layer.as_str(), "file": document.path, "pack": document.pack.pack,
                    "version": document.pack.version, "description": document.pack.description,
                    "lock": document.pack.lock, "mode": document.pack.mode, "base_of": document.base_of,
                }))
            })
            .collect();
        let guardrails: Vec<Value> = self.entries.iter().map(|entry| self.entry_json(entry)).collect();
        let definitions: Vec<Value> = self.loaded.policy.definitions().iter().map(definition_json).collect();
        let alerts: Vec<Value> = self
            .alerts()
            .map(|(document, alert)| {
                json!({
                    "name": alert.name, "condition": alert.condition, "action": alert.action,
                    "cooldown_s": alert.cooldown.map_or(600, |time| time.whole()), "file": document.path,
                })
            })
            .collect();
        json!({
            "revision": self.loaded.policy.revision(), "mode": self.loaded.policy.mode(), "packs": packs,
            "unprotected": self.loaded.unprotected(),
            "guardrails": guardrails, "definitions": definitions, "alerts": alerts,
            "approvals": approvals_json(self.loaded.policy.authorities()), "notify": self.channels(),
            "routing": routing_json(&self.loaded.policy), "prompt": sentences,
        })
    }

    fn entry_json(&self, entry: &PolicyEntry) -> Value {
        let PolicyEntry { spec, guardrail, .. } = entry;
        let place = self.places.get(&*spec.id);
        let document = place.and_then(|place| self.loaded.documents.get(place.document));
        without_nulls(json!({
            "id": spec.id, "description": spec.description, "priority": spec.priority,
            "category": spec.category.as_str(), "on": spec.on, "tools": tool_list(&spec.tools, &guardrail.tools()),
            "effect": effect(entry), "mode": spec.mode,
            "locked": self.is_locked(&spec.id), "from_risk": spec.from_risk, "effect_by_risk": spec.effect_by_risk,
            "bypass": bypass_json(&spec.bypass), "approver": spec.approver,
            "approval_timeout_s": spec.approval_timeout_s,
            "layer": document.map(|(layer, _)| layer.as_str()), "file": document.map(|(_, document)| &document.path),
            "line": place.map(|place| place.line), "column": place.map(|place| place.column),
        }))
    }
}

fn bypass_json(bypass: &Bypass) -> Value {
    match bypass {
        Bypass::Never => json!({"allowed": false}),
        Bypass::Emergency => json!({"allowed": false, "emergency": true}),
        Bypass::By(role) => json!({"allowed": true, "requires_approval": role}),
    }
}

fn approvals_json(authorities: &Authorities) -> Value {
    let emergency = authorities.emergency.as_ref().map(|rule| {
        json!({"only_for": rule.description, "wait_s": rule.wait_s, "review_within_s": rule.review_within_s})
    });
    json!({
        "order": authorities.order, "supervisors": authorities.supervisors, "humans": authorities.humans,
        "bypass_timeout_s": authorities.bypass_timeout_s, "emergency": emergency,
    })
}

/// Seconds in words.
fn seconds(seconds: u32) -> String {
    midrail::core::duration::span(jiff::SignedDuration::from_secs(seconds.into()))
}

/// The tools that a guardrail governs: those of its pack, else its own. Nothing: all of them.
fn tool_list<'t>(of_spec: &'t Tools, own: &'t Tools) -> Option<&'t [String]> {
    match (of_spec, own) {
        (Tools::Only(names), _) | (Tools::All, Tools::Only(names)) => Some(names),
        (Tools::All, Tools::All) => None,
    }
}

/// The strongest effect of a guardrail.
fn effect(entry: &PolicyEntry) -> Effect {
    entry.spec.effect.unwrap_or_else(|| entry.guardrail.default_effect())
}

fn definition_json(definition: &Definition) -> Value {
    let patterns = |patterns: &Vec<String>| (!patterns.is_empty()).then(|| json!(patterns));
    let part = |part: Value| part.as_object().is_some_and(|part| !part.is_empty()).then_some(part);
    without_nulls(json!({
        "name": definition.name, "agents": patterns(&definition.agents), "tasks": patterns(&definition.tasks),
        "agent": part(json!(definition.agent)), "task": part(json!(definition.task)),
        "deadline": definition.deadline.map(TimeOrDuration),
    }))
}

const RISKS: [Risk; 4] = [Risk::Low, Risk::Medium, Risk::High, Risk::Critical];

/// The lines about the risks of tools and the effects of strikes. None if they do not concern the guardrails of the policy.
fn routing_lines(policy: &Policy) -> Vec<(&'static str, String)> {
    let routing = policy.routing();
    let has_external = policy.entries().iter().any(|entry| entry.guardrail.has_late_answers());
    let mut lines = Vec::new();
    for (tool, risk) in routing.tools.iter().flatten() {
        lines.push(("tool", format!("{tool} is of {} risk", risk.as_str())));
    }
    for risk in RISKS.into_iter().filter(|_| has_external) {
        let tier = routing.tier(risk);
        let mut text = match tier.wait_ms {
            0 => format!("{}: does not wait for an answer", risk.as_str()),
            wait => format!("{}: waits {wait} ms for an answer, then {}", risk.as_str(), tier.on_timeout),
        };
        if !tier.require.is_empty() {
            text.push_str(&format!("; always required: {}", tier.require.join(", ")));
        }
        lines.push(("waits", text));
    }
    for rule in policy.strike_rules() {
        let of = rule
            .guardrail
            .as_ref()
            .map(|id| format!(" of {}", midrail::guardrails::label(id)))
            .unwrap_or_default();
        lines.push(("strikes", format!("{}{of} lead to {}", rule.count, rule.effect)));
    }
    lines
}

/// The same as JSON.
fn routing_json(policy: &Policy) -> Value {
    let routing = policy.routing();
    let tools: Vec<Value> =
        routing.tools.iter().flatten().map(|(tool, risk)| json!({"tool": tool, "risk": risk})).collect();
    let tiers: Vec<Value> = RISKS
        .iter()
        .map(|risk| {
            let tier = routing.tier(*risk);
            json!({"risk": risk, "wait_ms": tier.wait_ms, "then": tier.on_timeout, "require": tier.require})
        })
        .collect();
    let strikes = policy.strike_rules().iter().map(|rule| {
        json!({"count": rule.count, "of": rule.guardrail, "effect": rule.effect, "user_message": rule.user_message})
    });
    json!({
        "tool_risks": tools, "tiers": tiers, "model_wait_ms": routing.model_wait_ms,
        "strikes": strikes.collect::<Vec<_>>(),
    })
}
