//! Files that a line names without showing what is in them. Among them are those that it takes its settings from
//! (`source .env`), as long as it does not disclose their content: starting a program with them is their purpose.

use super::super::invocation::{Arg, Invocation};
use super::super::programs::{self, Tag};
use super::super::scope::Scope;
use super::super::snippet::Language;
use super::state::{Listed, Sourced, Walk};
use crate::words::code::{ENVIRONMENT, INTERPRETERS, PRINTS};
use crate::words::shell::SENT_DATA;

impl Walk {
    /// Notes a file whose content is neither shown nor changed. What else the line does to it counts for more.
    pub(super) fn note_named(&mut self, listed: Listed, text: &str) {
        let is_opened = self.is_opened(text);
        self.note(listed, text);
        if !is_opened {
            self.named.insert(text.to_owned());
        }
    }

    /// Lists the files that feed something which obeys them.
    pub(super) fn list_fed(&mut self) {
        if self.analysis.programs.iter().any(|program| obeys(program)) {
            let is_script = |path: &&String| self.is_listed(Listed::Script, path);
            self.analysis.feeds = self.analysis.reads.iter().filter(|it| !is_script(it)).cloned().collect();
        }
        let is_fed = |path: &&String| self.analysis.feeds.contains(path);
        let diffs: Vec<String> = self.analysis.patches.iter().filter(|path| !is_fed(path)).cloned().collect();
        self.analysis.feeds.extend(diffs);
        let loaded = std::mem::take(&mut self.loaded);
        let loaded: Vec<String> =
            loaded.into_iter().filter(|path| !self.is_listed(Listed::Script, path)).collect();
        self.analysis.feeds.extend(loaded);
    }

    /// Adds the findings that are known only at the end.
    pub(super) fn conclude(&mut self) {
        self.conclude_sourced();
        for link in std::mem::take(&mut self.made_links) {
            self.note(Listed::Write, &link);
        }
        self.sweep_listed();
        self.analysis.named = std::mem::take(&mut self.named).into_iter().collect();
    }

    /// Remembers a file that was taken over by the shell.
    pub(super) fn take_over(&mut self, place: String, was_opened: bool) {
        const MAX_PLACES: usize = 64;
        if !was_opened && self.sourced.places.len() < MAX_PLACES {
            self.named.insert(place.clone());
            self.sourced.places.push(place);
        }
    }

    /// Whether the content of a file was shown or changed so far.
    pub(super) fn is_opened(&self, place: &str) -> bool {
        (self.is_listed(Listed::Read, place) || self.is_listed(Listed::Write, place))
            && !self.named.contains(place)
    }

    /// Checks what a program does with settings that the shell or its own code has loaded.
    pub(super) fn with_settings(&mut self, invocation: &Invocation, scope: &Scope) {
        if shows_settings(invocation) && !scope.is_remote {
            self.note(Listed::Read, &scope.place(".env"));
        }
        if self.sourced.places.is_empty() {
            return;
        }
        if discloses_environment(invocation) {
            self.sourced.is_disclosed = true;
        } else if !invocation.is(Tag::ChangesShell) && !invocation.is(Tag::PrintsWords) {
            self.sourced.is_used = true;
        }
    }

    /// A text that is handed to a program holds variables that may come from such a file.
    pub(super) fn hands_over(&mut self, text: &Arg) {
        self.sourced.is_disclosed |= !self.sourced.places.is_empty() && !text.is_known();
    }

    /// A file with settings counts as read if no program is started with it, or if the line discloses it.
    fn conclude_sourced(&mut self) {
        let Sourced { places, is_used, is_disclosed } = std::mem::take(&mut self.sourced);
        if !is_used || is_disclosed {
            places.iter().for_each(|place| self.note(Listed::Read, place));
        }
    }
}

/// Whether code on the line loads the settings of `.env` by the library for that, and shows them.
fn shows_settings(invocation: &Invocation) -> bool {
    let is_interpreter = INTERPRETERS.iter().any(|name| invocation.program.starts_with(name));
    let has = |code: &str, words: &[&str]| words.iter().any(|word| code.contains(word));
    let shows = |pair: &[Arg]| {
        let [option, code] = pair else { return false };
        let (option, code) = (option.text.as_str(), code.text.as_str());
        let prints = || matches!(option, "-p" | "-pe" | "--print") || has(code, PRINTS);
        option.starts_with('-')
            && code.contains("dotenv")
            && (code.contains("dotenv_values(") || has(code, ENVIRONMENT))
            && prints()
    };
    is_interpreter && invocation.args.windows(2).any(shows)
}

/// Whether a program prints or sends variables of the shell.
fn discloses_environment(invocation: &Invocation) -> bool {
    let args = invocation.args.as_slice();
    let is_unknown = |arg: &Arg| !arg.is_known();
    let is_option = |arg: &Arg| arg.text.starts_with('-');
    match invocation.program.as_str() {
        "env" | "printenv" => invocation.program == "printenv" || args.iter().all(is_option),
        "envsubst" | "compgen" => true,
        "set" => args.is_empty(),
        "export" | "declare" | "typeset" | "readonly" => {
            args.is_empty() || args.iter().any(|arg| arg.text.starts_with('-') && arg.text.contains('p'))
        }
        program if programs::is(program, Tag::PrintsWords) => args.iter().any(is_unknown),
        _ => {
            let names = |arg: &Arg| ENVIRONMENT.iter().any(|name| arg.text.contains(name));
            let is_data = |pair: &[Arg]| matches!(pair, [option, data] if SENT_DATA.contains(option.text.as_str()) && is_unknown(data));
            args.iter().any(names) || args.windows(2).any(is_data)
        }
    }
}

/// Whether a program does what it reads.
fn obeys(program: &str) -> bool {
    let row = programs::row(program);
    row.tags.contains(&Tag::Shell)
        || row.tags.contains(&Tag::ObeysInput)
        || row.client.is_some()
        || Language::from_program(program).is_some_and(|language| language != Language::Awk)
}
