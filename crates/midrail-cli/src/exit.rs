//! The exit codes, and what happens on an internal error.

use std::io::{self, Write};
use std::panic;
use std::process::{ExitCode, ExitStatus};

use midrail::Effect;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: success, no issues found.
    Good,
    /// 1: an error, or issues were found.
    Failed,
    /// 2: the action is blocked.
    Stopped,
    /// 3: a person denied the request.
    Denied,
    /// 4: the request timed out, or the approval expired.
    TimedOut,
    /// 5: the request is still pending.
    Pending,
    /// 6: running instances enforce another policy.
    PolicyDiffers,
    /// The exit code of a program that was started.
    Of(u8),
}

impl Exit {
    /// The exit code of a decision.
    pub(crate) fn from_effect(effect: Effect) -> Self {
        if effect.allows() { Exit::Good } else { Exit::Stopped }
    }

    /// The exit code of a program, as shells report it.
    pub(crate) fn from_status(status: ExitStatus) -> Self {
        #[cfg(unix)]
        let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| signal + 128);
        #[cfg(not(unix))]
        let signal = None;
        Exit::Of(status.code().or(signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }

    /// 0, or 1 if issues were found.
    pub(crate) fn good_if(is_good: bool) -> Self {
        if is_good { Exit::Good } else { Exit::Failed }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Good => ExitCode::SUCCESS,
            Exit::Failed => ExitCode::from(1),
            Exit::Stopped => ExitCode::from(2),
            Exit::Denied => ExitCode::from(3),
            Exit::TimedOut => ExitCode::from(4),
            Exit::Pending => ExitCode::from(5),
            Exit::PolicyDiffers => ExitCode::from(6),
            Exit::Of(code) => ExitCode::from(code),
        }
    }
}

/// Exit codes of the whole program, for its help.
pub(crate) const ALL: &str = "\
Exit codes:
  0  done; check: allow, warn, redact or contain
  1  an error; doctor, test, lint, detect, audit verify, audit replay:
     issues were found
  2  check: block, halt, escalate or retry; hook: the action is blocked;
     every subcommand: an internal error
  3  approvals wait: denied
  4  approvals wait: timed out
  5  approvals wait: still pending
  6  serve: running instances on the same store enforce another policy";

/// Exit codes of `serve`.
pub(crate) const SERVE: &str = "\
Exit codes:
  0  the service was stopped
  1  an error: the service did not start, and nothing was changed
  6  running instances on the same store enforce another policy, and no
     administrator has confirmed this one: see `midrail policy confirm`";

/// Exit codes of `check`.
pub(crate) const CHECK: &str = "\
Exit codes:
  0  allow, warn, redact, contain: the action may continue
  1  an error: no decision was made, and the action must not continue
  2  block, halt, escalate, retry: the action must not continue; also if
     the store failed (no record, no allow), and after an internal error;
     with --stream: if any event was blocked";

/// Exit codes of `hook`.
pub(crate) const HOOK: &str = "\
Exit codes:
  0  the answer is on standard output, in the format of the host; empty:
     no issues found
  2  the action is blocked, and standard error has the reason: also after
     an internal error, an invalid payload, and a timeout";

/// Exit codes of the proxies `acp` and `mcp wrap`.
pub(crate) const PROXY: &str = "\
Exit codes:
  that of the program behind the proxy; 1 if it was killed or could not be
  started; 128 + N if the signal N ended the proxy, and the program with it;
  2  an internal error: the program was killed";

/// The exit code of `run` if it did not run the command.
pub(crate) const NOT_RUN: u8 = 125;

/// Exit codes of `run`.
pub(crate) const RUN: &str = "\
Exit codes:
  that of the command; 128 + N if the signal N ended it
  124  it was ended because its time was over
  125  it was not run, because the sandbox could not be set up
  126  it could not be started
  127  it was not found";

/// Exit codes of `try`.
pub(crate) const TRY: &str = "\
Exit codes:
  that of the agent; 128 + N if the signal N ended it
  1  it was not started, or it called no hook and so was not protected";

/// Exit codes of the subcommands of `approvals` and `approver`.
pub(crate) const APPROVALS: &str = "\
Exit codes:
  0  done
  1  an error: not allowed, not found, or a wrong key; nothing was changed";

/// Exit codes of `approvals wait`.
pub(crate) const WAIT: &str = "\
Exit codes:
  0  approved (also: used, or an emergency override)
  1  an error
  3  denied by a person
  4  timed out: no answer in time, or the approval was not used in time
  5  still pending after --timeout";

/// Exit codes of `replay`.
pub(crate) const REPLAY: &str = "\
Exit codes:
  0  every event was decided, with any effect
  1  an error, or a line that could not be decided";

/// Exit codes of `test`.
pub(crate) const TEST: &str = "\
Exit codes:
  0  every case passed
  1  a case failed, there was none, a file could not be read, or an error";

/// Exit codes of `lint`.
pub(crate) const LINT: &str = "\
Exit codes:
  0  no issues, or only warnings
  1  errors; with --strict: also warnings";

/// Exit codes of `detect`.
pub(crate) const DETECT: &str = "\
Exit codes:
  0  no findings; JSON lines: all texts were scanned
  1  findings in the text, or an error";

/// Exit codes of `audit verify`.
pub(crate) const VERIFY: &str = "\
Exit codes:
  0  the audit log is intact
  1  a record does not match, or an error";

/// Exit codes of `audit replay`.
pub(crate) const AUDIT_REPLAY: &str = "\
Exit codes:
  0  every decision was reproduced
  1  a decision differs or could not be replayed, or an error";

/// Exit codes of `init` and `uninstall`.
pub(crate) const INIT: &str = "\
Exit codes:
  0  done, or nothing to do, or shown with --dry-run
  1  an error, a file that was not changed, an agent that is not protected
     afterwards, or no terminal to ask: then nothing was written";

/// Exit codes of `doctor`.
pub(crate) const DOCTOR: &str = "\
Exit codes:
  0  every call that must be blocked is blocked
  1  some are not (see ✗), or a check failed";

/// Reports a panic in one line instead of a backtrace.
pub(crate) fn report_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let what = info.payload_as_str().unwrap_or("no message");
        // If the terminal is gone, the panic cannot be reported.
        let _ = writeln!(
            io::stderr(),
            "error: internal error{}: {what}\nhelp: this is a defect of midrail; please report it",
            place.unwrap_or_default()
        );
    }));
}
