//! What a command of PowerShell does once it is read: assigns, hands on through a pipe, or runs, perhaps other code.

use super::{ASSIGNS, Context, LONGEST_VALUE, Reader, Value, is_bare_command, is_fetch};
use crate::command::decode;
use crate::command::invocation::Arg;
use crate::command::windows::command::Command;
use crate::command::windows::translation::DEEPEST;
use crate::command::windows::verbs::tell;

impl Reader<'_, '_> {
    /// Ends a command and tells what it does.
    pub(super) fn finish(&mut self, is_piped: bool) {
        let mut context = std::mem::take(&mut self.current);
        let input_fetched = context.is_input_fetched;
        let first = context.command.words.first().map(|word| word.text.clone()).unwrap_or_default();
        if let Some(name) = first.strip_prefix(ASSIGNS) {
            context.command.words.remove(0);
            self.assign(name.to_owned(), &context);
            if !is_expression(&context.command) {
                self.tell(&context);
            }
        } else {
            self.tell(&context);
        }
        if is_piped {
            self.current.is_piped = true;
            self.current.listed = listed(&context.command);
            self.current.is_input_fetched =
                input_fetched || context.command.is_fetched || is_fetch(&context.command);
            self.current.is_input_decoded = context.is_input_decoded || context.command.is_decoded;
            let words: Vec<&str> = context.command.words.iter().map(|word| word.text.as_str()).collect();
            let input = words.join(" ");
            self.current.input = if input.len() <= LONGEST_VALUE { input } else { String::new() };
        }
    }

    fn assign(&mut self, name: String, context: &Context) {
        let command = &context.command;
        let value = match command.words.as_slice() {
            _ if command.is_fetched || is_fetch(command) => Some(Value::Fetched),
            _ if command.is_decoded => Some(Value::Decoded),
            [only] if only.is_known() && only.text.len() <= LONGEST_VALUE => {
                Some(Value::Known(only.text.clone()))
            }
            _ => None,
        };
        match value {
            Some(value) if self.variables.len() < 1024 => {
                self.variables.insert(name, value);
            }
            _ => {
                self.variables.remove(&name);
            }
        }
    }

    fn tell(&mut self, context: &Context) {
        let command = &context.command;
        let Some(first) = command.words.first() else {
            return;
        };
        if context.starts_with_string && !context.is_called {
            return;
        }
        if context.is_called && command.is_fetched && !first.is_known() {
            self.out.runs_downloaded_code = true;
            return;
        }
        let name = first.text.to_ascii_lowercase();
        let name = name.strip_suffix(".exe").unwrap_or(&name);
        match name {
            "iex" | "invoke-expression" => {
                let code = command
                    .words
                    .get(1)
                    .filter(|word| !word.text.starts_with("-c"))
                    .or_else(|| command.words.get(2));
                let is_fetched_inside = code.is_some_and(|code| {
                    let code = code.text.to_ascii_lowercase();
                    ["$(irm", "$(iwr", "$(invoke-webrequest", "$(invoke-restmethod"]
                        .iter()
                        .any(|start| code.contains(start))
                });
                if command.is_fetched || context.is_input_fetched || is_fetched_inside {
                    self.out.runs_downloaded_code = true;
                    if is_fetched_inside && let Some(code) = code {
                        self.nested(&code.text.clone());
                    }
                } else if let Some(code) = code.filter(|code| code.is_known()) {
                    self.nested(&code.text.clone());
                } else if command.is_decoded || context.is_input_decoded {
                    self.out.is_opaque = true;
                } else if code.is_none()
                    && command.words.len() == 1
                    && context.input.contains([' ', '-'])
                    && is_text(&context.input)
                {
                    self.nested(&context.input.clone());
                }
            }
            "powershell" | "pwsh" => self.powershell(command),
            "cmd" => {
                let at = command.words.iter().position(|word| {
                    word.text.eq_ignore_ascii_case("/c") || word.text.eq_ignore_ascii_case("/k")
                });
                if let Some(at) = at {
                    let words: Vec<&str> =
                        command.words.iter().skip(at + 1).map(|word| word.text.as_str()).collect();
                    if self.depth < DEEPEST {
                        self.out.read_cmd(&words.join(" "), self.depth + 1);
                    }
                }
            }
            "diskpart" if context.input.to_ascii_lowercase().contains("clean") => {
                let words = ["clear-disk", "-Number", "0"].map(Arg::known).to_vec();
                tell(&Command { words, ..command.clone() }, false, self.out);
            }
            _ => {
                let before = self.out.invocations.len();
                tell(command, false, self.out);
                // `dir | Remove-Item`: what comes down the pipe is what it acts on.
                for invocation in self.out.invocations.iter_mut().skip(before) {
                    let has_target = invocation.args.iter().any(|arg| !arg.text.starts_with('-'));
                    invocation.has_more_args = context.is_piped && !has_target;
                    if let Some((files, is_deep)) =
                        context.listed.as_ref().filter(|_| invocation.has_more_args)
                        && invocation.program == "rm"
                    {
                        if *is_deep && !invocation.args.iter().any(|arg| arg.text == "-r") {
                            invocation.args.insert(0, Arg::known("-r"));
                        }
                        invocation.args.extend(files.iter().cloned());
                        invocation.has_more_args = false;
                    }
                }
            }
        }
    }

    /// `powershell -EncodedCommand …`, `pwsh -c …`.
    fn powershell(&mut self, command: &Command) {
        let mut args = command.words.iter().skip(1);
        while let Some(arg) = args.next() {
            let flag = arg.text.to_ascii_lowercase();
            let Some(flag) = flag.strip_prefix(['-', '/']) else {
                let mut words = vec![arg.text.as_str()];
                words.extend(args.map(|arg| arg.text.as_str()));
                return self.nested(&words.join(" "));
            };
            if flag.starts_with('e') && "encodedcommand".starts_with(flag) || flag == "enc" || flag == "ec" {
                let code = args.next().and_then(|arg| decode::base64_utf16(&arg.text));
                return match code {
                    Some(code) => self.nested(&code),
                    None => self.out.is_opaque = true,
                };
            }
            if ["executionpolicy", "windowstyle", "version", "file"]
                .iter()
                .any(|name| !flag.is_empty() && name.starts_with(flag))
                || flag == "ep"
            {
                args.next();
            }
        }
    }

    pub(super) fn nested(&mut self, script: &str) {
        if self.depth >= DEEPEST {
            self.out.is_opaque = true;
        } else {
            self.out.read_powershell(script, self.depth + 1);
        }
    }
}

/// The files that `Get-ChildItem` hands on, and whether it goes into folders.
fn listed(command: &Command) -> Option<(Vec<Arg>, bool)> {
    let name = command.words.first()?.text.to_ascii_lowercase();
    if !matches!(name.as_str(), "get-childitem" | "gci" | "dir" | "ls" | "get-item" | "gi") {
        return None;
    }
    let is_itself = matches!(name.as_str(), "get-item" | "gi");
    let filter = command.value(&["filter", "include"]).map(|arg| arg.text);
    let mut folders = command.targets();
    if folders.is_empty() && !is_itself {
        folders.push(Arg::known("."));
    }
    let mut files = Vec::new();
    for folder in folders.into_iter().filter(Arg::is_known) {
        let root = folder.text.trim_end_matches('/');
        match &filter {
            _ if is_itself || (folder.text.contains('*') && filter.is_none()) => files.push(folder),
            Some(filter) => {
                let root = root.trim_end_matches("/*");
                files.extend(filter.split(',').map(|part| Arg {
                    is_glob: part.contains(['*', '?']),
                    ..Arg::known(format!("{root}/{}", part.trim()))
                }));
            }
            None => files.push(Arg { is_glob: true, ..Arg::known(format!("{root}/*")) }),
        }
    }
    (!files.is_empty()).then(|| (files, command.has("recurse")))
}

/// A value, and no command: `$x = 'text'`.
fn is_expression(command: &Command) -> bool {
    match command.words.as_slice() {
        [] => true,
        [only] => !is_bare_command(&Some(only.clone())),
        [first, ..] => {
            first.text.starts_with(['$', '\'', '"', '['])
                || first.text.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

/// What is piped into `iex` is the text of a script, and not the name of a program that prints one.
fn is_text(input: &str) -> bool {
    let first = input.split_ascii_whitespace().next().unwrap_or("").to_ascii_lowercase();
    !matches!(first.as_str(), "get-content" | "gc" | "cat" | "type" | "out-string") && first.contains('-')
}
