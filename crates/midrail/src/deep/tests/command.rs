//! Commands as those who are asked.

use serde_json::json;

use super::*;

fn run(command: &str, more: serde_json::Value) -> Result<Answer, String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("label"), "spam").unwrap();
    let mut value = json!({"command": command, "timeout": "60s"});
    for (name, of) in more.as_object().unwrap() {
        value[name] = of.clone();
    }
    let question = Question { root: Some(folder.path().to_owned()), ..question("s", "x") };
    answered(asking().ask("g", &settings(value), question))
}

#[test]
fn a_command_gets_the_event_and_answers_with_an_object() {
    let answer = run(
        "grep -q '\"name\":\"Write\"' && printf '{\"label\": \"%s\"}' $(cat label); echo hm >&2",
        json!({}),
    );
    assert_eq!(answer.unwrap().value, json!({"label": "spam", "exit_code": 0}));
    let answer = run("printf '{\"exit_code\": 7, \"ok\": true}'; exit 3", json!({})).unwrap();
    assert_eq!(answer.value, json!({"exit_code": 7, "ok": true}));
}

#[test]
fn output_without_an_object_becomes_the_answer() {
    let answer = run("echo out; echo err >&2; exit 4", json!({})).unwrap();
    assert_eq!(answer.value, json!({"exit_code": 4, "output": "out\nerr\n"}));
    assert_eq!(run("echo '[1]'", json!({})).unwrap().value["exit_code"], json!(0));
    let answer = run("printf AKIA; echo Q4ZTX7RK2MPLWN3J", json!({})).unwrap();
    assert!(answer.value["output"].as_str().unwrap().starts_with("[redacted:"), "{answer:?}");
}

#[test]
fn a_large_event_goes_to_a_command_that_reads_it_and_to_one_that_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let asking = asking();
    for (command, output) in [("wc -c", true), ("true", false), ("exec 0<&-; echo closed", false)] {
        let mut question = question("s", &"y".repeat(500_000));
        question.root = Some(folder.path().to_owned());
        let length = question.event.to_string().len();
        let settings = settings(json!({"command": command, "timeout": "60s"}));
        let answer = answered(asking.ask("g", &settings, question)).unwrap();
        assert_eq!(answer.value["exit_code"], json!(0), "{command}");
        if output {
            assert_eq!(answer.value["output"].as_str().unwrap().trim(), length.to_string());
        }
    }
}

#[test]
fn failures_are_reported() {
    for (command, more, part) in [
        ("sleep 100", json!({"timeout": "1500ms"}), "did not end within"),
        ("kill -9 $$", json!({}), "ended by a signal"),
        ("yes", json!({"timeout": "1500ms"}), "did not end within"),
        ("head -c 5000 /dev/zero", json!({"max_answer_bytes": 100}), "more than 100 bytes"),
    ] {
        let error = run(command, more).unwrap_err();
        assert!(
            error.starts_with(&format!("`{command}` gave no answer: ")) && error.contains(part),
            "{error}"
        );
    }
    let error = asked(json!({"command": "true"}), "x").unwrap_err();
    assert!(error.contains("neither a root nor a `cwd` is known"), "{error}");
}

#[test]
fn a_command_does_not_get_keys() {
    // Whatever this process has in its environment, a command sees what programs need alone.
    let answer = run("env", json!({})).unwrap();
    let output = answer.value["output"].as_str().unwrap().to_owned();
    assert!(output.contains("PATH=") && !output.contains("MIDRAIL"), "{output}");
}

#[test]
fn cancelled_question_stops_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let asking = asking();
    let settings = settings(json!({"command": "touch begun; sleep 300; touch ended", "timeout": "10m"}));
    let question = Question { root: Some(folder.path().to_owned()), ..question("s", "x") };
    let ticket = asking.ask("g", &settings, question).unwrap();
    until("it runs", || folder.path().join("begun").exists());
    asking.cancel_run("s");
    let Ok(Err(why)) = ticket.wait(LONG) else { panic!("it was answered") };
    assert!(why.contains("cancelled"), "{why}");
    until("it is over", || is_idle(&asking));
    assert!(!folder.path().join("ended").exists());
}
