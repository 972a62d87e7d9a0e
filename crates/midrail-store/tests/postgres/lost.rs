//! A connection that is cut around its `COMMIT`: the commit is looked up, and written once whichever way it went. A
//! proxy between store and server does the cutting.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use midrail_store::{AuditLog, Commit, PostgresStore, Store, StoreError};

use crate::common::{record, verify};
use crate::server::own;
use crate::{count_one, counted, short_timeout};

/// The message that commits, as it goes over the wire.
const COMMIT: &[u8] = b"Q\0\0\0\x0bCOMMIT\0";

const PASS: u8 = 0;
/// The server does not hear of the commit.
const CUT_BEFORE: u8 = 1;
/// The server commits, and the client does not hear of it.
const CUT_AFTER: u8 = 2;
/// As before, and nobody gets through any more.
const CUT_AND_CLOSE: u8 = 3;
const CLOSED: u8 = 4;

struct Proxy {
    port: u16,
    what: Arc<AtomicU8>,
    cuts: Arc<AtomicU64>,
}

impl Proxy {
    fn start(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (what, cuts) = (Arc::new(AtomicU8::new(PASS)), Arc::new(AtomicU64::new(0)));
        let proxy = Proxy { port, what: what.clone(), cuts: cuts.clone() };
        thread::spawn(move || {
            for client in listener.incoming() {
                let (Ok(client), Ok(server)) = (client, TcpStream::connect(("127.0.0.1", server))) else {
                    continue;
                };
                if what.load(Ordering::SeqCst) == CLOSED {
                    continue;
                }
                let (what, cuts) = (what.clone(), cuts.clone());
                thread::spawn(move || forward(client, server, &what, &cuts));
            }
        });
        proxy
    }
}

fn forward(mut client: TcpStream, mut server: TcpStream, what: &AtomicU8, cuts: &AtomicU64) {
    // Held while answers go back, so that none does once it is cut.
    let is_cut = Arc::new(Mutex::new(false));
    let (mut to_client, mut from_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let back = thread::spawn({
        let is_cut = is_cut.clone();
        move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok(read @ 1..) = from_server.read(&mut buffer) {
                if !*is_cut.lock().unwrap() && to_client.write_all(&buffer[..read]).is_err() {
                    break;
                }
            }
            let _ = to_client.shutdown(Shutdown::Both);
        }
    });
    let mut buffer = vec![0; 1 << 20];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let bytes = &buffer[..read];
        let commit = bytes.windows(COMMIT.len()).position(|window| window == COMMIT);
        let wanted = what.load(Ordering::SeqCst);
        if let Some(at) = commit.filter(|_| wanted != PASS) {
            cuts.fetch_add(1, Ordering::SeqCst);
            what.store(if wanted == CUT_AND_CLOSE { CLOSED } else { PASS }, Ordering::SeqCst);
            *is_cut.lock().unwrap() = true;
            let end = if wanted == CUT_BEFORE { at } else { at + COMMIT.len() };
            let _ = server.write_all(&bytes[..end]);
            // The server reads what was sent, and then that there is no more.
            let _ = server.shutdown(Shutdown::Write);
            break;
        }
        if server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Write);
    let _ = back.join();
}

/// A store behind a proxy, and the same without.
fn behind() -> Option<(Proxy, PostgresStore, PostgresStore)> {
    let server = own()?;
    let url = server.url_of(&server.database());
    let port = url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    let proxy = Proxy::start(port.parse().unwrap());
    // The digits of the port may stand in the database's name as well.
    let at_proxy = url.replacen(&format!(":{port}/"), &format!(":{}/", proxy.port), 1);
    let through = PostgresStore::connect(&short_timeout(at_proxy)).unwrap();
    let direct = PostgresStore::connect(&short_timeout(url)).unwrap();
    // Connections, statements and tables are there.
    through.commit(&Commit::new(&record("s", 0))).unwrap();
    Some((proxy, through, direct))
}

#[test]
fn a_commit_whose_answer_is_lost_is_found_and_one_that_never_came_is_sent_again() {
    let Some((proxy, through, direct)) = behind() else { return };
    for (round, what) in (1..).zip([CUT_AFTER, CUT_BEFORE, CUT_AFTER, CUT_BEFORE]) {
        proxy.what.store(what, Ordering::SeqCst);
        let place = count_one(&through, "s", "count").unwrap();
        assert_eq!(proxy.cuts.load(Ordering::SeqCst), round, "it was not cut");
        assert_eq!(place.seq, round + 1);
        assert_eq!(direct.entry(place.seq).unwrap().unwrap().hash, place.hash);
        assert_eq!((counted(&direct, "s", "count"), direct.head().unwrap()), (round, Some(place)));
    }
    assert_eq!((verify(&direct).misfit, verify(&direct).records), (None, 5));
}

#[test]
fn many_that_are_written_together_are_found_together() {
    let Some((proxy, through, direct)) = behind() else { return };
    for what in [CUT_AFTER, CUT_BEFORE] {
        proxy.what.store(what, Ordering::SeqCst);
        thread::scope(|scope| {
            for thread in 0..16 {
                let through = &through;
                scope.spawn(move || count_one(through, &format!("s{thread}"), "count").unwrap());
            }
        });
        assert_eq!(proxy.what.load(Ordering::SeqCst), PASS, "it was not cut");
    }
    assert_eq!(proxy.cuts.load(Ordering::SeqCst), 2);
    assert!((0..16).all(|thread| counted(&direct, &format!("s{thread}"), "count") == 2));
    assert_eq!((verify(&direct).misfit, verify(&direct).records), (None, 33));
}

#[test]
fn commit_with_an_unknown_result_is_reported_as_uncertain() {
    let Some((proxy, through, direct)) = behind() else { return };
    proxy.what.store(CUT_AND_CLOSE, Ordering::SeqCst);
    let error = through.commit(&Commit::new(&record("s", 1))).unwrap_err();
    assert!(matches!(error, StoreError::Uncertain { .. }), "{error}");
    assert!(error.help().is_some());
    // It was written, and nobody was told; it is not written again.
    assert_eq!(direct.head().unwrap().unwrap().seq, 2);
    let error = through.commit(&Commit::new(&record("s", 2))).unwrap_err();
    assert!(matches!(error, StoreError::Unreachable { .. }), "{error}");
    proxy.what.store(PASS, Ordering::SeqCst);
    assert_eq!(through.commit(&Commit::new(&record("s", 3))).unwrap().seq, 3);
    assert_eq!((verify(&direct).misfit, verify(&direct).records), (None, 3));
}
