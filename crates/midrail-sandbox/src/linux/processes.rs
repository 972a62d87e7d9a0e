//! The processes that a process started, and all that those started.

use std::collections::BTreeMap;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, wait};

/// All processes below a process.
fn below(root: Pid) -> Vec<Pid> {
    let mut listed: Option<BTreeMap<i32, Vec<i32>>> = None;
    let mut found = Vec::new();
    let mut waiting = vec![root.as_raw_nonzero().get()];
    while let Some(id) = waiting.pop() {
        let started =
            children(id).unwrap_or_else(|| listed.get_or_insert_with(all).remove(&id).unwrap_or_default());
        found.extend(started.iter().filter_map(|id| Pid::from_raw(*id)));
        waiting.extend(started);
    }
    found
}

/// The processes that a process started. `None`: this kernel does not list them, or the process has ended.
fn children(id: i32) -> Option<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{id}/task")).ok()?.flatten() {
        let text = fs::read_to_string(thread.path().join("children")).ok()?;
        found.extend(text.split_whitespace().filter_map(|id| id.parse::<i32>().ok()));
    }
    Some(found)
}

/// The processes of this machine, by their parents.
fn all() -> BTreeMap<i32, Vec<i32>> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    for id in entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()) {
        if let Some(parent) = parent(id) {
            children.entry(parent).or_default().push(id);
        }
    }
    children
}

/// The parent of a process that has not ended.
fn parent(id: i32) -> Option<i32> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name before is in parentheses, and may hold any text.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

/// Sends a signal to all processes below this one, until no new ones are found.
fn signal_all(signal: Signal) -> Vec<Pid> {
    let mut seen: Vec<Pid> = Vec::new();
    loop {
        let new: Vec<Pid> = below(getpid()).into_iter().filter(|id| !seen.contains(id)).collect();
        if new.is_empty() {
            return seen;
        }
        for id in &new {
            // It may have ended meanwhile.
            let _ = kill_process(*id, signal);
        }
        seen.extend(new);
    }
}

/// Stops all processes below this one while something is done that they must not see half done.
pub(super) fn paused<T>(action: impl FnOnce() -> T) -> T {
    let stopped = signal_all(Signal::STOP);
    let done = action();
    for id in stopped {
        let _ = kill_process(id, Signal::CONT);
    }
    done
}

/// Kills all processes below this one and waits for their ends. Orphans must become children of this process.
pub(super) fn kill_all() {
    while has_children() {
        signal_all(Signal::KILL);
        // Ends that are not collected yet.
        let _ = wait(WaitOptions::empty());
    }
}

/// Whether this process has children that have not ended. The ends of others are collected.
pub(super) fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(None) => return true,
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
