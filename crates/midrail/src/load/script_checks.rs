//! Checks the scripts of a policy.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use midrail_pack::{Diagnostic, DiagnosticReport};

use super::pack_file::SCRIPT;
use super::{Load, LoadedPolicy};
use crate::paths;
use crate::scripts::{ScriptError, Scripts};

/// Files that look like the hooks of a layer and are not read, with what to do about each.
const UNREAD: &[(&str, &str)] = &[
    ("guardrails.ts", "compile it to `guardrails.js`: TypeScript is not read"),
    ("guardrails.mts", "compile it to `guardrails.js`: TypeScript is not read"),
    ("guardrails.mjs", "call it `guardrails.js`, or name it in a pack with `script: guardrails.mjs`"),
    ("guardrails.cjs", "write it as a module, with `export default`, and call it `guardrails.js`"),
];

impl Load {
    /// Files next to the packs that look like scripts and are not in force.
    pub fn unread_scripts(&self, loaded: &LoadedPolicy) -> Vec<DiagnosticReport> {
        let layers = || paths::layers(self.folder.as_deref()).into_iter().map(|(_, folder)| folder);
        let folders: Vec<PathBuf> =
            if self.packs.is_empty() { layers().collect() } else { self.packs.clone() };
        let named: BTreeSet<PathBuf> =
            loaded.script_files().iter().filter_map(|file| file.canonicalize().ok()).collect();
        let has_none = folders.iter().filter(|folder| folder.join(SCRIPT).symlink_metadata().is_err());
        let unread = has_none.flat_map(|folder| UNREAD.iter().map(|(name, help)| (folder.join(name), help)));
        unread
            .filter(|(path, _)| path.canonicalize().is_ok_and(|path| !named.contains(&path)))
            .map(|(path, help)| {
                let message = format!("this file is not in force: next to packs, only `{SCRIPT}` is read");
                let problem = Diagnostic::new(message, 0..0).with_help((*help).to_owned());
                DiagnosticReport::new(path.display().to_string(), "", vec![problem])
            })
            .collect()
    }
}

impl LoadedPolicy {
    /// The files of the policy's scripts.
    fn script_files(&self) -> BTreeSet<PathBuf> {
        let mut source = self.source.clone();
        let scripts = source.0.iter_mut().flat_map(|pack| pack.pack.scripts_mut());
        scripts.filter_map(|script| script.file.take().map(PathBuf::from)).collect()
    }

    /// The problems of the policy's scripts: those that do not load, or do not export what they should. A dry run also calls
    /// each hook once, without any files.
    pub fn script_problems(&self, dry_run: bool) -> Vec<DiagnosticReport> {
        self.script_files()
            .iter()
            .flat_map(|file| Scripts::check(file, dry_run).into_iter().map(|error| report(file, &error)))
            .collect()
    }
}

/// The report of a problem, at its place in the file.
fn report(path: &Path, error: &ScriptError) -> DiagnosticReport {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    // A problem in an imported file is reported without its text.
    let is_here = path.to_string_lossy().ends_with(&error.file);
    let at = error.at.filter(|_| is_here).map_or(0, |(line, column)| {
        let starts = text.split_inclusive('\n').map(str::len);
        let line_start: usize = starts.take(usize::try_from(line).unwrap_or(1).saturating_sub(1)).sum();
        let in_line = text.get(line_start..).unwrap_or_default().chars();
        let before = in_line.take(usize::try_from(column).unwrap_or(1).saturating_sub(1));
        line_start + before.map(char::len_utf8).sum::<usize>()
    });
    let end = (at + 1).min(text.len()).max(at);
    let message = if is_here { error.message.clone() } else { error.to_string() };
    let help = "try it with `midrail script run FILE --event EVENT`".to_owned();
    DiagnosticReport::new(
        path.display().to_string(),
        &text,
        vec![Diagnostic::new(message, at..end).with_help(help)],
    )
}
