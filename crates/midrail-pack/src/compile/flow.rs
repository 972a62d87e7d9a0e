//! Labels and rules of information flow.

use std::collections::BTreeSet;
use std::sync::Arc;

use midrail_core::{CallClass, Condition, Guardrail, LabelRow, PRIVATE, TRUSTED, UNTRUSTED};
use midrail_guardrails::{Flow, FlowExcept};

use crate::compile::compiler::Compiler;
use crate::diagnostic::{did_you_mean, excerpt};
use crate::issue::Issue;
use crate::raw::{FlowText, FlowUnless, LabelText, Pack};

/// The longest name of a label.
const MAX_LABEL: usize = 64;

impl Compiler<'_> {
    /// Checks the rows of `labels`.
    pub(super) fn labels(&mut self) {
        let pack = self.pack;
        for (i, row) in pack.labels.iter().enumerate() {
            let at = format!("/labels/{i}");
            for (name, patterns) in [
                ("tools", &row.tools),
                ("hosts", &row.hosts),
                ("files", &row.files),
                ("senders", &row.senders),
            ] {
                self.patterns(&format!("{at}/{name}"), patterns);
            }
            self.row(&at, row);
        }
    }

    fn row(&mut self, at: &str, row: &LabelText) {
        let has_selector = !(row.tools.is_empty()
            && row.hosts.is_empty()
            && row.files.is_empty()
            && row.senders.is_empty()
            && row.mcp_annotations.is_empty());
        if !has_selector {
            let help = "add `tools`, `hosts`, `files`, `senders` or `mcp_annotations`";
            self.issue(at, "this row applies to nothing", help);
        }
        if row.seen.is_empty() && row.does.is_empty() {
            self.issue(at, "this row says nothing", "add `seen: untrusted` or `does: send`");
        }
        if !row.to.is_empty() && row.does.is_empty() {
            self.issue(format!("{at}/to"), "`to` needs `does`", "add `does: send`");
        }
        for (i, label) in row.seen.iter().enumerate() {
            self.label(&format!("{at}/seen/{i}"), label);
        }
        if row.seen.len() > 1 && row.seen.iter().any(|label| label == TRUSTED) {
            let help = "a source is trusted, or has labels; make them two rows";
            self.issue(format!("{at}/seen"), "`trusted` cannot be combined with labels", help);
        }
        for host in row.hosts.iter().filter(|host| host.contains('/')) {
            let message = format!("`{}` is not a host", excerpt(host));
            self.issue(format!("{at}/hosts"), message, "write its name without `https://` and path");
        }
        if let Some(until) = row.until.as_ref().filter(|until| until.parse::<jiff::Timestamp>().is_err()) {
            let message = format!("`{}` is not a time", excerpt(until));
            self.issue(format!("{at}/until"), message, "write a time such as `2026-11-15T18:00:00Z`");
        }
    }

    fn label(&mut self, at: &str, label: &str) {
        let is_allowed = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
        if label.is_empty() || label.len() > MAX_LABEL || !label.chars().all(is_allowed) {
            let message = format!("`{}` is not a valid label", excerpt(label));
            self.issue(at, message, "a label has letters, digits, `_`, `-` and `.`");
        }
    }

    /// A rule.
    pub(super) fn flow(
        &mut self,
        at: &str,
        flow: &FlowText,
        when: Option<Arc<dyn Condition>>,
    ) -> Option<Arc<dyn Guardrail>> {
        for (key, is_empty, help) in [
            ("after", flow.after.is_empty(), "write `after: untrusted`"),
            ("does", flow.does.is_empty(), "write `does: send`"),
        ] {
            if is_empty {
                self.issue(format!("{at}/{key}"), format!("`{key}` is empty"), help);
            }
        }
        for (i, label) in flow.after.iter().enumerate() {
            self.label(&format!("{at}/after/{i}"), label);
            if label == TRUSTED {
                let help = "it marks sources that may name destinations; write `after: untrusted`";
                self.issue(format!("{at}/after/{i}"), "`trusted` is not a label", help);
            }
        }
        let of_files = flow.of.as_ref().map(|of| of.files.0.clone()).unwrap_or_default();
        if flow.of.is_some()
            && (of_files.is_empty() || flow.does.iter().any(|class| *class != CallClass::Run))
        {
            let help = "write `does: run, of: {files: untrusted}`";
            self.issue(format!("{at}/of"), "`of` names the labels of files that a call runs", help);
        }
        let unless = match &flow.unless {
            None => None,
            Some(FlowUnless::Word(_)) => Some(FlowExcept::Named),
            Some(FlowUnless::To { to }) => {
                self.patterns(&format!("{at}/unless/to"), to);
                if to.is_empty() {
                    let help = "add a pattern such as `*@example.org`, or leave `unless` out";
                    self.issue(format!("{at}/unless/to"), "the list of destinations is empty", help);
                }
                Some(FlowExcept::To(to.0.clone()))
            }
        };
        let (after, does) = (flow.after.0.clone(), flow.does.0.clone());
        Some(Arc::new(Flow { after, does, of_files, unless, when }))
    }
}

/// The rows of several packs, the highest layer first. Below a pack that locks a flow rule, no row makes a source trusted.
pub(crate) fn label_rows<'p>(packs: impl Iterator<Item = &'p Pack>) -> Vec<LabelRow> {
    let mut rows = Vec::new();
    let mut is_locked = false;
    for pack in packs {
        let own = pack.labels.iter().map(|row| LabelRow {
            tools: row.tools.0.clone(),
            hosts: row.hosts.0.clone(),
            files: row.files.0.clone(),
            senders: row.senders.0.clone(),
            annotations: row.mcp_annotations.clone(),
            seen: row.seen.iter().filter(|label| !is_locked || *label != TRUSTED).cloned().collect(),
            does: row.does.0.clone(),
            to: row.to.0.clone(),
            until: row.until.as_ref().and_then(|until| until.parse().ok()),
        });
        rows.extend(own);
        is_locked |=
            pack.guardrails.iter().any(|guard| guard.flow.is_some() && guard.lock.unwrap_or(pack.lock));
    }
    rows
}

/// Labels of rules that no row of any pack sets.
pub(crate) fn unknown_labels(pack: &Pack, all: &[&Pack]) -> Vec<Issue> {
    let mut known: BTreeSet<&str> = BTreeSet::from([UNTRUSTED, PRIVATE]);
    known
        .extend(all.iter().flat_map(|pack| &pack.labels).flat_map(|row| row.seen.iter()).map(String::as_str));
    let mut issues = Vec::new();
    for (i, guard) in pack.guardrails.iter().enumerate() {
        let Some(flow) = &guard.flow else { continue };
        let of = flow
            .of
            .iter()
            .flat_map(|of| of.files.iter())
            .enumerate()
            .map(|(n, label)| (format!("of/files/{n}"), label));
        let after = flow.after.iter().enumerate().map(|(n, label)| (format!("after/{n}"), label));
        for (place, label) in
            after.chain(of).filter(|(_, label)| *label != TRUSTED && !known.contains(label.as_str()))
        {
            let message = format!("no row of `labels` sets `{}`", excerpt(label));
            let names: Vec<&str> = known.iter().copied().collect();
            let help = did_you_mean(label, names, |_| format!("add a row with `seen: {label}` to `labels`"));
            issues.push(Issue::new(format!("/guardrails/{i}/flow/{place}"), message).help(help));
        }
    }
    issues
}
