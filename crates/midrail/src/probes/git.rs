//! The state of a git repository, read from its files. Git itself is not started, because the configuration of a
//! repository can make it run programs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use midrail_core::{Fact, GitState};

use crate::error::{Available, Unavailable};
use crate::paths::read_limited;

/// The largest file that is read, but for packed refs.
const MAX_FILE: u64 = 1 << 20;

/// The largest file of packed refs that is read.
const MAX_PACKED: u64 = 64 << 20;

/// The most settings of remotes that are read.
const MAX_REMOTES: usize = 256;

/// References that lead to each other.
const MAX_STEPS: usize = 5;

/// The state of the repository around a folder.
pub(crate) fn state(root: &Path) -> Available<Fact> {
    let state = find(root).and_then(|found| found.map(|repository| repository.state()).transpose());
    state.map(Fact::Git).map_err(|why| Unavailable::new(format!("the repository cannot be read: {why}")))
}

/// The address that the current branch is pushed to, or that of `origin`. `None`: there is none.
pub(super) fn remote(root: &Path) -> Available<Option<String>> {
    let Some(repository) = find(root)? else { return Ok(None) };
    let config = repository.config()?;
    if config.has_includes() {
        return Err("the configuration of the repository includes other files".into());
    }
    let branch = repository.state()?.branch;
    let of_branch = |key| branch.as_ref().and_then(|branch| config.get("branch", branch, key));
    let name = of_branch("pushremote").or_else(|| config.get("remote", "", "pushdefault"));
    let name = name.or_else(|| of_branch("remote")).unwrap_or("origin");
    let pushed = config.all("remote", name, "pushurl");
    let (urls, rewrites): (_, &[&str]) = if pushed.is_empty() {
        (config.all("remote", name, "url"), &["pushinsteadof", "insteadof"])
    } else {
        (pushed, &["insteadof"])
    };
    match urls.as_slice() {
        [] => Ok(None),
        [url] => Ok(Some(without_password(&config.rewritten(url, rewrites)))),
        _ => Err(format!("the remote `{name}` has several addresses").into()),
    }
}

/// An address without its password, which is no part of the name of a repository.
fn without_password(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let host = rest.split('/').next().unwrap_or_default();
            let rest = rest.get(host.rfind('@').map_or(0, |at| at + 1)..).unwrap_or_default();
            format!("{scheme}://{rest}")
        }
        None => url.to_owned(),
    }
}

/// The top of the work tree around a folder, and the folder of its own state.
pub(super) fn folders(root: &Path) -> Option<(PathBuf, PathBuf)> {
    find(root).ok().flatten().map(|repository| (repository.top, repository.own))
}

#[derive(Clone)]
pub(super) struct Repository {
    /// The top folder of the work tree.
    pub(super) top: PathBuf,
    /// The folder of this work tree's own state.
    pub(super) own: PathBuf,
    /// The folder that all work trees share.
    pub(super) common: PathBuf,
}

/// The nearest repository at or above a folder, as git looks for it.
pub(super) fn find(root: &Path) -> Available<Option<Repository>> {
    for folder in root.ancestors() {
        let entry = folder.join(".git");
        let Ok(metadata) = fs::metadata(&entry) else { continue };
        if metadata.is_file() {
            let text = read(&entry, MAX_FILE)?.unwrap_or_default();
            let Some(target) = text.strip_prefix("gitdir:") else {
                return Err(format!("`{}` leads nowhere", entry.display()).into());
            };
            let own = normal(&folder.join(target.trim()));
            let repository = Repository::new(folder, own)?;
            if !repository.is_whole() {
                return Err(format!("`{}` is no repository", repository.own.display()).into());
            }
            return Ok(Some(repository));
        }
        let repository = Repository::new(folder, entry)?;
        // Git passes over a folder that only bears the name.
        if repository.is_whole() {
            return Ok(Some(repository));
        }
    }
    Ok(None)
}

impl Repository {
    fn new(top: &Path, own: PathBuf) -> Available<Self> {
        let common = match read(&own.join("commondir"), MAX_FILE)? {
            Some(text) => normal(&own.join(text.trim())),
            None => own.clone(),
        };
        Ok(Repository { top: top.to_owned(), own, common })
    }

    fn is_whole(&self) -> bool {
        let has_head = self.own.join("HEAD").symlink_metadata().is_ok();
        has_head && self.common.join("objects").is_dir() && self.common.join("refs").is_dir()
    }

    pub(super) fn state(&self) -> Available<GitState> {
        let config = self.config()?;
        if let Some(format) = config.get("extensions", "", "refstorage").filter(|format| *format != "files") {
            return Err(format!("it keeps its references as `{format}`, which is not known here").into());
        }
        let head = read(&self.own.join("HEAD"), MAX_FILE)?.ok_or("it has no HEAD")?;
        let (branch, head) = match head.strip_prefix("ref:").map(str::trim) {
            Some(name) => {
                (Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()), self.resolve(name)?)
            }
            None => (None, Some(commit(&head)?)),
        };
        let upstream = branch.as_ref().and_then(|branch| {
            let remote = config.get("branch", branch, "remote")?;
            let merge = config.get("branch", branch, "merge")?;
            Some(format!("{remote}/{}", merge.strip_prefix("refs/heads/").unwrap_or(merge)))
        });
        let branch_remote = branch.as_ref().and_then(|branch| config.get("branch", branch, "pushremote"));
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Ok(GitState {
            branch,
            head,
            top: text(&self.top),
            common: text(&self.common),
            upstream,
            aliases: config.aliases(),
            remotes: config.remotes(),
            push_remote: branch_remote.or_else(|| config.get("remote", "", "pushdefault")).map(str::to_owned),
            push_default: config.get("push", "", "default").map(str::to_owned),
        })
    }

    fn config(&self) -> Available<Config> {
        Ok(Config::parse(&read(&self.common.join("config"), MAX_FILE)?.unwrap_or_default()))
    }

    /// The commit of the upstream branch, as of the last fetch. `None`: there is none.
    pub(super) fn upstream_commit(&self) -> Available<Option<String>> {
        let config = self.config()?;
        let Some(branch) = self.state()?.branch else { return Ok(None) };
        let of_branch = |key| config.get("branch", &branch, key);
        let (Some(remote), Some(merge)) = (of_branch("remote"), of_branch("merge")) else { return Ok(None) };
        if remote == "." {
            return self.resolve(merge);
        }
        let short = merge.strip_prefix("refs/heads/").unwrap_or(merge);
        self.resolve(&format!("refs/remotes/{remote}/{short}"))
    }

    /// The commit that a reference leads to. `None`: there is none yet.
    fn resolve(&self, name: &str) -> Available<Option<String>> {
        let mut name = name.to_owned();
        for _ in 0..MAX_STEPS {
            if !is_reference(&name) {
                return Err("a reference has a name that no reference has".into());
            }
            let mut loose = None;
            for folder in [&self.own, &self.common] {
                loose = loose.or(read(&folder.join(&name), MAX_FILE)?);
            }
            match loose {
                None => return self.packed(&name),
                Some(text) => match text.strip_prefix("ref:") {
                    Some(next) => name = next.trim().to_owned(),
                    None => return commit(&text).map(Some),
                },
            }
        }
        Err("its references lead to each other without end".into())
    }

    fn packed(&self, name: &str) -> Available<Option<String>> {
        let text = read(&self.common.join("packed-refs"), MAX_PACKED)?.unwrap_or_default();
        let line = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, found)| *found == name);
        line.map(|(id, _)| commit(id)).transpose()
    }
}

/// The name of a commit, if that is what it is.
fn commit(text: &str) -> Available<String> {
    let id = text.trim();
    let is_id = matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Ok(id.to_owned()) } else { Err("a reference does not name a commit".into()) }
}

/// Whether a name is that of a reference, and leads to no other file.
fn is_reference(name: &str) -> bool {
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    name.starts_with("refs/")
        && name.len() <= 1_024
        && !name.contains(char::is_control)
        && Path::new(name).components().all(is_plain)
}

/// The text of a file that may be missing.
fn read(path: &Path, limit: u64) -> Available<Option<String>> {
    let failed = |error: io::Error| Unavailable::new(format!("`{}`: {error}", path.display()));
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    }
    let too_large = || format!("`{}` is larger than {limit} bytes", path.display());
    let bytes = read_limited(path, limit).map_err(failed)?.ok_or_else(too_large)?;
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

/// A path without `.` and `..`, by the disk where it is there.
fn normal(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// A configuration of git: section, subsection, key, value. Files that it includes are not read.
struct Config(Vec<(String, String, String, String)>);

impl Config {
    fn parse(text: &str) -> Config {
        let mut found = Vec::new();
        let (mut section, mut sub) = (String::new(), String::new());
        let text = text.replace("\\\r\n", "").replace("\\\n", "");
        for line in text.lines().map(str::trim) {
            let line = match line.strip_prefix('[') {
                Some(header) => {
                    let Some((name, quoted, rest)) = parse_header(header) else { continue };
                    (section, sub) = (name, quoted);
                    rest.trim()
                }
                None => line,
            };
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, "true"));
            let key = key.trim().to_ascii_lowercase();
            found.push((section.clone(), sub.clone(), key, unquoted(value.trim())));
        }
        Config(found)
    }

    /// The last value counts.
    fn get(&self, section: &str, sub: &str, key: &str) -> Option<&str> {
        let fits = |entry: &&(String, String, String, String)| {
            entry.0 == section && entry.1 == sub && entry.2 == key
        };
        self.0.iter().rev().find(fits).map(|entry| entry.3.as_str())
    }

    /// All values of a key.
    fn all(&self, section: &str, sub: &str, key: &str) -> Vec<&str> {
        let fits = self.0.iter().filter(|entry| entry.0 == section && entry.1 == sub && entry.2 == key);
        fits.map(|entry| entry.3.as_str()).collect()
    }

    /// Whether other files, which are not read, belong to it.
    fn has_includes(&self) -> bool {
        self.0.iter().any(|(section, ..)| matches!(section.as_str(), "include" | "includeif"))
    }

    /// An address after the rules `url.NEW.insteadOf = OLD`: the longest match of the first kind of rule that has one.
    fn rewritten(&self, url: &str, kinds: &[&str]) -> String {
        let of_kind = |kind: &str| {
            let rules = self.0.iter().filter(|(section, _, key, _)| section == "url" && key == kind);
            let fitting = rules.filter_map(|(_, new, _, old)| Some((new, url.strip_prefix(old.as_str())?)));
            fitting.min_by_key(|(_, rest)| rest.len()).map(|(new, rest)| format!("{new}{rest}"))
        };
        kinds.iter().find_map(|kind| of_kind(kind)).unwrap_or_else(|| url.to_owned())
    }

    /// The addresses that are pushed to, by remote. Empty if other files may add to them.
    fn remotes(&self) -> BTreeMap<String, String> {
        let names = self.0.iter().filter(|(section, sub, ..)| section == "remote" && !sub.is_empty());
        let mut remotes = BTreeMap::new();
        for (_, name, ..) in names.filter(|_| !self.has_includes()).take(MAX_REMOTES) {
            let push = self.get("remote", name, "pushurl").map(|url| self.rewritten(url, &["insteadof"]));
            let fetch =
                || Some(self.rewritten(self.get("remote", name, "url")?, &["pushinsteadof", "insteadof"]));
            if let Some(url) = push.or_else(fetch) {
                remotes.insert(name.clone(), without_password(&url));
            }
        }
        remotes
    }

    /// The names for commands. The last one counts.
    fn aliases(&self) -> BTreeMap<String, String> {
        let all = self.0.iter().filter(|(section, sub, ..)| section == "alias" && sub.is_empty());
        let mut aliases = BTreeMap::new();
        for (_, _, name, body) in all {
            if aliases.len() < MAX_ALIASES || aliases.contains_key(name) {
                aliases.insert(name.clone(), recorded_alias(body));
            }
        }
        aliases
    }
}

/// The most aliases of a repository, and the most characters of each.
const MAX_ALIASES: usize = 64;
const MAX_ALIAS: usize = 300;

/// Commands of git that change branches.
const DEEDS: &str = "\
    push send-pack commit merge pull rebase reset branch checkout switch cherry-pick revert am \
    update-ref fetch worktree symbolic-ref";

/// An alias as records show it: without addresses, which can contain passwords, and for shell commands only the git
/// subcommands.
fn recorded_alias(body: &str) -> String {
    let words = body.split_whitespace();
    if body.starts_with('!') {
        let bare =
            |word: &str| word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-').to_owned();
        let deeds: Vec<String> =
            words.map(bare).filter(|word| DEEDS.split(' ').any(|deed| deed == word)).collect();
        return format!("!{}", deeds.join(" ")).chars().take(MAX_ALIAS).collect();
    }
    let word = |word: &str| {
        if word.contains("://") || word.contains('@') { "…".to_owned() } else { word.to_owned() }
    };
    words.map(word).collect::<Vec<_>>().join(" ").chars().take(MAX_ALIAS).collect()
}

/// The name of a section, its subsection, and the text after the bracket.
fn parse_header(text: &str) -> Option<(String, String, &str)> {
    let end = text.find([']', '"'])?;
    let name = text.get(..end)?.trim();
    if text.get(end..)?.starts_with(']') {
        let (name, sub) = name.split_once('.').unwrap_or((name, ""));
        return Some((name.to_ascii_lowercase(), sub.to_ascii_lowercase(), text.get(end + 1..)?));
    }
    let mut sub = String::new();
    let mut chars = text.get(end + 1..)?.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => sub.extend(chars.next().map(|(_, c)| c)),
            '"' => {
                let rest = text.get(end + 1 + at + 1..)?;
                return Some((name.to_ascii_lowercase(), sub, rest.trim_start().strip_prefix(']')?));
            }
            c => sub.push(c),
        }
    }
    None
}

/// A value without its quotes, escapes and the comment behind it.
fn unquoted(text: &str) -> String {
    let (mut value, mut in_quotes) = (String::new(), false);
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(c) => value.push(c),
                None => {}
            },
            '"' => in_quotes = !in_quotes,
            '#' | ';' if !in_quotes => break,
            c => value.push(c),
        }
    }
    value.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn write(root: &Path, name: &str, content: impl AsRef<[u8]>) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A repository at a branch without a commit.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
        write(&root, ".git/HEAD", "ref: refs/heads/main\n");
        (folder, root)
    }

    fn at(root: &Path) -> GitState {
        match state(root).unwrap() {
            Fact::Git(Some(state)) => state,
            other => panic!("{other:?}"),
        }
    }

    fn problem(root: &Path) -> String {
        state(root).unwrap_err().to_string()
    }

    #[test]
    fn a_branch_is_read_loose_before_packed() {
        let (_folder, root) = repository();
        assert_eq!(
            at(&root),
            GitState {
                branch: Some("main".into()),
                top: root.display().to_string(),
                common: root.join(".git").display().to_string(),
                ..GitState::default()
            }
        );
        write(&root, ".git/packed-refs", format!("# pack-refs\n{TWO} refs/heads/main\n^{ONE}\n"));
        assert_eq!(at(&root).head.as_deref(), Some(TWO));
        write(&root, ".git/refs/heads/main", format!("{ONE}\n"));
        assert_eq!(at(&root).head.as_deref(), Some(ONE));
        fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(at(&root.join("a/b")).top, root.display().to_string());
    }

    #[test]
    fn a_detached_head_is_on_no_branch() {
        let (_folder, root) = repository();
        write(&root, ".git/HEAD", format!("{ONE}\n"));
        let state = at(&root);
        assert_eq!((state.branch, state.head.as_deref()), (None, Some(ONE)));
    }

    #[test]
    fn the_upstream_is_read_from_the_configuration() {
        let (_folder, root) = repository();
        write(&root, ".git/HEAD", "ref: refs/heads/feat/\"x\n");
        let config = "[core]\n\tbare = false\n[Branch \"feat/\\\"x\"] ; ours\n\tRemote = \"up stream\" # no\n\
                      \tmerge = refs/heads/\\\nmain\n[branch \"other\"]\nremote = no\n";
        write(&root, ".git/config", config);
        assert_eq!(at(&root).upstream.as_deref(), Some("up stream/main"));
    }

    #[test]
    fn the_address_is_the_one_that_is_pushed_to() {
        let (_folder, root) = repository();
        write(&root, ".git/HEAD", "ref: refs/heads/main\n");
        let origin = "[remote \"origin\"]\nurl = https://me:x@ok/x.git\n";
        for (more, address) in [
            ("", Some("https://ok/x.git")),
            ("pushurl = https://evil/x\n", Some("https://evil/x")),
            ("[url \"https://evil/\"]\npushInsteadOf = https://me:x@ok/\n", Some("https://evil/x.git")),
            ("[url \"https://evil/\"]\ninsteadOf = https://\n", Some("https://evil/me:x@ok/x.git")),
            ("[remote]\npushDefault = b\n[remote \"b\"]\nurl = https://b\n", Some("https://b")),
            ("[branch \"main\"]\npushRemote = b\n[remote \"b\"]\nurl = https://b\n", Some("https://b")),
            ("url = https://second\n", None),
            ("[include]\npath = more\n", None),
        ] {
            write(&root, ".git/config", format!("{origin}{more}"));
            assert_eq!(remote(&root).ok().flatten().as_deref(), address, "{more}");
        }
    }

    #[test]
    fn aliases_are_read_without_secrets() {
        let (_folder, root) = repository();
        let config = "[alias]\n\tP = push\n\tship = \"push origin HEAD:main\" ; now\n\tp = push -f\n\
                      \tmirror = push https://me:hunter2@host/x main\n\
                      \tland = \"!f() { git merge main && TOKEN=hunter2 git push; }; f\"\n\tll = !ls -l\n\
                      [push]\n\tdefault = matching\n[alias \"sub\"]\n\tx = push\n";
        write(&root, ".git/config", config);
        let state = at(&root);
        let aliases: Vec<(&str, &str)> =
            state.aliases.iter().map(|(name, body)| (name.as_str(), body.as_str())).collect();
        assert_eq!(
            aliases,
            [
                ("land", "!merge push"),
                ("ll", "!"),
                ("mirror", "push … main"),
                ("p", "push -f"),
                ("ship", "push origin HEAD:main"),
            ]
        );
        assert_eq!(state.push_default.as_deref(), Some("matching"));
    }

    #[test]
    fn a_work_tree_has_its_own_head_and_shares_the_rest() {
        let (_folder, root) = repository();
        write(&root, ".git/refs/heads/main", ONE);
        write(&root, ".git/refs/heads/side", TWO);
        write(&root, ".git/worktrees/side/HEAD", "ref: refs/heads/side\n");
        write(&root, ".git/worktrees/side/commondir", "../..\n");
        write(&root, "elsewhere/.git", format!("gitdir: {}\n", root.join(".git/worktrees/side").display()));
        let state = at(&root.join("elsewhere"));
        assert_eq!((state.branch.as_deref(), state.head.as_deref()), (Some("side"), Some(TWO)));
        assert_eq!(state.top, root.join("elsewhere").display().to_string());
        assert_eq!(state.common, root.join(".git").display().to_string());
    }

    #[test]
    fn no_repository_is_no_error() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(state(folder.path()), Ok(Fact::Git(None)));
        // A folder that only bears the name is passed over, as git does.
        fs::create_dir_all(folder.path().join(".git")).unwrap();
        assert_eq!(state(folder.path()), Ok(Fact::Git(None)));
    }

    #[test]
    fn hostile_content_is_reported_and_not_followed() {
        let (_folder, root) = repository();
        write(&root, "secret", ONE);
        for head in ["ref: refs/heads/../../../secret", "ref: /etc/passwd", "ref: secret", "nonsense", ""] {
            write(&root, ".git/HEAD", head);
            assert!(problem(&root).contains("cannot be read"), "{head}");
        }
        write(&root, ".git/HEAD", "ref: refs/heads/a");
        write(&root, ".git/refs/heads/a", "ref: refs/heads/b");
        write(&root, ".git/refs/heads/b", "ref: refs/heads/a");
        assert!(problem(&root).contains("without end"));
        write(&root, ".git/HEAD", "x".repeat(usize::try_from(MAX_FILE).unwrap() + 1));
        assert!(problem(&root).contains("larger than"));
        write(&root, ".git/HEAD", "ref: refs/heads/main");
        write(&root, ".git/config", "[extensions]\nrefStorage = reftable\n");
        assert!(problem(&root).contains("reftable"));
        write(&root, ".git/config", "[branch \"\n[[[\n=\n[x\"y\\");
        assert_eq!(at(&root).upstream, None);
        write(&root, "broken/.git", "gitdir: /no/such/place");
        assert!(problem(&root.join("broken")).contains("is no repository"));
    }

    /// Where git is at hand, it says the same.
    #[test]
    fn git_agrees() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let git = |args: &[&str]| -> Option<String> {
            let mut command = Command::new("git");
            command.args(["-c", "user.name=a", "-c", "user.email=a@b.c"]).args(args).current_dir(&root);
            command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
            let output = command.output().ok()?;
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap().trim().to_owned())
        };
        if git(&["init", "-q", "-b", "trunk"]).is_none() {
            return;
        }
        git(&["commit", "-q", "--allow-empty", "-m", "first"]).unwrap();
        git(&["pack-refs", "--all"]).unwrap();
        git(&["branch", "side"]).unwrap();
        git(&["branch", "-q", "--set-upstream-to", "trunk", "side"]).unwrap();
        git(&["worktree", "add", "-q", "tree", "side"]).unwrap();
        let state = at(&root);
        assert_eq!(state.branch.as_deref(), Some("trunk"));
        assert_eq!(state.head, git(&["rev-parse", "HEAD"]));
        let tree = at(&root.join("tree"));
        assert_eq!((tree.branch.as_deref(), tree.upstream.as_deref()), (Some("side"), Some("./trunk")));
        assert_eq!((tree.head, tree.common), (state.head, state.common));
    }
}
