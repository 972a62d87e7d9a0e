//! sensitive-file (safety-002): blocks reading and writing files that contain credentials.

use midrail_core::{Category, Context, Effect, EventKind, Fault, FileState, Guardrail, Risk, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builtin::Builtin;
use crate::places::{Target, lowercase};
use crate::settings::{Pattern, patterns};
use crate::touched::{FileAccess, touched};

pub(crate) const BUILTIN: Builtin =
    Builtin::new::<SensitiveFile>("safety-002", Category::Safety, 10, &[EventKind::BeforeTool])
        .min_risk(Risk::Medium)
        .aliases(&["sensitive_file_protection"]);

/// The settings of sensitive-file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SensitiveFile {
    /// Protected files. A pattern without `/` matches in every folder.
    pub paths: Vec<Pattern>,
    /// Files that may be read but not written.
    pub read_only: Vec<Pattern>,
    /// Exceptions.
    pub except: Vec<Pattern>,
}

impl Default for SensitiveFile {
    fn default() -> Self {
        SensitiveFile {
            paths: patterns(PROTECTED_PATHS),
            read_only: patterns(READ_ONLY_PATHS),
            except: patterns(ALLOWED_PATHS),
        }
    }
}

/// Files that contain credentials. The default pack shows this table; a test keeps the two in sync.
pub(crate) const PROTECTED_PATHS: &[&str] = &[
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

/// Files that programs manage themselves.
pub(crate) const READ_ONLY_PATHS: &[&str] = &[".git/**", "**/.git/**", ".git", "**/.git"];

/// Files that look like credentials but are not.
pub(crate) const ALLOWED_PATHS: &[&str] = &[
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
    fn objection<'s>(&'s self, name: &str, touched: &FileAccess<'_>) -> Option<&'s str> {
        let name = lowercase(name);
        let place = Target::new(&name);
        let fitting = |list: &'s [Pattern]| list.iter().map(|it| it.0.as_str()).find(|it| place.fits(it));
        let credentials = if touched.is_named { None } else { fitting(&self.paths) };
        let found = credentials.or_else(|| touched.is_write.then(|| fitting(&self.read_only)).flatten())?;
        // A wildcard may match more than the excepted file.
        let is_free = !place.has_wildcard && fitting(&self.except).is_some();
        (!is_free).then_some(found)
    }
}

/// A named file that is replaced (`cp .env.example .env`) counts as written if it exists.
fn resolve_replaced<'a>(context: &Context<'_>, touched: &FileAccess<'a>) -> FileAccess<'a> {
    if !(touched.is_named && touched.is_write && touched.is_replaced) {
        return *touched;
    }
    let place = context.real_place(touched.file, None);
    let is_new = place.is_ok_and(|place| matches!(context.file(&place), Ok(FileState::Absent)));
    FileAccess { is_named: is_new, ..*touched }
}

impl Guardrail for SensitiveFile {
    fn check(&self, context: &Context<'_>) -> Result<Verdict, Fault> {
        if context.event.tool.is_none() {
            return Ok(Verdict::allow());
        }
        let touched = touched(context)?;
        let names: Vec<_> =
            touched.iter().map(|it| (resolve_replaced(context, it), context.path_aliases(it.file))).collect();
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
                        "is managed by a program and cannot be written directly",
                        "Use that program, such as git.",
                    )
                } else {
                    (
                        "contains credentials and cannot be accessed",
                        "Use an example file such as .env.example, or refer to the value by its name.",
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

    fn max_effect(&self) -> Effect {
        Effect::Block
    }

    fn summary(&self) -> Option<String> {
        Some("Do not access files with credentials, such as .env and private keys.".to_owned())
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
    fn credentials_are_protected() {
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
    fn similar_names_are_allowed() {
        for file in
            [".env.example", "src/environment.rs", "id_rsa.pub", "docs/keys.md", ".github/x.yml", "monkey.rs"]
        {
            assert_eq!(effect("Write", json!({"file_path": file})), Effect::Allow, "{file}");
        }
    }

    #[test]
    fn git_files_are_read_only() {
        assert_eq!(effect("Read", json!({"file_path": ".git/config"})), Effect::Allow);
        assert_eq!(effect("Write", json!({"file_path": ".git/hooks/pre-commit"})), Effect::Block);
        assert_eq!(effect("Write", json!({"file_path": ".gitignore"})), Effect::Allow);
    }
}
