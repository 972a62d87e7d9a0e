//! Files whose content decides what a line does.

use midrail_core::Action;

use crate::command::{File, analyse, analyse_with};

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn with(command: &str, path: &str, text: &str) -> Action {
    analyse_with(command, None, &[File { path: path.to_owned(), text: Some(text.to_owned()) }])
}

#[test]
fn obeyed_files_differ_from_read_files() {
    let none: &[&str] = &[];
    for (command, scripts, feeds) in [
        ("psql -f x.sql", &["x.sql"][..], none),
        ("mysql db < x.sql", &["x.sql"], none),
        ("sqlite3 db '.read x.sql'", &["x.sql"], &["db"]),
        ("xargs -a list rm -rf", &["list"], none),
        ("crontab jobs", &["jobs"], none),
        ("make -f m all", &["m"], none),
        ("make -C sub", &["sub/GNUmakefile", "sub/makefile", "sub/Makefile"], none),
        ("xargs rm < list", none, &["list"]),
        ("ssh host < f", none, &["f"]),
        ("eval \"$(cat f)\"", none, &["f"]),
        ("cat f | grep x", none, none),
        ("ssh host 'bash < f'", none, none),
        ("docker exec c make", none, none),
    ] {
        let Action { scripts: got_scripts, feeds: got_feeds, .. } = analyse(command);
        assert_eq!((got_scripts, got_feeds), (owned(scripts), owned(feeds)), "{command}");
    }
}

#[test]
fn downloaded_files_are_listed() {
    for (command, fetched) in [
        ("curl -o x.sh https://example.com/x", &["x.sh"][..]),
        ("cd tools && wget https://example.com/a.sh", &["tools/a.sh"]),
        ("curl -s https://example.com > y", &["y"]),
        ("curl -so /dev/null https://example.com", &[]),
        ("curl https://example.com | jq .", &[]),
        ("git clone https://example.com/r", &[]),
    ] {
        assert_eq!(analyse(command).fetched, owned(fetched), "{command}");
    }
}

#[test]
fn only_requested_targets_run_their_recipes() {
    let makefile = "DIR := build\nall: app ; cc app.c\napp: lib.o\n%.o: %.c\n\trm -rf $(DIR)\nwipe:\n\t-@rm -rf ~\n\
                    deep:\n\t$(MAKE) wipe\nloop: loop deep2\ndeep2: loop\n";
    for (command, is_bad) in [
        ("make", false),
        ("make all", false),
        ("make wipe", true),
        ("make deep", true),
        ("make loop", false),
        ("make lib.o DIR=~", true),
        ("make none", false),
    ] {
        let dangers = with(command, "Makefile", makefile).dangers;
        let is_found = dangers.iter().any(|danger| !danger.is_inside);
        assert_eq!(is_found, is_bad, "{command}: {dangers:?}");
    }
    let package =
        r#"{"scripts": {"pretest": "rm -rf ~", "test": "jest", "prepare": "husky", "lint": "eslint ."}}"#;
    for (command, is_bad) in [("npm test", true), ("npm ci", false), ("pnpm lint", false), ("npm t", true)] {
        assert_eq!(!with(command, "package.json", package).dangers.is_empty(), is_bad, "{command}");
    }
}

#[test]
fn a_script_knows_what_it_is_called_with() {
    for (command, is_bad) in [("sh c.sh build", false), ("sh c.sh ~", true), ("./c.sh / x", true)] {
        let dangers = with(command, "c.sh", "rm -rf \"$1\"").dangers;
        assert_eq!(dangers.iter().any(|danger| !danger.is_inside), is_bad, "{command}: {dangers:?}");
    }
}

#[test]
fn a_script_knows_its_own_place_and_its_words() {
    let argument = "import sys,shutil\nshutil.rmtree(sys.argv[1])\n";
    let own =
        "from pathlib import Path\nimport shutil\nout=Path(__file__).parent/\"out\"\nshutil.rmtree(out)\n";
    let above = "from pathlib import Path\nimport shutil\nshutil.rmtree(Path(__file__).parent.parent)\n";
    let node = "require('fs').rmSync(require('path').resolve(__dirname, 'dist'), {recursive: true})";
    let away = "import os,shutil\nshutil.rmtree(os.path.join('build', '/etc'))\n";
    for (line, path, code, is_stopped) in [
        ("python3 a.py build", "a.py", argument, false),
        ("python3 a.py /etc", "a.py", argument, true),
        ("python3 a.py \"$X\"", "a.py", argument, true),
        ("python3 a.py", "a.py", own, false),
        ("python3 /etc/app/a.py", "/etc/app/a.py", own, true),
        ("python3 a.py", "a.py", above, true),
        ("python3 scripts/a.py", "scripts/a.py", own, false),
        ("node a.js", "a.js", node, false),
        ("python3 a.py", "a.py", away, true),
    ] {
        let dangers = with(line, path, code).dangers;
        assert_eq!(dangers.iter().any(|danger| !danger.is_inside), is_stopped, "{line}: {code}");
    }
}

#[test]
fn creating_a_link_does_not_change_its_target() {
    for (line, writes) in [
        ("ln -s ../README.md src/README.md", &["src/README.md"][..]),
        ("ln -sf /usr/bin/python3 .venv/bin/python", &[".venv/bin/python"]),
        ("ln -s ../x src/x; echo a > src/x", &["src/x", "x"]),
        ("ln -s ~ x; rm -rf x/a", &["x/a", "~/a", "x"]),
    ] {
        assert_eq!(analyse(line).writes, writes, "{line}");
    }
    assert_eq!(analyse("ln -s ../README.md src/README.md").named, ["README.md"]);
    assert!(analyse("ln -s .env x").named.is_empty());
}

#[test]
fn files_that_are_written_back_are_not_overwritten() {
    let none: &[&str] = &[];
    for (line, overwrites) in [
        ("jq . a.json > /tmp/x && mv /tmp/x a.json", &["/tmp/x"][..]),
        ("echo x > /tmp/x && mv /tmp/x a.json", &["/tmp/x", "a.json"]),
        ("cat a.json; echo x > a.json", &["a.json"]),
        ("python3 -c \"p=open('a.json').read();open('a.json','w').write(p)\"", none),
        ("python3 -c \"open('a.json','w').write('')\"", &["a.json"]),
    ] {
        assert_eq!(analyse(line).overwrites, overwrites, "{line}");
    }
}
