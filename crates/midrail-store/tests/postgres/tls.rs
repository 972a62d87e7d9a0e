//! TLS to the database: what asks for it gets it or an error, and never a plain connection.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use midrail_store::{AuditLog, Commit, PostgresOptions, PostgresStore, Store};

use crate::common::record;
use crate::server::Server;
use crate::short_timeout;

#[test]
fn required_tls_is_never_replaced_by_plain_text() {
    let Some(server) = Server::start(&["fsync=off"]) else { return };
    let error =
        PostgresStore::connect(&short_timeout(format!("{}?sslmode=require", server.url()))).unwrap_err();
    assert!(error.to_string().contains("TLS"), "{error}");

    let folder = server.folder().join("data");
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args([
            "-addext",
            "basicConstraints=critical,CA:FALSE",
            "-addext",
            "subjectAltName=DNS:localhost",
            "-keyout",
        ])
        .arg(folder.join("server.key"))
        .arg("-out")
        .arg(folder.join("server.crt"))
        .output();
    let Ok(made) = made else {
        eprintln!("no openssl here: no certificate can be made, and TLS is tried no further");
        return;
    };
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for name in ["server.key", "server.crt"] {
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(0o600)).unwrap();
        if let Some((uid, gid)) = server.user() {
            std::os::unix::fs::chown(folder.join(name), Some(uid), Some(gid)).unwrap();
        }
    }
    let roots = tempfile::tempdir().unwrap();
    let root = roots.path().join("root.crt");
    std::fs::copy(folder.join("server.crt"), &root).unwrap();
    server.sql("ALTER SYSTEM SET ssl = on");
    server.stop("fast");
    server.go();

    let by_name = server.url().replace("127.0.0.1", "localhost");
    let connect = |url: String| PostgresStore::connect(&PostgresOptions::new(url));
    let encrypted = || {
        server.sql("SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'midrail'")
    };
    for mode in ["require", "verify-full"] {
        let store = connect(format!("{by_name}?sslmode={mode}&sslrootcert={}", root.display())).unwrap();
        store.commit(&Commit::new(&record("s", 1))).unwrap();
        store.wait_for_record(0, std::time::Duration::from_millis(100)).unwrap();
        assert_eq!(encrypted(), "t", "all connections, and the one that listens");
    }
    // A certificate that no one vouches for, and one for another name.
    let error = connect(format!("{by_name}?sslmode=require")).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let error =
        connect(format!("{}?sslmode=require&sslrootcert={}", server.url(), root.display())).unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let error = connect(format!("{by_name}?sslmode=require&sslrootcert=/none")).unwrap_err();
    assert!(error.to_string().contains("/none"), "{error}");
    drop(connect(by_name).unwrap());
}
