//! The guardrails that an event concerns, indexed by the programs that it starts: the cost of a decision does not grow
//! with the number of guardrails for other programs.

use std::collections::{BTreeMap, BTreeSet};

/// What a guardrail does with an event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Role {
    pub(crate) checks: bool,
    pub(crate) observes: bool,
}

/// The index of an entry, and its role.
pub(crate) type Link = (usize, Role);

/// The guardrails of a kind of event and a tool, in order.
pub(crate) struct Chain {
    links: Vec<Link>,
    /// The positions of links that apply whatever programs are started.
    general: Vec<usize>,
    /// The positions of the others, by program.
    by_program: BTreeMap<String, Vec<usize>>,
}

impl Chain {
    /// A chain of links, each with the only programs that it concerns.
    pub(crate) fn new<'p>(links: impl Iterator<Item = (Link, Option<&'p [String]>)>) -> Self {
        let mut chain = Chain { links: Vec::new(), general: Vec::new(), by_program: BTreeMap::new() };
        for (at, (link, programs)) in links.enumerate() {
            chain.links.push(link);
            match programs {
                None => chain.general.push(at),
                Some(programs) => {
                    for program in programs.iter().collect::<BTreeSet<_>>() {
                        chain.by_program.entry(program.clone()).or_default().push(at);
                    }
                }
            }
        }
        chain
    }

    /// The entry of the first link that concerns only some programs. Its condition reads which programs an event starts.
    pub(crate) fn program_reader(&self) -> Option<usize> {
        let first = self.by_program.values().flatten().min()?;
        self.links.get(*first).map(|(at, _)| *at)
    }

    /// The links that can apply to an event that starts these programs, in order.
    pub(crate) fn links_for(&self, started: &StartedPrograms) -> Vec<Link> {
        let of_programs: Vec<&Vec<usize>> = match started {
            StartedPrograms::Unknown => return self.links.clone(),
            StartedPrograms::Pending => Vec::new(),
            StartedPrograms::Known(names) => {
                names.iter().filter_map(|name| self.by_program.get(name)).collect()
            }
        };
        let mut positions: Vec<usize> =
            self.general.iter().chain(of_programs.into_iter().flatten()).copied().collect();
        positions.sort_unstable();
        positions.dedup();
        positions.into_iter().filter_map(|at| self.links.get(at).copied()).collect()
    }
}

/// The programs that an event starts.
pub(crate) enum StartedPrograms {
    /// It may start any.
    Unknown,
    /// They depend on values that have yet to be fetched, before the event is evaluated again.
    Pending,
    /// It starts these.
    Known(BTreeSet<String>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain() -> Chain {
        let role = Role { checks: true, observes: false };
        let programs =
            [None, Some(vec!["git".to_owned()]), None, Some(vec!["npm".to_owned(), "git".to_owned()])];
        let links = programs.iter().enumerate().map(|(at, programs)| ((at, role), programs.as_deref()));
        Chain::new(links)
    }

    fn positions(started: &StartedPrograms) -> Vec<usize> {
        chain().links_for(started).into_iter().map(|(at, _)| at).collect()
    }

    #[test]
    fn guardrails_for_other_programs_are_left_out() {
        let started = |names: &[&str]| {
            positions(&StartedPrograms::Known(names.iter().map(|name| (*name).to_owned()).collect()))
        };
        assert_eq!(started(&["git"]), [0, 1, 2, 3]);
        assert_eq!(started(&["npm"]), [0, 2, 3]);
        assert_eq!(started(&["ls"]), [0, 2]);
        assert_eq!(started(&["other", "npm"]), [0, 2, 3]);
        assert_eq!(started(&[]), [0, 2]);
        assert_eq!(chain().program_reader(), Some(1));
    }

    #[test]
    fn programs_that_are_not_known_concern_all() {
        assert_eq!(positions(&StartedPrograms::Unknown), [0, 1, 2, 3]);
        assert_eq!(positions(&StartedPrograms::Pending), [0, 2]);
    }
}
