//! Patterns of commands in packs: `git push`, `cargo test`, `npm publish`, `deploy *`.

use std::fmt;

use midrail_core::{CommandCall, glob};

use super::invocation::Arg;
use super::options::Arguments;
use super::programs::{self, Program};
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

/// Whether a command matches a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not.
    No,
    /// It depends on a part of the command that is not known.
    Unknown,
    /// It does.
    Yes,
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

    /// The name of the program that it matches, if it is only one.
    pub fn program(&self) -> Option<&str> {
        Some(self.program.as_str()).filter(|name| !glob::is_pattern(name) && !name.contains(['/', '\\']))
    }

    /// Whether a command matches.
    pub fn fit(&self, call: &CommandCall) -> Fit {
        if call.program.is_empty() {
            return Fit::Unknown;
        }
        let is_program = self.fits_program(call);
        if is_program == Fit::No {
            return Fit::No;
        }
        let args: Vec<Arg> = call.args.iter().enumerate().map(|(at, arg)| to_arg(call, at, arg)).collect();
        let row = programs::row(&call.program);
        let usual = Arguments::parse(row, &args, &[]);
        let unknown = usual.unknown_options();
        let fit = self.fits_arguments(call, &usual).min(is_program);
        if unknown.is_empty() || fit == Fit::Yes {
            return fit;
        }
        // Options of which it is not known whether they take a value.
        let more: Vec<&str> = unknown.iter().map(String::as_str).collect();
        match self.fits_arguments(call, &Arguments::parse(row, &args, &more)) {
            Fit::No => fit,
            Fit::Unknown | Fit::Yes => Fit::Unknown,
        }
    }

    /// Whether a command certainly matches, as an exception must: its options are in effect. One that is repeated, revoked
    /// (`--no-dry-run`), has another value (`--dry-run=none`) or comes before the subcommand, where it means something else
    /// (`git -c`), may not be.
    pub fn fits_certainly(&self, call: &CommandCall) -> bool {
        if self.fit(call) != Fit::Yes {
            return false;
        }
        let mut options = self.words().filter(|word| word.starts_with('-')).peekable();
        if options.peek().is_none() {
            return true;
        }
        let args: Vec<Arg> = call.args.iter().map(Arg::known).collect();
        let row = programs::row(&call.program);
        let given = Arguments::parse(row, &args, &[]);
        let subcommand = given.places.first().copied().unwrap_or_default();
        let name_of = |word: &str| word.split('=').next().unwrap_or_default().to_owned();
        let is_in_effect = |option: &str| {
            let name = name_of(option);
            let name = name.as_str();
            let mut same = call.args.iter().enumerate().filter(|(_, arg)| name_of(arg) == name);
            let is_it = |(at, arg): (usize, &String)| {
                (arg == option || (row.takes_value(name, false) && option == name))
                    && (at > subcommand || !row.globals.contains(&name))
            };
            same.next().is_none_or(is_it) && same.next().is_none() && given.is_certain(name)
        };
        call.unknown.is_empty()
            && !call.has_more_args
            && !call.args.iter().any(|arg| arg.starts_with("--no-"))
            && options.all(is_in_effect)
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
        let plain = |path: &str| path.strip_prefix("./").unwrap_or(path).to_owned();
        let (wanted, path) = (plain(&self.program), plain(path));
        // `cd scripts && ./deploy.sh`
        let in_folder =
            call.folder.iter().filter(|folder| !folder.is_empty()).map(|folder| format!("{folder}/{path}"));
        let paths: Vec<String> = std::iter::once(path.clone()).chain(in_folder).collect();
        if paths.iter().any(|path| glob::name_matches(&wanted, path)) {
            return Fit::Yes;
        }
        // The folder of the project is not known here, and that of the command may not be either.
        let ends = |path: &str, end: &str| path.ends_with(&format!("/{end}"));
        let is_absolute = |path: &String| path.starts_with(['/', '~', '$']);
        let may_be_it = paths.iter().any(|path| is_absolute(path) && ends(path, &wanted))
            || (call.folder.is_none() && ends(&wanted, &path));
        if may_be_it { Fit::Unknown } else { Fit::No }
    }

    fn fits_arguments(&self, call: &CommandCall, given: &Arguments<'_>) -> Fit {
        let wanted = Arguments::parse(given.program, &self.args, &[]);
        let may_have_more = call.has_more_args || !call.unknown.is_empty();
        let option = |is_there: bool, may_be_there: bool| match (is_there, may_be_there || may_have_more) {
            (true, _) => Fit::Yes,
            (false, true) => Fit::Unknown,
            (false, false) => Fit::No,
        };
        let subcommand = given.operands.first().map_or("", |word| word.text.as_str());
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
        let leading = self.leading_operands(&words, call, given);
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
        let places = Arguments::parse(row, &args, &[]).places;
        count.checked_sub(1).and_then(|last| places.get(last)).map_or(0, |place| place + 1)
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// An argument of a call. A variable in the value that is attached to an option (`--context=$C`) counts as one word: names of
/// contexts and folders rarely contain blanks, and such calls are frequent. A substitution there may be several words.
fn to_arg(call: &CommandCall, at: usize, text: &str) -> Arg {
    if !call.unknown.contains(&at) {
        return Arg::known(text);
    }
    let may_split = call.splits.contains(&at);
    let is_plain = |name: &str| name.starts_with('-') && !name.contains(['$', '`', '*', '?', '[', '{', '(']);
    let is_one_word = |value: &str| !may_split || !(value.contains("$(") || value.contains(['`', '{']));
    match text.split_once('=') {
        Some((name, value)) if is_plain(name) && is_one_word(value) => {
            Arg { unknown: std::iter::once(name.len() + 1..text.len()).collect(), ..Arg::known(text) }
        }
        _ => Arg { may_split, ..Arg::unknown(text) },
    }
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

/// Whether words begin with these.
fn leading_words(program: &Program, wanted: &[&str], given: &[&Arg], has_more: bool) -> Fit {
    // For each place in `given`, whether the words from there on begin with the wanted words that were visited: from the last to
    // the first, so that the time is the product of both lengths.
    let mut fits = vec![Fit::Yes; given.len() + 1];
    for word in wanted.iter().rev() {
        // Whether the next wanted words follow one place later.
        let mut after = if has_more { Fit::Unknown } else { Fit::No };
        let mut is_end = true;
        for (at, fit) in fits.iter_mut().enumerate().rev() {
            let next = *fit;
            *fit = match given.get(at) {
                // Any words, or none.
                _ if *word == "*" => {
                    if is_end {
                        next
                    } else {
                        next.max(after)
                    }
                }
                None => after,
                // It may also be several words, or none.
                Some(first) if !first.is_known() => Fit::Unknown,
                Some(first) if is_word(program, word, &first.text) => after,
                Some(_) => Fit::No,
            };
            after = if *word == "*" { *fit } else { next };
            is_end = false;
        }
    }
    fits.first().copied().unwrap_or(Fit::No)
}

fn is_word(program: &Program, word: &str, given: &str) -> bool {
    program.is_word(word, given) || glob::name_matches(word, given)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::analyse;

    fn fit(pattern: &str, line: &str) -> Fit {
        let pattern = CommandPattern::parse(pattern).unwrap();
        let action = analyse(line);
        let others = if action.has_unknown_programs { Fit::Unknown } else { Fit::No };
        action.commands.iter().map(|call| pattern.fit(call)).fold(others, Fit::max)
    }

    #[test]
    fn wrappers_and_spellings_do_not_matter() {
        for line in [
            "git push",
            "git push origin x",
            "/usr/bin/git -C sub push",
            "git -c a=b --no-pager push --force",
            "sudo env A=b git push",
            "bash -c 'cd x && git push'",
            "true; (git 'push' origin)",
            "git-push origin",
            "X=push; git $X",
            "git -C \"$X\" push",
        ] {
            assert_eq!(fit("git push", line), Fit::Yes, "{line}");
        }
        for line in [
            "git pull",
            "echo git push",
            "git log push",
            "gitk push",
            "git stash push",
            "git -C \"$X\" status",
            "git -C \"$(cat f)\" status",
            "git --git-dir=$X status",
            "git -C $DIR status",
            "REPO=$ROOT/x; git -C $REPO status",
            "git -C $(git rev-parse --show-toplevel) status",
            "git -C `pwd` status",
            "git -c user.name=$X commit -m x",
            "env A=$(git rev-parse HEAD) make",
            "git status -C $(cat f) push",
            "git lfs push",
        ] {
            assert_eq!(fit("git push", line), Fit::No, "{line}");
        }
    }

    #[test]
    fn unknown_parts_are_unknown() {
        for line in [
            "git $1",
            "cat x | xargs git",
            "git $(cat x) push",
            "git -C $(cat f) origin main",
            "git -C `cat f` origin main",
            "read C < f; git -C $C origin",
            "read C < f; git -C $C status",
            "C=$(cat f); git -C $C status",
            "C=\"$(cat f)\"; git -C $C status",
            "git -C $(cat f) status",
            "git -C $@ status",
            "git -c $X main",
            "git -C \"$@\" origin",
            "git -C * origin",
            "git --git-dir=$(cat f) origin",
            "timeout $(cat f) x",
            "git push{,}{,}{,}{,}{,}{,}{,}{,}{,}{,}",
        ] {
            assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
        }
        assert_eq!(fit("mytool deploy", "mytool --env prod deploy"), Fit::Unknown);
        assert_eq!(fit("mytool deploy", "mytool --env prod status"), Fit::No);
        assert_eq!(fit("mytool deploy", "mytool deploy --env prod"), Fit::Yes);
    }

    #[test]
    fn other_subcommands_of_git_may_be_aliases() {
        for line in ["git p", "git PUSH", "git --config-env=alias.p=Y p"] {
            assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
        }
        for line in [
            "git -c alias.p=push p",
            "X=push git --config-env=alias.p=X p",
            "X=push git --config-env alias.p=X p",
        ] {
            assert_eq!(fit("git push", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("git", "git p"), Fit::Yes);
        assert_eq!(fit("git push", "git pushx"), Fit::No);
    }

    #[test]
    fn attached_variables_are_one_word() {
        assert_eq!(fit("kubectl delete", "kubectl --context=$C get pods"), Fit::No);
        assert_eq!(fit("kubectl delete", "kubectl --context=$C delete pod x"), Fit::Yes);
        assert_eq!(fit("kubectl delete", "kubectl --context \"$C\" get pods"), Fit::No);
        assert_eq!(fit("kubectl delete", "kubectl -n $(cat f) -f x"), Fit::Unknown);
        assert_eq!(fit("kubectl delete", "kubectl get pods -n $NS"), Fit::No);
        assert_eq!(fit("kubectl delete", "kubectl -n $NS get pods"), Fit::No);
        assert_eq!(fit("kubectl get --context=prod", "kubectl --context=$C get pods"), Fit::Unknown);
    }

    #[test]
    fn many_stars_take_little_time() {
        let pattern = format!("x {} z", "* a ".repeat(100).trim());
        assert_eq!(fit(&pattern, &format!("x{}", " a".repeat(400))), Fit::No);
        assert_eq!(fit(&pattern, &format!("x{} z", " a".repeat(400))), Fit::Yes);
        assert_eq!(fit("x a * b *", "x a"), Fit::No);
        assert_eq!(fit("x * *", "x"), Fit::Yes);
    }

    #[test]
    fn options_have_several_names() {
        assert_eq!(fit("git push --delete", "git push -d origin x"), Fit::Yes);
        assert_eq!(fit("git push --force", "git push -f"), Fit::Yes);
        assert_eq!(fit("git push -f", "git push --force"), Fit::Yes);
        assert_eq!(fit("git push --delete", "git push --del origin x"), Fit::Unknown);
        assert_eq!(fit("git push --mirror", "git push --mirr"), Fit::Unknown);
        assert_eq!(fit("git push --force-with-lease", "git push --force"), Fit::No);
        assert_eq!(fit("git push --delete", "git push --dry-run"), Fit::No);
        assert_eq!(fit("git clean --delete", "git clean -d"), Fit::No);
        assert_eq!(fit("kubectl get --namespace prod", "kubectl get pods -n prod"), Fit::Yes);
        assert_eq!(fit("kubectl get --namespace prod", "kubectl get pods -n dev"), Fit::No);
        assert_eq!(fit("rm --recursive", "rm -rf x"), Fit::Yes);
    }

    #[test]
    fn stars_match_texts() {
        assert_eq!(fit("deploy *", "deploy prod"), Fit::Yes);
        assert_eq!(fit("deploy *", "deploy"), Fit::Yes);
        assert_eq!(fit("npm run test*", "npm run test:unit -- -x"), Fit::Yes);
        assert_eq!(fit("npm run test*", "npm run build"), Fit::No);
        assert_eq!(fit("git * main", "git push origin main"), Fit::Yes);
        assert_eq!(fit("git * main", "git push origin dev"), Fit::No);
        assert_eq!(fit("kubectl-*", "kubectl-neat x"), Fit::Yes);
    }

    #[test]
    fn options_may_be_anywhere() {
        for line in ["rm -rf x", "rm -f -r x", "rm x -fr", "rm -r --verbose -f x"] {
            assert_eq!(fit("rm -rf", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("rm -rf", "rm -r x"), Fit::No);
        assert_eq!(fit("git push --force", "git push origin main --force"), Fit::Yes);
        assert_eq!(fit("git push --force", "git push --force-with-lease"), Fit::No);
        assert_eq!(fit("python -m pytest", "python -m pytest tests"), Fit::Yes);
        assert_eq!(fit("python -m pytest", "python -m http.server"), Fit::No);
    }

    #[test]
    fn programs_run_others() {
        for line in [
            "npx npm@10 publish",
            "npx x@npm:npm@10 publish",
            "npm exec npm@latest publish",
            "npm exec npm@latest -- publish",
            "pnpm dlx npm@latest publish",
            "bunx npm@10 publish",
            "yarn dlx npm@10 publish",
        ] {
            assert_eq!(fit("npm publish", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("npm publish", "npx tool@10 publish"), Fit::No);
        for line in [
            "pwsh -c 'git push'",
            "powershell -Command \"git push\"",
            "cmd /c git push",
            "/lib64/ld-linux-x86-64.so.2 /usr/bin/git push",
            "/lib64/ld-linux-x86-64.so.2 --library-path /x /usr/bin/git push",
            "ln -s /usr/bin/git g; ./g push",
            "cp /usr/bin/git g && ./g push",
            "cp $(which git) g && ./g push",
            "docker run --entrypoint git x push",
            "docker run --entrypoint=git x push",
            "choom -n 1 -- git push",
            "lckdo f git push",
            "mispipe 'git push' 'cat'",
            "asciinema rec -c 'git push' f",
        ] {
            assert_eq!(fit("git push", line), Fit::Yes, "{line}");
        }
        for line in ["find /usr/bin -name git -exec {} push ';'", "fd git /usr/bin -x {} push"] {
            assert_eq!(fit("git push", line), Fit::Unknown, "{line}");
        }
        for line in [
            "pwsh -c 'git status'",
            "cmd /c git status",
            "find . -name x -exec git add {} ';'",
            "cp deploy.sh d.sh && ./d.sh push",
            "docker run --entrypoint git x status",
            "docker run x push",
            "timeout 5 ls",
            "timeout $T ls",
        ] {
            assert_eq!(fit("git push", line), Fit::No, "{line}");
        }
        for line in [
            "k3s kubectl apply -f x",
            "k3s kubectl -n x apply -f x",
            "microk8s kubectl apply -f x",
            "minikube kubectl -- apply -f x",
            "minikube -p x kubectl -- apply -f x",
        ] {
            assert_eq!(fit("kubectl apply", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("kubectl apply", "k3s kubectl get pods"), Fit::No);
        assert_eq!(fit("kubectl apply", "minikube start"), Fit::No);
        assert_eq!(fit("black", "pipx run black ."), Fit::Yes);
    }

    #[test]
    fn an_option_without_its_value_has_any() {
        for line in ["git switch -c x", "git switch -cx", "git switch --create x"] {
            assert_eq!(fit("git switch -c", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("git switch -c", "git switch x"), Fit::No);
    }

    #[test]
    fn files_are_programs() {
        assert_eq!(fit("./scripts/deploy.sh", "scripts/deploy.sh prod"), Fit::Yes);
        assert_eq!(fit("deploy.sh", "./scripts/deploy.sh prod"), Fit::Yes);
        assert_eq!(fit("./deploy.sh", "./scripts/deploy.sh prod"), Fit::No);
        assert_eq!(fit("scripts/deploy.sh", "cd scripts && ./deploy.sh"), Fit::Yes);
        assert_eq!(fit("scripts/deploy.sh", "cd other && ./deploy.sh"), Fit::No);
        assert_eq!(fit("scripts/deploy.sh", "/work/shop/scripts/deploy.sh"), Fit::Unknown);
        assert_eq!(fit("scripts/deploy.sh", "cd $X && ./deploy.sh"), Fit::Unknown);
    }

    #[test]
    fn files_that_an_interpreter_runs_are_programs() {
        for line in [
            "bash scripts/deploy.sh prod",
            "sh -x ./scripts/deploy.sh prod",
            "source scripts/deploy.sh prod",
            "cd scripts && . ./deploy.sh prod",
            "env A=b zsh scripts/deploy.sh prod",
        ] {
            assert_eq!(fit("scripts/deploy.sh prod", line), Fit::Yes, "{line}");
            assert_eq!(fit("deploy.sh", line), Fit::Yes, "{line}");
            assert_eq!(fit("deploy.sh test", line), Fit::No, "{line}");
        }
        for line in ["cat scripts/deploy.sh", "bash -n scripts/deploy.sh", "chmod +x scripts/deploy.sh"] {
            assert_eq!(fit("deploy.sh", line), Fit::No, "{line}");
        }
        for line in ["python manage.py migrate", "uv run python3.12 -u ./manage.py migrate shop"] {
            assert_eq!(fit("manage.py migrate", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("manage.py migrate", "python manage.py test"), Fit::No);
        for line in
            ["python -m twine upload x", "python3.12 -mtwine upload x", "uv run python -m twine upload x"]
        {
            assert_eq!(fit("twine upload", line), Fit::Yes, "{line}");
        }
        assert_eq!(fit("twine upload", "python -m twine check x"), Fit::No);
        assert_eq!(fit("server.js", "node ./server.js"), Fit::Yes);
    }

    #[test]
    fn commands_have_several_names() {
        for (pattern, line) in [
            ("npm install", "npm i x"),
            ("npm i", "npm install x"),
            ("npm publish", "yarn workspace a npm publish"),
            ("yarn publish", "yarn workspace a publish"),
            ("docker compose down", "docker-compose -f x down"),
            ("docker-compose down", "docker compose down"),
            ("docker push", "docker image push x"),
            ("pip install", "pip3.11 install x"),
            ("pip3 install", "python3 -m pip install x"),
            ("kubectl delete", "k -n x delete pod y"),
            ("helm uninstall", "helm delete x"),
            ("cargo test", "cargo +nightly t"),
            ("make deploy", "make build deploy"),
            ("make deploy", "make A=b deploy"),
        ] {
            assert_eq!(fit(pattern, line), Fit::Yes, "{pattern}: {line}");
        }
        assert_eq!(fit("make deploy", "make build"), Fit::No);
        assert_eq!(fit("docker push", "docker image ls push"), Fit::No);
    }

    #[test]
    fn exceptions_are_certain() {
        let is_exception = |pattern: &str, line: &str| {
            let pattern = CommandPattern::parse(pattern).unwrap();
            analyse(line).commands.iter().all(|call| pattern.fits_certainly(call))
        };
        for (pattern, line) in [
            ("npm publish --dry-run", "npm --dry-run publish --tag x"),
            ("git switch -c", "git switch -c x"),
            ("git switch -c", "git switch --create x"),
            ("kubectl get", "kubectl get pods -n $X"),
            ("kubectl get", "kubectl -n \"$X\" get pods $Y"),
            ("kubectl * --dry-run=client", "kubectl apply -f x --dry-run=client"),
        ] {
            assert!(is_exception(pattern, line), "{pattern}: {line}");
        }
        for (pattern, line) in [
            ("npm publish --dry-run", "npm publish --dry-run=false"),
            ("npm publish --dry-run", "npm publish --dry-run false"),
            ("npm publish --dry-run", "npm publish --dry-run --no-dry-run"),
            ("npm publish --dry-run", "npm publish --dry-run --dry-run"),
            ("npm publish --dry-run", "npm publish --dry-run $X"),
            ("git switch -c", "git -c a=b switch main"),
            ("kubectl get", "kubectl $X get pods"),
            ("kubectl * --dry-run=client", "kubectl apply -f x --dry-run=client --dry-run=none"),
        ] {
            assert!(!is_exception(pattern, line), "{pattern}: {line}");
        }
    }

    #[test]
    fn lines_of_a_shell_are_no_patterns() {
        for text in [
            "",
            "  ",
            "-x",
            "a && b",
            "a | b",
            "rm $HOME",
            "a [b",
            "Bash(git push:*)",
            "git push:*",
            "curl:*",
            "a b, c d",
        ] {
            assert!(CommandPattern::parse(text).is_err(), "{text}");
        }
        assert!(CommandPattern::parse("npm run test:*").is_ok());
    }
}
