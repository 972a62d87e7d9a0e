//! Commands that change files which the command line does not name: `git pull`, `tar xf a.tar`.

use std::sync::LazyLock;

use midrail_core::CommandCall;

use super::command_pattern::{CommandPattern, Fit};
use crate::words::shell::{CONTAINER_COPIERS, TREE_CHANGES, TREE_PREVIEWS, UNPACKERS};

static CHANGES: LazyLock<Vec<CommandPattern>> = LazyLock::new(|| patterns(TREE_CHANGES));
static PREVIEWS: LazyLock<Vec<CommandPattern>> = LazyLock::new(|| patterns(TREE_PREVIEWS));

fn patterns(texts: &[&str]) -> Vec<CommandPattern> {
    texts.iter().filter_map(|text| CommandPattern::parse(text).ok()).collect()
}

/// Whether a command may change any file of the folder that it runs in, without naming it.
pub fn may_change_any_file(call: &CommandCall) -> bool {
    if UNPACKERS.contains(call.program.as_str()) {
        return unpacks_here(call);
    }
    let fits =
        |patterns: &[CommandPattern], least: Fit| patterns.iter().any(|pattern| pattern.fit(call) >= least);
    // `git apply --stat --apply` changes files all the same.
    let is_preview = fits(&PREVIEWS, Fit::Yes) && !call.args.iter().any(|arg| arg == "--apply");
    fits(&CHANGES, Fit::Unknown) && !is_preview && !only_names_a_branch(call) && !copies_away(call)
}

/// `docker cp file container:/folder`: only the container changes.
fn copies_away(call: &CommandCall) -> bool {
    CONTAINER_COPIERS.contains(call.program.as_str())
        && call.args.iter().any(|arg| arg == "cp")
        && call.unknown.is_empty()
        && !call.has_more_args
        && call.args.last().is_some_and(|to| to.contains(':'))
}

/// Whether an archive is unpacked into the folder that the command runs in. Other folders are among the files that it writes.
fn unpacks_here(call: &CommandCall) -> bool {
    let has = |names: &[&str]| call.args.iter().any(|arg| names.iter().any(|name| arg.starts_with(name)));
    let first = call.args.first().map_or("", |arg| arg.trim_start_matches('-'));
    match call.program.as_str() {
        "tar" | "bsdtar" | "gtar" => {
            let is_letters = !call.args.first().is_some_and(|arg| arg.starts_with("--"));
            let unpacks = (is_letters && first.contains('x'))
                || has(&["--extract", "--get", "-x"])
                || !call.unknown.is_empty();
            unpacks && !has(&["-C", "--directory", "--cd", "--one-top-level"])
        }
        "unzip" => !has(&["-d", "-l", "-t", "-p", "-v", "-Z"]),
        "7z" | "7za" | "7zr" | "unrar" => matches!(first, "x" | "e") && !has(&["-o"]),
        "cpio" | "bsdcpio" => has(&["-i", "--extract", "-p"]),
        "pax" => has(&["-r"]),
        "ar" | "jar" => first.contains('x'),
        _ => true,
    }
}

/// `git switch -c name`, `git checkout -b name`: the files stay as they are.
fn only_names_a_branch(call: &CommandCall) -> bool {
    let args: Vec<&str> = call.args.iter().map(String::as_str).collect();
    call.program == "git"
        && call.unknown.is_empty()
        && !call.has_more_args
        && matches!(args.as_slice(), ["switch", "-c" | "--create", name] | ["checkout", "-b", name] if !name.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::analyse;

    #[test]
    fn commands_that_change_unnamed_files_are_found() {
        let changes = |line: &str| analyse(line).commands.iter().any(may_change_any_file);
        for line in [
            "git apply p.diff",
            "git am < p.mbox",
            "git checkout other",
            "git checkout HEAD~1 -- src",
            "git checkout -b x origin/main",
            "git switch main",
            "git stash",
            "git stash pop",
            "git stash apply",
            "git reset --hard HEAD~1",
            "git merge x",
            "git -C . pull --rebase",
            "git rebase main",
            "git cherry-pick x",
            "git revert HEAD",
            "git clean -fd",
            "git restore .",
            "sudo git pull",
            "git $X",
            "tar xf a.tar",
            "tar -xzf a.tgz",
            "tar --extract -f a.tar",
            "tar -z -x -f a.tgz",
            "unzip a.zip",
            "patch -p1 < x.diff",
            "gh pr checkout 3",
            "git apply --stat --apply x",
            "curl --output-dir src -O https://example.com/u",
            "curl --remote-name-all https://example.com/u",
            "wget -r https://example.com/u",
            "aria2c https://example.com/u",
            "docker cp c:/x src",
            "kubectl -n shop cp p:/x src/a.rs",
            "git worktree add src/x",
            "git clone https://example.com/u",
            "git svn rebase",
            "git format-patch -o src",
            "comby -i a b .rs",
            "ast-grep run -p a -r b -U",
            "protoc --rust_out=src a.proto",
            "npm install",
            "npm ci",
            "cargo update",
        ] {
            assert!(changes(line), "{line}");
        }
        for line in [
            "git status",
            "git commit -m x",
            "git push",
            "git switch -c x",
            "git checkout -b x",
            "git stash list",
            "git reset HEAD a",
            "git clean -n",
            "git apply --check p.diff",
            "tar cf a.tar x",
            "tar tf a.tar",
            "tar xf a.tar -C /tmp/x",
            "unzip -l a.zip",
            "unzip a.zip -d /tmp/x",
            "cargo build",
            "docker cp src c:/x",
            "kubectl cp src/a.rs p:/x",
            "curl https://example.com/u",
            "git worktree list",
            "git format-patch --stdout main",
            "npm run build",
            "npm install --dry-run",
            "ast-grep run -p a",
            "comby a b .rs",
        ] {
            assert!(!changes(line), "{line}");
        }
    }
}
