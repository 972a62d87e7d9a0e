//! safety-002: files that hold credentials are neither read nor written, by whatever tool or command.

use midrail_core::{Context, Effect, Fault, FileState, Guardrail, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::places::{Target, lowercase};
use crate::settings::Pattern;
use crate::touched::{Touched, touched};

/// The settings of safety-002.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SensitiveFile {
    /// Files that are left alone. A pattern without `/` speaks of files of that name in every folder.
    pub paths: Vec<Pattern>,
    /// Files that may be read and not written.
    pub read_only: Vec<Pattern>,
    /// Files among them that are free.
    pub except: Vec<Pattern>,
}

impl Default for SensitiveFile {
    fn default() -> Self {
        let patterns = |list: &[&str]| list.iter().map(|pattern| Pattern((*pattern).to_owned())).collect();
        SensitiveFile {
            paths: patterns(PROTECTED_PATHS),
            read_only: patterns(READ_ONLY_PATHS),
            except: patterns(FREE_PATHS),
        }
    }
}

/// Files that hold credentials. The default pack shows this table; a test keeps the two alike.
pub const PROTECTED_PATHS: &[&str] = &[
    ".env",
    ".env.*",
    "*.env",
    ".envrc",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    "*.ppk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".git-credentials",
    ".htpasswd",
    "credentials.json",
    "client_secret*.json",
    "service-account*.json",
    "service_account*.json",
    "secrets.json",
    "secrets.yaml",
    "secrets.yml",
    "secrets.toml",
    "*.tfstate",
    "*.tfvars",
    "**/.ssh/**",
    "**/.gnupg/**",
    "**/.aws/**",
    "**/.azure/**",
    "**/.config/gcloud/**",
    "**/.config/gh/hosts.yml",
    "**/.claude/.credentials.json",
    "**/.codex/auth.json",
    "**/.gemini/oauth_creds.json",
    "**/.local/share/opencode/auth.json",
    "**/.config/github-copilot/apps.json",
    "**/.config/github-copilot/hosts.json",
    "/proc/*/environ",
    "**/.config/hub",
    "**/.config/op/**",
    "**/.kube/config",
    "**/.docker/config.json",
    "**/.cargo/credentials",
    "**/.cargo/credentials.toml",
    "**/.gem/credentials",
    "**/.m2/settings.xml",
    "**/.gradle/gradle.properties",
    "**/.terraform.d/credentials.tfrc.json",
    "**/.vault-token",
    "**/.databrickscfg",
    "**/.snowflake/config.toml",
    "**/.bash_history",
    "**/.zsh_history",
    "**/.password-store/**",
    "**/.mozilla/firefox/**",
    "**/.config/google-chrome/**",
    "**/.config/chromium/**",
    "**/library/keychains/**",
    "**/library/application support/google/chrome/**",
    "**/library/application support/firefox/**",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/sudoers.d/**",
    "/etc/ssl/private/**",
    "**/midrail.db.key",
];

/// Files that programs look after themselves.
pub const READ_ONLY_PATHS: &[&str] = &[".git/**", "**/.git/**", ".git", "**/.git"];

/// Files that only look like credentials.
pub const FREE_PATHS: &[&str] = &[
    "*.example",
    "*.sample",
    "*.template",
    "*.dist",
    ".env.test",
    ".env.ci",
    ".env.d.ts",
    "*.pub",
    "**/.ssh/known_hosts",
    "**/.ssh/config",
    "cacert.pem",
    "ca-bundle.pem",
    "cert.pem",
    "certificate.pem",
    "*-cert.pem",
    "*_cert.pem",
    "*.cert.pem",
    "ca.pem",
    "*-ca.pem",
    "*_ca.pem",
    "rootca.pem",
    "chain.pem",
    "fullchain.pem",
    "public.pem",
    "*-public.pem",
    "*_public.pem",
    "pubkey.pem",
    "**/certifi/**",
    "**/testdata/**/*.pem",
];

impl SensitiveFile {
    fn objection<'s>(&'s self, name: &str, touched: &Touched<'_>) -> Option<&'s str> {
        let name = lowercase(name);
        let place = Target::of(&name);
        let fitting = |list: &'s [Pattern]| list.iter().map(|it| it.0.as_str()).find(|it| place.fits(it));
        let credentials = if touched.is_named { None } else { fitting(&self.paths) };
        let found = credentials.or_else(|| touched.is_write.then(|| fitting(&self.read_only)).flatten())?;
        // A wildcard is never free: it may mean more than the one file that is.
        let is_free = !place.has_wildcard && fitting(&self.except).is_some();
        (!is_free).then_some(found)
    }
}

/// A file that is only named, and yet replaced (`cp .env.example .env`), is as good as written where there is one.
fn seen<'a>(context: &Context<'_>, touched: &Touched<'a>) -> Touched<'a> {
    if !(touched.is_named && touched.is_write && touched.is_replaced) {
        return *touched;
    }
    let place = context.real_place(touched.file, None);
    let is_new = place.is_ok_and(|place| matches!(context.file(&place), Ok(FileState::Absent)));
    Touched { is_named: is_new, ..*touched }
}

impl Guardrail for SensitiveFile {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let touched = touched(context)?;
        let names: Vec<_> = touched.iter().map(|it| (seen(context, it), context.names_of(it.file))).collect();
        let mut fault = None;
        for (it, names) in &names {
            let names = match names {
                Ok(names) => names,
                Err(missing) => {
                    fault = Some(missing.clone());
                    continue;
                }
            };
            let found = names.iter().find_map(|name| self.objection(name, it));
            if let Some(pattern) = found {
                let (reason, advice) = if self.read_only.iter().any(|it| it.0 == pattern) {
                    (
                        "is kept by a program of its own, and not written by hand",
                        "Use that program, such as git.",
                    )
                } else {
                    (
                        "holds credentials, and an agent does not need them",
                        "Work with an example file such as .env.example, or refer to the value by its name.",
                    )
                };
                return Ok(Verdict::block(format!("{} {reason}.", it.name()))
                    .advise(advice)
                    .with("path", it.file)
                    .with("pattern", pattern));
            }
        }
        fault.map_or_else(|| Ok(Verdict::allow()), |missing| Err(missing.into()))
    }

    fn ceiling(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Leave files that hold credentials alone, such as .env and private keys.".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Run;
    use serde_json::{Value, json};

    fn effect(tool: &str, args: Value) -> Effect {
        Run::of(SensitiveFile::default()).before(tool, args).effect
    }

    #[test]
    fn credentials_are_left_alone() {
        for file in [
            ".env",
            "app/.ENV.local",
            "x/../.env",
            "deploy/prod.pem",
            "/home/me/.ssh/id_rsa",
            "~/.aws/credentials",
        ] {
            assert_eq!(effect("Read", json!({"file_path": file})), Effect::Block, "{file}");
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Block, "{file}");
        }
    }

    #[test]
    fn what_only_looks_like_them_is_free() {
        for file in
            [".env.example", "src/environment.rs", "id_rsa.pub", "docs/keys.md", ".github/x.yml", "monkey.rs"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn git_looks_after_its_own_files() {
        assert_eq!(effect("Read", json!({"file_path": ".git/config"})), Effect::Allow);
        assert_eq!(effect("Write", json!({"file_path": ".git/hooks/pre-commit"})), Effect::Block);
        assert_eq!(effect("Write", json!({"file_path": ".gitignore"})), Effect::Allow);
    }
}
