//! Live events of a project, whichever process writes them. One thread per project follows its store while callers
//! listen and wakes them; each listener then reads from its own position.

mod feed;
pub(crate) mod follow;

pub(crate) use feed::{LiveEvent, LiveFilter, Reader, stream};
