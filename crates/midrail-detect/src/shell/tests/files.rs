//! Files whose content decides what a line does.

use crate::shell::{Analysis, File, analyse, analyse_with};

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn with(command: &str, path: &str, text: &str) -> Analysis {
    analyse_with(command, None, &[File { path: path.to_owned(), text: Some(text.to_owned()) }])
}

#[test]
fn files_that_are_obeyed_are_told_apart_from_files_that_are_read() {
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
        let Analysis { scripts: got_scripts, feeds: got_feeds, .. } = analyse(command);
        assert_eq!((got_scripts, got_feeds), (owned(scripts), owned(feeds)), "{command}");
    }
}

#[test]
fn files_from_the_network_are_told() {
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
fn a_recipe_counts_where_its_target_is_asked_for() {
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
