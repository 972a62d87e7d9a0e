//! The permission rules of a host: where they are kept, and how they are read and written.

use serde_json::Value;

use super::pack::Imported;
use super::rule::{FileScope, HostPolicy, PolicyFile, PolicyRule};
use super::unpack::{Unpacked, unpack};
use super::writer::{Exported, Writer};

/// The permission rules of a host.
#[derive(Debug)]
pub struct PolicyFormat {
    /// The name of the host on the command line, and in the ids of imported guardrails.
    pub name: &'static str,
    /// The name of the host in texts.
    pub title: &'static str,
    /// The folder of a user, if it is not that of the hooks: a variable that moves it, its default below the home, and a
    /// folder below that.
    pub(crate) user_folder: Option<(&'static str, &'static str, &'static str)>,
    /// The files with rules, the highest scope first: below `/etc`, in the project, or below the folder of the user.
    pub(crate) files: &'static [(FileScope, &'static str)],
    /// Adds the rules of files in their order, and reports what is not imported.
    pub(crate) read: fn(&[PolicyFile], &mut HostPolicy),
    /// Removes rules that never decide, and adds exceptions: `strictest_first` or `first_match`.
    pub(crate) order: fn(&mut HostPolicy),
    /// The file of a project that exported rules belong into.
    pub(crate) export_file: &'static str,
    /// Writes rules, of which the strictest is first.
    pub(crate) write: fn(Vec<PolicyRule>, &mut Writer) -> String,
}

impl PolicyFormat {
    /// Reads the rules of files, the highest scope first, and writes them as a pack. Files that cannot be read are reported
    /// as left out.
    pub fn import(&self, files: &[PolicyFile]) -> Imported {
        let mut policy = HostPolicy::default();
        (self.read)(files, &mut policy);
        (self.order)(&mut policy);
        policy.limit_allowed_commands();
        policy.check_patterns();
        Imported::new(self.name, self.title, policy)
    }

    /// Writes the rules of a pack (as JSON, as it is serialized) in the host's own format. What the pack may stop and the host
    /// cannot express is not allowed either.
    pub fn export(&self, pack: &Value) -> Exported {
        let unpacked = unpack(pack);
        let left_out = self.written(unpacked.clone()).left_out;
        self.written(unpacked.without_lost(&left_out))
    }

    fn written(&self, unpacked: Unpacked) -> Exported {
        let (rules, mut writer) = Writer::start(unpacked);
        let text = (self.write)(rules, &mut writer);
        writer.finish(text, self.export_file)
    }
}
