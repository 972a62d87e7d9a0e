//! A server on loopback with scripted answers, good and bad, which keeps the requests that it received.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;

/// What the server does with one request.
#[derive(Clone)]
pub(super) enum Reply {
    /// Answers with a status and JSON.
    Json(u16, Value),
    /// Answers with a status, further header lines and a text.
    Text(u16, &'static str, String),
    /// Writes these bytes and hangs up.
    Raw(Vec<u8>),
    /// Never answers.
    Silent,
    /// Sends the beginning of an answer, and then a byte now and then.
    Drip,
    /// Answers with the text that it was sent, once the gate is open.
    Echo,
}

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub(super) line: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

pub(super) struct Server {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    replies: Mutex<Vec<Reply>>,
    seen: Mutex<Vec<Seen>>,
    is_open: Mutex<bool>,
    opened: Condvar,
    is_over: Mutex<bool>,
    over: Condvar,
}

impl Server {
    /// Gives these replies in turn. The last one is given again and again.
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            replies: Mutex::new(replies),
            seen: Mutex::default(),
            is_open: Mutex::new(true),
            opened: Condvar::new(),
            is_over: Mutex::new(false),
            over: Condvar::new(),
        });
        let all = shared.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                if *all.is_over.lock().unwrap() {
                    return;
                }
                let (Ok(stream), one) = (stream, all.clone()) else { continue };
                // A client that hangs up is no failure of the server.
                thread::spawn(move || drop(one.serve(stream)));
            }
        });
        Server { port, shared }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }

    pub(super) fn count(&self) -> usize {
        self.shared.seen.lock().unwrap().len()
    }

    pub(super) fn reply(&self, replies: Vec<Reply>) {
        *self.shared.replies.lock().unwrap() = replies;
    }

    /// Lets echoes wait, or lets them go.
    pub(super) fn gate(&self, is_open: bool) {
        *self.shared.is_open.lock().unwrap() = is_open;
        self.shared.opened.notify_all();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.gate(true);
        *self.shared.is_over.lock().unwrap() = true;
        self.shared.over.notify_all();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 || header.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = header.trim().split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let text = body["text"].clone();
        let reply = {
            let mut replies = self.replies.lock().unwrap();
            let reply = if replies.len() > 1 { replies.remove(0) } else { replies[0].clone() };
            self.seen.lock().unwrap().push(Seen { line: line.trim().to_owned(), headers, body });
            reply
        };
        match reply {
            Reply::Json(status, value) => respond(&mut stream, status, "", &value.to_string()),
            Reply::Text(status, more, text) => respond(&mut stream, status, more, &text),
            Reply::Raw(bytes) => stream.write_all(&bytes),
            Reply::Silent => self.rest(None).map_or(Ok(()), Err),
            Reply::Drip => {
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{\"a\":\"")?;
                while self.rest(Some(Duration::from_millis(5))).is_none() && !*self.is_over.lock().unwrap() {
                    stream.write_all(b"x")?;
                }
                Ok(())
            }
            Reply::Echo => {
                let mut is_open = self.is_open.lock().unwrap();
                while !*is_open {
                    is_open = self.opened.wait(is_open).unwrap();
                }
                drop(is_open);
                respond(&mut stream, 200, "", &text.to_string())
            }
        }
    }

    /// Does nothing until the server is gone, or for a moment.
    fn rest(&self, moment: Option<Duration>) -> Option<std::io::Error> {
        let mut is_over = self.is_over.lock().unwrap();
        while !*is_over {
            match moment {
                None => is_over = self.over.wait(is_over).unwrap(),
                Some(moment) => {
                    drop(self.over.wait_timeout(is_over, moment).unwrap());
                    return None;
                }
            }
        }
        None
    }
}

fn respond(stream: &mut TcpStream, status: u16, more: &str, text: &str) -> std::io::Result<()> {
    let length = text.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(text.as_bytes())
}
