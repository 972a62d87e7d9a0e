//! The files that a program touches, as they are collected.

use crate::command::invocation::Arg;

/// A file that a program touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) path: String,
    pub(crate) is_read: bool,
    pub(crate) is_written: bool,
    /// It is a folder, or becomes one.
    pub(crate) is_folder: bool,
    /// It is written with everything in it, if it is a folder.
    pub(crate) is_swept: bool,
    /// Its content is neither shown nor changed: it is listed, tested or used as a key.
    pub(crate) is_named: bool,
}

/// The files found so far.
#[derive(Default)]
pub(super) struct TouchedFiles {
    pub(super) list: Vec<Touched>,
}

impl TouchedFiles {
    pub(super) fn add(&mut self, arg: &Arg, is_read: bool, is_written: bool) {
        let path = arg.text.as_str();
        let is_none = path.is_empty()
            || path == "-"
            || path.contains("://")
            || path.starts_with("/dev/null")
            || path.starts_with("/dev/std")
            || path.contains('\n')
            || path.len() > 4096;
        if !is_none {
            let is_folder = matches!(path, "." | ".." | "~") || path.ends_with('/');
            let path = path.to_owned();
            let (is_swept, is_named) = (false, false);
            self.list.push(Touched { path, is_read, is_written, is_folder, is_swept, is_named });
        }
    }

    /// A file whose content is neither shown nor changed.
    pub(super) fn add_named(&mut self, arg: &Arg, is_written: bool) {
        let from = self.list.len();
        self.add(arg, !is_written, is_written);
        self.list.iter_mut().skip(from).for_each(|touched| touched.is_named = true);
    }

    /// A folder that is created, or that files are put into.
    pub(super) fn add_folder(&mut self, arg: &Arg) {
        let from = self.list.len();
        self.add(arg, false, true);
        self.list.iter_mut().skip(from).for_each(|touched| touched.is_folder = true);
    }
}

/// Whether a path is on another machine: `host:path`.
pub(crate) fn is_on_host(path: &str) -> bool {
    path.split_once(':').is_some_and(|(host, _)| !host.contains('/') && host.len() > 1)
}
