//! The built-in table of errors: their words, severity and recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The severity of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ErrorSeverity {
    /// A retry may succeed.
    Recoverable,
    /// A retry will not succeed.
    Fatal,
    /// Unclassified.
    Unknown,
}

/// How to recover from an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RecoveryStep {
    /// Try again, a bounded number of times.
    Retry,
    /// Undo what was done in part.
    Rollback,
    /// Ask a person.
    Escalate,
    /// Block further actions of the agent.
    Quarantine,
}

impl ErrorSeverity {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            ErrorSeverity::Recoverable => "recoverable",
            ErrorSeverity::Fatal => "fatal",
            ErrorSeverity::Unknown => "unknown",
        }
    }
}

/// A common kind of error.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Phrases, one of which must occur as whole words: `429` does not match `1429`.
    words: &'static [&'static str],
    pub(crate) severity: ErrorSeverity,
    pub(crate) next: RecoveryStep,
}

impl Row {
    pub(crate) fn fits(&self, kind: &str, message: &str) -> bool {
        self.words.iter().any(|words| contains_words(message, words) || contains_words(kind, words))
    }
}

use ErrorSeverity::{Fatal, Recoverable};
use RecoveryStep::{Escalate, Retry, Rollback};

/// The first match wins. Fatal errors come before recoverable ones.
pub(crate) const DEFAULTS: &[Row] = &[
    Row {
        name: "permission",
        words: &[
            "permission denied",
            "eacces",
            "eperm",
            "operation not permitted",
            "access denied",
            "access is denied",
            "permissionerror",
            "forbidden",
            "http 403",
            "status 403",
            "403 forbidden",
            "read-only file system",
            "erofs",
        ],
        severity: Fatal,
        next: Escalate,
    },
    Row {
        name: "authentication",
        words: &[
            "unauthorized",
            "unauthenticated",
            "authentication failed",
            "authentication error",
            "authenticationerror",
            "invalid api key",
            "invalid credentials",
            "invalid token",
            "token expired",
            "http 401",
            "status 401",
            "401 unauthorized",
            "login required",
            "certificate verify failed",
        ],
        severity: Fatal,
        next: Escalate,
    },
    Row {
        name: "disk",
        words: &["no space left", "disk full", "enospc", "disk quota exceeded", "edquot", "not enough space"],
        severity: Fatal,
        next: Escalate,
    },
    Row {
        name: "quota",
        words: &[
            "insufficient_quota",
            "insufficient quota",
            "quota exceeded",
            "billing hard limit",
            "payment required",
            "http 402",
            "status 402",
            "402 payment",
        ],
        severity: Fatal,
        next: Escalate,
    },
    Row {
        name: "memory",
        words: &[
            "out of memory",
            "outofmemory",
            "outofmemoryerror",
            "enomem",
            "cannot allocate memory",
            "memoryerror",
            "heap out of memory",
            "oom-killed",
            "oomkilled",
        ],
        severity: Fatal,
        next: Rollback,
    },
    Row {
        name: "crash",
        words: &[
            "panicked at",
            "panic",
            "assertion failed",
            "assertionerror",
            "assertion error",
            "segmentation fault",
            "segfault",
            "sigsegv",
            "sigabrt",
            "core dumped",
            "stack overflow",
            "internal compiler error",
        ],
        severity: Fatal,
        next: Rollback,
    },
    Row {
        name: "damage",
        words: &[
            "data corruption",
            "corrupted",
            "checksum mismatch",
            "database disk image is malformed",
            "integrity check failed",
        ],
        severity: Fatal,
        next: Rollback,
    },
    Row {
        name: "rate",
        words: &[
            "too many requests",
            "rate limit",
            "rate limited",
            "rate_limit",
            "ratelimit",
            "ratelimiterror",
            "http 429",
            "status 429",
            "error 429",
            "code 429",
            "429 too many",
            "overloaded",
            "overloaded_error",
            "throttled",
            "throttling",
            "slow down",
        ],
        severity: Recoverable,
        next: Retry,
    },
    Row {
        name: "time",
        words: &[
            "timed out",
            "timeout",
            "timeouterror",
            "time-out",
            "etimedout",
            "deadline exceeded",
            "esockettimedout",
        ],
        severity: Recoverable,
        next: Retry,
    },
    Row {
        name: "network",
        words: &[
            "connection reset",
            "econnreset",
            "connection refused",
            "econnrefused",
            "connection closed",
            "connection aborted",
            "econnaborted",
            "connectionerror",
            "broken pipe",
            "epipe",
            "network is unreachable",
            "enetunreach",
            "host unreachable",
            "ehostunreach",
            "temporary failure in name resolution",
            "eai_again",
            "socket hang up",
            "unexpected eof",
            "tls handshake",
            "could not resolve host",
            "fetch failed",
        ],
        severity: Recoverable,
        next: Retry,
    },
    Row {
        name: "server",
        words: &[
            "internal server error",
            "bad gateway",
            "service unavailable",
            "gateway timeout",
            "temporarily unavailable",
            "http 500",
            "http 502",
            "http 503",
            "http 504",
            "http 529",
            "status 500",
            "status 502",
            "status 503",
            "status 504",
            "status 529",
            "error 500",
            "error 502",
            "error 503",
            "error 504",
            "code 500",
            "code 502",
            "code 503",
            "code 504",
            "try again later",
        ],
        severity: Recoverable,
        next: Retry,
    },
    Row {
        name: "busy",
        words: &[
            "database is locked",
            "resource busy",
            "ebusy",
            "resource temporarily unavailable",
            "eagain",
            "deadlock detected",
            "could not obtain lock",
            "index.lock",
            "serialization failure",
            "text file busy",
        ],
        severity: Recoverable,
        next: Retry,
    },
];

/// Whether a text contains a phrase as whole words. Case is ignored.
pub(crate) fn contains_words(text: &str, words: &str) -> bool {
    if words.is_empty() {
        return false;
    }
    let (text, words) = (text.to_lowercase(), words.to_lowercase());
    text.match_indices(&words).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> &'static str {
        DEFAULTS.iter().find(|row| row.fits("", message)).map_or("?", |row| row.name)
    }

    #[test]
    fn common_errors_are_classified() {
        for (message, name) in [
            ("request to https://x.example failed: ETIMEDOUT", "time"),
            ("HTTP 429: Too Many Requests", "rate"),
            ("read tcp 1.2.3.4: connection reset by peer", "network"),
            ("upstream answered status 503", "server"),
            ("bash: ./x: Permission denied", "permission"),
            ("write failed: No space left on device", "disk"),
            ("401 Unauthorized", "authentication"),
            ("JavaScript heap out of memory", "memory"),
            ("thread 'main' panicked at 'x'", "crash"),
            ("sqlite: database is locked", "busy"),
        ] {
            assert_eq!(kind(message), name, "{message}");
        }
    }

    #[test]
    fn numbers_and_parts_of_words_do_not_match() {
        for message in [
            "line 429: unexpected token",
            "error in timeouts.rs",
            "no method panicky",
            "a.c:1: fatal error: x.h: No such file",
            "port 5003 is odd",
            "file not found",
        ] {
            assert_eq!(kind(message), "?", "{message}");
        }
    }
}
