//! An HTTP server for tests, which does to its clients what a test says: one request per connection.

#![allow(dead_code, reason = "each test program uses some of it")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: String,
    pub(crate) path: String,
    /// The headers, with names in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The method of its message.
    pub(crate) fn rpc_method(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["method"].as_str().unwrap_or_default().to_owned()
    }
}

/// The connection of a request.
pub(crate) struct Connection(TcpStream);

impl Connection {
    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.0.write_all(bytes.as_ref()).and_then(|()| self.0.flush()).is_ok()
    }

    /// A whole response.
    pub(crate) fn answer(&mut self, status: u16, headers: &str, body: &str) {
        let length = body.len();
        self.send(format!(
            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
        ));
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.answer(200, "content-type: application/json\r\n", body);
    }

    /// The head of a stream of events.
    pub(crate) fn stream(&mut self, headers: &str) {
        self.send(format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: text/event-stream\r\n{headers}\r\n"
        ));
    }

    pub(crate) fn event(&mut self, line: &str) -> bool {
        self.send(format!("event: message\ndata: {line}\n\n"))
    }

    /// Waits until the client closes the connection.
    pub(crate) fn until_closed(&mut self) {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest);
    }
}

/// The server, until the process ends.
pub(crate) struct HttpServer {
    pub(crate) url: String,
    received: Arc<(Mutex<Vec<Received>>, Condvar)>,
}

impl HttpServer {
    /// Starts a server. `handle` answers a request, and the connection closes after it.
    pub(crate) fn start(handle: impl Fn(&Received, &mut Connection) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let received: Arc<(Mutex<Vec<Received>>, Condvar)> = Arc::default();
        let (handle, log) = (Arc::new(handle), received.clone());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (handle, log) = (handle.clone(), log.clone());
                thread::spawn(move || {
                    let mut reader = BufReader::new(connection.try_clone().unwrap());
                    let Some(request) = read(&mut reader) else { return };
                    log.0.lock().unwrap().push(request.clone());
                    log.1.notify_all();
                    handle(&request, &mut Connection(connection));
                });
            }
        });
        HttpServer { url, received }
    }

    /// The requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.0.lock().unwrap().clone()
    }

    /// Waits until a request has arrived.
    pub(crate) fn wait_for(&self, is_it: impl Fn(&Received) -> bool) -> Received {
        let (received, changed) = &*self.received;
        let is_missing = |received: &mut Vec<Received>| !received.iter().any(&is_it);
        let waited =
            changed.wait_timeout_while(received.lock().unwrap(), Duration::from_secs(60), is_missing);
        let received = waited.unwrap().0;
        let found = received.iter().find(|request| is_it(request)).cloned();
        found.unwrap_or_else(|| panic!("the request did not arrive: {received:?}"))
    }
}

fn read(reader: &mut impl BufRead) -> Option<Received> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Received { method, path, headers, body: String::from_utf8(body).ok()? })
}
