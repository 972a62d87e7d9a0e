//! Programs that are handed a command in a form of their own: services, fleets of machines, build tools.

use serde_json::Value;

use super::super::invocation::{Arg, Invocation};
use super::super::options::{Arguments, tail};
use super::super::programs;
use super::super::scope::Scope;
use super::state::{Listed, Walk};
use super::stream::Stream;
use crate::words::shell::SHOWS_ENVIRONMENT;

impl Walk {
    /// `aws ssm send-command --parameters commands=[…]`: runs on other machines.
    pub(super) fn sent_commands(&mut self, invocation: &Invocation, scope: &Scope) {
        let mut words = invocation.args.iter().map(|arg| arg.text.as_str());
        if !words.any(|word| word == "send-command") {
            return;
        }
        let sorted = Arguments::new(invocation);
        let mut inner = scope.clone();
        inner.is_remote = true;
        for parameters in sorted.values_of(&["--parameters"]) {
            for command in commands_of(&parameters.text) {
                let _ = self.code(&command, &mut inner, &Stream::default());
            }
        }
    }

    /// `start-stop-daemon --start --exec program -- arguments`
    pub(super) fn daemon(
        &mut self,
        invocation: &Invocation,
        scope: &mut Scope,
        input: &Stream,
    ) -> Option<Stream> {
        let args = invocation.args.as_slice();
        let names = ["-x", "--exec", "-a", "--startas"];
        let sorted = Arguments::new(invocation);
        let program = sorted.values_of(&names).last()?.clone();
        let dashes = args.iter().position(|arg| arg.text == "--").map_or(args.len(), |at| at + 1);
        let mut argv = vec![program];
        argv.extend(args.get(dashes..).unwrap_or(&[]).iter().cloned());
        Some(self.invoke(argv, invocation.has_more_args, scope, input))
    }

    /// `cmake -E env A=b program`, `cmake -E time program`
    pub(super) fn cmake(&mut self, invocation: &Invocation, scope: &mut Scope, input: &Stream) {
        let mut words = invocation.args.iter().skip_while(|arg| arg.text != "-E").skip(1);
        let verb = words.next().map_or("", |arg| arg.text.as_str());
        let skip = match verb {
            "env" | "time" => 0,
            "chdir" => 1,
            _ => return,
        };
        let is_setting = |arg: &&Arg| verb == "env" && arg.text.contains('=') || arg.text.starts_with("--");
        let argv: Vec<Arg> = words.skip(skip).skip_while(is_setting).cloned().collect();
        let _ = self.invoke(argv, false, scope, input);
    }

    /// `npm pkg set scripts.x=code`: code that runs by its name from then on.
    pub(super) fn set_package_scripts(&mut self, invocation: &Invocation, scope: &Scope) {
        let [pkg, set, pairs @ ..] = invocation.args.as_slice() else { return };
        if !(pkg.text == "pkg" && set.text == "set") {
            return;
        }
        for pair in pairs.iter().filter(|pair| pair.text.starts_with("scripts.")) {
            if let Some(at) = pair.text.find('=') {
                let code = tail(pair, at + 1);
                let _ = self.code(&code.text, &mut scope.clone(), &Stream::default());
            }
        }
    }

    /// `dotenv -e .env -- printenv`: shows what the file holds.
    pub(super) fn shows_environment(&mut self, invocation: &Invocation, scope: &Scope) {
        let names = ["-e", "-f", "--file", "--env-file"];
        let sorted = Arguments::leading(programs::row(&invocation.program), &invocation.args, &[]);
        let program = invocation.args.iter().rev().find(|arg| !arg.text.starts_with('-'));
        if !program.is_some_and(|program| SHOWS_ENVIRONMENT.contains(&program.text.as_str())) {
            return;
        }
        let files: Vec<&Arg> = sorted.values_of(&names).collect();
        let usual = Arg::known(".env");
        let files = if files.is_empty() { vec![&usual] } else { files };
        for file in files.into_iter().filter(|_| !scope.is_remote) {
            self.note(Listed::Read, &scope.place(&file.text));
        }
    }
}

/// The command lines of `commands=["a","b"]`, `commands=a` and `{"commands":["a"]}`.
fn commands_of(parameters: &str) -> Vec<String> {
    let texts = |value: &Value| match value {
        Value::Array(list) => list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    };
    if let Ok(object) = serde_json::from_str::<Value>(parameters) {
        return object.get("commands").map(texts).unwrap_or_default();
    }
    let Some((_, list)) = parameters.split_once("commands=") else { return Vec::new() };
    match serde_json::from_str::<Value>(list) {
        Ok(list) => texts(&list),
        Err(_) => vec![list.trim_matches(['[', ']', '"', '\'']).to_owned()],
    }
}
