//! Patterns of commands in packs: `git push`, `cargo test`, `npm publish`, `deploy *`.

mod exception;
mod words;

use std::fmt;

use midrail_core::{CommandCall, glob};

pub use self::words::Fit;
use self::words::{leading_words, may_be_option, to_arg};
use super::inner_command::own_arguments;
use super::invocation::Arg;
use super::options::Arguments;
use super::programs;
use super::scope::join;
use super::usual_name;

/// A program and its leading words. Further arguments may follow, and options may come in between: `git push` is also
/// `/usr/bin/git -C x push origin main`. `*` matches any text within a word, and a word `*` any words. A word that begins with `-`
/// is an option that must be present, in any spelling and at any place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandPattern {
    text: String,
    program: String,
    args: Vec<Arg>,
}

/// How the words of a call and of a pattern are read.
struct Given<'a> {
    /// All words of the call.
    all: Arguments<'a>,
    /// Those in front of a command that it runs.
    own: Arguments<'a>,
    wanted: Arguments<'a>,
}

/// Characters that join commands, or that only a shell reads.
const SHELL_MARKS: [char; 11] = ['|', '&', ';', '<', '>', '`', '$', '"', '\'', '(', ')'];

impl CommandPattern {
    /// Parses a pattern. `Err` says why it is none.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let program = words.next().ok_or("is empty: it begins with the name of a program")?;
        if program.starts_with('-') {
            return Err("begins with an option: it begins with the name of a program".to_owned());
        }
        if let Some(mark) = text.chars().find(|c| SHELL_MARKS.contains(c)) {
            return Err(format!(
                "contains `{mark}`: it is one program with its words, not a line of a shell"
            ));
        }
        for word in text.split_whitespace() {
            glob::check(word)?;
            if word.ends_with(',') {
                return Err("contains a comma: write several commands as a list".to_owned());
            }
        }
        if is_permission_rule(text) {
            return Err("ends with `:*`, as in a permission rule: here, further arguments may always follow"
                .to_owned());
        }
        let (mut program, mut args) = (program.to_owned(), words.map(Arg::known).collect());
        usual_name::rename(&mut program, &mut args);
        Ok(CommandPattern { text: text.split_whitespace().collect::<Vec<_>>().join(" "), program, args })
    }

    /// The name of the program that it matches, without its folder, if it is only one.
    pub fn program(&self) -> Option<&str> {
        self.program.rsplit('/').next().filter(|name| !glob::is_pattern(name) && !name.contains('\\'))
    }

    /// Whether a command matches.
    pub fn fit(&self, call: &CommandCall) -> Fit {
        if call.program.is_empty() {
            return self.fits_unknown_program(call);
        }
        let is_program = self.fits_program(call);
        if is_program == Fit::No {
            return Fit::No;
        }
        let args: Vec<Arg> = call.args.iter().enumerate().map(|(at, arg)| to_arg(call, at, arg)).collect();
        let row = programs::row(&call.program);
        // Options behind the image are those of the command in it, unless the pattern names such a command.
        let (end, values) = match own_arguments(row, &args) {
            Some((end, run)) => {
                let is_inner = own_arguments(row, &self.args).is_some_and(|(end, _)| end < self.args.len());
                (if is_inner { args.len() } else { end }, run.values)
            }
            None => (args.len(), &[][..]),
        };
        let own = args.get(..end).unwrap_or(&args);
        let given = |more: &[&str]| Given {
            all: Arguments::parse(row, &args, more),
            own: Arguments::parse(row, own, more),
            wanted: Arguments::parse(row, &self.args, values),
        };
        let usual = given(values);
        let unknown = usual.own.unknown_options();
        let fit = self.fits_arguments(call, &usual).min(is_program);
        if unknown.is_empty() || fit == Fit::Yes {
            return fit;
        }
        // Options of which it is not known whether they take a value.
        let more: Vec<&str> = values.iter().copied().chain(unknown.iter().map(String::as_str)).collect();
        match self.fits_arguments(call, &given(&more)) {
            Fit::No => fit,
            Fit::Unknown | Fit::Yes => Fit::Unknown,
        }
    }

    /// Whether it matches every command that another pattern matches. `false` if it is undetermined.
    pub fn covers(&self, other: &CommandPattern) -> bool {
        self == other || (!other.text.contains('*') && self.fit(&other.call()) == Fit::Yes)
    }

    /// Its words after the program.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|arg| arg.text.as_str())
    }

    /// The command with nothing but the words of the pattern.
    pub(super) fn call(&self) -> CommandCall {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        CommandCall {
            program: name.to_owned(),
            path: self.has_path().then(|| self.program.clone()),
            args: self.args.iter().map(|arg| arg.text.clone()).collect(),
            ..CommandCall::default()
        }
    }

    /// Whether it names the program by its path: `./scripts/test.sh`.
    pub fn has_path(&self) -> bool {
        self.program.contains('/')
    }

    /// Whether a program whose name is not completely known may be the one of the pattern: `./deploy*`.
    fn fits_unknown_program(&self, call: &CommandCall) -> Fit {
        let (Some(path), Some(name)) = (call.path.as_deref(), self.program()) else { return Fit::Unknown };
        let base = path.rsplit('/').next().unwrap_or_default();
        if base.contains(['$', '`', '{']) {
            return Fit::Unknown;
        }
        // `find . -name '*.sh' -exec sh {}`: some file of a folder, which is no program of the system.
        if base == "…" {
            return if name.contains('.') || self.has_path() { Fit::Unknown } else { Fit::No };
        }
        let (wanted, paths) = (join("", &self.program), paths(call, path));
        let is_it =
            |path: &String| !self.has_path() || is_elsewhere(path) || glob::path_matches(path, &wanted);
        let may_be_it = glob::name_matches(base, name) && (call.folder.is_none() || paths.iter().any(is_it));
        if may_be_it { Fit::Unknown } else { Fit::No }
    }

    fn fits_program(&self, call: &CommandCall) -> Fit {
        let is_it = |is_it: bool| if is_it { Fit::Yes } else { Fit::No };
        let Some(path) = call.path.as_deref() else {
            return is_it(!self.has_path() && glob::name_matches(&self.program, &call.program));
        };
        if !self.has_path() {
            let base = path.rsplit('/').next().unwrap_or_default();
            return is_it(
                [call.program.as_str(), base].iter().any(|name| glob::name_matches(&self.program, name)),
            );
        }
        let (wanted, paths) = (join("", &self.program), paths(call, path));
        if paths.iter().any(|path| glob::name_matches(&wanted, path)) {
            return Fit::Yes;
        }
        // The folder of the project is not known here, and that of the command may not be either.
        let ends = |path: &str, end: &str| path.ends_with(&format!("/{end}"));
        let may_be_it = paths.iter().any(|path| is_elsewhere(path) && ends(path, &wanted))
            || (call.folder.is_none() && paths.iter().any(|path| ends(&wanted, path)));
        if may_be_it { Fit::Unknown } else { Fit::No }
    }

    fn fits_arguments(&self, call: &CommandCall, given: &Given<'_>) -> Fit {
        let Given { all, own: given, wanted } = given;
        let may_have_more = call.has_more_args || call.unknown.iter().any(|at| may_be_option(call, *at));
        let option = |is_there: bool, may_be_there: bool| match (is_there, may_be_there || may_have_more) {
            (true, _) => Fit::Yes,
            (false, true) => Fit::Unknown,
            (false, false) => Fit::No,
        };
        let subcommand = all.operands.first().map_or("", |word| word.text.as_str());
        let names_of = |name| given.program.synonyms_of(name, subcommand);
        let may_be = |names: &[&str]| {
            let mut options = given.flags.iter().chain(given.values.iter().map(|(name, _)| name));
            options.any(|option| names.iter().any(|name| given.program.may_be_short(option, name)))
        };
        let flags = wanted.flags.iter().map(|flag| {
            let names = names_of(flag);
            let is_there = given.has(&names) || given.has_value(&names) || has_pattern(given, flag);
            option(is_there, may_be(&names))
        });
        let values = wanted.values.iter().map(|(name, value)| {
            let names = names_of(name);
            let mut values = given.values_of(&names);
            // `git switch -c`: with any value.
            let is_any = value.text.is_empty();
            let is_it = |it: &Arg| is_any || it.is_known() && glob::name_matches(&value.text, &it.text);
            option(values.any(is_it), may_be(&names))
        });
        let words = wanted.operands.iter().map(|word| word.text.as_str());
        // The order of targets does not matter: `make build deploy`.
        let before = given.program.recipes.iter().map(|_| "*");
        let words: Vec<&str> = before.filter(|_| !wanted.operands.is_empty()).chain(words).collect();
        let leading = self.leading_operands(&words, call, all);
        flags.chain(values).fold(leading, Fit::min)
    }

    /// Whether the operands begin with these words.
    fn leading_operands(&self, words: &[&str], call: &CommandCall, given: &Arguments<'_>) -> Fit {
        let (program, operands) = (given.program, given.operands.as_slice());
        let mut fit = leading_words(program, words, operands, call.has_more_args);
        // `git -C $(…) origin`: what the substitution prints may contain the words.
        if let Some(before) = given.splits.and_then(|count| operands.get(..count)) {
            fit = fit.max(leading_words(program, words, before, true).min(Fit::Unknown));
        }
        // `git p`: an alias may have been stored earlier.
        let may_be_alias = |first: &&Arg| first.is_known() && program.may_be_alias(&first.text);
        if !words.is_empty() && operands.first().is_some_and(may_be_alias) {
            fit = fit.max(Fit::Unknown);
        }
        fit
    }
}

impl CommandPattern {
    /// The place in the arguments of a matching command behind the words of this pattern, up to its first `*`.
    pub(super) fn end_of_words(&self, call: &CommandCall) -> usize {
        let row = programs::row(&call.program);
        let args: Vec<Arg> = call.args.iter().map(Arg::known).collect();
        let words = Arguments::parse(row, &self.args, &[]).operands;
        let count = words.iter().take_while(|word| word.text != "*").count();
        let places = Arguments::parse(row, &args, &[]).places.clone();
        count.checked_sub(1).and_then(|last| places.get(last)).map_or(0, |place| place + 1)
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The path of a program as it is written, and as seen from the folder that the line starts in: `cd scripts && ./deploy.sh`.
fn paths(call: &CommandCall, path: &str) -> Vec<String> {
    let in_folder = call.folder.iter().filter(|folder| !folder.is_empty()).map(|folder| join(folder, path));
    std::iter::once(join("", path)).chain(in_folder).collect()
}

/// Whether a path leads to a folder whose place in the project is not known: `/work/shop/deploy.sh`, `../shop/deploy.sh`.
fn is_elsewhere(path: &str) -> bool {
    let below = path.trim_start_matches("../");
    path.starts_with(['/', '~', '$']) || (below.len() < path.len() && below.contains('/'))
}

/// Whether a text is written as in a permission rule of a coding agent: `git push:*`. A script of npm may have such a name.
fn is_permission_rule(text: &str) -> bool {
    let Some(command) = text.trim_end().strip_suffix(":*") else { return false };
    match command.rsplit_once(char::is_whitespace) {
        None => true,
        Some((first, last)) => {
            let program = first.split_whitespace().next().unwrap_or_default();
            programs::row(program).subcommands.contains(&last)
        }
    }
}

/// Whether an option matches one with `*`: `--env=*`.
fn has_pattern(given: &Arguments<'_>, wanted: &str) -> bool {
    let spelled = |(name, value): &(String, Arg)| format!("{name}={}", value.text);
    wanted.contains('*')
        && (given.flags.iter().any(|flag| glob::name_matches(wanted, flag))
            || given.values.iter().map(spelled).any(|option| glob::name_matches(wanted, &option)))
}

#[cfg(test)]
mod tests;
