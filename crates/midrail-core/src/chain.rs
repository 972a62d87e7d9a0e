//! The guardrails that an event concerns, indexed by the programs that its command line starts: the cost of a decision does not grow
//! with the number of guardrails for other programs.

use std::collections::{BTreeMap, BTreeSet};

use crate::action::Action;

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

    /// The links that can apply to an action, in order. `None`: what the event does is not known.
    pub(crate) fn links_for(&self, action: Option<&Action>) -> Vec<Link> {
        let programs = action.filter(|_| !self.by_program.is_empty()).and_then(programs);
        let Some(programs) = programs else { return self.links.clone() };
        let of_programs = programs.into_iter().filter_map(|program| self.by_program.get(program)).flatten();
        let mut positions: Vec<usize> = self.general.iter().chain(of_programs).copied().collect();
        positions.sort_unstable();
        positions.dedup();
        positions.into_iter().filter_map(|at| self.links.get(at).copied()).collect()
    }
}

/// The names of all programs that an action starts. `None`: it may start others.
fn programs(action: &Action) -> Option<BTreeSet<&str>> {
    let runs_files = [&action.scripts, &action.hooks, &action.feeds].iter().any(|files| !files.is_empty());
    if runs_files || action.is_partial || action.has_more_commands || action.has_unknown_programs {
        return None;
    }
    let mut names = BTreeSet::new();
    for call in &action.commands {
        if call.program.is_empty() {
            return None;
        }
        names.insert(call.program.as_str());
        names.extend(call.path.as_deref().and_then(|path| path.rsplit('/').next()));
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::action::CommandCall;

    fn positions(action: Option<&Action>) -> Vec<usize> {
        let role = Role { checks: true, observes: false };
        let programs =
            [None, Some(vec!["git".to_owned()]), None, Some(vec!["npm".to_owned(), "git".to_owned()])];
        let links = programs.iter().enumerate().map(|(at, programs)| ((at, role), programs.as_deref()));
        Chain::new(links).links_for(action).into_iter().map(|(at, _)| at).collect()
    }

    fn action(program: &str, path: Option<&str>) -> Action {
        let call =
            CommandCall { program: program.into(), path: path.map(str::to_owned), ..CommandCall::default() };
        Action { commands: vec![call], ..Action::default() }
    }

    #[test]
    fn guardrails_for_other_programs_are_left_out() {
        assert_eq!(positions(Some(&action("git", None))), [0, 1, 2, 3]);
        assert_eq!(positions(Some(&action("npm", None))), [0, 2, 3]);
        assert_eq!(positions(Some(&action("ls", None))), [0, 2]);
        assert_eq!(positions(Some(&action("other", Some("./bin/npm")))), [0, 2, 3]);
        assert_eq!(positions(Some(&Action::default())), [0, 2]);
    }

    #[test]
    fn what_is_not_known_concerns_all() {
        let script = Action { scripts: vec!["a.sh".into()], ..action("sh", None) };
        let unknown = Action { has_unknown_programs: true, ..action("ls", None) };
        for action in [None, Some(&script), Some(&unknown), Some(&action("", None))] {
            assert_eq!(positions(action), [0, 1, 2, 3]);
        }
    }
}
