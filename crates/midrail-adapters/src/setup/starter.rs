//! The pack that a project begins with.

/// It builds on the shipped default pack; what else there could be stands in it as comments.
pub(super) const PACK: &str = include_str!("starter.yaml");

/// What of `.midrail` stays out of a repository.
pub(super) const IGNORE: &str = "# Copies of what `midrail init` changed: they may hold what only you should see.\nbackup/\n# What is yours alone.\nlocal/\n*.local.yaml\n*.db\n*.db-*\n*.key\n";
