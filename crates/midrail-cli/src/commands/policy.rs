//! `midrail policy`: the policy in force, layer by layer, and in plain words.

mod routing;

use std::collections::BTreeMap;

use midrail::pack::diagnostic::visible;
use midrail::pack::raw::AlertRule;
use midrail::pack::{Channel, GuardrailPlacement, TimeOrDuration, locate_guardrails};
use midrail::{
    Authorities, Bypass, Definition, LoadedPolicy, Mode, PackDocument, PolicyEntry, Risk, Tools, builtin,
    summary,
};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::exit::Exit;
use crate::input::PackArgs;
use crate::output::{Output, short, without_nulls, wrap};
use crate::paint::{Style, effect_style};
use crate::table::{Table, cell, styled};
use crate::yaml;

/// Show the policy in force, its layers and a summary.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    packs: PackArgs,
    /// Only the plain words, to be put into an agent's prompt
    #[arg(long, conflicts_with = "for_tool")]
    prompt: bool,
    /// Only the guardrails that have to do with this tool
    #[arg(long, value_name = "NAME")]
    for_tool: Option<String>,
}

pub(crate) fn run(args: &Args, output: &mut Output) -> Result<Exit, CliError> {
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
    match (output.is_json(), args.prompt) {
        (true, true) => output.json(&json!({"prompt": sentences}))?,
        (true, false) => output.json(&view.as_json(&sentences))?,
        (false, true) => {
            for line in prompt(&sentences) {
                output.line(line)?;
            }
        }
        (false, false) if args.for_tool.is_some() => view.print_layers(output)?,
        (false, false) => {
            view.print_layers(output)?;
            view.print_definitions(output)?;
            view.print_routing(output)?;
            view.print_approvals(output)?;
            view.print_alerts(output)?;
            view.print_channels(output)?;
            view.print_words(&sentences, output)?;
        }
    }
    Ok(Exit::Good)
}

/// The plain words for an agent's prompt.
fn prompt(sentences: &[String]) -> Vec<String> {
    if sentences.is_empty() {
        return vec!["No guardrails limit what you do beyond the usual care.".to_owned()];
    }
    let intro =
        "Guardrails check everything that you do. What breaks one of these rules is stopped or changed:";
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

    fn print_layers(&self, output: &mut Output) -> Result<(), CliError> {
        let paint = output.paint();
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
            output.line(format!(
                "{}  {}  {}",
                paint.style(Style::Strong, layer.word()),
                visible(&document.path),
                paint.style(Style::Dim, visible(&about)),
            ))?;
            self.print_entries(&entries, output)?;
        }
        let revision = self.loaded.policy.revision();
        output.line(format!("{}  {revision}", paint.style(Style::Strong, "revision")))
    }

    fn print_entries(&self, entries: &[&PolicyEntry], output: &mut Output) -> Result<(), CliError> {
        if entries.is_empty() {
            output.line(output.paint().style(Style::Dim, "  no guardrails here"))?;
        } else {
            for line in self.table(entries).lines(output.paint(), 2, output.width()) {
                output.line(line)?;
            }
        }
        output.line("")
    }

    fn table(&self, entries: &[&PolicyEntry]) -> Table {
        let mut table = Table::new(&[
            "guardrail",
            "priority",
            "effect",
            "mode",
            "lock",
            "from risk",
            "lifted by",
            "on",
            "tools",
        ]);
        for PolicyEntry { spec, guardrail, .. } in entries {
            let effect = spec.effect.unwrap_or_else(|| guardrail.default_effect());
            let on: Vec<&str> = spec.on.iter().map(|kind| kind.as_str()).collect();
            table.row(vec![
                cell(short(&spec.id, 40)),
                cell(spec.priority.to_string()),
                styled(effect.as_str(), effect_style(effect)),
                if spec.mode == Mode::Shadow { styled("shadow", Style::Caution) } else { cell("enforce") },
                cell(if self.is_locked(&spec.id) { "locked" } else { "" }),
                cell(spec.from_risk.map_or("any", Risk::as_str)),
                cell(short(lifted_by(&spec.bypass), 24)),
                cell(on.join(", ")),
                cell(short(&tools(spec, &guardrail.tools()), 48)),
            ]);
        }
        table
    }

    /// Whether no lower layer may loosen it. What is always on is as good as locked.
    fn is_locked(&self, id: &str) -> bool {
        let is_always_on = builtin(id).is_some_and(|page| page.always_on);
        is_always_on || self.places.get(id).is_some_and(|placement| placement.locked)
    }

    fn print_definitions(&self, output: &mut Output) -> Result<(), CliError> {
        for definition in self.loaded.policy.definitions() {
            let name = output.paint().style(Style::Strong, "definition");
            output.line(format!("\n{name}  {}", visible(&definition.name)))?;
            for line in yaml::lines(&definition_json(definition)) {
                output.line(format!("  {line}"))?;
            }
        }
        Ok(())
    }

    /// The risks of tools, and what strikes lead to.
    fn print_routing(&self, output: &mut Output) -> Result<(), CliError> {
        let lines = routing::lines(&self.loaded.policy);
        if !lines.is_empty() {
            let title = output.paint().style(Style::Strong, "risks");
            output.line(format!("\n{title}"))?;
        }
        for (name, text) in lines {
            let name = output.paint().style(Style::Dim, format!("{name:11}"));
            output.line(format!("  {name}{}", visible(&text)))?;
        }
        Ok(())
    }

    /// Who answers what guardrails put to people.
    fn print_approvals(&self, output: &mut Output) -> Result<(), CliError> {
        const NAME: usize = 11;
        let authorities = self.loaded.policy.authorities();
        let emergency = match &authorities.emergency {
            None => "off: only a person can bypass a guardrail".to_owned(),
            Some(rule) => format!(
                "for `{}`: granted without an answer within {}, review due within {}",
                rule.description,
                span(rule.wait_s),
                span(rule.review_within_s)
            ),
        };
        let title = output.paint().style(Style::Strong, "approvals");
        output.line(format!("\n{title}"))?;
        for (name, text) in [
            ("order", authorities.order.join(" < ")),
            ("supervisors", authorities.supervisors.join(", ")),
            ("people", authorities.humans.join(", ")),
            (
                "time",
                format!(
                    "{} for each to answer a request to lift a guardrail",
                    span(authorities.bypass_timeout_s)
                ),
            ),
            ("emergency", emergency),
        ] {
            let room = output.width().saturating_sub(NAME + 4).max(20);
            let mut names = std::iter::once(name).chain(std::iter::repeat(""));
            for line in wrap(&text, room) {
                let name = format!("{:<NAME$}", names.next().unwrap_or_default());
                output.line(format!("  {}  {line}", output.paint().style(Style::Dim, name)))?;
            }
        }
        Ok(())
    }

    /// Where notices go beside the log.
    fn print_channels(&self, output: &mut Output) -> Result<(), CliError> {
        let mut table = Table::new(&["for", "webhook", "command", "log"]);
        for (to, channel) in self.channels() {
            table.row(vec![
                cell(short(to, 40)),
                cell(short(channel.webhook.as_deref().unwrap_or_default(), 60)),
                cell(short(channel.command.as_deref().unwrap_or_default(), 60)),
                cell(if channel.log == Some(false) { "no" } else { "yes" }),
            ]);
        }
        if table.is_empty() {
            return Ok(());
        }
        let paint = output.paint();
        let aside = paint.style(Style::Dim, "all of them are kept: midrail notices");
        output.line(format!("\n{}  {aside}", paint.style(Style::Strong, "notices")))?;
        for line in table.lines(paint, 2, output.width()) {
            output.line(line)?;
        }
        Ok(())
    }

    /// Where notices go, by whom they are for. A higher layer has the say.
    fn channels(&self) -> BTreeMap<&str, &Channel> {
        let mut channels = BTreeMap::new();
        for (to, channel) in self.loaded.source.0.iter().flat_map(|layered| &layered.pack.notify) {
            channels.entry(to.as_str()).or_insert(channel);
        }
        channels
    }

    fn print_alerts(&self, output: &mut Output) -> Result<(), CliError> {
        let mut table = Table::new(&["alert", "condition", "action", "pack"]);
        let mut is_empty = true;
        for (document, alert) in self.alerts() {
            is_empty = false;
            table.row(vec![
                cell(short(&alert.name, 40)),
                cell(short(&alert.condition, 80)),
                cell(short(&alert.action, 60)),
                cell(short(&document.pack.pack, 40)),
            ]);
        }
        if is_empty {
            return Ok(());
        }
        let paint = output.paint();
        let title = paint.style(Style::Strong, "alerts");
        output.line(format!("\n{title}"))?;
        for line in table.lines(paint, 2, output.width()) {
            output.line(line)?;
        }
        Ok(())
    }

    fn alerts(&self) -> impl Iterator<Item = (&PackDocument, &AlertRule)> {
        let documents = self.loaded.documents.iter().map(|(_, document)| document);
        documents.flat_map(|document| document.pack.alerts.iter().map(move |alert| (document, alert)))
    }

    fn print_words(&self, sentences: &[String], output: &mut Output) -> Result<(), CliError> {
        if sentences.is_empty() {
            return Ok(());
        }
        output.line(format!(
            "\n{}",
            output.paint().style(Style::Strong, "in plain words (--prompt prints this alone)")
        ))?;
        for sentence in sentences {
            for (at, line) in wrap(sentence, output.width().saturating_sub(4)).into_iter().enumerate() {
                output.line(format!("  {} {line}", if at == 0 { "•" } else { " " }))?;
            }
        }
        Ok(())
    }

    fn as_json(&self, sentences: &[String]) -> Value {
        let documents = self.loaded.documents.iter();
        let packs: Vec<Value> = documents
            .map(|(layer, document)| {
                without_nulls(json!({
                    "layer": layer.word(), "file": document.path, "pack": document.pack.pack,
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
            "guardrails": guardrails, "definitions": definitions, "alerts": alerts,
            "approvals": approvals_json(self.loaded.policy.authorities()), "notify": self.channels(),
            "routing": routing::as_json(&self.loaded.policy), "prompt": sentences,
        })
    }

    fn entry_json(&self, PolicyEntry { spec, guardrail, .. }: &PolicyEntry) -> Value {
        let place = self.places.get(&*spec.id);
        let document = place.and_then(|place| self.loaded.documents.get(place.document));
        without_nulls(json!({
            "id": spec.id, "description": spec.description, "priority": spec.priority,
            "category": spec.category.as_str(), "on": spec.on, "tools": tool_list(&spec.tools, &guardrail.tools()),
            "effect": spec.effect.unwrap_or_else(|| guardrail.default_effect()), "mode": spec.mode,
            "locked": self.is_locked(&spec.id), "from_risk": spec.from_risk, "effect_by_risk": spec.effect_by_risk,
            "bypass": bypass_json(&spec.bypass), "approver": spec.approver,
            "approval_timeout_s": spec.approval_timeout_s,
            "layer": document.map(|(layer, _)| layer.word()), "file": document.map(|(_, document)| &document.path),
            "line": place.map(|place| place.line), "column": place.map(|place| place.column),
        }))
    }
}

/// Who may lift a guardrail for one action.
fn lifted_by(bypass: &Bypass) -> &str {
    match bypass {
        Bypass::Never => "nobody",
        Bypass::Emergency => "emergency",
        Bypass::By(role) => role,
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

/// Seconds in their largest whole unit.
fn span(seconds: u32) -> String {
    match seconds {
        0 => "0 s".to_owned(),
        _ if seconds.is_multiple_of(3_600) => format!("{} h", seconds / 3_600),
        _ if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}

/// The tools that a guardrail governs: those of its pack, else its own. Nothing: all of them.
fn tool_list<'t>(of_spec: &'t Tools, own: &'t Tools) -> Option<&'t [String]> {
    match (of_spec, own) {
        (Tools::Only(names), _) | (Tools::All, Tools::Only(names)) => Some(names),
        (Tools::All, Tools::All) => None,
    }
}

fn tools(spec: &midrail::Spec, own: &Tools) -> String {
    tool_list(&spec.tools, own).map_or("all".to_owned(), |names| names.join(", "))
}

fn definition_json(definition: &Definition) -> Value {
    let mut value = json!({"name": definition.name});
    let Some(fields) = value.as_object_mut() else { return value };
    for (name, patterns) in [("agents", &definition.agents), ("tasks", &definition.tasks)] {
        if !patterns.is_empty() {
            fields.insert(name.to_owned(), json!(patterns));
        }
    }
    for (name, part) in [("agent", json!(definition.agent)), ("task", json!(definition.task))] {
        if part.as_object().is_some_and(|part| !part.is_empty()) {
            fields.insert(name.to_owned(), part);
        }
    }
    if let Some(deadline) = definition.deadline {
        fields.insert("deadline".to_owned(), json!(TimeOrDuration(deadline)));
    }
    value
}
