//! The plugin in Node.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::setup::plugin;

/// Runs the plugin in Node, with programs that answer, refuse and fail.
#[test]
fn plugin_fails_closed() {
    if !Path::new("/usr/bin/node").exists() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    };
    let no_answer = "Midrail did not answer";
    let proof = "for a; do n=$a; done; echo midrail:$((31*n+17))";
    let answers = [
        ("allows", proof, "passed", "out"),
        ("denies", "echo no >&2; exit 2", "no", "no"),
        ("fails", "exit 1", no_answer, no_answer),
        ("killed", "kill -9 $$", no_answer, no_answer),
        ("silent", "", no_answer, no_answer),
        ("garbled", "echo '{'", no_answer, no_answer),
        ("garbled-with-proof", &format!("echo '{{'; {proof}"), no_answer, no_answer),
        (
            // Notes that do not fit in the answer to a call follow with its result.
            "replaces",
            &format!("echo '{{\"replace\":\"***\",\"notes\":[\"n\"]}}'; {proof}"),
            "passed",
            "***\n\nn\n\nn",
        ),
    ];
    for (name, text, before, after) in answers {
        let program = write(name, &format!("#!/bin/sh\ncat > /dev/null\n{text}\n"));
        write(&format!("{name}.mjs"), &plugin(&program));
        let script = format!(
            "import {{ Midrail }} from './{name}.mjs';
             const hooks = await Midrail({{ directory: '/p' }});
             const call = {{ args: {{ command: 'passed' }} }};
             let seen;
             try {{ await hooks['tool.execute.before']({{ tool: 'bash' }}, call); seen = call.args.command; }}
             catch (error) {{ seen = error.message; }}
             const result = {{ output: 'out' }};
             await hooks['tool.execute.after']({{ tool: 'bash' }}, result);
             console.log(JSON.stringify([seen, result.output]));"
        );
        write(&format!("{name}-run.mjs"), &script);
        let output = std::process::Command::new("/usr/bin/node")
            .arg(format!("{name}-run.mjs"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let seen: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        assert!(seen[0].as_str().unwrap().starts_with(before), "{name}: {seen}");
        assert!(seen[1].as_str().unwrap().starts_with(after), "{name}: {seen}");
    }
}
