//! Which files a command can use, by Landlock. It needs no privileges, and has no exceptions below a permitted folder.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, RestrictionStatus,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::part::{Failure, failed};
use crate::sandbox::Sandbox;

/// The newest version of Landlock whose rights are used.
const VERSION: ABI = ABI::V6;

/// Devices that every command may use. Names that lead to open files of the process are not among them.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Restricts this process to the files of the sandbox. Returns what this kernel cannot restrict.
pub(super) fn restrict(sandbox: &Sandbox, has_mounts: bool) -> Result<Vec<String>, Failure> {
    let read = AccessFs::from_read(VERSION);
    let all = AccessFs::from_all(VERSION);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
    let mut rules = Rules(create().map_err(|error| failed("prepare Landlock", error))?);
    for path in DEVICES {
        rules.permit(Path::new(path), device)?;
    }
    if has_mounts {
        rules.permit(Path::new("/"), read)?;
        for path in ["/dev/shm", "/dev/pts"].map(Path::new).into_iter().chain([sandbox.home.as_path()]) {
            rules.permit(path, all)?;
        }
        for path in sandbox.write.iter().chain(&sandbox.scratch) {
            rules.permit(path, all)?;
        }
    } else {
        rules.permit(Path::new("/proc"), read)?;
        let hidden: Vec<&Path> = sandbox.hidden.iter().map(PathBuf::as_path).collect();
        for path in sandbox.read.iter().filter_map(|path| path.canonicalize().ok()) {
            // A folder of the sandbox that is also below a writable one stays writable.
            rules.permit_without(&path, read, &hidden)?;
        }
        for path in &sandbox.write {
            // The home is not a part of what is above it.
            if *path != sandbox.home && sandbox.home.starts_with(path) {
                rules.permit_without(path, all, &[&sandbox.home])?;
            } else {
                rules.permit(path, all)?;
            }
        }
    }
    let status = rules.0.restrict_self().map_err(|error| failed("apply Landlock", error))?;
    let mut missing = gaps(&status, has_mounts)?;
    if !has_mounts {
        let in_reach = |path: &&PathBuf| sandbox.write.iter().any(|folder| path.starts_with(folder));
        let readable = sandbox.hidden.iter().filter(in_reach).count();
        if readable > 0 {
            missing.push(format!(
                "{readable} files that should be hidden are in folders to write: they can be read"
            ));
        }
    }
    Ok(missing)
}

/// Whether this kernel has the version of Landlock that a sandbox without mounts needs.
pub(super) fn is_available() -> bool {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let access = AccessFs::from_all(ABI::V3);
    ruleset.handle_access(access).and_then(Ruleset::create).is_ok()
}

fn create() -> Result<RulesetCreated, landlock::RulesetError> {
    Ruleset::default().handle_access(AccessFs::from_all(VERSION))?.scope(Scope::from_all(VERSION))?.create()
}

/// The rules of a sandbox so far.
struct Rules(RulesetCreated);

impl Rules {
    /// Permits access to a file, or to a folder and all below it. What does not exist is skipped.
    fn permit(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), Failure> {
        let Ok(file) = PathFd::new(path) else { return Ok(()) };
        let is_folder = fs::metadata(path).is_ok_and(|data| data.is_dir());
        // Rights over folders do not apply to files.
        let access = if is_folder { access } else { access & AccessFs::from_file(VERSION) };
        (&mut self.0)
            .add_rule(PathBeneath::new(file, access))
            .map(|_| ())
            .map_err(|error| failed(&format!("permit {}", path.display()), error))
    }

    /// Permits access to a folder, but not to some paths below it: each neighbour of theirs is permitted instead.
    fn permit_without(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
        without: &[&Path],
    ) -> Result<(), Failure> {
        if without.iter().any(|it| path.starts_with(it)) {
            return Ok(());
        }
        if !without.iter().any(|it| it.starts_with(path)) {
            return self.permit(path, access);
        }
        let Ok(entries) = fs::read_dir(path) else { return Ok(()) };
        for entry in entries.flatten() {
            // A link has no rights of its own.
            if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
                self.permit_without(&entry.path(), access, without)?;
            }
        }
        Ok(())
    }
}

/// What this kernel's Landlock cannot restrict. Alone it must be able to restrict all changes of files.
fn gaps(status: &RestrictionStatus, has_mounts: bool) -> Result<Vec<String>, Failure> {
    let version = match status.landlock {
        landlock::LandlockStatus::Available { effective_abi, .. } => effective_abi,
        _ => ABI::Unsupported,
    };
    if !has_mounts && (status.ruleset == RulesetStatus::NotEnforced || version < ABI::V3) {
        return Err(Failure::Unavailable(
            "no Landlock that restricts changes of files (Linux 6.2 or later)".to_owned(),
        ));
    }
    let gaps: &[(ABI, &str)] = if has_mounts {
        &[(ABI::V3, "no second layer: this kernel has no Landlock")]
    } else {
        &[
            (ABI::V5, "requests to devices are not restricted (Linux 6.10 or later)"),
            (
                ABI::V6,
                "processes outside can be signalled and reached by abstract sockets (Linux 6.12 or later)",
            ),
        ]
    };
    Ok(gaps.iter().filter(|(needed, _)| version < *needed).map(|(_, gap)| (*gap).to_owned()).collect())
}
