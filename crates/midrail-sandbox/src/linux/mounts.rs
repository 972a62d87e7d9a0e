//! The files that a command sees: a new root with binds of the folders of the sandbox.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::part::{Failure, failed};
use crate::sandbox::Sandbox;

/// Where the root of the machine and the new root are while it is built.
const OLD: &str = "/old";
const NEW: &str = "/new";

/// What is mounted at a path. If several things are, the last of these wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// An empty folder that is removed after the command.
    Scratch,
    /// What is there, read-only.
    Read,
    /// What is there.
    Write,
    /// What is there, read-only, below something to write.
    Protected,
    /// Nothing.
    Hidden,
}

/// What is mounted, from the root down, and links to be made.
#[derive(Debug, Default)]
struct Plan {
    mounts: BTreeMap<PathBuf, Kind>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Plan {
    fn new(sandbox: &Sandbox) -> Self {
        let mut plan = Plan::default();
        for path in sandbox.scratch.iter().chain([&sandbox.home]) {
            plan.add(path, Kind::Scratch);
        }
        for path in &sandbox.read {
            for (link, target) in links(path) {
                plan.links.insert(link, target);
            }
            if let Ok(path) = path.canonicalize()
                // What is below a folder to write stays writable.
                && !sandbox.write.iter().any(|folder| path.starts_with(folder))
            {
                plan.add(&path, Kind::Read);
            }
        }
        for path in &sandbox.write {
            plan.add(path, Kind::Write);
        }
        for path in &sandbox.protected {
            let Some(folder) = sandbox.write.iter().filter(|folder| path.starts_with(folder)).max() else {
                continue;
            };
            if fs::symlink_metadata(path).is_ok_and(|data| !data.is_symlink()) {
                plan.add(path, Kind::Protected);
            }
            // A folder above could be renamed and made anew. A mount cannot be renamed.
            for above in path.ancestors().skip(1).take_while(|above| above != folder) {
                if fs::symlink_metadata(above).is_ok_and(|data| data.is_dir()) {
                    plan.add(above, Kind::Write);
                }
            }
        }
        for path in &sandbox.hidden {
            plan.add(path, Kind::Hidden);
        }
        plan
    }

    /// What is mounted at a path, or at the nearest one above.
    fn kind_at(&self, path: &Path) -> Option<Kind> {
        path.ancestors().find_map(|above| self.mounts.get(above)).copied()
    }

    fn add(&mut self, path: &Path, kind: Kind) {
        let now = self.mounts.entry(path.to_owned()).or_insert(kind);
        *now = kind.max(*now);
    }
}

/// The links on the way to a path, with their targets.
fn links(path: &Path) -> Vec<(PathBuf, PathBuf)> {
    let mut found = Vec::new();
    let above: Vec<&Path> = path.ancestors().collect();
    for part in above.into_iter().rev() {
        if let Ok(target) = fs::read_link(part)
            && let (Some(folder), Some(name)) =
                (part.parent().and_then(|it| it.canonicalize().ok()), part.file_name())
        {
            found.push((folder.join(name), target));
        }
    }
    found
}

/// Makes a new root with the files of a sandbox, and enters it.
pub(super) fn build(sandbox: &Sandbox) -> Result<(), Failure> {
    let plan = Plan::new(sandbox);
    enter_new_root().map_err(|error| Failure::Unavailable(format!("no mounts ({error})")))?;
    // If parts of the machine's own are covered, as in some containers, the kernel permits no other.
    system("proc", "proc", MountFlags::NOEXEC | MountFlags::RDONLY, "")
        .map_err(|error| Failure::Unavailable(format!("no process folder of its own ({error})")))?;
    devices().map_err(|error| failed("mount the devices", error))?;
    for (path, kind) in &plan.mounts {
        // What was there when the sandbox was planned may have ended meanwhile.
        mount_path(path, *kind).map_err(|error| failed(&format!("mount {}", path.display()), error))?;
    }
    forbid(&plan).map_err(|error| failed("restrict the mounts", error))?;
    for (link, target) in &plan.links {
        let place = below(NEW, link);
        if fs::symlink_metadata(&place).is_err() {
            place
                .parent()
                .map_or(Ok(()), fs::create_dir_all)
                .map_err(|error| failed("make a folder", error))?;
            symlink(target, place).map_err(|error| failed("make a link", error))?;
        }
    }
    leave_old_root().map_err(|error| failed("leave the old root", error))
}

/// Makes a file system in memory the root, with the machine's root below it.
fn enter_new_root() -> io::Result<()> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let place = "/tmp";
    mount("midrail", place, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?;
    fs::create_dir(format!("{place}{NEW}"))?;
    fs::create_dir(format!("{place}{OLD}"))?;
    pivot_root(place, format!("{place}{OLD}"))?;
    chdir("/")?;
    mount("midrail", NEW, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=0755")?;
    Ok(())
}

/// Makes the new root the root, without the old one.
fn leave_old_root() -> io::Result<()> {
    chdir(NEW)?;
    pivot_root(".", ".")?;
    unmount(".", UnmountFlags::DETACH)?;
    chdir("/")?;
    mount_remount("/", MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV, "")?;
    Ok(())
}

/// Mounts a file system of the kernel in the new root.
fn system(kind: &str, place: &str, flags: MountFlags, data: &str) -> io::Result<()> {
    let place = below(NEW, Path::new("/").join(place).as_path());
    fs::create_dir_all(&place)?;
    let data = std::ffi::CString::new(data)?;
    mount(kind, &place, kind, MountFlags::NOSUID | MountFlags::NODEV | flags, data.as_c_str())?;
    Ok(())
}

/// Devices that every command may use, terminals of its own, and shared memory.
fn devices() -> io::Result<()> {
    let folder = below(NEW, Path::new("/dev"));
    fs::create_dir(&folder)?;
    for name in ["null", "zero", "full", "random", "urandom", "tty"] {
        let source = below(OLD, &Path::new("/dev").join(name));
        let place = folder.join(name);
        File::create(&place)?;
        mount_bind_recursive(&source, &place)?;
    }
    for (name, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
        ("ptmx", "pts/ptmx"),
    ] {
        symlink(target, folder.join(name))?;
    }
    system("tmpfs", "dev/shm", MountFlags::NOEXEC, "mode=1777")?;
    let place = folder.join("pts");
    fs::create_dir(&place)?;
    mount(
        "devpts",
        &place,
        "devpts",
        MountFlags::NOSUID | MountFlags::NOEXEC,
        c"newinstance,ptmxmode=0666,mode=620",
    )?;
    Ok(())
}

fn mount_path(path: &Path, kind: Kind) -> io::Result<()> {
    let source = match open(OLD, path) {
        Ok(source) => source,
        // What was to be protected must not be created unprotected instead.
        Err(error) if error.kind() == io::ErrorKind::NotFound && kind != Kind::Protected => return Ok(()),
        Err(error) => return Err(error),
    };
    let is_folder = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&source)?.st_mode).is_dir();
    let place = below(NEW, path);
    if fs::symlink_metadata(&place).is_err() {
        match kind {
            // It is out of sight already.
            Kind::Hidden => return Ok(()),
            // It was there a moment ago: another process changes the folder above.
            Kind::Protected => return Err(io::ErrorKind::NotFound.into()),
            Kind::Scratch | Kind::Read | Kind::Write => {}
        }
        if is_folder {
            fs::create_dir_all(&place)?;
        } else {
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            File::create(&place)?;
        }
    }
    let opened = open(NEW, path)?;
    let target = handle(&opened);
    match kind {
        Kind::Scratch => mount("midrail", &target, "tmpfs", flags(kind), c"mode=0700")?,
        Kind::Hidden if is_folder => mount("midrail", &target, "tmpfs", flags(kind), c"mode=0000")?,
        Kind::Hidden => {
            let empty = PathBuf::from("/empty");
            File::create(&empty)?;
            mount_bind_recursive(&empty, &target)?;
        }
        Kind::Read | Kind::Write | Kind::Protected => mount_bind_recursive(handle(&source), &target)?,
    }
    Ok(())
}

/// Forbids in each mount what its kind forbids. It is done for all of them together, because the kernel lists only all mounts.
fn forbid(plan: &Plan) -> io::Result<()> {
    for (place, now) in mounts_below(Path::new(NEW))? {
        let Ok(below_new) = place.strip_prefix(NEW) else { continue };
        let path = Path::new("/").join(below_new);
        let Some(kind) = plan.kind_at(&path).filter(|kind| *kind != Kind::Scratch) else { continue };
        let opened = open("/", &place)?;
        mount_remount(handle(&opened), MountFlags::BIND | flags(kind) | now, "")?;
    }
    Ok(())
}

/// What a mount of a kind forbids.
fn flags(kind: Kind) -> MountFlags {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    match kind {
        Kind::Scratch | Kind::Write => flags,
        Kind::Read | Kind::Protected | Kind::Hidden => flags | MountFlags::RDONLY,
    }
}

/// The mounts at a path and below, with what they forbid already: a user namespace may not take that back.
fn mounts_below(path: &Path) -> io::Result<Vec<(PathBuf, MountFlags)>> {
    let text = fs::read(below(OLD, Path::new("/proc/self/mountinfo")))?;
    let mut found = Vec::new();
    for line in String::from_utf8_lossy(&text).lines() {
        let mut fields = line.split(' ').skip(4);
        let (Some(place), Some(options)) = (fields.next(), fields.next()) else { continue };
        let place = unescape(place);
        if place.starts_with(path) {
            let flags = options.split(',').map(|option| match option {
                "ro" => MountFlags::RDONLY,
                "nosuid" => MountFlags::NOSUID,
                "nodev" => MountFlags::NODEV,
                "noexec" => MountFlags::NOEXEC,
                "noatime" => MountFlags::NOATIME,
                "nodiratime" => MountFlags::NODIRATIME,
                "relatime" => MountFlags::RELATIME,
                _ => MountFlags::empty(),
            });
            found.push((place, flags.fold(MountFlags::empty(), MountFlags::union)));
        }
    }
    Ok(found)
}

/// A path of `mountinfo`, where blanks and backslashes are octal numbers.
fn unescape(text: &str) -> PathBuf {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
        .into()
}

/// Opens a path below a root. No link is followed: a process of another sandbox may have exchanged a folder for one.
fn open(root: &str, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    Ok(openat2(CWD, below(root, path), flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// The path of an open file that no rename changes.
fn handle(file: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("{OLD}/proc/self/fd/{}", file.as_raw_fd()))
}

/// A path below a root.
fn below(root: &str, path: &Path) -> PathBuf {
    Path::new(root).join(path.strip_prefix("/").unwrap_or(path))
}
