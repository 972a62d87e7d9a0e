//! What a sandbox probably refused, as the messages of its command say: without privileges the kernel reports it to no other process.

use std::path::{Path, PathBuf};

use midrail_sandbox::Sandbox;

/// The most paths that are reported.
const MAX_PATHS: usize = 5;

/// Messages about a file that may not be used, in lower case.
const DENIED: &[&str] =
    &["permission denied", "read-only file system", "operation not permitted", "eacces", "erofs", "eperm"];

/// Messages about a file that is not there. What a sandbox hides is not there.
const MISSING: &[&str] = &["no such file or directory", "enoent"];

/// The files that the sandbox probably refused to show or to change.
pub(super) fn refused(errors: &str, sandbox: &Sandbox) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in errors.lines().rev() {
        let lower = line.to_lowercase();
        let has = |messages: &[&str]| messages.iter().any(|message| lower.contains(message));
        let (is_denied, is_missing) = (has(DENIED), has(MISSING));
        if !is_denied && !is_missing {
            continue;
        }
        for name in names(line) {
            let path = lexical(&sandbox.dir.join(name));
            let is_refused = if is_denied { !may_change(sandbox, &path) } else { is_hidden(sandbox, &path) };
            let name = path.strip_prefix(&sandbox.dir).unwrap_or(&path).to_string_lossy().into_owned();
            if is_refused && !found.contains(&name) {
                found.push(name);
            }
        }
        if found.len() >= MAX_PATHS {
            break;
        }
    }
    found.truncate(MAX_PATHS);
    found
}

/// The words of a message that can be paths: what is in quotes, and what has a slash.
fn names(line: &str) -> Vec<&str> {
    const QUOTES: &[char] = &['\'', '"', '`', '‘', '’'];
    let quoted = line.split(QUOTES).skip(1).step_by(2).filter(|part| !part.contains(char::is_whitespace));
    let words = line
        .split(char::is_whitespace)
        .map(|word| word.trim_matches(|char: char| QUOTES.contains(&char) || ",:;()[]".contains(char)));
    let mut names: Vec<&str> = quoted.chain(words.filter(|word| word.contains('/'))).collect();
    names.retain(|name| !name.is_empty() && *name != "/" && !name.contains("://"));
    names.dedup();
    names
}

/// A path without `.` and `..`.
fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Whether a path is in one of some folders. The home is not a part of what is above it.
fn is_in(sandbox: &Sandbox, folders: &[PathBuf], path: &Path) -> bool {
    let counts = |folder: &PathBuf| !path.starts_with(&sandbox.home) || folder.starts_with(&sandbox.home);
    folders.iter().any(|folder| path.starts_with(folder) && counts(folder))
}

fn may_change(sandbox: &Sandbox, path: &Path) -> bool {
    is_in(sandbox, &sandbox.write, path)
        && !is_in(sandbox, &sandbox.protected, path)
        && !is_in(sandbox, &sandbox.hidden, path)
}

/// Whether a file is there, and the sandbox does not show it.
fn is_hidden(sandbox: &Sandbox, path: &Path) -> bool {
    let is_shown = is_in(sandbox, &sandbox.read, path) || is_in(sandbox, &sandbox.write, path);
    let is_covered = is_in(sandbox, &sandbox.hidden, path);
    let is_of_kernel = ["/proc", "/dev"].iter().any(|folder| path.starts_with(folder));
    (!is_shown || is_covered) && !is_of_kernel && path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use midrail_sandbox::{Background, Limits, Network};

    fn sandbox(root: &Path) -> Sandbox {
        Sandbox {
            dir: root.join("project"),
            home: root.to_owned(),
            read: vec!["/usr".into(), "/etc".into()],
            write: vec![root.join("project")],
            scratch: Vec::new(),
            protected: vec![root.join("project/.git/hooks")],
            hidden: vec![root.join("project/.env")],
            network: Network::None,
            limits: Limits::default(),
            background: Background::End,
            keeps_errors: true,
            mounts: true,
        }
    }

    #[test]
    fn messages_name_what_was_refused() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("project")).unwrap();
        for file in ["letter", "project/.env"] {
            std::fs::write(dir.path().join(file), "x").unwrap();
        }
        let letter = dir.path().join("letter").to_string_lossy().into_owned();
        for (message, expected) in [
            ("touch: cannot touch '/etc/evil': Read-only file system".to_owned(), vec!["/etc/evil"]),
            ("bash: line 1: /etc/evil: Permission denied".to_owned(), vec!["/etc/evil"]),
            ("PermissionError: [Errno 13] Permission denied: '/etc/evil'".to_owned(), vec!["/etc/evil"]),
            ("Error: EACCES: permission denied, open '/etc/evil'".to_owned(), vec!["/etc/evil"]),
            (
                "sh: 1: cannot create .git/hooks/pre-push: Read-only file system".to_owned(),
                vec![".git/hooks/pre-push"],
            ),
            (format!("cat: {letter}: No such file or directory"), vec![letter.as_str()]),
            ("cat: ../letter: No such file or directory".to_owned(), vec![letter.as_str()]),
            ("cat: .env: Permission denied".to_owned(), vec![]),
            ("cat: './.env': Permission denied".to_owned(), vec![".env"]),
            // The command itself is at fault.
            ("cat: src/none.rs: No such file or directory".to_owned(), vec![]),
            ("cat: /etc/none: No such file or directory".to_owned(), vec![]),
            ("./build.sh: ./run.sh: Permission denied".to_owned(), vec![]),
            ("error: see https://example.com/permission denied".to_owned(), vec![]),
            ("wrote /etc/evil".to_owned(), vec![]),
        ] {
            assert_eq!(refused(&message, &sandbox(dir.path())), expected, "{message}");
        }
    }

    #[test]
    fn last_messages_count() {
        let dir = tempfile::tempdir().unwrap();
        let lines: Vec<String> =
            (0..20).map(|n| format!("rm: cannot remove '/etc/{n}': Permission denied")).collect();
        assert_eq!(
            refused(&lines.join("\n"), &sandbox(dir.path())),
            ["/etc/19", "/etc/18", "/etc/17", "/etc/16", "/etc/15"]
        );
    }
}
