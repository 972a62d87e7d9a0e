//! The exit codes, and what happens on an internal error.

use std::io::{self, Write};
use std::panic;
use std::process::ExitCode;

use midrail::Effect;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done, and nothing to object to.
    Good,
    /// 1: an error, or something was found.
    Failed,
    /// 2: the action must not go on.
    Stopped,
    /// 3: a person said no.
    Denied,
    /// 4: nobody answered, or nobody acted, in time.
    TimedOut,
    /// 5: nobody has answered yet.
    Pending,
    /// As the agent ended that was started.
    Agent(u8),
}

impl Exit {
    /// The exit code of a decision.
    pub(crate) fn of(effect: Effect) -> Self {
        if effect.goes_on() { Exit::Good } else { Exit::Stopped }
    }

    /// 0, or 1 where something was found.
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
            Exit::Agent(code) => ExitCode::from(code),
        }
    }
}

/// Exit codes of the whole program, for its help.
pub(crate) const OF_ALL: &str = "\
Exit codes:
  0  done; check: allow, warn or redact
  1  an error; doctor, test, lint, detect, audit verify, audit replay:
     something was found
  2  check: block, halt, escalate or retry; hook: this must not happen;
     every verb: an internal error
  3  approvals wait: denied
  4  approvals wait: timed out
  5  approvals wait: still pending";

/// Exit codes of `check`.
pub(crate) const OF_CHECK: &str = "\
Exit codes:
  0  allow, warn, redact: the action may go on
  1  an error: no decision could be made, and the action must not go on
  2  block, halt, escalate, retry: the action must not go on; so it is where
     the store failed (no record, no allow), and after an internal error;
     with --stream: where any event was stopped";

/// Exit codes of `hook`.
pub(crate) const OF_HOOK: &str = "\
Exit codes:
  0  the answer is on standard output, in the words of the host; nothing
     there: no objection
  2  this must not happen, and standard error says why: also after an
     internal error, a payload that cannot be read, and when time is up";

/// Exit codes of `acp`.
pub(crate) const OF_ACP: &str = "\
Exit codes:
  that of the agent; 1 where it had to be ended, or could not be started;
  2  an internal error: the agent was ended";

/// Exit codes of the verbs of `approvals` and `approver`.
pub(crate) const OF_APPROVALS: &str = "\
Exit codes:
  0  done
  1  an error: refused, not there, or a key that does not fit; nothing has
     changed";

/// Exit codes of `approvals wait`.
pub(crate) const OF_WAIT: &str = "\
Exit codes:
  0  approved (also: used, or an emergency that grants itself)
  1  an error
  3  denied: a person said no
  4  timed out: nobody answered in time, or the approval was not used in time
  5  still pending when --timeout was over";

/// Exit codes of `replay`.
pub(crate) const OF_REPLAY: &str = "\
Exit codes:
  0  every event could be decided, whatever was decided
  1  an error, or a line that could not be decided";

/// Exit codes of `test`.
pub(crate) const OF_TEST: &str = "\
Exit codes:
  0  every case passed
  1  a case failed, there was none, a file could not be read, or an error";

/// Exit codes of `lint`.
pub(crate) const OF_LINT: &str = "\
Exit codes:
  0  nothing was found, or warnings only
  1  errors were found; with --strict: warnings, too";

/// Exit codes of `detect`.
pub(crate) const OF_DETECT: &str = "\
Exit codes:
  0  nothing was found; JSON lines: all of them were looked at
  1  something was found in the one text, or an error";

/// Exit codes of `audit verify`.
pub(crate) const OF_VERIFY: &str = "\
Exit codes:
  0  the log fits together
  1  a record does not fit, or an error";

/// Exit codes of `audit replay`.
pub(crate) const OF_AUDIT_REPLAY: &str = "\
Exit codes:
  0  every decision came out as it is recorded
  1  a decision came out otherwise, could not be made again, or an error";

/// Exit codes of `init` and `uninstall`.
pub(crate) const OF_INIT: &str = "\
Exit codes:
  0  done, or nothing to do, or shown with --dry-run
  1  an error, a file that was left as it is, or nobody was there to ask:
     then nothing was written";

/// Exit codes of `doctor`.
pub(crate) const OF_DOCTOR: &str = "\
Exit codes:
  0  nothing would pass that ought to be stopped
  1  something would (see ✗), or nothing works";

/// Tells of an internal error in one line, in place of a backtrace.
pub(crate) fn announce_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        let what = info.payload_as_str().unwrap_or("no message");
        // Nothing is left to tell anyone if the terminal is gone.
        let _ = writeln!(
            io::stderr(),
            "error: internal error{}: {what}\nhelp: this is a defect of midrail; please report it",
            place.unwrap_or_default()
        );
    }));
}
