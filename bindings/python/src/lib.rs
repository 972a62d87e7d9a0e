//! The native part of the Python package: an engine that takes and returns JSON texts. Everything else is in Python.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use midrail_binding::{Function, Guard, GuardError};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(midrail, MidrailError, PyException, "Midrail cannot do what was asked.");

/// An error with its help as a Python exception.
fn raise(error: &GuardError) -> PyErr {
    let help = error.help().map(|help| format!("; {help}")).unwrap_or_default();
    MidrailError::new_err(format!("{error}{help}"))
}

/// An engine in this process.
#[pyclass(frozen)]
struct Engine(Guard);

#[pymethods]
impl Engine {
    #[new]
    fn open(py: Python<'_>, options: &str) -> PyResult<Self> {
        py.detach(|| Guard::open(options)).map(Engine).map_err(|error| raise(&error))
    }

    /// Decides an event. Other Python threads run meanwhile.
    fn decide(&self, py: Python<'_>, event: &str) -> String {
        py.detach(|| self.0.decide(event.as_bytes()))
    }

    /// Decides the messages of a conversation. Other Python threads run meanwhile.
    fn decide_conversation(&self, py: Python<'_>, events: Vec<String>, new: usize) -> Vec<String> {
        py.detach(|| self.0.decide_conversation(&events, new))
    }

    /// The request for an approval, once it is answered or the time is up.
    fn approval(&self, py: Python<'_>, id: &str, seconds: f64) -> PyResult<String> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| self.0.approval(id, timeout)).map_err(|error| raise(&error))
    }

    /// Registers a guardrail. The function takes and returns JSON.
    fn register(&self, py: Python<'_>, spec: &str, function: Py<PyAny>) -> PyResult<()> {
        let function = Arc::new(PythonFunction { function: Arc::new(function) });
        py.detach(|| self.0.register(spec, function)).map_err(|error| raise(&error))
    }

    /// Removes a guardrail.
    fn unregister(&self, py: Python<'_>, id: &str) -> bool {
        py.detach(|| self.0.unregister(id))
    }
}

/// A guardrail in Python. It runs on a thread of its own, because a thread cannot be stopped: the decision does not wait
/// longer than the guardrail may take.
struct PythonFunction {
    function: Arc<Py<PyAny>>,
}

/// The most guardrails that may be late at the same time.
const MAX_RUNNING: usize = 64;

static RUNNING: AtomicUsize = AtomicUsize::new(0);

impl Function for PythonFunction {
    fn call(&self, call: String, timeout: Duration) -> Result<String, String> {
        if RUNNING.fetch_add(1, Ordering::AcqRel) >= MAX_RUNNING {
            RUNNING.fetch_sub(1, Ordering::AcqRel);
            return Err(format!("{MAX_RUNNING} guardrails in Python have not answered yet"));
        }
        let (sender, answer) = mpsc::channel();
        let function = self.function.clone();
        let run = move || {
            let answer = Python::try_attach(|py| {
                let answered = function.call1(py, (call,)).and_then(|answer| answer.extract::<String>(py));
                drop(function);
                answered.map_err(|error| error.to_string())
            });
            RUNNING.fetch_sub(1, Ordering::AcqRel);
            // The decision may not wait any more.
            let _ = sender.send(answer.unwrap_or_else(|| Err("the interpreter is shutting down".to_owned())));
        };
        if let Err(error) = thread::Builder::new().name("midrail-guardrail".to_owned()).spawn(run) {
            RUNNING.fetch_sub(1, Ordering::AcqRel);
            return Err(format!("no thread could be started: {error}"));
        }
        let late = || Err(format!("no answer within {} ms", timeout.as_millis()));
        answer.recv_timeout(timeout).unwrap_or_else(|_| late())
    }
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Engine>()?;
    module.add("MidrailError", module.py().get_type::<MidrailError>())
}
