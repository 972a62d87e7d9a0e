//! Endpoints whose certificates an authority of one's own has signed, and others.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::*;

/// An authority.
struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let pem = params.self_signed(&key).unwrap().pem();
        Authority(Issuer::new(params, key), pem)
    }

    fn file(&self, folder: &Path, name: &str) -> String {
        written(folder, name, &self.1)
    }

    /// A server on loopback with a certificate for a name. It counts the requests that it received.
    fn server(&self, name: &str) -> (u16, Arc<AtomicUsize>) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let count = Arc::new(AtomicUsize::new(0));
        let read = count.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                // Whoever does not trust it hangs up, and that is no failure of the server.
                drop(answer(StreamOwned::new(connection, stream), &read));
            }
        });
        (port, count)
    }
}

fn answer(
    stream: StreamOwned<ServerConnection, std::net::TcpStream>,
    count: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    reader.read_exact(&mut vec![0; length])?;
    count.fetch_add(1, Ordering::SeqCst);
    let mut stream = reader.into_inner();
    let text = json!({"fine": true}).to_string();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}", text.len())?;
    stream.conn.send_close_notify();
    stream.flush()
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path: PathBuf = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

fn ask(port: u16, ca_file: Option<&str>) -> Result<Answer, String> {
    asked(
        json!({"http": {"url": format!("https://localhost:{port}/"), "retries": 0}, "ca_file": ca_file}),
        "x",
    )
}

#[test]
fn private_certificate_authority_is_trusted_if_the_pack_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let (own, other) = (Authority::new(), Authority::new());
    let file = own.file(folder.path(), "own.pem");
    let (port, count) = own.server("localhost");
    assert_eq!(ask(port, Some(&file)).unwrap().value, json!({"fine": true}));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    // Several may vouch, and a remark in the file is passed over.
    let both = format!("# ours\n{}{}", other.1, own.1);
    assert!(ask(port, Some(&written(folder.path(), "both.pem", &both))).is_ok());

    // Nobody else's word counts, and nothing is sent.
    let before = count.load(Ordering::SeqCst);
    for ca_file in [None, Some(other.file(folder.path(), "other.pem"))] {
        let error = ask(port, ca_file.as_deref()).unwrap_err();
        assert!(error.contains("has no certificate that can be trusted"), "{error}");
        assert!(error.starts_with(&format!("`localhost:{port}` ")), "{error}");
    }
    // Nor does a certificate for another name.
    let (port, _) = own.server("elsewhere.example");
    let error = ask(port, Some(&file)).unwrap_err();
    assert!(error.contains("has no certificate that can be trusted"), "{error}");
    assert_eq!(count.load(Ordering::SeqCst), before);
}

#[test]
fn file_without_certificate_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.pem").to_string_lossy().into_owned();
    let key = KeyPair::generate().unwrap().serialize_pem();
    let broken = "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n";
    for (file, part) in [
        (missing, "there is no such file"),
        (folder.path().to_string_lossy().into_owned(), "it is a folder"),
        (written(folder.path(), "ca.der", "0\u{1}binary"), "it is no PEM file (`openssl x509 -inform der"),
        (written(folder.path(), "empty.pem", ""), "there is no certificate in it"),
        (
            written(folder.path(), "key.pem", &key),
            "there is no certificate in it, only other things such as keys",
        ),
        (written(folder.path(), "broken.pem", broken), "it is no PEM file, or a broken one"),
    ] {
        let error = ask(1, Some(&file)).unwrap_err();
        assert!(error.contains(part) && error.contains("check `ca_file` or `MIDRAIL_CA_FILE`"), "{error}");
        assert!(error.contains(&file) && !error.contains("BEGIN"), "{error}");
    }
}

#[test]
fn the_environment_can_name_the_file_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let own = Authority::new();
    let file = own.file(folder.path(), "own.pem");
    let (port, _) = own.server("localhost");
    fn lookup(name: &str) -> Option<String> {
        (name == "MIDRAIL_CA_FILE").then(|| NAMED.lock().unwrap().clone()).flatten()
    }
    static NAMED: std::sync::Mutex<Option<String>> = std::sync::Mutex::new(None);
    *NAMED.lock().unwrap() = Some(file);
    let store = Arc::new(MemoryStore::new().unwrap());
    let asking = DeepQueue::with(Ledger { store, key: b"key".to_vec(), is_last: false }, clock(), lookup);
    let value = json!({"http": {"url": format!("https://localhost:{port}/"), "retries": 0}, "cache": 0});
    let ask = || answered(asking.ask("g", &settings(value.clone()), question("s", "x")));
    assert!(ask().is_ok());
    // What was made under one trust is not used under another.
    *NAMED.lock().unwrap() = None;
    assert!(ask().unwrap_err().contains("has no certificate that can be trusted"));
}
