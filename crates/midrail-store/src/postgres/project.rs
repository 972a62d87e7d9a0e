//! The state of a project in this process.

use std::sync::OnceLock;

use crate::key::StoreKey;
use crate::postgres::cells::signal;
use crate::postgres::queue::Queue;

pub(super) struct Project {
    pub(super) name: String,
    /// Its name in notifications.
    pub(super) signal: String,
    /// The id of its row, once it exists.
    pub(super) id: OnceLock<i32>,
    pub(super) key: OnceLock<StoreKey>,
    pub(super) queue: Queue,
}

impl Project {
    pub(super) fn new(name: &str) -> Self {
        Project {
            name: name.to_owned(),
            signal: signal(name),
            id: OnceLock::new(),
            key: OnceLock::new(),
            queue: Queue::default(),
        }
    }
}
