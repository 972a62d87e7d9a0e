//! One row of the tables of what destroys: its type, and the words to write it down with.

use midrail_core::{Confidence, Severity};

/// What happens to the targets of a rule. How bad that is depends on the place of each: see [`super::place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// Whole folders go.
    Tree,
    /// Single files go.
    File,
    /// Files that a search picks go.
    Picked,
    /// Files are moved away from where they are looked for.
    Move,
    /// Files are replaced or changed.
    Write,
    /// The rights or the owner of whole folders change.
    Rights,
    /// The rights or the owner of single files change.
    FileRights,
    /// The content is handed to someone else.
    Upload,
    /// The content of files that give access is shown.
    Read,
    /// The content of personal files is shown.
    Look,
}

/// Which words of a command are its targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Targets {
    /// None that are files here: the rule's own severity counts.
    None,
    /// All operands after this many.
    Operands(usize),
    /// The last of several operands: where something is put.
    Last,
    /// All operands but the last: what is put somewhere.
    AllButLast,
    /// The values of these options.
    Options(&'static [&'static str]),
    /// The operands with this in front: `of=`.
    Keyed(&'static str),
    /// All that is in the operands, or in the folder that it runs in where there are none.
    ContentOrHere(usize),
    /// The files that a program text in the first operand prints onto: `awk '{print > "file"}'`.
    Printed,
    /// The values of these options after an `@`: what `curl` uploads.
    Uploads(&'static [&'static str]),
}

/// One row: a way to destroy something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// The name in findings.
    pub(super) id: &'static str,
    /// The programs that it is about.
    pub(super) programs: &'static [&'static str],
    /// It holds where one of these conditions does: see [`super::condition`].
    pub(super) when: &'static [&'static str],
    /// It does not hold where one of these conditions does.
    pub(super) unless: &'static [&'static str],
    /// How bad it is, where the place of a target does not say more.
    pub(super) severity: Severity,
    /// How sure a match is.
    pub(super) confidence: Confidence,
    /// What is lost, in words for the agent.
    pub(super) destroys: &'static str,
    /// What to do instead.
    pub(super) safer: &'static str,
    /// What happens to the targets.
    pub(super) loss: Loss,
    /// Which words are targets.
    pub(super) targets: Targets,
    /// Command lines that it must stop.
    pub(super) stops: &'static [&'static str],
    /// Command lines that it must let pass: near misses.
    pub(super) passes: &'static [&'static str],
}

/// A row that holds whatever the arguments are, until `when` says more.
pub(super) const fn rule(
    id: &'static str,
    programs: &'static [&'static str],
    severity: Severity,
    destroys: &'static str,
) -> Rule {
    Rule {
        id,
        programs,
        when: &[""],
        unless: &[],
        severity,
        confidence: Confidence::High,
        destroys,
        safer: "",
        loss: Loss::File,
        targets: Targets::None,
        stops: &[],
        passes: &[],
    }
}

impl Rule {
    /// The conditions, one of which must hold.
    pub(super) const fn when(mut self, when: &'static [&'static str]) -> Rule {
        self.when = when;
        self
    }

    /// The conditions, none of which may hold.
    pub(super) const fn unless(mut self, unless: &'static [&'static str]) -> Rule {
        self.unless = unless;
        self
    }

    /// It looks like it, but the form leaves some doubt.
    pub(super) const fn likely(mut self) -> Rule {
        self.confidence = Confidence::Medium;
        self
    }

    /// What to do instead.
    pub(super) const fn safer(mut self, safer: &'static str) -> Rule {
        self.safer = safer;
        self
    }

    /// What happens to which words: the place of each says how bad it is.
    pub(super) const fn hits(mut self, loss: Loss, targets: Targets) -> Rule {
        self.loss = loss;
        self.targets = targets;
        self
    }

    /// Command lines that must be stopped.
    pub(super) const fn stops(mut self, stops: &'static [&'static str]) -> Rule {
        self.stops = stops;
        self
    }

    /// Command lines that must pass.
    pub(super) const fn passes(mut self, passes: &'static [&'static str]) -> Rule {
        self.passes = passes;
        self
    }
}
