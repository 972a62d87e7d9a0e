//! What a command, script, SQL statement or patch does: the programs it starts, the files and hosts it touches, and what it
//! might destroy. The crate reports findings; it decides nothing, and reads no file.
//!
//! ```
//! use midrail_shell::command::analyse;
//!
//! let analysis = analyse("cat notes.txt && uv --cache-dir c run rm -rf /etc");
//! assert_eq!(analysis.programs, ["cat", "uv", "rm"]);
//! assert_eq!(analysis.reads, ["notes.txt"]);
//! assert_eq!(analysis.dangers[0].rule, "rm-recursive");
//! ```
//!
//! What it knows about programs, SQL, Windows and other languages is in `data`; `data/README.md` explains how to add to it.

pub mod action;
pub mod command;
pub mod patch;
pub mod sql;
mod tables;
mod words;
