//! The names of environment variables that hold secrets.

/// Parts of their names.
const PARTS: &[&str] =
    &["APIKEY", "AUTH", "COOKIE", "CREDENTIAL", "PASSPHRASE", "PASSW", "PRIVATE", "SECRET", "TOKEN", "_KEY"];

/// The last parts of their names.
const ENDINGS: &[&str] = &["_DSN", "_PASS", "_PAT", "_PWD"];

/// Parts of names that say nothing, although they contain one of those.
const PLAIN: &[&str] = &["AUTHORS", "AUTHOR_", "GOPRIVATE", "_KEYBOARD", "_KEYMAP"];

/// Whether an environment variable holds a secret, by its name.
pub fn is_secret_variable(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let name = PLAIN.iter().fold(upper, |name, plain| name.replace(plain, ""));
    PARTS.iter().any(|part| name.contains(part)) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_the_names_of_their_variables() {
        for name in [
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "npm_config_//registry/:_authToken",
            "OPENAI_API_KEY",
            "PGPASSWORD",
            "GH_PAT",
            "SENTRY_DSN",
            "GIT_AUTHOR_TOKEN",
            "MIDRAIL_HEADER_AUTHORIZATION",
        ] {
            assert!(is_secret_variable(name), "{name}");
        }
        for name in [
            "PATH",
            "HOME",
            "PWD",
            "OLDPWD",
            "KEYBOARD",
            "CARGO_HOME",
            "GIT_AUTHOR_NAME",
            "GOPRIVATE",
            "MONKEY",
        ] {
            assert!(!is_secret_variable(name), "{name}");
        }
    }
}
