//! HTTPS with a certificate of its own, and a Unix socket.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use midrail_service::{At, ServeError, Tls, run_until};

use crate::access::fixture::{Answer, EVENT, Fixture, config, request};

#[test]
fn decisions_travel_over_tls() {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let pem = made.cert.pem();
    let fixture = Fixture::with(|config| {
        let folder = config.load.packs[0].parent().unwrap();
        let tls = Tls { certificate: folder.join("cert.pem"), key: folder.join("key.pem") };
        std::fs::write(&tls.certificate, &pem).unwrap();
        std::fs::write(&tls.key, made.signing_key.serialize_pem()).unwrap();
        config.tls = Some(tls);
    });
    let root = ureq::tls::Certificate::from_pem(pem.as_bytes()).unwrap().to_owned();
    let agent = |roots| {
        let tls = ureq::tls::TlsConfig::builder().root_certs(roots).build();
        let config =
            ureq::Agent::config_builder().tls_config(tls).timeout_global(Some(Duration::from_secs(60)));
        ureq::Agent::new_with_config(config.build())
    };
    let url = format!("https://localhost:{}/v1/decide", fixture.address.port());
    let known = agent(ureq::tls::RootCerts::new_with_certs(&[root]));
    let mut answer = known.post(&url).header("content-type", "application/json").send(EVENT).unwrap();
    assert!(answer.headers().contains_key("strict-transport-security"));
    assert!(answer.body_mut().read_to_string().unwrap().contains("\"block\""));
    // Clients that do not trust the certificate, or use plain HTTP, fail.
    let unknown = agent(ureq::tls::RootCerts::new_with_certs(&[]));
    assert!(unknown.post(&url).header("content-type", "application/json").send(EVENT).is_err());
    assert_ne!(fixture.decide(&[]).status, 200);
    // A page that came without TLS does not speak for anyone.
    let origin = format!("http://localhost:{}", fixture.address.port());
    let refused =
        known.post(&url).header("content-type", "application/json").header("origin", &origin).send(EVENT);
    assert!(matches!(refused, Err(ureq::Error::StatusCode(403))));
}

#[test]
fn invalid_certificate_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&folder);
    let path = folder.path().join("cert.pem");
    config.tls = Some(Tls { certificate: path.clone(), key: path.clone() });
    let serve = |config| run_until(config, |_| panic!("it serves"), async {});
    assert!(matches!(serve(config.clone()), Err(ServeError::Certificate { .. })));
    std::fs::write(&path, "nonsense").unwrap();
    assert!(matches!(serve(config), Err(ServeError::Certificate { .. })));
}

#[test]
fn socket_accepts_only_its_owner() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&folder);
    let path = folder.path().join("s");
    config.listen = At::Socket(path.clone());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let (report, received) = std::sync::mpsc::channel();
    let own = config.clone();
    let served = std::thread::spawn(move || {
        run_until(own, |ready| report.send(ready.url.clone()).unwrap(), async { drop(stopped.await) })
    });
    received.recv_timeout(Duration::from_secs(60)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    let headers = [("content-type", "application/json")];
    stream.write_all(request("localhost", "POST", "/v1/decide", &headers, EVENT).as_bytes()).unwrap();
    let mut text = Vec::new();
    stream.read_to_end(&mut text).unwrap();
    Answer::of(&text).is(200);
    // A socket in use is not replaced.
    assert!(matches!(run_until(config, |_| {}, async {}), Err(ServeError::Listen { .. })));
    drop(stop);
    served.join().unwrap().unwrap();
    assert!(!path.exists());
}
