//! What a guardrail can read when it checks an event. Reading a value that is not known returns [`Missing`] and requests it.

use std::ops::Deref;

use serde_json::Value;

use crate::action::Action;
use crate::definition::Definition;
use crate::effect::Effect;
use crate::event::{Event, Risk};
use crate::facts::{
    CommandOutcome, DeepCall, DeepOutcome, Fact, FactKey, FileState, Finding, GitState, HookCall,
    HookOutcome, PackCommand, UnsavedFiles,
};
use crate::glob;
use crate::inputs::{Inputs, Missing, ModifiedArgument, NotModified};
use crate::label_row::LabelRow;
use crate::path::{self, Place, Roots};
use crate::path_pattern::Folders;
use crate::routing::WaitRule;
use crate::script_source::ScriptSource;
use crate::session::{denied_key, state_prefix, variable_key};
use crate::spec::Spec;
use crate::text_test::{TextTest, WantedText};

/// The view of one guardrail on the inputs of a decision. It dereferences to [`Inputs`], which has what concerns all guardrails:
/// slices, budgets, deadline, definitions.
pub struct Context<'a> {
    /// The event.
    pub event: &'a Event,
    /// The guardrail's own settings.
    pub spec: &'a Spec,
    inputs: &'a Inputs<'a>,
    part: Option<String>,
    external_answer: Option<&'a Value>,
}

impl<'a> Deref for Context<'a> {
    type Target = Inputs<'a>;

    fn deref(&self) -> &Inputs<'a> {
        self.inputs
    }
}

impl<'a> Context<'a> {
    pub(crate) fn new(inputs: &'a Inputs<'a>, spec: &'a Spec) -> Self {
        Context { event: inputs.event, spec, inputs, part: None, external_answer: None }
    }

    /// The same context for a part of the guardrail, whose state is separate from the other parts.
    pub fn part(&self, name: &str) -> Context<'a> {
        let part = match &self.part {
            Some(part) => format!("{part}/{name}"),
            None => name.to_owned(),
        };
        Context { part: Some(part), ..*self }
    }

    /// The same context.
    pub fn same(&self) -> Context<'a> {
        Context { part: self.part.clone(), ..*self }
    }

    /// The same context with an external answer to check.
    pub fn with_external_answer<'b>(&'b self, answer: &'b Value) -> Context<'b> {
        Context { part: self.part.clone(), external_answer: Some(answer), ..*self }
    }

    /// The external answer to check.
    pub fn external_answer(&self) -> Option<&'a Value> {
        self.external_answer
    }

    /// The key of a slice of this guardrail, separate for each prompt if the spec requires it.
    pub fn key(&self, name: &str) -> String {
        let prompt = self.event.prompt.as_deref().filter(|_| self.spec.per_prompt);
        let mut key = state_prefix(&self.spec.id, prompt);
        if let Some(part) = &self.part {
            key.push_str(part);
            key.push('/');
        }
        key.push_str(name);
        key
    }

    /// A slice of this guardrail's own state.
    pub fn state(&self, name: &str) -> Result<Option<&'a Value>, Missing> {
        self.slice(&self.key(name))
    }

    /// A variable that the host set on the session.
    pub fn variable(&self, name: &str) -> Result<Option<&'a Value>, Missing> {
        self.slice(&variable_key(name))
    }

    /// Whether a value that this guardrail requested has yet to be fetched. The engine then runs the guardrail again.
    pub fn has_pending_needs(&self) -> bool {
        self.inputs.has_pending_needs.get()
    }

    /// What the event does.
    pub fn action(&self) -> Result<&'a Action, Missing> {
        let Fact::Action(action) = self.fact(FactKey::Action)? else { return mismatch() };
        Ok(action)
    }

    /// The secrets in the event's texts.
    pub fn secrets(&self) -> Result<&'a [Finding], Missing> {
        let Fact::Secrets(found) = self.fact(FactKey::Secrets)? else { return mismatch() };
        Ok(found)
    }

    /// Personal data in the event's texts.
    pub fn personal_data(&self) -> Result<&'a [Finding], Missing> {
        self.findings(FactKey::PersonalData)
    }

    /// Attempts in the event's texts to take over a model.
    pub fn injections(&self) -> Result<&'a [Finding], Missing> {
        self.findings(FactKey::Injections)
    }

    /// Keyed digests of the names of destinations in the event's texts.
    pub fn name_digests(&self) -> Result<&'a [String], Missing> {
        let Fact::Names(names) = self.fact(FactKey::Names)? else { return mismatch() };
        Ok(names)
    }

    /// Keyed digests of the spellings of a destination. It is named if one of them is.
    pub fn destination_digests(&self, destination: &str) -> Result<&'a [String], Missing> {
        let key = FactKey::Destination(destination.to_owned());
        let Fact::Names(names) = self.fact(key)? else { return mismatch() };
        Ok(names)
    }

    /// The labels of tools, hosts and files that the policy defines.
    pub fn label_rows(&self) -> &'a [LabelRow] {
        &self.routing.labels
    }

    fn findings(&self, key: FactKey) -> Result<&'a [Finding], Missing> {
        let Fact::Findings(found) = self.fact(key)? else { return mismatch() };
        Ok(found)
    }

    /// What the event does beyond its own text, through the content of files that it runs or obeys.
    pub fn script(&self, files: &[ScriptSource]) -> Result<&'a Action, Missing> {
        let key = FactKey::Script(ScriptSource::encode(files));
        let Fact::Script(action) = self.fact(key)? else { return mismatch() };
        Ok(action)
    }

    /// The state of a file, by its [`Place`].
    pub fn file(&self, place: &Place) -> Result<&'a FileState, Missing> {
        let Fact::File(state) = self.fact(FactKey::File(place.key.clone()))? else {
            return mismatch();
        };
        Ok(state)
    }

    /// The unsaved files at and below a place.
    pub fn unsaved_files(&self, place: &str) -> Result<&'a UnsavedFiles, Missing> {
        let Fact::Unsaved(lost) = self.fact(FactKey::Unsaved(place.to_owned()))? else {
            return mismatch();
        };
        Ok(lost)
    }

    /// The outcome of a command of the pack.
    pub fn command(&self, run: &PackCommand) -> Result<&'a CommandOutcome, Missing> {
        let Fact::Command(outcome) = self.fact(FactKey::Command(run.clone()))? else {
            return mismatch();
        };
        Ok(outcome)
    }

    /// The outcome of a command of the pack, if this decision ran it. Does not run it.
    pub fn command_if_run(&self, run: &PackCommand) -> Option<&'a CommandOutcome> {
        match self.facts.get(&FactKey::Command(run.clone()))? {
            Fact::Command(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// A digest of the state of all files below the root that match any of these patterns.
    pub fn tree_digest(&self, patterns: &[String]) -> Result<&'a str, Missing> {
        let Fact::Tree(digest) = self.fact(FactKey::Tree(patterns.to_vec()))? else {
            return mismatch();
        };
        Ok(digest)
    }

    /// The number of files below the root that match any of these patterns.
    pub fn count_files(&self, patterns: &[String]) -> Result<u64, Missing> {
        let Fact::Count(count) = self.fact(FactKey::Count(patterns.to_vec()))? else {
            return mismatch();
        };
        Ok(*count)
    }

    /// A digest of the content of all files below the root that match any of these patterns. Empty: no file matches.
    pub fn contents_digest(&self, patterns: &[String]) -> Result<&'a str, Missing> {
        let Fact::Tree(digest) = self.fact(FactKey::Contents(patterns.to_vec()))? else {
            return mismatch();
        };
        Ok(digest)
    }

    /// How often the text of a file has what is wanted.
    pub fn count_texts(&self, place: &Place, wanted: &WantedText) -> Result<u64, Missing> {
        let test = TextTest { place: place.key.clone(), wanted: wanted.clone() };
        let Fact::Count(count) = self.fact(FactKey::Text(test))? else { return mismatch() };
        Ok(*count)
    }

    /// The state of the repository around the root. `None`: the root is in no repository.
    pub fn git(&self) -> Result<Option<&'a GitState>, Missing> {
        let Fact::Git(state) = self.fact(FactKey::Git)? else { return mismatch() };
        Ok(state.as_ref())
    }

    /// Whether the call can be made in a sandbox.
    pub fn has_sandbox(&self) -> Result<bool, Missing> {
        Ok(self.sandbox_launcher()?.is_some())
    }

    /// The outcome of the hook of this guardrail's script.
    pub fn hook(&self) -> Result<&'a HookOutcome, Missing> {
        let Fact::Hook(outcome) = self.answer(FactKey::Hook(self.hook_call()))? else {
            return mismatch();
        };
        Ok(outcome)
    }

    /// The outcome of the hook of this guardrail's script, if this decision ran it. Does not run it.
    pub fn hook_if_run(&self) -> Option<&'a HookOutcome> {
        match self.requested_fact(&FactKey::Hook(self.hook_call()))? {
            Fact::Hook(outcome) => Some(outcome),
            _ => None,
        }
    }

    /// The call of this guardrail's script, which sees the result as earlier scripts rewrote it.
    fn hook_call(&self) -> HookCall {
        let rewrites = self.rewrites.borrow();
        let earlier = rewrites.iter().take_while(|(id, _)| *id != self.spec.id);
        let after = earlier.filter(|(_, is_rewritten)| *is_rewritten).map(|(id, _)| id.clone()).collect();
        HookCall { script: self.spec.id.clone(), after }
    }

    /// Whether this guardrail's replacement of the result is the one that the agent sees.
    pub fn rewrote_last(&self) -> bool {
        let rewrites = self.rewrites.borrow();
        let last = rewrites.iter().rev().find(|(_, is_rewritten)| *is_rewritten);
        last.is_some_and(|(id, _)| *id == self.spec.id)
    }

    /// What became of this guardrail's changes of the call's arguments. Empty: it changes nothing.
    pub fn modification(&self) -> Result<&'a [ModifiedArgument], NotModified> {
        let own = self.inputs.modifications.iter().find(|modification| modification.by == self.spec.id);
        own.map_or(Ok(&[]), |own| own.arguments.as_deref().map_err(Clone::clone))
    }

    /// How long this event waits for external services, and the effect if they do not answer in time.
    pub fn wait_rule(&self) -> WaitRule {
        self.routing.wait_rule(self.event)
    }

    /// Whether the process ends with this event, so that a late answer cannot be applied.
    pub fn is_one_shot(&self) -> bool {
        self.facts.is_one_shot
    }

    /// The highest risk of the tools that the event names, if it names any.
    pub fn tool_risk(&self) -> Option<Risk> {
        self.routing.highest_risk(self.event)
    }

    /// The answer of an external service about the event, for this guardrail.
    pub fn deep(&self, wait_ms: u64) -> Result<&'a DeepOutcome, Missing> {
        let call = DeepCall { guardrail: self.spec.id.clone(), wait_ms };
        let Fact::Deep(outcome) = self.answer(FactKey::Deep(call))? else { return mismatch() };
        Ok(outcome)
    }

    /// A probe's answer, by the probe's own name for it.
    pub fn probe_answer(&self, name: &str) -> Result<&'a Value, Missing> {
        let Fact::Answer(value) = self.fact(FactKey::Answer(name.to_owned()))? else {
            return Err(Missing(format!("`answer:{name}` is not an answer")));
        };
        Ok(value)
    }

    /// The number of bytes of a chunk's text that were already passed on.
    pub fn sent_bytes(&self) -> usize {
        self.facts.sent_bytes
    }

    /// The engine's own files, in addition to the usual places.
    pub fn engine_paths(&self) -> &'a [String] {
        &self.facts.engine_paths
    }

    /// The folder that the session works in, if it is known.
    pub fn root(&self) -> Option<&'a str> {
        self.facts.root.as_deref()
    }

    /// The place of a path of this event by its spelling. `mount` is the prefix under which the agent sees the root.
    pub fn place(&self, path: &str, mount: Option<&str>) -> Place {
        let facts = self.facts;
        let roots = Roots { root: facts.root.as_deref(), aliases: &facts.root_aliases };
        path::resolve(path, self.event.cwd.as_deref(), roots, mount)
    }

    /// The place of a path of this event with symbolic links followed, if a file system is available.
    pub fn real_place(&self, path: &str, mount: Option<&str>) -> Result<Place, Missing> {
        let place = || self.place(path, mount);
        // Below a mount prefix the disk knows the path by its place only.
        let mounted = mount.and_then(|_| Some(place()).filter(|place| place.inside));
        let key = FactKey::Place(mounted.map_or_else(|| path.to_owned(), |place| place.key));
        match self.known_fact(&key) {
            Some(Fact::Place(real)) => {
                let inside = !real.starts_with('/') && !real.starts_with("../") && !real.starts_with('~');
                Ok(Place { key: real.clone(), inside })
            }
            Some(Fact::Unavailable(_)) => Ok(place()),
            _ => self.fact(key).map(|_| place()),
        }
    }

    /// The same, only if a file system followed the links. Without a root, an absolute path could be anywhere.
    pub fn known_place(&self, path: &str) -> Result<Option<Place>, Missing> {
        let place = self.real_place(path, None)?;
        let is_known = matches!(self.known_fact(&FactKey::Place(path.to_owned())), Some(Fact::Place(_)));
        let has_folder = self.root().is_some() || self.event.cwd.is_some();
        Ok(Some(place).filter(|_| is_known && (has_folder || !path.starts_with('/'))))
    }

    /// Every name of a file of this event: its places, and their absolute names. A rule that forbids files applies if it matches
    /// any of them.
    pub fn path_aliases(&self, path: &str) -> Result<Vec<String>, Missing> {
        let mut names = self.places(path)?;
        // The root itself is known by its empty name.
        let below = names.iter().filter(|place| !place.is_empty());
        let absolute: Vec<String> = below.flat_map(|place| self.absolute_names(place)).collect();
        names.extend(absolute);
        Ok(names)
    }

    /// The places of a file of this event: with links followed, and as its path spells it. A rule that allows files must hold for
    /// all of them.
    pub fn places(&self, path: &str) -> Result<Vec<String>, Missing> {
        let real = self.real_place(path, None)?.key;
        let spelt = self.place(path, None).key;
        // For a host that names no folder the root may be `/`; the probe has resolved what it means.
        let is_virtual = self.event.cwd.is_none() && path.starts_with('/');
        let mut names = if spelt == real || is_virtual { vec![real] } else { vec![real, spelt] };
        // An unknown folder may be this one.
        let here = path::below_unknown(path).filter(|rest| !rest.is_empty());
        names.extend(here.map(|rest| self.place(rest, None).key));
        Ok(names)
    }

    /// Whether a place of this event matches a path pattern of a pack, by any of its names. `None`: it is unknown, because the
    /// path has wildcards or variables.
    pub fn path_fits(&self, pattern: &str, place: &str) -> Result<Option<bool>, Missing> {
        self.with_folders(pattern, place, |folders| folders.fits(pattern, place))
    }

    /// The same for a pattern that forbids: case is ignored, because some file systems ignore it.
    pub fn path_fits_any_case(&self, pattern: &str, place: &str) -> Result<Option<bool>, Missing> {
        self.with_folders(pattern, place, |folders| {
            Folders { ignores_case: true, ..folders }.fits(pattern, place)
        })
    }

    /// The absolute names of a place inside the root.
    pub fn absolute_names(&self, place: &str) -> Vec<String> {
        let mut names = self.folders().absolute(place);
        names.extend(self.absolute_spelling(place));
        names
    }

    fn with_folders<T>(
        &self,
        pattern: &str,
        place: &str,
        work: impl FnOnce(Folders<'_>) -> T,
    ) -> Result<T, Missing> {
        let home = if pattern.starts_with("~/") { self.home()? } else { None };
        let spelling = if pattern.starts_with(['/', '~']) { self.absolute_spelling(place) } else { None };
        Ok(work(Folders { home: home.as_deref(), spelling: spelling.as_deref(), ..self.folders() }))
    }

    fn folders(&self) -> Folders<'_> {
        let roots = Roots { root: self.facts.root.as_deref(), aliases: &self.facts.root_aliases };
        Folders { roots, cwd: self.event.cwd.as_deref(), ..Folders::default() }
    }

    /// The absolute path of a place as the event spells it, where no root is known: `/a` and `a` are one file then.
    fn absolute_spelling(&self, place: &str) -> Option<String> {
        if self.facts.root.is_some() || self.event.cwd.is_some() || place.starts_with('/') {
            return None;
        }
        let path = format!("/{place}");
        let files = self.action().ok()?.target_files.as_deref()?;
        files.iter().any(|file| file.starts_with('/') && self.place(file, None).key == place).then_some(path)
    }

    /// The home folder, if a file system is available.
    fn home(&self) -> Result<Option<String>, Missing> {
        let home = self.real_place("~", None)?.key;
        Ok(Some(home).filter(|home| !home.starts_with('~')))
    }

    /// The tool of a call. A call that names no tool could be of any, so it is missing.
    pub fn tool(&self) -> Result<&'a str, Missing> {
        let name = self.event.tool_name().filter(|name| !name.is_empty());
        name.ok_or_else(|| Missing("the event names no tool".to_owned()))
    }

    /// Whether this is the result of a successful call that was allowed and not denied before.
    pub fn succeeded(&self, effect: Effect) -> Result<bool, Missing> {
        if !(self.event.is_success() && effect.allows()) {
            return Ok(false);
        }
        match self.event.call_id() {
            Some(id) => Ok(self.slice(&denied_key(id))?.is_none()),
            None => Ok(true),
        }
    }

    /// The session's name.
    pub fn session(&self) -> &'a str {
        &self.session.id
    }

    /// The definitions that name an agent, by its id, its role or their own name: a hand-off goes to an agent that is not the
    /// event's own.
    pub fn definitions_for_agent(&self, agent: &str) -> impl Iterator<Item = &'a Definition> {
        let is_named = move |definition: &&Definition| {
            let role = definition.agent.role.as_deref();
            let is_of_agent = role.is_some() || !definition.agents.is_empty();
            definition.agents.iter().any(|pattern| glob::name_matches(pattern, agent))
                || role == Some(agent)
                || (is_of_agent && definition.name == agent)
        };
        self.definitions.iter().filter(is_named)
    }

    /// Every list of allowed tools that applies to this event, the host's and the definitions', each with the tools that its
    /// own definition adds to it.
    pub fn tool_lists(&self) -> impl Iterator<Item = (&'a [String], &'a [String])> {
        let own = self.event.agent.as_ref().and_then(|agent| agent.allowed_tools.as_deref());
        let defined = self.definitions().filter_map(|definition| {
            let added = definition.task.additional_tools.as_deref().unwrap_or_default();
            Some((definition.agent.allowed_tools.as_deref()?, added))
        });
        own.map(|list| (list, [].as_slice())).into_iter().chain(defined)
    }
}

fn mismatch<T>() -> Result<T, Missing> {
    Err(Missing("the fact has a value of another kind".to_owned()))
}
