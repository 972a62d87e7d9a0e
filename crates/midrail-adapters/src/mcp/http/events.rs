//! Server-sent events: reads them within a limit of size, and writes them.

use std::fmt::Write;
use std::io::{self, BufRead};

use crate::wire::MAX_EVENT_BYTES;

/// An event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEvent {
    /// Its message. Empty: it only announces an id or a time.
    pub data: Vec<u8>,
    /// Its id, with which a client resumes after it.
    pub id: Option<String>,
    /// After how many milliseconds a client may connect again.
    pub retry: Option<u64>,
    /// It has more bytes than a message may have. The rest of the stream cannot be read.
    pub is_too_large: bool,
    /// It is of a kind that is not a message.
    is_foreign: bool,
}

impl ServerEvent {
    /// An event with a message, which has no line ends.
    pub fn message(&self, line: &str) -> String {
        let mut text = self.fields();
        text.push_str("event: message\ndata: ");
        text.push_str(line);
        text.push_str("\n\n");
        text
    }

    /// The event without its message, if it announces something.
    pub fn announcement(&self) -> Option<String> {
        let fields = self.fields();
        (!fields.is_empty()).then(|| format!("{fields}data: \n\n"))
    }

    fn fields(&self) -> String {
        let mut text = String::new();
        // Writing to a text cannot fail.
        let _ = self.id.iter().try_for_each(|id| writeln!(text, "id: {id}"));
        let _ = self.retry.iter().try_for_each(|retry| writeln!(text, "retry: {retry}"));
        text
    }
}

/// The longest id of an event.
const MAX_ID: usize = 1024;

/// Reads events.
pub struct EventReader<R> {
    input: R,
    /// The last line ended with a carriage return, whose line feed may follow.
    after_return: bool,
}

impl<R: BufRead> EventReader<R> {
    /// A reader at the start of a stream.
    pub fn new(input: R) -> Self {
        EventReader { input, after_return: false }
    }

    /// What it reads, for an input that is no stream of events.
    pub(super) fn get_mut(&mut self) -> &mut R {
        &mut self.input
    }

    /// The next event. `None`: the stream has ended, and half an event at its end does not count.
    pub fn next_event(&mut self) -> io::Result<Option<ServerEvent>> {
        let (mut event, mut has_fields) = (ServerEvent::default(), false);
        loop {
            let room = MAX_LINE.saturating_sub(event.data.len());
            let Some((line, is_cut)) = self.line(room)? else { return Ok(None) };
            if is_cut {
                return Ok(Some(ServerEvent { is_too_large: true, ..ServerEvent::default() }));
            }
            if line.is_empty() {
                if has_fields && !event.is_foreign {
                    return Ok(Some(event));
                }
                (event, has_fields) = (ServerEvent::default(), false);
                continue;
            }
            let (name, value) = match line.iter().position(|byte| *byte == b':') {
                Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
                None => (line.as_slice(), &[][..]),
            };
            let value = value.strip_prefix(b" ").unwrap_or(value);
            let text = || String::from_utf8_lossy(value).into_owned();
            match name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name) {
                b"data" => {
                    // Lines of a message are between tokens of JSON, where a space is the same.
                    if !event.data.is_empty() {
                        event.data.push(b' ');
                    }
                    event.data.extend_from_slice(value);
                    has_fields = true;
                }
                b"id" if value.len() <= MAX_ID && !value.contains(&0) => {
                    event.id = Some(text());
                    has_fields = true;
                }
                b"retry" => {
                    event.retry = text().parse().ok();
                    has_fields |= event.retry.is_some();
                }
                b"event" => event.is_foreign = !matches!(value, b"" | b"message"),
                _ => {}
            }
        }
    }

    /// The next line, and whether it was cut because it is longer than allowed. `None`: the stream ends without one.
    fn line(&mut self, room: usize) -> io::Result<Option<(Vec<u8>, bool)>> {
        let mut line = Vec::new();
        loop {
            let bytes = match self.input.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                return Ok(None);
            }
            if std::mem::take(&mut self.after_return) && bytes.first() == Some(&b'\n') {
                self.input.consume(1);
                continue;
            }
            let end = memchr::memchr2(b'\n', b'\r', bytes);
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            if line.len() + part.len() > room {
                return Ok(Some((Vec::new(), true)));
            }
            line.extend_from_slice(part);
            match end {
                Some(end) => {
                    self.after_return = bytes.get(end) == Some(&b'\r');
                    self.input.consume(end + 1);
                    return Ok(Some((line, false)));
                }
                None => {
                    let all = bytes.len();
                    self.input.consume(all);
                }
            }
        }
    }
}

/// The longest line: a message, and the name of its field.
const MAX_LINE: usize = {
    #[expect(
        clippy::as_conversions,
        clippy::cast_possible_truncation,
        reason = "the limit fits into 32 bits"
    )]
    let most = MAX_EVENT_BYTES as usize;
    most + 64
};

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use super::*;

    fn read(text: &[u8], size: usize) -> Vec<ServerEvent> {
        let mut events = EventReader::new(BufReader::with_capacity(size, text));
        std::iter::from_fn(|| events.next_event().unwrap()).collect()
    }

    #[test]
    fn events_are_read_in_pieces_of_any_size() {
        let text = b"\xef\xbb\xbf: comment\r\n\r\nid: 7\rretry: 500\rdata:\r\revent: message\ndata: {\"a\":\ndata:  1}\n\nevent: ping\ndata: x\n\ndata: half";
        for size in 1..40 {
            let events = read(text, size);
            assert_eq!(events.len(), 2, "{size}: {events:?}");
            assert_eq!((events[0].id.as_deref(), events[0].retry), (Some("7"), Some(500)));
            assert_eq!(events[0].announcement().unwrap(), "id: 7\nretry: 500\ndata: \n\n");
            assert_eq!(events[1].data, b"{\"a\":  1}");
        }
    }

    #[test]
    fn a_written_event_is_read_again() {
        let event = ServerEvent { id: Some("a-1".into()), retry: Some(3), ..ServerEvent::default() };
        let read = read(event.message("{\"x\":1}").as_bytes(), 64);
        assert_eq!(read, [ServerEvent { data: b"{\"x\":1}".to_vec(), ..event }]);
    }

    #[test]
    fn an_event_that_is_too_large_ends_the_stream() {
        let endless = std::io::repeat(b'x');
        let mut events = EventReader::new(BufReader::new(b"data: 1\n\ndata: ".chain(endless)));
        assert_eq!(events.next_event().unwrap().unwrap().data, b"1");
        assert!(events.next_event().unwrap().unwrap().is_too_large);
        // Many lines of one event count together.
        let line = format!("data: {}\n", "x".repeat(1 << 20));
        let text = line.repeat(40);
        let mut events = EventReader::new(text.as_bytes());
        assert!(events.next_event().unwrap().unwrap().is_too_large);
    }
}
