//! Tests of secrets through the public functions, and of the examples in the data.

use super::*;
use serde_json::json;

include!(concat!(env!("OUT_DIR"), "/secret_examples.rs"));

/// A UUID is a secret by its name alone: most of them are names of things.
#[test]
fn uuid_is_a_secret_next_to_the_name_of_one() {
    let uuid = "8d3f1c52-91ab-4c0e-9d3b-5a7f20c1e6b4";
    for before in [
        "client_secret: ",
        "password = ",
        "api_key=\"",
        "\"apiToken\": \"",
        "Authorization: Bearer ",
        "https://x.example/a?token=",
        "DB_PASSWORD=",
        "X-Api-Key: ",
        "Ocp-Apim-Subscription-Key: ",
    ] {
        assert_eq!(scan(&format!("{before}{uuid}\"")).len(), 1, "{before}");
    }
    for before in [
        "",
        "id: ",
        "tenant_id: ",
        "request_id=",
        "\"client_id\": \"",
        "token_id: ",
        "secret_id: ",
        "idempotency_key: ",
        "cache_key: ",
        "x-request-id: ",
        "public_key: ",
        "\"kid\": \"",
        "page_token=",
    ] {
        assert_eq!(scan(&format!("{before}{uuid}\"")).len(), 0, "{before}");
    }
}

#[test]
fn formats_find_their_examples() {
    let mut wrong = Vec::new();
    for (index, found, not_found) in EXAMPLES {
        let kind = formats::FORMATS[*index].kind;
        // The mark keeps other scanners from reporting the examples.
        let plain = |text: &&str| text.replace('¦', "");
        for text in found.iter().map(plain) {
            assert!(scan(&text).iter().all(|hit| is_kind(hit.kind)), "{text}");
            if scan(&text).is_empty() || !engine::finds(*index, &text) {
                wrong.push(format!("{kind} is not found in {text}"));
            }
        }
        for text in not_found.iter().map(plain) {
            if engine::finds(*index, &text) {
                wrong.push(format!("{kind} is found in {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(EXAMPLES.len() >= 500, "{}", EXAMPLES.len());
}

fn kinds(text: &str) -> Vec<&'static str> {
    scan(text).into_iter().map(|secret| secret.kind).collect()
}

#[test]
fn known_shapes_are_found() {
    assert_eq!(kinds("key=AKIAABCDEFGHIJKLMNOP."), ["aws-access-key"]);
    assert_eq!(kinds("sk-9f3Kq71vB0xTz28LmWc4Pn"), ["openai-key"]);
    let pem = "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb";
    assert_eq!((scan(pem)[0].start, scan(pem)[0].end), (2, pem.len() - 2));
}

#[test]
fn examples_of_manuals_are_no_secrets() {
    for text in [
        "AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE",
        "aws configure set aws_access_key_id AKIAI44QH8DHBEXAMPLE",
        "curl https://api.stripe.example -u sk_test_4eC39HqLyjWDarjtT1zdp7dc:",
        "Authorization: Basic dXNlcjpwYXNzd29yZA==",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "s3_key=backups/db-2024-05-16T00-00-00Z.tar.gz",
        "key: exports/2024/users-7f3a91c2.csv.gz",
        "RECAPTCHA_SITE_KEY=6Lp0jsyU186vxLZsDkIFgzrljKbBub76zJx4pzor",
        "password: secret123!",
        "password: Password1!",
        "password = \"my_secret_2!\"",
        "password: <secret1!>",
        "password: test_secret1!",
        "password: hunter2secret",
        "password = getSecret2()!",
        "data-sitekey=\"6Lp0jsyU186vxLZsDkIFgzrljKbBub76zJx4pzor\"",
    ] {
        assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
    }
    for (text, kind) in [
        ("AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLQ", "aws-access-key"),
        ("Authorization: Basic bWFyaWU6cGFzc3dvcmQ=", "basic-authorization"),
        ("s3_secret_key=kT7qLx9vB2nWz4RmPc8JdYh3", "generic-secret"),
        ("RECAPTCHA_SECRET_KEY=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", "generic-secret"),
        ("pw: bsFW85ZTCB4x", "generic-password"),
        ("password: hunter2secret!", "generic-password"),
        ("DB_PASSWORD=Winter2secret!", "generic-password"),
        ("\"password\": \"token7Harbour#\"", "generic-password"),
    ] {
        assert_eq!(kinds(text), [kind], "{text}");
    }
}

#[test]
fn everyday_text_is_ignored() {
    for text in [
        "sk-short",
        "task-based-scheduling-of-many-things",
        "AKIA is a prefix",
        "npm_config_registry",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "eyJhbGciOiJub25lIn0",
        "",
    ] {
        assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn masked_value_shows_only_kind_and_fingerprint() {
    let mut value = json!({"args": {"a/b": ["export KEY=AKIAABCDEFGHIJKLMNOP"]}});
    let findings = scan_json(&value, b"store key");
    assert_eq!(findings[0].at, "/args/a~1b/0");
    let tags = mask(&mut value, &findings);
    let masked = value.pointer(&tags[0].at).unwrap().as_str().unwrap();
    assert_eq!(&masked[tags[0].start..tags[0].end], tag(&findings[0]));
    let text = value.to_string();
    assert!(!text.contains("AKIA"), "{text}");
    assert!(text.contains(&format!("[redacted:aws-access-key#{}]", &findings[0].fingerprint[..4])), "{text}");
    assert_ne!(
        findings[0].fingerprint,
        scan_json(&json!(["AKIAABCDEFGHIJKLMNOP"]), b"other key")[0].fingerprint
    );
}

#[test]
fn secrets_behind_escapes_are_found() {
    assert_eq!(kinds("a%3DAKIAABCDEFGHIJKLMNOP"), ["aws-access-key"]);
    assert_eq!(kinds("line\\nAKIAABCDEFGHIJKLMNOP"), ["aws-access-key"]);
    assert_eq!(redact("key AKIAABCDEFGHIJKLMNOP."), "key [redacted:aws-access-key].");
}

#[test]
fn hostile_texts_have_bounded_hits() {
    for part in [
        "sk-",
        "eyJ.",
        "eyJ-",
        "AIza-",
        "-----BEGIN ",
        "AKIA",
        "e ",
        "password=",
        "://",
        "key:\"",
        "twilio_key=",
    ] {
        let text = part.repeat(60_000 / part.len());
        assert!(scan(&text).len() < text.len());
    }
}

#[test]
fn assignments_are_found_in_many_languages() {
    for text in [
        "password = \"Kx7zzq21w\"",
        "export DB_PASSWORD=Kx7zzq21w",
        "db_password: Kx7zzq21w",
        "{\"password\": \"Kx7zzq21w\"}",
        "{\\\"password\\\":\\\"Kx7zzq21w\\\"}",
        "<password>Kx7zzq21w</password>",
        "const PASSWORD: &str = \"Kx7zzq21w\";",
        "var password string = \"Kx7zzq21w\"",
        "setProperty(\"db.password\", \"Kx7zzq21w\")",
        "tool --password Kx7zzq21w --verbose",
        "tool --password=Kx7zzq21w",
        "?user=a&password=Kx7zzq21w&x=1",
        "password%3DKx7zzq21w",
        "postgres://marie:Kx7zzq21w@host/db",
        "user.password := `Kx7zzq21w`",
        "'password' => 'Kx7zzq21w',",
    ] {
        let hits = scan(text);
        assert_eq!(hits.len(), 1, "{text}: {hits:?}");
        assert_eq!(&text[hits[0].start..hits[0].end], "Kx7zzq21w", "{text}");
    }
}

#[test]
fn secrets_are_found_by_their_context() {
    for (text, secret) in [
        ("client.setSecretKey(\"Kq71vB0xTz28Lm\")", "Kq71vB0xTz28Lm"),
        ("cfg.setCipherKey(Base64.decode(\"Kq71vB0xTz28LmWc4PnRs5==\"))", "Kq71vB0xTz28LmWc4PnRs5=="),
        (
            "const secretKey = createSecretKey(Buffer.from('8d3f0a91c7be45628d3f0a91c7be4562', 'hex'))",
            "8d3f0a91c7be45628d3f0a91c7be4562",
        ),
        (
            "my-auth.sid=s%3AKq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe;",
            "s%3AKq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe",
        ),
        ("-H 'Authorization: Kq71vB0xTz28LmWc4PnRs'", "Kq71vB0xTz28LmWc4PnRs"),
        ("key: 'Kq71vB0xTz28LmWc4PnRs5uYdEf6'", "Kq71vB0xTz28LmWc4PnRs5uYdEf6"),
        ("secret_of_bob = Kq71vB0xTz28LmWc4PnRs5uY", "Kq71vB0xTz28LmWc4PnRs5uY"),
        ("POSTGRES_PASSWORD=wqzvbnkxhtplrdgf", "wqzvbnkxhtplrdgf"),
        ("http://marie:308172@host:8080/", "308172"),
        ("password = k{q(9]w}$e#v[x>-t)", "k{q(9]w}$e#v[x>-t)"),
        ("client_secret: '4081730296518372'", "4081730296518372"),
        ("const PASSWORD: &[u8] = b\"turtle99x\";", "turtle99x"),
        ("<param name=\"db.password\">Kx7zzq21w</param>", "Kx7zzq21w"),
        ("<entry key='password'>Kx7zzq21w</entry>", "Kx7zzq21w"),
        ("wifi_psk=Kx7zzq21w", "Kx7zzq21w"),
        ("let token: String = String::from(\"Kq71vB0xTz28LmWc4PnRs\");", "Kq71vB0xTz28LmWc4PnRs"),
    ] {
        let hits = scan(text);
        let found: Vec<_> = hits.iter().map(|hit| &text[hit.start..hit.end]).collect();
        assert_eq!(found, [secret], "{text}");
        assert!(hits[0].confidence > Confidence::Low, "{text}");
    }
}

#[test]
fn bare_key_has_confidence_only_with_unmistakable_value() {
    for text in [
        "key: '8d3f0a91c7be45628d3f0a91c7be4562'",
        "Sec-WebSocket-Key: Kq71vB0xTz28LmWc4PnRs5==",
        "PublicKey{Id: 4, Key: \"Kq71vB0xTz28LmWc4PnRs5uYdEf6\"}",
        "nonce: 'Kq71vB0xTz28LmWc4PnRs5uYdEf6'",
        "key: 'MCowBQYDK2VwAyEAKq71vB0xTz28LmWc4PnRs5uYdEf6'",
        "secret_name: Kq71vB0xTz28LmWc4PnRs5uY",
    ] {
        assert!(scan(text).iter().all(|hit| hit.confidence == Confidence::Low), "{text}");
    }
}

#[test]
fn values_that_resemble_secrets_are_ignored() {
    for text in [
        "password: \"Enter your password\"",
        "password = os.environ[\"DB_PASSWORD\"]",
        "password = get_password(user)",
        "let token = tokens.next();",
        "integrity: sha512-9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe3DgV0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe3Dg==",
        "checksum = \"9f30c71b0a2848c4e51d6f9a0c3e3d0ea28c4511df6a9b3c0e7d8f1a2b3c4d5e\"",
        "github.com/a/b v1.2.3 h1:9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe=",
        "commit 9f30c71b0a2848c4e51d6f9a0c3e3d0ea28c4511",
        "id: 3f0c71b0-a284-4c4e-91d6-f9a0c3e3d0ea",
        "<img src=\"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAA\">",
        "public_key = \"9f3Kq71vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe3\"",
        "api_key: ${API_KEY}",
        "token: {{ secrets.token }}",
        "password=[redacted:generic-password#3f9a]",
        "key: \"user.profile.title\"",
        "type Password = string;",
        "pub const ERROR_WRONG_PASSWORD: W32_ERROR = 1323u32;",
        "pub const SET_PASSWORD: i32 = -2147212282i32;",
        "<input type=\"password\">Kx7zzq21w</input>",
        "def save(private_key: ed25519.Ed25519PrivateKey)",
        "io.example:jsonwebtoken:json-jackson-0.11.2",
    ] {
        assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn member_name_is_context_of_its_value() {
    let mut value = json!({"db": {"password": "Kx7\"zzq21w", "note": "Kx7zzq21w", "codes": {"token": ["9fA3kQ71vB0xTz28"]}}});
    let findings = scan_json(&value, b"k");
    let places: Vec<&str> = findings.iter().map(|finding| finding.at.as_str()).collect();
    assert_eq!(places, ["/db/codes/token/0", "/db/password"]);
    mask(&mut value, &findings);
    assert!(scan_json(&value, b"k").is_empty());
}

#[test]
fn secrets_in_keys_are_found_and_masked() {
    let mut value = json!({"AKIAABCDEFGHIJKLMNOP": {"x": "AKIAABCDEFGHIJKLMNOQ"}, "b": 1});
    let findings = scan_json(&value, b"k");
    assert_eq!(findings[0].at, "/AKIAABCDEFGHIJKLMNOP~key");
    let mask_of = Mask::new(&value, &findings);
    let whole = mask_of.value(value.clone()).to_string();
    let tags = mask(&mut value, &findings);
    let text = value.to_string();
    assert!(!text.contains("AKIA") && !whole.contains("AKIA"), "{text} {whole}");
    for found in &tags {
        let text = midrail_core::json_pointer::text_at(&value, &found.at).unwrap();
        assert_eq!(&text[found.start..found.end], tag(found), "{value}");
    }
}

#[test]
fn tiny_value_is_masked_only_where_it_was_found() {
    let value = json!({"password": "zk9w", "note": "zk9w and more"});
    let findings = scan_json(&value, b"k");
    assert_eq!(findings.len(), 1, "{findings:?}");
    let masked = Mask::new(&value, &findings).value(value);
    assert!(masked["password"].as_str().unwrap().starts_with("[redacted:"), "{masked}");
    assert_eq!(masked["note"], "zk9w and more");
}

#[test]
fn block_without_end_stops_at_prose() {
    let key = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ";
    let text =
        format!("-----BEGIN PRIVATE KEY-----\n{key}\n{key}\nand then some more prose follows here for long");
    let hits = scan(&text);
    assert_eq!((hits[0].kind, hits[0].end), ("private-key", text.find("\nand").unwrap()));
    let cut = format!("-----BEGIN PRIVATE KEY-----\\n{key}\\n{key}");
    assert_eq!(scan(&cut)[0].end, cut.len());
}

#[test]
fn name_and_value_may_be_apart() {
    for text in [
        "{\"name\":\"DB_PASSWORD\",\"value\":\"Xk29fLqPz7\"}",
        "{\\\"name\\\": \\\"DB_PASSWORD\\\", \\\"value\\\": \\\"Xk29fLqPz7\\\"}",
        "env:\n- name: DB_PASSWORD\n  value: Xk29fLqPz7\n",
        "ParameterKey=DbPassword,ParameterValue=Xk29fLqPz7",
        "\"ParameterKey\": \"DbPassword\",\n \"ParameterValue\": \"Xk29fLqPz7\"",
        "<add key=\"DbPassword\" value=\"Xk29fLqPz7\"/>",
        "<key>password</key>\n\t<string>Xk29fLqPz7</string>",
        "<name>db.password</name>\n<value>Xk29fLqPz7</value>",
        "password:\n  Xk29fLqPz7\n",
        "db_password: |\n  Xk29fLqPz7\nuser: bob",
        "db_password: >-\n    Xk29fLqPz7",
        "| DB_PASSWORD | Xk29fLqPz7 |",
        "| `DB_PASSWORD` | `Xk29fLqPz7` | the database |",
        "ENV DB_PASSWORD Xk29fLqPz7",
        "tool config set db.password Xk29fLqPz7",
        "mot de passe : Xk29fLqPz7",
        "Contraseña: Xk29fLqPz7",
        "пароль: Xk29fLqPz7",
        "密码：Xk29fLqPz7",
    ] {
        assert_eq!(redact(text), text.replace("Xk29fLqPz7", "[redacted:generic-password]"));
    }
    let value = json!([{"name": "DB_PASSWORD", "value": "Xk29fLqPz7"}, {"ParameterKey": "DbPassword", "ParameterValue": "Xk29fLqPz7"}]);
    assert_eq!(scan_json(&value, b"k").len(), 2);
    for text in [
        "| password | string | required |",
        "| token | The token to use |",
        "{\"name\":\"password\",\"value\":\"required\"}",
        "password:\n  type: string2\n  minimum: 8\n",
        "password:\n    The password, 8 characters or more.\n",
        "the user may set -x token here",
        "for name: token, value: the text",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn rows_of_tables_are_read_by_their_columns() {
    let text =
        "INSERT INTO users (name, `password`, age)\nVALUES ('bob', 'Xk29fLqPz7', 4), ('eve', 'Zq81kkw!', 5);";
    let tag = "[redacted:sql-password]";
    assert_eq!(redact(text), text.replace("Xk29fLqPz7", tag).replace("Zq81kkw!", tag));
    for text in [
        "insert into users (name, age) values ('Xk29fLqPz7', 4)",
        "insert into users (name, password) values (?, ?)",
        "insert into the box (a password) values nobody",
    ] {
        assert_eq!(redact(text), text);
    }
}

#[test]
fn values_differ_from_numbers_types_and_names() {
    let hex = "9f30c71b0a2848c4e51d6f9a0c3e3d0ea28c4511df6a9b3c0e7d8f1a2b3c4d5e";
    for text in [
        format!("secret_key_base: {hex}"),
        format!("SECRET_KEY_BASE={hex}{hex}"),
        "password = \"P@ssw0rd2024!\"".to_owned(),
        "DB_PASSWORD=S3cr3t-Prod-2024".to_owned(),
    ] {
        assert_eq!(scan(&text).len(), 1, "{text}");
    }
    for text in [
        "{\"auths\": {\"host\": {\"auth\": \"bWFyaWU6dHVydGxlOTk=\"}}}",
        "//registry/:_auth=bWFyaWU6dHVydGxlOTk=",
    ] {
        assert_eq!(scan(text)[0].confidence, Confidence::Medium, "{text}");
    }
    for text in [
        "{\"password\": 482719365728, \"a\": 1}",
        "{\"password\": 482719365728}",
        "\"AWS::AppSync::ApiKey\": \"3d104ea0be48564b\"",
        "DEVSTAT_MATCH_PASS = 0x04",
        "pub log_passwd: __u32,",
        "cvs://:pserver:anoncvs@host/cvs",
    ] {
        assert_eq!(kinds(text), Vec::<&str>::new(), "{text}");
    }
}

/// Random letters and digits, the same each time.
fn random(length: usize) -> String {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(letters[usize::try_from(state >> 33).unwrap() % letters.len()])
    };
    (0..length).map(|_| next()).collect()
}

#[test]
fn long_values_are_redacted_completely() {
    for length in [150, 201, 256, 395, 400, 401, 513, 1_100, 9_000, 16_384, 40_000] {
        let value = random(length);
        for (head, tail) in [
            ("API_TOKEN=", ""),
            ("password=", " x"),
            ("client-key-data: ", "\n"),
            ("tls.key: ", "\nb: c"),
            ("AWS_SESSION_TOKEN=", ""),
            ("?access_token=", "&x=1"),
            ("X-Api-Key: ", "\n"),
            ("Server=a;Password=", ";x=y"),
            ("{\"secret\": \"", "\"}"),
            ("{\\\"secret\\\": \\\"", "\\\"}"),
            ("Authorization: Bearer ", "\n"),
            ("curl -u a:", " host"),
            ("sk-", ""),
        ] {
            let redacted = redact(&format!("{head}{value}{tail}"));
            assert!(!redacted.contains(&value[value.len() - 8..]), "{head} {length} {redacted}");
            assert!(redacted.len() < 160 + head.len(), "{head} {length} {redacted}");
        }
        if length < 16_000 {
            assert!(!redact(&format!("postgres://a:{value}@db/x")).contains(&value[..8]), "{length}");
        }
        for member in ["access_token", "password"] {
            let json = json!({member: value});
            let findings = scan_json(&json, b"k");
            let hidden: usize = findings.iter().map(|finding| finding.end - finding.start).sum();
            assert_eq!(hidden, length, "{member}");
        }
    }
}

#[test]
fn key_with_numbered_lines_is_redacted() {
    let line = random(64);
    let lines = ["-----BEGIN RSA PRIVATE KEY-----", &line, &line, "Xk29==", "-----END RSA PRIVATE KEY-----"];
    for prefix in ["     #→", "#:", "k/id_rsa:#:", "  # | ", "#\t", "> ", "k/id_rsa-#-"] {
        let numbered = lines.iter().zip(1..).map(|(line, at)| prefix.replace('#', &at.to_string()) + line);
        let text = numbered.collect::<Vec<_>>().join("\n");
        let redacted = redact(&text);
        assert!(!redacted.contains(&line) && !redacted.contains("Xk29"), "{redacted}");
    }
    for value in [json!(lines), json!(lines.map(|line| json!({"n": 1, "text": line})))] {
        let findings = scan_json(&value, b"k");
        assert_eq!(findings.len(), 3, "{findings:?}");
    }
    let long = format!("{}\n{}", lines[0], format!("{line}\n").repeat(3_000));
    assert_eq!(scan(&long)[0].end, long.len());
}

#[test]
fn secrets_behind_colours_and_escapes_are_found() {
    for text in [
        "\x1b[32mAKIAABCDEFGHIJKLMNOP\x1b[0m",
        "\\u001b[1;32mAKIAABCDEFGHIJKLMNOP",
        "\x1b[01;31m\x1b[KAKIA\x1b[m\x1b[KABCDEFGHIJKLMNOP",
        "\\u0022AKIAABCDEFGHIJKLMNOP\\u0022",
        "\\x22AKIAABCDEFGHIJKLMNOP\\x22",
        "token\\u003dAKIAABCDEFGHIJKLMNOP",
    ] {
        assert_eq!(kinds(text), ["aws-access-key"], "{text}");
    }
    for text in [
        "password=\x1b[32mXk29fLqPz7\x1b[0m",
        "\x1b[34;1m\"password\"\x1b[0m\x1b[1;39m:\x1b[0m \x1b[0;32m\"Xk29fLqPz7\"\x1b[0m",
        "\x1b[01;31m\x1b[Kpassword\x1b[m\x1b[K=Xk29fLqPz7",
    ] {
        assert_eq!(redact(text), text.replace("Xk29fLqPz7", "[redacted:generic-password]"));
    }
    assert!(!redact("password=Xk29\\\"fLqPz7\\\"").contains("fLqPz7"));
    assert!(!redact("DB_PASSWORD=Xk29\\\\fLqPz7").contains("fLqPz7"));
    assert!(redact("DB_PASSWORD=Xk29fLq\\nUSER=bob").contains("USER=bob"));
}

mod families;
mod in_streams;

fn json_values() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    const WORDS: &[&str] = &[
        "password",
        "token",
        "name",
        "value",
        "defaultValue",
        "key",
        "x",
        "DB_PASSWORD",
        "session",
        "before_tool",
        "file_path",
        "env",
        "hunter2Kq71vB0",
        "-----BEGIN RSA PRIVATE KEY-----",
        "-----END RSA PRIVATE KEY-----",
        "MIIEpAIBAAKCAQEA7bq2Z8mXkq",
        "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4",
        "AKIAABCDEFGHIJKLMNOP",
        "main.rs",
        "",
        "postgres://ada:Kq71vB0xTz@db/x",
        "password = Kq71vB0xTz28",
        "secret",
        "PATH",
    ];
    let words = || (0..WORDS.len()).prop_map(|at| WORDS.get(at).copied().unwrap_or_default().to_owned());
    words().prop_map(Value::from).prop_recursive(4, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(words(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]
    #[test]
    fn value_without_possible_secrets_has_none(value in json_values()) {
        let mut may = false;
        let extent = midrail_core::visit_texts(&value, &mut |member, text| may |= may_contain(member, text));
        proptest::prop_assert!(extent.is_ok());
        let found = scan_json(&value, b"key");
        proptest::prop_assert!(may || found.is_empty(), "{found:?}");
    }
}
