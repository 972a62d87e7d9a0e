//! A guardrail explained: the page of a built-in one, or what a pack says of its own.

use midrail::pack::diagnostic::{nearest, visible};
use midrail::pack::{Placement, outline};
use midrail::{CATALOGUE, Loaded, Page, page};
use serde_json::json;

use crate::failure::Failure;
use crate::input::Packs;
use crate::markdown;
use crate::output::{Output, Style, wrap};
use crate::yaml;

pub(super) fn explain(id: &str, packs: &Packs, output: &mut Output) -> Result<(), Failure> {
    if let Some(page) = page(id) {
        return built_in(page, output);
    }
    let loaded = packs.here().documents()?;
    let placements = outline(&loaded.documents);
    match placements.iter().find(|placement| placement.id == id) {
        Some(placement) => of_pack(placement, &loaded, output),
        None => Err(unknown(id, &placements)),
    }
}

fn unknown(id: &str, placements: &[Placement]) -> Failure {
    let failure = Failure::new(format!("unknown guardrail `{}`", visible(id)));
    let built_in = CATALOGUE.iter().flat_map(|page| [page.id, page.name].into_iter().chain(page.aliases.iter().copied()));
    let known: Vec<&str> = built_in.chain(placements.iter().map(|placement| placement.id.as_str())).collect();
    match nearest(id, known.iter().copied()) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`midrail policy` lists the guardrails in force"),
    }
}

fn built_in(page: &Page, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        let on: Vec<&str> = page.on.iter().map(|kind| kind.word()).collect();
        return output.json(&json!({
            "id": page.id, "name": page.name, "aliases": page.aliases, "category": page.category.word(),
            "priority": page.priority, "on": on, "always_on": page.always_on, "page": page.page,
        }));
    }
    // What is piped stays Markdown.
    if !output.is_terminal() && !output.paint().is_on() {
        return output.text(page.page);
    }
    for line in markdown::lines(page.page, output.paint()) {
        output.line(line)?;
    }
    let on: Vec<&str> = page.on.iter().map(|kind| kind.word()).collect();
    let always = if page.always_on { ", always on" } else { "" };
    let text = format!("{} · {} · priority {} · {}{always}", page.id, page.category.word(), page.priority, on.join(", "));
    output.line(format!("\n{}", output.paint().style(Style::Dim, text)))
}

fn of_pack(placement: &Placement, loaded: &Loaded, output: &mut Output) -> Result<(), Failure> {
    let Some((layer, document)) = loaded.documents.get(placement.document) else {
        return Err(Failure::new("the guardrail's pack is not at hand"));
    };
    let settings = serde_json::to_value(&placement.guard).map_err(|error| Failure::of(&error))?;
    let uses = placement.guard.uses.as_deref().and_then(page);
    if output.is_json() {
        return output.json(&json!({
            "id": placement.id, "layer": layer.word(), "pack": document.pack.pack, "file": document.path,
            "line": placement.line, "column": placement.column, "locked": placement.locked,
            "enabled": placement.enabled, "agent": placement.agent, "settings": settings,
            "built_in": uses.map(|page| page.id),
        }));
    }
    let paint = output.paint();
    output.line(paint.style(Style::Strong, visible(&placement.id)))?;
    let description = placement.guard.description.as_ref().or(placement.guard.name.as_ref());
    for line in description.into_iter().flat_map(|text| wrap(text, output.width())) {
        output.line(line)?;
    }
    output.line("")?;
    for line in yaml::lines(&settings) {
        output.line(format!("    {line}"))?;
    }
    let mut place = format!(
        "{} pack `{}`, {}:{}:{}",
        layer.word(),
        visible(&document.pack.pack),
        visible(&document.path),
        placement.line,
        placement.column
    );
    if let Some(agent) = &placement.agent {
        place.push_str(&format!(", for agent `{}`", visible(agent)));
    }
    if placement.locked {
        place.push_str(", locked");
    }
    if !placement.enabled {
        place.push_str(", switched off");
    }
    output.line(format!("\n{}", paint.style(Style::Dim, place)))?;
    if let Some(page) = uses {
        output.line(paint.style(Style::Dim, format!("what it does: midrail explain {}", page.id)))?;
    }
    Ok(())
}
