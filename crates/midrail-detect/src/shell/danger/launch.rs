//! Programs that only start a script or a tool that the tables know by its own name: `python manage.py flush`.

use crate::shell::invocation::{Arg, Invocation};

/// A program that starts another, and the words between them.
struct Launcher {
    programs: &'static [&'static str],
    words: &'static [&'static str],
    /// The option whose value is the other program: `python -m`.
    module: &'static str,
}

const LAUNCHERS: &[Launcher] = &[
    Launcher { programs: &["python", "python3", "python2", "py", "pypy", "pypy3"], words: &[], module: "-m" },
    Launcher { programs: &["php", "ruby", "node", "bun", "deno", "elixir"], words: &[], module: "" },
    Launcher { programs: &["java"], words: &[], module: "-jar" },
    Launcher {
        programs: &["npx", "bunx", "pnpx", "uvx", "pipx", "sail", "pnpm", "yarn", "bun"],
        words: &[],
        module: "",
    },
    Launcher {
        programs: &["npm", "pnpm", "yarn", "bundle", "mise", "rbenv", "pyenv", "rtx"],
        words: &["exec"],
        module: "",
    },
    Launcher { programs: &["pnpm", "yarn"], words: &["dlx"], module: "" },
    Launcher { programs: &["bun"], words: &["x"], module: "" },
    Launcher {
        programs: &["poetry", "uv", "pipenv", "rye", "pdm", "hatch", "yarn", "bun", "npm", "pnpm", "pipx"],
        words: &["run"],
        module: "",
    },
    Launcher { programs: &["dotnet"], words: &["tool", "run"], module: "" },
];

/// Programs whose names are words of package managers too: `pnpm rm` is not `rm`.
const NOT_TOOLS: &[&str] = &[
    "auto", "cancel", "code", "config", "cp", "cut", "date", "dd", "deploy", "env", "find", "format", "head",
    "history", "init", "install", "kill", "link", "ln", "log", "mv", "net", "npm", "open", "patch",
    "publish", "rm", "security", "server", "service", "set", "sort", "split", "store", "tail", "task", "tee",
    "test", "touch", "unlink", "unset", "up", "view", "wipe",
];

/// The invocation inside of one that only starts it, where the tables know it.
pub(super) fn inner(invocation: &Invocation) -> Option<Invocation> {
    LAUNCHERS
        .iter()
        .filter(|launcher| launcher.programs.contains(&invocation.program.as_str()))
        .find_map(|launcher| launched(launcher, invocation))
}

fn launched(launcher: &Launcher, invocation: &Invocation) -> Option<Invocation> {
    let mut words = launcher.words.iter();
    let mut expected = words.next();
    for (index, arg) in invocation.args.iter().enumerate() {
        let text = arg.text.as_str();
        if !launcher.module.is_empty() && text == launcher.module {
            return program_at(invocation, index + 1);
        }
        if text.starts_with('-') {
            continue;
        }
        match expected {
            Some(word) if *word == text => expected = words.next(),
            Some(_) => return None,
            None => return program_at(invocation, index),
        }
    }
    None
}

fn program_at(invocation: &Invocation, index: usize) -> Option<Invocation> {
    let arg = invocation.args.get(index)?;
    let name = script_name(arg)?;
    let is_known = !NOT_TOOLS.contains(&name) && !super::rules::of(name).is_empty();
    is_known.then(|| Invocation {
        program: name.to_owned(),
        args: invocation.args.get(index + 1..).unwrap_or_default().to_vec(),
        ..invocation.clone()
    })
}

fn script_name(arg: &Arg) -> Option<&str> {
    if !arg.is_known() {
        return None;
    }
    let name = arg.text.rsplit('/').next().unwrap_or_default();
    // `npx prisma@5`
    let name = name.split('@').next().unwrap_or(name);
    // Packages that are named otherwise than their programs.
    let name = if name == "firebase-tools" { "firebase" } else { name };
    (!name.is_empty()).then_some(name)
}
