//! The verbs, one file each: arguments in, calls of the libraries, output.

pub(crate) mod check;
pub(crate) mod replay;
pub(crate) mod test;
