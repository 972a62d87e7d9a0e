//! Files that git takes back, in a real repository: only uncommitted changes can be lost.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use midrail::{Effect, Engine, Event};
use serde_json::json;

use crate::sessions::policy;

fn git(folder: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    let git =
        git.current_dir(folder).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(args);
    assert!(git.output().unwrap().status.success(), "{args:?}");
}

#[test]
fn files_without_changes_can_be_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    git(root, &["init", "-q"]);
    for name in ["clean.txt", "changed.txt"] {
        fs::write(root.join(name), "a").unwrap();
    }
    git(root, &["add", "-A"]);
    git(root, &["commit", "-qm", "x"]);
    fs::write(root.join("changed.txt"), "b and more").unwrap();
    let (policy, source) = policy("pack: t\nguardrails: [destructive-command]\n");
    let engine = Arc::new(Engine::builder(policy, &source).root(root).build().unwrap());
    for (line, expected) in [
        ("git restore clean.txt", Effect::Allow),
        ("git checkout -- clean.txt", Effect::Allow),
        ("git checkout clean.txt", Effect::Allow),
        ("git restore changed.txt", Effect::Escalate),
        ("git checkout -- clean.txt changed.txt", Effect::Escalate),
        ("git checkout HEAD~1 -- clean.txt", Effect::Escalate),
        ("git restore --source=HEAD~1 clean.txt", Effect::Escalate),
        ("git restore $FILE", Effect::Escalate),
        ("git restore .", Effect::Block),
    ] {
        let event = Event::before_tool("Bash", json!({"command": line}));
        let event = Event { cwd: Some(root.to_string_lossy().into_owned()), ..event };
        let decision = engine.session("s").decide(event);
        assert_eq!(decision.effect, expected, "{line}: {}", decision.reason);
    }
}
