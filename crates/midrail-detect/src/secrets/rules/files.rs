//! Formats that belong to no one provider: headers, files of passwords, hashes, commands.

use midrail_core::Severity;

use super::{Rule, Verify, inside, prefix};

/// Less specific than a provider's format, more than an assignment.
const LOW: u8 = 1;

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    inside(
        "bearer-token",
        "a bearer token",
        &["bearer"],
        r#"(?i:bearer)[ \t:="'\\]{1,4}(?:(?i:token)[ =:"']{1,3})?([0-9A-Za-z._~+/=|:-]{16,})"#,
    )
    .line()
    .any_case()
    .window(400)
    .entropy(28)
    .verify(Verify::Token)
    .rank(LOW)
    .yes(&["Authorization: Bearer 9f3¦Kq71vB0xTz28LmWc4"])
    .no(&["Authorization: Bearer $TOKEN", "Bearer authentication-is-required-here", "bearer of good news everywhere"]),
    inside(
        "basic-authorization",
        "a user name and password in a header",
        &["basic"],
        r"(?i:basic)[ \t]{1,2}([0-9A-Za-z+/]{8,}={0,2})",
    )
    .line()
    .any_case()
    .verify(Verify::Basic)
    .rank(LOW)
    .yes(&["Authorization: Basic bWFy¦aWU6dHVydGxlOTk="])
    .no(&["Basic authentication", "basic knowledge of things"]),
    inside(
        "basic-authorization",
        "a user name and password that are put into a header",
        &["b64encode(", "btoa(", "base64_encode("],
        r#"(?i:b64encode|btoa|base64_encode)\(\s?[bfru]?["'][^\s"':]{1,64}:([^\s"'{}$<>%]{3,})["']"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["auth = base64.b64encode(b'marie:tur¦tle99')", "'Basic ' + btoa(\"bob:Zq¦81kkw\")"])
    .no(&["b64encode(b'user:password')", "btoa(user + ':' + pass)", "btoa(`${user}:${pass}`)", "btoa('at 10:30')"]),
    inside(
        "basic-authorization",
        "a user name and password that are put into a header",
        &["buffer.from("],
        r#"(?i:buffer\.from)\(["'`][^\s"'`:]{1,64}:([^\s"'`{}$<>%]{3,})["'`](?:, ?["'][0-9a-z-]+["'])?\)\.toString\(["'`]base64"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["Buffer.from('marie:tur¦tle99').toString('base64')"])
    .no(&["Buffer.from('user:password').toString('base64')", "Buffer.from('a:turtle99')", "Buffer.from(`${a}:${b}`).toString('base64')"]),
    inside(
        "authorization-header",
        "a key in an authorization header",
        &["authorization"],
        r#"(?i:authorization)["'\\]{0,3}[ \t]{0,2}[:=,][ \t]{0,2}["'\\]{0,3}([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})"#,
    )
    .line()
    .any_case()
    .entropy(28)
    .rank(LOW)
    .yes(&["curl -H 'Authorization: 3f0c¦71b0-a284-4c4e-91d6-f9a0c3e3d0ea' https://host"])
    .no(&["authorization_id: 3f0c¦71b0-a284-4c4e-91d6-f9a0c3e3d0ea", "Authorization: 00000000-0000-0000-0000-000000000000"]),
    inside(
        "authorization-header",
        "a key in an authorization header",
        &["authorization"],
        r#"(?i:authorization)["'\\]{0,3}[ \t]{0,2}[:=,][ \t]{0,2}["'\\]{0,3}(?i:token|key|apikey|api-key|api-token|oauth|sso-key|geniekey|splunk|bot|ghost|discogs|aws|hmac|digest|private)[ =:](?:token=)?["'\\]{0,3}([0-9A-Za-z._~+/=:-]{16,})"#,
    )
    .line()
    .any_case()
    .entropy(28)
    .verify(Verify::Token)
    .rank(LOW)
    .yes(&["Authorization: Token 5b0¦c9a2f7e814d36"])
    .no(&["Authorization: Token <your token>", "authorization: token authentication-required"]),
    inside(
        "curl-user",
        "a password of a curl command",
        &["curl "],
        r#"curl [^\n]{0,200}?(?:-u|--user)[ =]?['"]?[^\s:'"$<{]{1,64}:([^\s'"$<{]{4,})"#,
    )
    .line()
    .window(320)
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["curl -u marie:tur¦tle99x https://host/x", "curl -s --user 'bob:Zx¦9!kkw2' host"])
    .no(&["curl -u $USER:$PASS host", "curl -u user:password host", "curl --url https://host/a:b"]),
    inside(
        "curl-user",
        "a password of an http command",
        &["http ", "https "],
        r#"(?:^|[\s;&|])https? [^\n]{0,200}?(?:-a|--auth)[ =]['"]?[^\s:'"$<{]{1,64}:([^\s'"$<{]{4,})"#,
    )
    .line()
    .lead(1)
    .window(320)
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["http --auth marie:tur¦tle99x https://host/x", "https -a bob:Zx¦9kkw2q GET host"])
    .no(&["http -a $USER:$PASS host", "http --auth user:password host", "use http or https -a or b: both work"]),
    inside(
        "bearer-token",
        "a token in a header, put together",
        &["bearer"],
        r#"(?i:bearer) ["'] ?\+ ?["']([0-9A-Za-z._~+/=-]{20,})["']"#,
    )
    .line()
    .any_case()
    .entropy(28)
    .verify(Verify::Token)
    .rank(LOW)
    .yes(&["\"Authorization\": \"Bearer \" + \"ZPf¦1Qh6yYTWmE4lBYOvfZ8UzDzV8fUkkibjL5DZP\""])
    .no(&["\"Authorization\": \"Bearer \" + token", "'Bearer ' + 'the-token-of-the-user-goes-here'"]),
    inside(
        "session-cookie",
        "a session of GitHub",
        &["_gh_sess=", "user_session="],
        r"(?:_gh_sess|user_session)=([0-9A-Za-z%+/=_-]{40,})",
    )
    .entropy(35)
    .rank(LOW)
    .yes(&["_gh_sess=jN0¦MEQ7wjJJibaZUPgHV7iB3m03nbqnsGpWLuqIA1id6Vw5DQL05HA064GiIjHGb3CXlMaXZjljENUhJ"])
    .no(&["_gh_sess=…", "user_session=<your session>"]),
    inside(
        "netrc-password",
        "a password in a netrc file",
        &["machine "],
        r"machine\s+\S+\s+login\s+\S+\s+password\s+(\S+)",
    )
    .block()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["machine host.example login marie password tur¦tle99", "machine h\n  login m\n  password Kx¦7zzq21\n"])
    .no(&["machine learning needs a password", "machine h login m password <password>"]),
    inside(
        "pgpass-password",
        "a password in a pgpass file",
        &[":5432:"],
        r"[0-9A-Za-z_.*-]+:5432:[^:\s]+:[^:\s]+:([^\s:]{4,})",
    )
    .lead(64)
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["db.host:5432:shop:marie:tur¦tle99"])
    .no(&["localhost:5432:db", "a:5432:b:c:${PASSWORD}"]),
    inside(
        "password-hash",
        "the hash of a password",
        &["$2a$", "$2b$", "$2y$", "$apr1$", "$argon2", "$5$", "$6$", "$1$", "$y$"],
        r"\$(?:2[aby]\$[0-9]{2}\$[./0-9A-Za-z]{53}|apr1\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{22}|argon2(?:id|i|d)\$v=[0-9]+\$[a-z0-9=,]+\$[+/0-9A-Za-z]{8,}\$[+/0-9A-Za-z]{16,}|5\$(?:rounds=[0-9]+\$)?[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{43}|6\$(?:rounds=[0-9]+\$)?[./0-9A-Za-z]{1,16}\$[./0-9A-Za-z]{86}|1\$[./0-9A-Za-z]{1,8}\$[./0-9A-Za-z]{22}|y\$[./0-9A-Za-z]+\$[./0-9A-Za-z]{1,86}\$[./0-9A-Za-z]{43})",
    )
    .severity(Severity::Medium)
    .rank(LOW)
    .yes(&["bob:$apr1$¦Zk3s81Lq$7oG0mUqz5D2hYwK9xNvTc/", "x $2b$¦12$Q9dTf3yW7kXzE0nR5sLpUuJ4hGvBm2cKqAi8oNtYx6eZwHrD1fS.a"])
    .no(&["$1 costs $2", "echo $6$x", "$2a$10$short"]),
    prefix(
        "password-hash",
        "the hash of a password",
        &["pbkdf2_sha256$", "pbkdf2_sha1$", "pbkdf2:sha256:", "scrypt:32768:", "{SSHA}", "{SHA}", "{SSHA512}"],
        r"(?:pbkdf2_sha(?:256|1)\$[0-9]+\$[0-9A-Za-z]+\$[0-9A-Za-z+/]{20,}=?|pbkdf2:sha256:[0-9]+\$[0-9A-Za-z]+\$[0-9a-f]{64}|scrypt:32768:8:1\$[0-9A-Za-z]+\$[0-9a-f]{128}|\{S{1,2}HA(?:512)?\}[0-9A-Za-z+/]{27,}={0,2})",
    )
    .severity(Severity::Medium)
    .rank(LOW)
    .yes(&["pbkdf2_sha256$¦260000$k3VbQ9xL$Zr8yTq1mNwE5uXoC7pGdHs2jKfLa4vBi6tYe9cRzD0M="])
    .no(&["pbkdf2_sha256$…", "the {SSHA} scheme"]),
    inside(
        "sql-password",
        "a password in an SQL statement",
        &["identified by", "identified with", "with password", "encrypted password", "set password"],
        r#"(?i:identified by|identified with [0-9A-Za-z_]+ by|with password(?: ?=)?|encrypted password|set password[^=\n]{0,80}=)[ \t]*(?:(?i:password|values)[ (]*)?["']{1,8}([^\s'";,()<>$]{4,})"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&[
        "CREATE USER app IDENTIFIED BY 'kx7¦turtle';",
        "ALTER ROLE app WITH PASSWORD 'Zq¦81kkw'",
        "SET PASSWORD FOR 'bob'@'host' = 'Zq¦81kkw'",
        "SET PASSWORD = PASSWORD('Zq¦81kkw')",
        "EXEC('CREATE LOGIN app WITH PASSWORD = ''Zq¦81kkw'' ')",
    ])
    .no(&[
        "user is identified by email",
        "identified by 'password'",
        "set password for the account",
        "a folder is identified by `dir42x`",
        "a leak identified by valgrind3 in the parser",
    ]),
    inside(
        "sql-password",
        "a password in an SQL statement",
        &["identified by"],
        r"(?i:identified by)[ \t]+([^\s'\x22`;,()<>$]{4,})",
    )
    .line()
    .any_case()
    .beside(" user ")
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["CREATE USER app IDENTIFIED BY kx7¦zzq21;"])
    .no(&["a leak identified by valgrind3", "each is identified by uuid4"]),
    inside(
        "private-key",
        "the private part of a PuTTY key",
        &["Private-Lines:"],
        r"Private-Lines:[ \t]*[0-9]+(?:\s|\\r|\\n)+([0-9A-Za-z+/=]{2,80}(?:(?:\r?\n|\\r|\\n)+[0-9A-Za-z+/=]{2,80})*)",
    )
    .block()
    .window(4_096)
    .plain()
    .severity(Severity::Critical)
    .yes(&["Private-Lines: 2\nAAABAQ¦CkVh3qVnYw81kkwZq81kkw\nXk29fLqPz7==\nPrivate-MAC: 9f30"])
    .no(&["Private-Lines: none", "the header Private-Lines: 14"]),
    prefix(
        "private-key",
        "a private key in base 64",
        &["LS0tLS1CRUdJTi"],
        r"LS0tLS1CRUdJTi(?:BPUEVOU1NI|BSU0EgUFJJV|BFQyBQUklWQ|BQUklWQVRFI|BFTkNSWVBURUQgU|BEU0EgUFJJV)[0-9A-Za-z+/=]+(?:(?:\r?\n[ \t]*|\\n)[0-9A-Za-z+/=]{20,})*(?:(?:\r?\n[ \t]*|\\n)[0-9A-Za-z+/]+={1,2})?",
    )
    .block()
    .window(12 * 1024)
    .plain()
    .severity(Severity::Critical)
    .yes(&["key: LS0tLS1CRUdJTi¦BPUEVOU1NIIFBSSVZBVEUgS0VZLS0tLS0KYjNCbGJuTnphQzFy"])
    .no(&["cert: LS0tLS1CRUdJTi¦BDRVJUSUZJQ0FURS0tLS0tCk1JSUQ", "LS0tLS1CRUdJTi is how a block begins"]),
    inside(
        "wordpress-key",
        "a key or salt of a WordPress site",
        &["AUTH_KEY'", "AUTH_SALT'", "LOGGED_IN_KEY'", "LOGGED_IN_SALT'", "NONCE_KEY'", "NONCE_SALT'"],
        r"(?:KEY|SALT)'[ \t]*,[ \t]*'([^'\n]{40,})'",
    )
    .line()
    .entropy(38)
    .rank(LOW)
    .yes(&["define( 'AUTH_KEY', 'tDK%X:>xy|e-Z(¦BXb/f(Ur`8#~UzUQG-^_Cs GHs5U-&Wb?pgn^p8(2@}Ic' );"])
    .no(&["define('AUTH_KEY', 'put your unique phrase here');", "echo $keys['AUTH_KEY'];"]),
    inside(
        "session-cookie",
        "a session in a cookie",
        &["cookie:"],
        r"(?i:cookie):[ \t]?(?:[^\n]{0,100}?;[ \t]?)?[^=;\s]{0,40}(?i:sess|sid|auth|token|jwt|remember)[^=;\s]{0,40}=([^;,\s\x22'<>]{16,})",
    )
    .line()
    .any_case()
    .entropy(28)
    .verify(Verify::Token)
    .rank(LOW)
    .yes(&["Set-Cookie: session=9f3¦Kq71vB0xTz28LmWc4; Path=/", "Cookie: lang=en; connect.sid=9f3¦Kq71vB0xTz28LmWc4"])
    .no(&["Set-Cookie: lang=en", "Cookie: session=<your session>", "cookie: the session=required-by-everyone"]),
    inside(
        "command-password",
        "a password that is piped into a login",
        &["echo ", "printf "],
        r#"(?:echo|printf)(?: -n)? ["']?(?:[^\s"'$|:]{1,32}:)?([^\s"'$|:]{6,})["']? ?\| ?(?:(?:sudo )?(?:docker|podman) login|sudo (?:-k )?-S|(?:sudo )?chpasswd)"#,
    )
    .line()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["echo tur¦tle99x | docker login -u bob --password-stdin", "echo 'Zq¦81kkw!' | docker login -u bob --password-stdin", "echo tur¦tle99x | sudo -S ls", "echo \"bob:Zq¦81kkw\" | chpasswd"])
    .no(&["echo $TOKEN | docker login -u bob --password-stdin", "cat token.txt | docker login --password-stdin"]),
    inside(
        "command-password",
        "a password of a key",
        &["-passin", "-passout", "-pass pass:"],
        r#"-pass(?:in|out)?[ =]["']?pass:([^\s"'$|;]{4,})"#,
    )
    .line()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["openssl genrsa -passout pass:tur¦tle99 -out key.pem", "openssl enc -pass pass:tur¦tle99"])
    .no(&["openssl genrsa -passout pass:$PASS", "openssl genrsa -passout pass:password", "will -pass: turtle99"]),
    inside(
        "kubeadm-token",
        "a token to join a Kubernetes cluster",
        &["kubeadm "],
        r"kubeadm [^\n]{0,160}?--token[ =]([0-9a-z]{6}\.[0-9a-z]{16})",
    )
    .line()
    .entropy(28)
    .yes(&["kubeadm join 10.0.0.1:6443 --token x7k¦2m9.q8w3e5r1t6y2u4i0 --discovery-token-unsafe-skip-ca-verification"])
    .no(&["kubeadm join host --token <token>", "kubeadm token create"]),
    prefix("k3s-token", "a token of a K3s cluster", &["K10"], r"K10[0-9a-f]{64}::[a-z-]{2,20}:[0-9A-Za-z.]{16,}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["K10¦9f30c71b0a2848c4e51d6f9a0c3e3d0ea28c4511df6a9b3c0e7d8f1a2b3c4d5e::server:7be45628d3f0a91c"])
        .no(&["K10 is a part number", "K10::server:short"]),
    prefix("render-key", "a Render key", &["rnd_"], r"rnd_[0-9A-Za-z]{26,40}")
        .entropy(35)
        .verify(Verify::Digit)
        .yes(&["key=rnd_¦bU7AxgAyXYPIcTjw55LRpuooMeLIFhtv"])
        .no(&["rnd_…", "rnd_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "rnd_state = seed"]),
    prefix("asana-token", "an Asana token", &["0/1", "1/1", "2/1"], r"[012]/1[0-9]{12,15}(?:/[0-9]{13,16})?:[0-9a-f]{32}")
        .entropy(28)
        .yes(&["token 1/12¦04819273645501:9f30c71b0a2848c4e51d6f9a0c3e3d0e"])
        .no(&["page 1/1 of 2", "1/1204819273645501:short"]),
    inside(
        "powershell-password",
        "a password in a PowerShell script",
        &["convertto-securestring"],
        r#"(?i:convertto-securestring)\s+(?:(?i:-string)\s+)?\(?["']([^"'\s$]{6,})["']"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["$p = ConvertTo-SecureString 'tur¦tle99!' -AsPlainText -Force"])
    .no(&["ConvertTo-SecureString $password -AsPlainText", "ConvertTo-SecureString 'password' -AsPlainText"]),
    inside(
        "command-password",
        "a password of a command",
        &["sshpass ", "mysql ", "mysqldump ", "mysqladmin ", "docker login", "smbclient ", "mongo ", "mongosh ", "redis-cli ", "ldapsearch ", "htpasswd -", "az login ", "net user "],
        r#"(?:sshpass -p ?|(?:mysql|mysqldump|mysqladmin)[^\n|;]{0,120}?\s-p|docker login [^\n|;]{0,80}?(?:-p|--password)[ =]|mongo(?:sh)?[^\n|;]{0,120}?\s-p ?|redis-cli [^\n|;]{0,80}?-a |ldapsearch [^\n|;]{0,120}?-w |htpasswd -[a-zA-Z]*b[a-zA-Z]* \S+ \S+ |az login [^\n|;]{0,120}?(?:-p|--password)[ =]|net user [^\s/]+ )["']?([^\s"'$<-][^\s"'$<]{3,})"#,
    )
    .line()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&[
        "sshpass -p tur¦tle99 ssh host",
        "mysql -u root -pZq¦81kkw shop",
        "htpasswd -cb users bob tur¦tle99",
        "az login -u bob -p Zq¦81kkw",
        "net user bob Zq¦81kkw /add",
    ])
    .no(&["mysql -u root -p shop", "sshpass -p $PASS ssh h", "mysql -h host --port 3306", "net user bob /delete", "htpasswd -c users bob"]),
    inside(
        "call-password",
        "a password that is handed to a call",
        &["httpbasicauth(", "httpdigestauth(", "networkcredential(", "usernamepasswordcredentials(", "passwordauthentication(", "basicauth(", "basic_auth(", "auth=("],
        r#"(?i:httpbasicauth|httpdigestauth|networkcredential|usernamepasswordcredentials|passwordauthentication|basic_?auth|auth=)\(\s?["'][^"'\n]{1,64}["'],\s?["']([^"'\s]{4,})["']"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["requests.get(u, auth=('marie', 'tur¦tle99'))", "req.SetBasicAuth(\"bob\", \"Zq¦81kkw\")", "new NetworkCredential(\"bob\", \"Zq¦81kkw\")"])
    .no(&["HTTPBasicAuth('user', 'password')", "auth=(user, password)", "basic_auth('bob', env('PASS'))"]),
    inside(
        "call-password",
        "a password that is handed to a call",
        &["getconnection(", "mysql_connect(", "mysqli_connect(", "new mysqli(", "new pdo("],
        r#"(?i:getconnection|mysqli?_connect|new mysqli|new pdo)\(\s?[^,\n]{1,160},\s?["'][^"'\n]{1,64}["'],\s?["']([^"'\s]{4,})["']"#,
    )
    .line()
    .any_case()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["DriverManager.getConnection(url, \"marie\", \"tur¦tle99\")", "new mysqli('localhost', 'bob', 'Zq¦81kkw', 'shop')"])
    .no(&["getConnection(url, \"root\", \"password\")", "new PDO($dsn, $user, $pass)", "new mysqli('localhost', 'bob', '')"]),
    inside(
        "call-password",
        "a key that tokens are signed with",
        &["jwt.sign(", "jwt.verify(", "jwt.encode(", "jwt.decode("],
        r#"jwt\.(?:sign|verify|encode|decode)\([^,\n]{1,120},\s?["']([^"'\s]{6,})["']"#,
    )
    .line()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["jwt.sign(payload, 'tur¦tle99')", "jwt.encode({'a': 1}, \"Zq¦81kkw\")"])
    .no(&["jwt.sign(payload, process.env.JWT_SECRET)", "jwt.verify(token, 'secret')", "jwt.decode(token, 'utf-8')"]),
    inside(
        "config-password",
        "a password in the settings of a server",
        &["requirepass ", "masterauth "],
        r#"(?:requirepass|masterauth) +["']?([^\s"']{4,})"#,
    )
    .line()
    .verify(Verify::Password)
    .rank(LOW)
    .yes(&["requirepass tur¦tle99\n", "masterauth Zq¦81kkw"])
    .no(&["# requirepass foobared", "requirepass $REDIS_PASSWORD", "requirepass directive"]),
    inside(
        "told-password",
        "a password that is told in a sentence",
        &["password is", "password was", "passwort ist", "passphrase is", "passcode is"],
        r#"(?i:password is|password was|passwort ist|passphrase is|passcode is):? ["'`]?([^\s"'`,;<>()-]{6,})"#,
    )
    .line()
    .any_case()
    .verify(Verify::Told)
    .rank(LOW)
    .yes(&["The password is tur¦Tle99x", "your password is: Zq¦81kkw."])
    .no(&["the password is required", "password is MD5 or SHA256", "your password is 8 characters long", "password is \"password123\""]),
    inside(
        "json-web-key",
        "the private part of a JSON web key",
        &["\"d\":", "\"d\" :", "'d':", " d: '", " d: \"", "\"k\":", " k: '", " k: \"", "\"dp\":", "\"dq\":", "\"qi\":", "\\\"d\\\":"],
        r#"\b(?:d|k|dp|dq|qi)\\?["']?\s?:\s{0,2}\\?["']([0-9A-Za-z_-]{40,})"#,
    )
    .line()
    .window(120)
    .entropy(40)
    .severity(Severity::Critical)
    .yes(&["{\"kty\":\"EC\",\"d\":\"Kq7¦1vB0xTz28LmWc4PnRs5uYdEf6GhJi9oAaCbXe3DgV\"}"])
    .no(&["{\"d\": \"monday\"}", "{ d: 'M0 0h24v24H0z' }"]),
    inside(
        "json-web-key",
        "a symmetric JSON web key",
        &["\"oct\"", "'oct'"],
        r#"oct["'][^{}]{0,200}?\bk["']?\s?:\s{0,2}["']([0-9A-Za-z_-]{16,})"#,
    )
    .block()
    .window(320)
    .entropy(30)
    .severity(Severity::Critical)
    .yes(&["{\"kty\":\"oct\",\"alg\":\"HS256\",\"k\":\"Kq7¦1vB0xTz28LmWc4PnRs5\"}"])
    .no(&["{\"kty\":\"oct\",\"kid\":\"2026-01\"}", "'oct' stands for octets"]),
    prefix("ntlm-response", "the answer to an NTLM challenge", &["TlRMTVNTUAAD"], r"TlRMTVNTUAAD[0-9A-Za-z+/]{40,}={0,2}")
        .yes(&["Authorization: NTLM TlRMTVNTUAAD¦AAAAGAAYAFYAAAAYABgAbgAAAAAAAABIAAAADgAOAEgA"])
        .no(&["NTLM TlRMTVNTUAABAAAAB4IIogAAAAAAAAAAAAAAAAAAAAA="]),
    inside(
        "kubernetes-secret",
        "a value of a Kubernetes secret",
        &["kind: secret", "kind: 'secret", "kind: \"secret", "\"kind\": \"secret"],
        r#"(?is)kind["']?:\s*["']?secret.{0,500}?\bdata["']?:\s*(?:#[^\n]*\n\s*)?(?:\{\s*)?(?:["']?[\w.-]+["']?:[ \t]*["']{2}[,\s]*)*["']?[\w.-]+["']?:[ \t]*(?:[|>]-?\s+)?["']?([0-9A-Za-z+/]{10,}={0,3})(?:["',\s}]|\z)"#,
    )
    .block()
    .any_case()
    .window(800)
    .rank(LOW)
    .yes(&["apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: dHVydGxlOT¦lzd2ltcw==\n"])
    .no(&["kind: Secret\nmetadata:\n  name: db\n", "kind: SecretStore"]),
    inside(
        "kubernetes-secret",
        "a value of a Kubernetes secret",
        &["apiversion: v1", "apiversion: 'v1", "apiversion: \"v1"],
        r#"(?is)apiversion: ["']?v1["']?\s+data:\s+(?:["']?[\w.-]+["']?:[ \t]*["']{2}\s+)*["']?[\w.-]+["']?:[ \t]*(?:[|>]-?\s+)?["']?([0-9A-Za-z+/]{10,}={0,3})["']?\s.{0,600}?\bkind: ["']?secret\b"#,
    )
    .block()
    .any_case()
    .window(800)
    .rank(LOW)
    .yes(&["apiVersion: v1\ndata:\n  password: dHVydGxlOT¦lzd2ltcw==\nkind: Secret\nmetadata:\n  name: db\n"])
    .no(&["apiVersion: v1\ndata:\n  colour: aGVsbG8gd29ybGQ=\nkind: ConfigMap\n", "apiVersion: v1\nkind: Pod\n"]),
];
