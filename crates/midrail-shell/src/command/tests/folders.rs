//! The folder that commands run in, where the line does not say which it is.

use midrail_core::{Action, Severity};

use crate::command::analyse;

/// The severity of what a line destroys outside of the start folder.
fn severity(command: &str) -> Option<Severity> {
    let Action { dangers, .. } = analyse(command);
    dangers.iter().filter(|danger| !danger.is_inside).map(|danger| danger.severity).max()
}

#[test]
fn what_is_destroyed_in_an_unknown_folder_is_found() {
    let climbs = format!("{}rm -rf etc", "cd ..; ".repeat(1_366));
    for command in [
        climbs.as_str(),
        "cd $X; rm -rf etc",
        "cd \"$X\" && rm -rf src",
        "cd \"$X\" && rm -rf *",
        "cd \"$X\" && rm -f etc/passwd",
        "cd \"$X/etc\" && rm -f passwd",
        "cd \"$X\" && echo x > etc/cron.d/x",
        "cd \"$X\" && echo x >> .ssh/authorized_keys",
        "cd $(dirname \"$X\") && rm -rf src",
        "cd -; rm -rf src",
        "popd; rm -rf src",
        "until [ -d etc ]; do cd ..; done; rm -rf etc",
        "until [ -d bin ]; do cd ..; done; rm -rf bin",
        "while cd ..; do rm -rf etc; done",
        "while true; do rm -rf bin; cd ..; done",
        "for x in $LIST; do cd ..; done; rm -rf bin",
        "for ((i=0; i<9; i++)); do cd ..; done; rm -rf bin",
        "f() { cd ..; [ -d bin ] || f; }; f; rm -rf bin",
        "git -C \"$X\" clean -fdx",
    ] {
        assert!(severity(command).is_some(), "{}", &command[command.len().saturating_sub(60)..]);
    }
}

#[test]
fn everyday_work_in_an_unknown_folder_is_allowed() {
    for command in [
        "cd \"$REPO\" && cargo test",
        "cd \"$REPO\" && rm -rf target node_modules dist",
        "cd \"$REPO\" && rm -rf vendor bin",
        "cd \"$REPO\" && rm -f old.txt lib/old.rb",
        "cd \"$REPO\" && echo x > notes.md && mv a b",
        "cd \"$REPO\" && sed -i s/a/b/ lib/x.rb src/y.rs",
        "cd $(git rev-parse --show-toplevel) && rm -rf target",
        "cd \"$(git rev-parse --show-toplevel)\" && rm -rf src/generated",
        "cd \"$(mktemp -d)\" && rm -rf *",
        "cd \"$TMPDIR/x\" && rm -rf y",
        "for d in */; do (cd \"$d\" && npm ci); done; rm -rf src/old",
        "for d in a b; do cd $d; make; cd ..; done; rm -rf src/old",
        "while read -r d; do (cd \"$d\" && make clean); done < list; rm -rf src/old",
        "while read -r d; do pushd \"$d\"; make; popd; done < list; rm -rf src/old",
    ] {
        assert_eq!(severity(command), None, "{command}: {:?}", analyse(command).dangers);
    }
}

#[test]
fn files_in_an_unknown_folder_are_spelt_with_it() {
    for (command, files) in [
        ("cd $X; cat etc/shadow", &["$X/etc/shadow"][..]),
        ("cd ${X:?}/sub; cat ../a", &["$X/a"]),
        ("cd \"$X\"; cat ../../etc/shadow", &["$X/etc/shadow"]),
        ("cd $(x); cat a", &["$(…)/a"]),
        ("until [ -d etc ]; do cd ..; done; cat etc/shadow", &["$FOLDER/etc/shadow"]),
        ("cd $X; cat /etc/hosts ~/a", &["/etc/hosts", "~/a"]),
        ("cd $(git rev-parse --show-toplevel) && cat src/a.rs", &["src/a.rs"]),
        ("cd sub && cd $(git rev-parse --show-toplevel) && cat a", &["a"]),
        ("cd /x && cd $(git rev-parse --show-toplevel) && cat a", &["$PWD/a"]),
    ] {
        assert_eq!(analyse(command).reads, files, "{command}");
    }
    assert_eq!(analyse("cd $X && ./run.sh").scripts, ["run.sh", "$X/run.sh"]);
}
