//! Families of secrets in the forms in which they occur: each with near misses.

use super::*;

const UUID: &str = "8d3f1c52-91ab-4c0e-9d3b-5a7f20c1e6b4";
const PASSWORD: &str = "turtle99swims!";

fn finds(text: &str, secret: &str) -> bool {
    let end = text.find(secret).map_or(0, |start| start + secret.len());
    scan(text).iter().any(|hit| hit.start < end && end <= hit.end)
}

fn all_find(texts: &[String], secret: &str) {
    let missed: Vec<&String> = texts.iter().filter(|text| !finds(text, secret)).collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn uuid_is_a_secret_in_every_syntax_of_assignments() {
    let texts = ["client_secret", "api_key", "accessToken", "AUTH_TOKEN", "db-password"].map(|name| {
        [
            format!("{name}: {UUID}\n"),
            format!("{name}={UUID}\n"),
            format!("export {name}=\"{UUID}\"\n"),
            format!("{name} = '{UUID}'\n"),
            format!("{{\"a\": 1, \"{name}\": \"{UUID}\"}}"),
            format!("{{\\\"{name}\\\": \\\"{UUID}\\\"}}"),
            format!("<{name}>{UUID}</{name}>"),
            format!("- name: {name}\n  value: {UUID}\n"),
            format!("curl 'https://api.sample.io/v1?{name}={UUID}'"),
            format!("tool --{name} {UUID} run"),
        ]
    });
    all_find(&texts.concat(), UUID);
    for name in ["id", "client_id", "folder", "collectionId", "kid", "Sid", "request_token_id"] {
        let text = format!("{{\"{name}\": \"{UUID}\"}}\n{name}={UUID}\n");
        assert_eq!(scan(&text), [], "{text}");
    }
}

#[test]
fn json_in_json_is_read() {
    let secret = "ghp_9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9";
    let inner = json!({"user": "ann", "password": PASSWORD, "token": secret}).to_string();
    let outer = json!({"body": inner}).to_string();
    let third = json!({"event": outer}).to_string();
    for text in [&inner, &outer, &third] {
        assert!(finds(text, PASSWORD) && finds(text, secret), "{text}");
    }
    let harmless = json!({"event": json!({"body": json!({"password": "required"}).to_string()}).to_string()});
    assert_eq!(scan(&harmless.to_string()), []);
}

#[test]
fn passwords_in_prose_are_found() {
    let texts = [
        format!("The password: {PASSWORD}, do not share it."),
        format!("Log in as admin, password: {PASSWORD}"),
        format!("user: ann password: {PASSWORD}\n"),
        format!("The password is {PASSWORD} for now."),
        format!("Passwort: {PASSWORD}\n"),
        format!("- **Password:** `{PASSWORD}`\n"),
        format!("Username: ann\nPassword: {PASSWORD}\n"),
    ];
    all_find(&texts, PASSWORD);
    for text in [
        "Password: required, at least eight characters.",
        "The password: it must be long.",
        "Enter your password: ",
        "password: string",
        "The password is stored in the vault.",
    ] {
        assert_eq!(scan(text), [], "{text}");
    }
}

#[test]
fn tokens_of_scanners_and_seeds_are_found() {
    let hex = "8eff0751d09c20fb4f353037090143303e34c335";
    let service = "snyk_sat.D75EbBFF.rbiguhXv11quiX2FMOCITwtCk2PoPHj6NKHR7tuO";
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    all_find(&[format!("SNYK_TOKEN={UUID}\n"), format!("\"snyk-api-token\": \"{UUID}\"")], UUID);
    all_find(&[format!("snyk auth {service}\n"), format!("token: {service}")], service);
    let sonar = format!("squ_{hex}");
    all_find(&[format!("sonar.login={sonar}\n"), format!("-Dsonar.token={sonar}")], &sonar);
    all_find(&[format!("sonar.login={hex}\n"), format!("SONAR_TOKEN: {hex}\n")], hex);
    all_find(&[format!("seed = \"{seed}\""), format!("{{\"nkey\": \"{seed}\"}}"), seed.to_owned()], seed);
    let damaged = seed.replace("CU3", "AU3");
    for text in [format!("sonar commit {hex}"), format!("snyk project {UUID}"), damaged] {
        assert_eq!(scan(&text), [], "{text}");
    }
}

#[test]
fn encoded_web_tokens_are_found() {
    let token =
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U";
    let encoded = in_base64(token.as_bytes());
    all_find(
        &[format!("auth: {encoded}\n"), format!("data:\n  jwt: {encoded}\n"), encoded.clone()],
        &encoded,
    );
}

/// Base 64 of a text whose length is a multiple of three.
fn in_base64(text: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
    let digits = |number: usize| [18, 12, 6, 0].map(|by| char::from(DIGITS[number >> by & 63]));
    text.chunks_exact(3).flat_map(|bytes| digits(number(bytes))).collect()
}
