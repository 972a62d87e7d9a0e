//! Files of build tools: `make`, `just`, `task`, and the scripts of packages. What is judged is what the named target does,
//! with all that it needs.

use std::collections::{BTreeMap, BTreeSet};

use midrail_core::OpaqueKind;
use serde_json::Value;

use super::super::ast::is_name;
use super::super::calls;
use super::super::invocation::{Arg, Invocation, quoted_line};
use super::super::options::Arguments;
use super::super::programs::RecipeForm;
use super::super::scope::Scope;
use super::flow::command_line;
use super::state::{Listed, Source, Stream, Walk};
use crate::words::shell::INSTALL_SCRIPTS;

/// How many files one makefile may include.
const MAX_INCLUDED: usize = 16;

/// One recipe of a file.
struct Recipe<'t> {
    names: Vec<&'t str>,
    needs: Vec<&'t str>,
    lines: Vec<&'t str>,
}

/// The recipes of a file by their names.
struct Book<'r, 't> {
    named: BTreeMap<&'t str, Vec<&'r Recipe<'t>>>,
    /// Those for all goals of a form: `%.o`.
    patterns: Vec<(&'t str, &'r Recipe<'t>)>,
}

impl<'r, 't> Book<'r, 't> {
    fn new(recipes: &'r [Recipe<'t>]) -> Self {
        let mut book = Book { named: BTreeMap::new(), patterns: Vec::new() };
        for (name, recipe) in recipes.iter().flat_map(|it| it.names.iter().map(move |name| (*name, it))) {
            if name.contains('%') {
                book.patterns.push((name, recipe));
            } else {
                book.named.entry(name).or_default().push(recipe);
            }
        }
        book
    }

    fn for_goal(&self, goal: &str) -> impl Iterator<Item = &'r Recipe<'t>> {
        let by_pattern = self.patterns.iter().filter(move |(name, _)| fits(name, goal)).map(|(_, it)| *it);
        self.named.get(goal).into_iter().flatten().copied().chain(by_pattern)
    }
}

impl Walk {
    /// `make`, `just` and `task`. `false`: the program is none of them.
    pub(super) fn builds(&mut self, invocation: &Invocation, scope: &Scope, input: &Stream) {
        let row = invocation.row();
        let Some(tool) = &row.recipes else { return };
        let sorted = Arguments::new(invocation);
        let mut inner = scope.clone();
        for folder in sorted.values_of(row.folders) {
            inner.change_folder(Some(folder));
        }
        let goals = &sorted.operands;
        let given: Vec<(&str, &str)> = goals.iter().filter_map(|goal| goal.text.split_once('=')).collect();
        let goals: Vec<&str> =
            goals.iter().map(|goal| goal.text.as_str()).filter(|goal| !goal.contains('=')).collect();
        inner.set("MAKE", vec![Arg::known(&*invocation.program)]);
        // `make SHELL=…` runs that for every line, `--eval` is a part of the file.
        for (_, code) in given.iter().filter(|(name, _)| *name == "SHELL") {
            self.run(code, &inner);
        }
        for text in sorted.values_of(&["--eval", "-E"]) {
            self.recipes(tool.form, &text.text, &goals, &given, &inner);
        }
        let named: Vec<Arg> = sorted.values_of(tool.options).cloned().collect();
        let names =
            if named.is_empty() { tool.names.iter().map(|name| Arg::known(*name)).collect() } else { named };
        for name in names {
            let stream = match name.text.as_str() {
                "-" | "/dev/stdin" => input.clone(),
                _ => self.build_file(&name, &inner),
            };
            match (stream.text, stream.source) {
                (Some(text), _) => {
                    self.unread_code(&text, &invocation.program);
                    let text = self.with_included(tool.form, text.text, &inner);
                    self.recipes(tool.form, &text, &goals, &given, &inner);
                }
                (None, Source::Remote) => self.remote_code(
                    "what was fetched from the network is run",
                    &command_line(&invocation.program, &invocation.args),
                ),
                _ => {}
            }
        }
    }

    /// A file with those that it includes.
    fn with_included(&mut self, form: RecipeForm, text: String, scope: &Scope) -> String {
        let mut whole = text;
        let mut pending = if form == RecipeForm::Rules { included(&whole) } else { Vec::new() };
        let mut done = BTreeSet::new();
        while let Some(name) = pending.pop() {
            if done.len() >= MAX_INCLUDED {
                self.analysis.is_partial = true;
                break;
            }
            let file = Arg::known(name.as_str());
            if done.insert(name)
                && let Some(text) = self.build_file(&file, scope).text
            {
                pending.extend(included(&text.text));
                whole.push('\n');
                whole.push_str(&text.text);
            }
        }
        whole
    }

    /// A file of a build tool: what the line wrote into it, or one more script.
    fn build_file(&mut self, name: &Arg, scope: &Scope) -> Stream {
        let place = scope.place(&name.text);
        if let Some(content) = self.files.get(&place) {
            return content.stream(&place);
        }
        if name.is_known() && !scope.is_remote {
            self.note(Listed::Script, &place);
        }
        Stream::default()
    }

    fn recipes(
        &mut self,
        form: RecipeForm,
        text: &str,
        goals: &[&str],
        given: &[(&str, &str)],
        scope: &Scope,
    ) {
        self.spend(10 + text.len() / 4);
        if self.is_exhausted() {
            return;
        }
        let text = text.replace("\\\n", " ");
        let program = scope.first_value("MAKE").map_or("make", |program| &program.text).to_owned();
        let mut scope = scope.clone();
        let recipes = match form {
            RecipeForm::Rules => rules(&text, &mut scope),
            RecipeForm::Tasks => tasks(&text),
        };
        // What the command line says holds, whatever the file says.
        for (name, value) in given.iter().filter(|(name, _)| is_name(name)) {
            scope.set(name, vec![Arg::known(*value)]);
        }
        let first = recipes.iter().find_map(|it| it.names.first().filter(|name| !name.starts_with('.')));
        let first = if form == RecipeForm::Tasks { Some(&"default") } else { first };
        let is_open = |goal: &&str| goal.contains(['$', '`']);
        let mut pending: Vec<&str> = match goals {
            [] => first.copied().into_iter().collect(),
            // `make "$GOAL"` may be any of them.
            goals if goals.iter().any(is_open) => {
                recipes.iter().flat_map(|it| it.names.iter().copied()).collect()
            }
            goals => goals.to_vec(),
        };
        let book = Book::new(&recipes);
        let mut done = BTreeSet::new();
        while let Some(goal) = pending.pop() {
            self.spend(5 + book.patterns.len());
            if self.is_exhausted() {
                return;
            }
            if !done.insert(goal) {
                continue;
            }
            let mut is_new = !goals.contains(&goal);
            for recipe in book.for_goal(goal) {
                if std::mem::take(&mut is_new) {
                    self.started_recipe(&program, &[goal], &scope);
                }
                pending.extend(&recipe.needs);
                for line in &recipe.lines {
                    let code = shell_variables(line.trim_start_matches(['@', '-', '+', ' ', '\t']));
                    self.run(&code, &scope);
                }
            }
        }
    }

    /// `npm run` and the like: the script of that name in `package.json`.
    pub(super) fn package_scripts(&mut self, invocation: &Invocation, scope: &Scope) {
        let sorted = Arguments::new(invocation);
        let mut inner = scope.clone();
        for folder in sorted.values_of(&["--prefix", "-C", "--dir", "--cwd"]) {
            inner.change_folder(Some(folder));
        }
        let words = &sorted.operands;
        let first = words.first().map_or("install", |word| word.text.as_str());
        let (names, rest) = match first {
            "install" | "i" | "ci" | "add" => {
                (INSTALL_SCRIPTS.iter().map(|name| (*name).to_owned()).collect(), 1)
            }
            "run" | "run-script" | "rum" => match words.get(1) {
                Some(name) => (with_hooks(&name.text), 2),
                None => return,
            },
            "t" | "tst" => (with_hooks("test"), 1),
            name => (with_hooks(name), 1),
        };
        let Some(text) = self.build_file(&Arg::known("package.json"), &inner).text else { return };
        self.spend(10 + text.text.len() / 4);
        let Ok(package) = serde_json::from_str::<Value>(&text.text) else { return };
        let rest: Vec<Arg> = words.iter().copied().skip(rest).cloned().collect();
        // `npm run "$TASK"` may run any of them.
        let scripts = package.get("scripts").and_then(Value::as_object);
        let any = words.get(1).filter(|name| first.starts_with("r") && !name.is_known());
        let names: Vec<String> = match any {
            Some(_) => scripts.into_iter().flat_map(|scripts| scripts.keys().cloned()).collect(),
            None => names,
        };
        for name in names {
            if let Some(code) = package.get("scripts").and_then(|scripts| scripts.get(&name)?.as_str()) {
                // All package managers run the same scripts: `yarn deploy`.
                if invocation.program != "npm" {
                    self.started_recipe("npm", &["run", &name], &inner);
                }
                let code = format!("{code}{}", quoted_line(&rest));
                self.run(&code, &inner);
            }
        }
    }

    /// `node --run name`: as `npm run name`, without the scripts before and after it.
    pub(super) fn node_scripts(&mut self, invocation: &Invocation, scope: &Scope) {
        let args = invocation.args.as_slice();
        let Some(at) = args.iter().position(|arg| arg.text == "--run" || arg.text.starts_with("--run="))
        else {
            return;
        };
        self.hide(OpaqueKind::Project, "node --run");
        let mut words = vec![Arg::known("run")];
        words.extend(args.get(at).and_then(|arg| arg.text.strip_prefix("--run=")).map(Arg::known));
        words.extend(args.iter().skip(at + 1).cloned());
        self.package_scripts(&self.invocation("npm", words, scope), scope);
    }

    /// Notes what runs a recipe by its name: `make deploy` if `make all` needs it. It proves nothing.
    fn started_recipe(&mut self, program: &str, words: &[&str], scope: &Scope) {
        let args = words.iter().map(|word| Arg::known(*word)).collect();
        let invocation = self.invocation(program, args, scope);
        calls::add_call(&mut self.analysis, &invocation, "", false);
    }
}

/// A script of a package with those that run before and after it.
fn with_hooks(name: &str) -> Vec<String> {
    vec![format!("pre{name}"), name.to_owned(), format!("post{name}")]
}

/// The files that lines such as `include a.mk b.mk` name.
fn included(text: &str) -> Vec<String> {
    let words = ["include ", "-include ", "sinclude ", "import "];
    let lines = text.lines().filter_map(|line| words.iter().find_map(|word| line.strip_prefix(word)));
    let names = lines.flat_map(str::split_whitespace).map(|name| name.trim_matches(['\'', '"']));
    names.filter(|name| !name.is_empty() && !name.contains(['$', '*', '?'])).map(str::to_owned).collect()
}

/// Whether a name with `%` is that of a goal.
fn fits(name: &str, goal: &str) -> bool {
    name.split_once('%').is_some_and(|(head, tail)| {
        goal.len() >= head.len() + tail.len() && goal.starts_with(head) && goal.ends_with(tail)
    })
}

/// The rules of a makefile or a justfile. Variables go into the scope.
fn rules<'t>(text: &'t str, scope: &mut Scope) -> Vec<Recipe<'t>> {
    let mut recipes: Vec<Recipe<'t>> = Vec::new();
    for line in text.lines() {
        if line.starts_with([' ', '\t']) {
            if let Some(recipe) = recipes.last_mut() {
                recipe.lines.push(line);
            }
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let variable =
            |name: &'t str| name.trim_end_matches([':', '?', '+', ' ', '\t']).trim_start_matches("export ");
        let assigned = line.split_once('=').map(|(name, value)| (variable(name), value));
        if let Some((name, value)) = assigned.filter(|(name, _)| is_name(name)) {
            let value = shell_variables(value.trim().trim_matches(['"', '\'']));
            scope.set(name, vec![expanded(&value, scope)]);
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        let (needs, recipe) = match rest.split_once(';') {
            Some((needs, recipe)) => (needs, Some(recipe)),
            None => (rest, None),
        };
        recipes.push(Recipe {
            names: names.split_whitespace().map(|name| name.trim_start_matches('@')).collect(),
            needs: needs.split_whitespace().collect(),
            lines: recipe.into_iter().collect(),
        });
    }
    recipes
}

/// A value in which the known variables are replaced: `$BUILD/x`.
fn expanded(value: &str, scope: &Scope) -> Arg {
    let Some(rest) = value.strip_prefix("${") else { return Arg::known(value) };
    let Some((name, tail)) = rest.split_once('}') else { return Arg::known(value) };
    match scope.first_value(name) {
        Some(head) => Arg::known(format!("{}{tail}", head.text)),
        None => Arg::unknown(value),
    }
}

/// The tasks of a taskfile: below `tasks:`, a name each, with commands in lists.
fn tasks(text: &str) -> Vec<Recipe<'_>> {
    let mut recipes: Vec<Recipe<'_>> = Vec::new();
    let mut lines = text.lines().skip_while(|line| line.trim_end() != "tasks:").skip(1).peekable();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let Some(depth) = lines.peek().map(|line| indent(line)) else { return recipes };
    let mut is_needs = false;
    for line in lines.filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('#')) {
        let word = line.trim();
        if indent(line) < depth {
            break;
        }
        if indent(line) == depth {
            let name = word.split_once(':').map_or(word, |(name, _)| name).trim_matches(['"', '\'']);
            recipes.push(Recipe { names: vec![name], needs: Vec::new(), lines: Vec::new() });
            is_needs = false;
            continue;
        }
        let Some(recipe) = recipes.last_mut() else { continue };
        // `cmds: [a, b]`
        if let Some(list) = word.strip_prefix("cmds:").and_then(|rest| rest.trim().strip_prefix('[')) {
            let items = list.trim_end_matches(']').split(',');
            recipe.lines.extend(items.map(|item| item.trim().trim_matches(['"', '\''])));
        }
        is_needs = if word.ends_with(':') { word == "deps:" } else { is_needs };
        let item = word.trim_start_matches("- ").trim_start_matches("cmd:").trim();
        let item = item.trim_matches(['"', '\'']);
        match item.strip_prefix("task:").map(str::trim).or(is_needs.then_some(item)) {
            Some(task) => recipe.needs.push(task),
            None if word.starts_with("- ") || word.starts_with("cmd:") => recipe.lines.push(item),
            None => {}
        }
    }
    recipes
}

/// `$(NAME)` of make, and `{{NAME}}` of others, as the shell writes it.
fn shell_variables(recipe: &str) -> String {
    let code = replaced(recipe, "$(", ")");
    let code = replaced(&code, "{{", "}}");
    code.replace("$$", "$")
}

fn replaced(text: &str, open: &str, close: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut pieces = text.split(open);
    code.push_str(pieces.next().unwrap_or(""));
    for piece in pieces {
        match piece.split_once(close) {
            Some((name, rest)) if is_name(name.trim().trim_start_matches('.')) && !code.ends_with('$') => {
                code.push_str("${");
                code.push_str(name.trim().trim_start_matches('.'));
                code.push('}');
                code.push_str(rest);
            }
            _ => {
                code.push_str(open);
                code.push_str(piece);
            }
        }
    }
    code
}
