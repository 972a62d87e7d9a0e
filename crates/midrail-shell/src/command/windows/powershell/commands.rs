//! What a command of PowerShell does once it is read: assigns, hands on through a pipe, or runs, perhaps other code.

use super::{ASSIGNS, Context, LONGEST_VALUE, Reader, Value, is_bare_command, is_fetch};
use crate::command::invocation::{Arg, joined};
use crate::command::windows::command::WindowsCommand;
use crate::command::windows::translate::translate;

impl Reader<'_, '_> {
    /// Ends a command and translates it.
    pub(super) fn finish(&mut self, is_piped: bool) {
        let mut context = std::mem::take(&mut self.current);
        let input_fetched = context.is_input_fetched;
        let first = context.command.words.first().map(|word| word.text.clone()).unwrap_or_default();
        if let Some(name) = first.strip_prefix(ASSIGNS) {
            context.command.words.remove(0);
            self.assign(name.to_owned(), &context);
            if !is_expression(&context.command) {
                self.translate(&context);
            }
        } else {
            self.translate(&context);
        }
        if is_piped {
            self.current.is_piped = true;
            self.current.listed = listed(&context.command);
            self.current.is_input_fetched =
                input_fetched || context.command.is_fetched || is_fetch(&context.command);
            self.current.is_input_decoded = context.is_input_decoded || context.command.is_decoded;
            let input = joined(&context.command.words);
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

    fn translate(&mut self, context: &Context) {
        let command = &context.command;
        let Some(first) = command.words.first() else { return };
        if context.starts_with_string && !context.is_called {
            return;
        }
        if context.is_called && command.is_fetched && !first.is_known() {
            self.out.runs_downloaded_code = true;
            return;
        }
        // `& $_ -Recurse -Force x`: nothing else takes such switches as often as `Remove-Item`.
        if context.is_called && !first.is_known() && (command.has("recurse") || command.has("force")) {
            let args = command.args().iter().cloned();
            let words = [Arg::known("remove-item")].into_iter().chain(args).collect();
            return translate(&command.with_words(words), &context.input, self.out);
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
                        self.out.read_powershell(&code.text, self.depth);
                    }
                } else if let Some(code) = code.filter(|code| code.is_known()) {
                    self.out.read_powershell(&code.text, self.depth);
                } else if command.is_decoded || context.is_input_decoded {
                    self.out.is_opaque = true;
                } else if code.is_none()
                    && command.words.len() == 1
                    && context.input.contains([' ', '-'])
                    && is_text(&context.input)
                {
                    self.out.read_powershell(&context.input, self.depth);
                }
            }
            _ if self.out.start_shell(command, self.depth) => {}
            _ => {
                let before = self.out.invocations.len();
                translate(command, &context.input, self.out);
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
}

/// The files that `Get-ChildItem` hands on, and whether it goes into folders.
fn listed(command: &WindowsCommand) -> Option<(Vec<Arg>, bool)> {
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
fn is_expression(command: &WindowsCommand) -> bool {
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
