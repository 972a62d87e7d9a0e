//! Where things are: the layers of packs, the store and the cache, by the conventions of the system.

use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::{env, fs};

use midrail_pack::Layer;

/// The folder of a project's packs.
pub const PROJECT_FOLDER: &str = ".midrail";

/// The folders of packs, highest layer first: `/etc/midrail`, the user's configuration, and every `.midrail` at or
/// above a folder, so that none below can take the place of one above.
pub fn layers(folder: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    let mut layers = vec![(Layer::Organisation, PathBuf::from("/etc/midrail"))];
    layers.extend(in_home("XDG_CONFIG_HOME", ".config").map(|folder| (Layer::User, folder)));
    let projects = folder.map(projects).unwrap_or_default();
    layers.extend(projects.into_iter().map(|project| (Layer::Project, project.join(PROJECT_FOLDER))));
    layers
}

/// Where a neighbouring tool keeps its scripts: in the folder, in its project, and in the user's configuration.
pub(crate) fn deft(folder: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    let here = folder.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
    let projects = here.iter().flat_map(|folder| projects(folder)).chain(here.clone());
    let mut found: Vec<(Layer, PathBuf)> =
        projects.map(|project| (Layer::Project, project.join(".deft"))).collect();
    found.extend(home("XDG_CONFIG_HOME", ".config").map(|base| (Layer::User, base.join("deft"))));
    found
}

/// The project that a folder is in: the topmost one at or above it with a `.midrail`.
pub fn project(folder: &Path) -> Option<PathBuf> {
    projects(folder).into_iter().next()
}

/// Every folder at or above one that has a `.midrail`, the topmost first.
fn projects(folder: &Path) -> Vec<PathBuf> {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let mut found: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
    found.retain(|folder| folder.join(PROJECT_FOLDER).symlink_metadata().is_ok());
    found.reverse();
    found
}

/// The store that is used where none is named.
pub fn default_store() -> Option<PathBuf> {
    in_home("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("midrail.db"))
}

/// Midrail's own files, which agents may not change, for every program that decides: a store in a file, the stores of its projects,
/// and the packs of all layers.
pub fn own_places(store: Option<&Path>) -> Vec<PathBuf> {
    let file_with = |store: &Path, ending: &str| {
        let mut name = store.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let endings = ["", "-wal", "-shm", "-journal", ".key", ".head"];
    let files = store.into_iter().flat_map(|store| endings.map(|ending| file_with(store, ending)));
    let projects = store.and_then(Path::parent).map(|folder| folder.join(STORES_FOLDER));
    let layers = layers(None).into_iter().map(|(_, place)| place);
    let usual = default_store().and_then(|path| path.parent().map(Path::to_owned));
    files.chain(projects).chain(layers).chain(usual).collect()
}

/// The folder with the stores of further projects, next to a store.
pub const STORES_FOLDER: &str = "projects";

/// The folder of compiled packs.
pub fn default_cache() -> Option<PathBuf> {
    in_home("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("policies"))
}

/// The folder in which git runs without the configuration of a repository. Agents may not change it.
pub(crate) fn isolated_git() -> Option<PathBuf> {
    in_home("XDG_STATE_HOME", ".local/state").map(|folder| folder.join("git"))
}

fn in_home(variable: &str, otherwise: &str) -> Option<PathBuf> {
    Some(home(variable, otherwise)?.join("midrail"))
}

fn home(variable: &str, otherwise: &str) -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set(variable).filter(|path| path.is_absolute()).or_else(|| Some(set("HOME")?.join(otherwise)))
}

/// The content of an ordinary file, because reading a pipe could block forever. `None`: it has more bytes than the limit.
pub(crate) fn read_limited(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("it is no ordinary file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| u64::try_from(bytes.len()).is_ok_and(|length| length <= limit)))
}

/// Writes a file that only its owner can read, in one step: readers see all of it or none.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let temporary = path.with_extension(format!("tmp-{}", std::process::id()));
    let mut file =
        fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&temporary)?;
    let written = file.write_all(content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        drop(fs::remove_file(&temporary));
    }
    written
}
