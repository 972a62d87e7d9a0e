//! The flow between the threads of a proxy: the lines that one side has sent and that are not received yet are limited, so that a
//! side that floods is slowed down, and the other side is not.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The most bytes of one side that are on their way.
const MAX_ON_THE_WAY: usize = 64 << 20;

/// What a line counts at least, so that many short lines are limited too.
const MIN_LINE: usize = 256;

/// The bytes of one side that are on their way.
#[derive(Clone, Default)]
pub(super) struct Budget(Arc<Shared>);

#[derive(Default)]
struct Shared {
    used: Mutex<usize>,
    freed: Condvar,
}

/// A line that is on its way. INVARIANT: it depends only on the side that receives what became of the line. So the two sides never
/// wait for each other: a server that reads nothing until its answers are received is not stopped by what the client sends.
pub(super) struct Credit {
    budget: Budget,
    bytes: usize,
}

impl Budget {
    /// Waits until a line may be on its way. A line larger than the limit is alone.
    pub(super) fn take(&self, bytes: usize) -> Credit {
        let bytes = bytes.max(MIN_LINE);
        let mut used = self.0.used.lock();
        self.0.freed.wait_while(&mut used, |used| *used > 0 && used.saturating_add(bytes) > MAX_ON_THE_WAY);
        *used = used.saturating_add(bytes);
        drop(used);
        Credit { budget: self.clone(), bytes }
    }
}

impl Drop for Credit {
    fn drop(&mut self) {
        let mut used = self.budget.0.used.lock();
        *used = used.saturating_sub(self.bytes);
        self.budget.0.freed.notify_all();
    }
}

/// Writes lines to one side on a thread of its own.
pub(super) struct Writer {
    lines: Sender<(String, Option<Arc<Credit>>)>,
    ended: Receiver<()>,
}

impl Writer {
    /// `write` is called with each line, until it fails.
    pub(super) fn spawn(mut write: impl FnMut(&str) -> io::Result<()> + Send + 'static) -> io::Result<Self> {
        let (lines, queue) = mpsc::channel::<(String, Option<Arc<Credit>>)>();
        let (end, ended) = mpsc::channel();
        let run = move || {
            let mut is_open = true;
            for (line, _credit) in queue {
                // A side that is gone has an end of file, which the proxy receives.
                is_open = is_open && write(&line).is_ok();
            }
            let _ = end.send(());
        };
        thread::Builder::new().name("midrail-write".to_owned()).spawn(run)?;
        Ok(Writer { lines, ended })
    }

    /// Sends a line. `credit`: that of the line from which it was made.
    pub(super) fn send(&self, line: String, credit: Option<&Arc<Credit>>) {
        // The thread runs as long as this.
        let _ = self.lines.send((line, credit.cloned()));
    }

    /// Waits until all lines are written, at most for a time.
    pub(super) fn finish(self, at_most: Duration) {
        drop(self.lines);
        let _ = self.ended.recv_timeout(at_most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_waits_only_for_its_own_lines() {
        let (client, server) = (Budget::default(), Budget::default());
        let first = client.take(MAX_ON_THE_WAY);
        // The other side goes on, and a line that is too large for the limit is not stopped forever.
        drop(server.take(MAX_ON_THE_WAY * 2));
        let (taken, is_taken) = mpsc::channel();
        let waiting = client.clone();
        let thread = thread::spawn(move || {
            let credit = waiting.take(1);
            taken.send(credit).unwrap();
        });
        assert!(is_taken.try_recv().is_err());
        drop(first);
        assert_eq!(is_taken.recv().unwrap().bytes, MIN_LINE);
        thread.join().unwrap();
    }

    /// A server that reads nothing before everything that it writes was received, while the client sends more than may be on its way.
    #[test]
    fn a_server_that_does_not_read_stops_only_the_client() {
        const LINES: usize = 40;
        let big = MAX_ON_THE_WAY / 8;
        let (incoming, queue) = mpsc::channel();
        for side in ["client", "server"] {
            let (incoming, budget) = (incoming.clone(), Budget::default());
            thread::spawn(move || (0..LINES).for_each(|_| drop(incoming.send((side, budget.take(big))))));
        }
        drop(incoming);
        let (received_all, may_read) = mpsc::channel();
        let mut is_reading = false;
        let to_server = Writer::spawn(move |_| {
            if !std::mem::replace(&mut is_reading, true) {
                may_read.recv().map_err(io::Error::other)?;
            }
            Ok(())
        })
        .unwrap();
        let mut received = 0;
        let to_client = Writer::spawn(move |_| {
            received += 1;
            if received == LINES {
                received_all.send(()).map_err(io::Error::other)?;
            }
            Ok(())
        })
        .unwrap();
        let mut most = [0_usize; 2];
        for (side, credit) in queue {
            let is_client = side == "client";
            let used = *credit.budget.0.used.lock();
            let most = &mut most[usize::from(is_client)];
            *most = used.max(*most);
            let writer = if is_client { &to_server } else { &to_client };
            writer.send(String::new(), Some(&Arc::new(credit)));
        }
        assert!(most.iter().all(|most| *most <= MAX_ON_THE_WAY), "{most:?}");
        to_server.finish(Duration::from_secs(60));
        to_client.finish(Duration::from_secs(60));
    }

    #[test]
    fn lines_on_their_way_are_limited() {
        let budget = Budget::default();
        let credits: Vec<Credit> = (0..MAX_ON_THE_WAY / MIN_LINE).map(|_| budget.take(0)).collect();
        assert_eq!(*budget.0.used.lock(), MAX_ON_THE_WAY);
        drop(credits);
        assert_eq!(*budget.0.used.lock(), 0);
    }
}
