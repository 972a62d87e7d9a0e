//! The pins of MCP servers: shown, compared, accepted, removed.

use midrail::admin::McpDefinition;
use midrail_adapters::setup::{DiffLine, diff as lines_of};
use serde_json::json;

use crate::admin_args::AdminArgs;
use crate::approver_key::{self, Signer};
use crate::error::{CliError, CliResult};
use crate::exit::Exit;
use crate::output::{Output, escaped, short};

pub(super) fn show(server: &str, admin: &AdminArgs, output: &mut Output) -> CliResult {
    let engine = admin.list_engine()?;
    let server = engine.admin().mcp_server(server)?;
    let definitions = engine.admin().mcp_definitions(&server)?;
    if output.is_json {
        definitions.iter().try_for_each(|definition| output.json(definition))?;
        return Ok(Exit::Good);
    }
    for definition in &definitions {
        heading(definition, output)?;
        let text = definition.pinned.as_ref().or(definition.waiting.as_ref());
        text_lines(text.map_or("", String::as_str), "  ", output)?;
    }
    Ok(Exit::Good)
}

pub(super) fn diff(server: &str, tool: Option<&str>, admin: &AdminArgs, output: &mut Output) -> CliResult {
    let engine = admin.list_engine()?;
    let server = engine.admin().mcp_server(server)?;
    let mut definitions = engine.admin().mcp_definitions(&server)?;
    definitions.retain(|it| it.waiting.is_some() && tool.is_none_or(|tool| it.name == tool));
    if output.is_json {
        definitions.iter().try_for_each(|definition| output.json(definition))?;
        return Ok(Exit::Good);
    }
    if definitions.is_empty() {
        let what = tool.unwrap_or("No definition");
        output.line(format!("{} of {} waits for a person.", short(what, 200), short(&server.name, 80)))?;
        return Ok(Exit::Good);
    }
    for definition in &definitions {
        heading(definition, output)?;
        let (old, new) =
            (definition.pinned.as_deref().unwrap_or(""), definition.waiting.as_deref().unwrap_or(""));
        for line in lines_of(old, new) {
            match line {
                DiffLine::Same(text) => text_lines(text, "    ", output)?,
                DiffLine::Old(text) => text_lines(text, "  - ", output)?,
                DiffLine::New(text) => text_lines(text, "  + ", output)?,
                DiffLine::Gap => output.line("    …")?,
            }
        }
    }
    let tool = tool.map(|tool| format!(" {}", short(tool, 200))).unwrap_or_default();
    let (name, digest) = (short(&server.name, 80), McpDefinition::digest(&definitions));
    output.line(format!("Accept exactly this: midrail mcp trust {name}{tool} --read {digest} --as NAME"))?;
    Ok(Exit::Good)
}

fn heading(definition: &McpDefinition, output: &mut Output) -> CliResult<()> {
    let finding = definition.finding.as_deref().map(|it| format!(": {}", short(it, 300))).unwrap_or_default();
    output.line(format!("{} ({}{finding})", short(&definition.name, 200), definition.state))
}

/// Lines of a definition, whole: a model reads the end of a long line, too.
fn text_lines(text: &str, before: &str, output: &mut Output) -> CliResult<()> {
    for line in text.lines() {
        output.line(format!("{before}{}", escaped(line)))?;
    }
    Ok(())
}

pub(super) fn trust(
    server: &str,
    (tools, read): (&[String], Option<&str>),
    signer: &Signer,
    admin: &AdminArgs,
    output: &mut Output,
) -> CliResult {
    let engine = admin.read_engine()?;
    let person = approver_key::read(signer, &engine)?;
    let server = engine.admin().mcp_server(server).map_err(|error| {
        CliError::from(error)
            .help("`midrail mcp list` shows the servers; one is known after a client has started it")
    })?;
    let accepted = match read {
        None => engine.admin().trust_mcp(&server, tools, &person)?,
        Some(read) => {
            let mut definitions = engine.admin().mcp_definitions(&server)?;
            definitions.retain(|it| it.waiting.is_some() && (tools.is_empty() || tools.contains(&it.name)));
            if McpDefinition::digest(&definitions) != read {
                let help = format!("run `midrail mcp diff {}`, and read them again", short(&server.name, 80));
                return Err(CliError::new("the definitions changed since they were read").help(help));
            }
            let definition = |it: McpDefinition| Some((it.name, it.hash?));
            let read = definitions.into_iter().filter_map(definition).collect();
            engine.admin().trust_mcp_as_read(&server, &read, &person)?
        }
    };
    let text = format!("{} definitions of {} are accepted", accepted.len(), short(&server.name, 80));
    output.done(&json!({"server": server.name, "accepted": accepted, "by": person.name()}), text)
}

pub(super) fn forget(server: &str, signer: &Signer, admin: &AdminArgs, output: &mut Output) -> CliResult {
    let engine = admin.read_engine()?;
    let person = approver_key::read(signer, &engine)?;
    let server = engine.admin().mcp_server(server)?;
    engine.admin().forget_mcp(&server, &person)?;
    let text = format!("{} is not known any more", short(&server.name, 80));
    output.done(&json!({"server": server.name, "state": "forgotten", "by": person.name()}), text)
}
