//! The state of a project in this process.

use std::sync::OnceLock;

use crate::error::StoreError;
use crate::key::StoreKey;
use crate::postgres::cells::signal;
use crate::sql::queue::Queue;

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
            queue: Queue::new(StoreError::Uncertain { server: "PostgreSQL".to_owned() }),
        }
    }
}
