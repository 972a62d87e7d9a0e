//! What words mean: quotes, variables, loops and folders.

use super::{assert_blocked, assert_harmless, is_blocked, rules};

#[test]
fn quotes_hide_nothing() {
    assert_blocked(&[
        "rm -rf /",
        r"r\m -rf /",
        "'rm' \"-rf\" ~",
        "r''m -rf /",
        r"$'\x72m' -rf /",
        r"$'\162\155' $'-rf' $'/'",
        "{rm,-rf,/}",
        "/bin/rm -rf /",
        "/usr/bin/../bin/rm -rf /",
        "/bin/r[m] -rf /",
        "rm \\\n  -rf \\\n  /",
        "rm -rf / # clean up",
        "rm${IFS}-rf${IFS}/",
    ]);
}

#[test]
fn aliases_are_judged_where_they_are_defined() {
    assert_blocked(&["alias clean='rm -rf /'", "f() { rm -rf /; }", "git config alias.x '!rm -rf ~'"]);
    assert_harmless(&["alias ll='ls -l' rm='rm -i'", "f() { rm -rf \"$1\"; ls; }", "f() { ls; }; f"]);
}

#[test]
fn known_values_are_followed() {
    assert_blocked(&[
        "a=rm; b=-rf; $a $b ~",
        "c='rm -rf /'; $c",
        "c='rm -rf /'; eval \"$c\"",
        "export D=/; rm -rf \"$D\"",
        "D=/; rm -rf \"${D}etc\"",
        "rm -rf \"${UNSET:-/}\"",
        "x=(rm -rf /); \"${x[@]}\"",
        "x=xrm; ${x#x} -rf /",
        "x=RM; ${x,,} -rf /",
        "x=rxm; ${x/x/} -rf /",
        "y=x; x=rm; ${!y} -rf /",
        "x=${HOME:0:1}; rm -rf $x",
        "set -- rm -rf /; \"$@\"",
        "read d <<< /; rm -rf $d",
        "printf -v x %s rm; $x -rf /",
        "$(echo rm) -rf /",
        "`echo rm` -rf /",
        "$(echo cm0= | base64 -d) -rf /",
        "$(echo mr | rev) -rf /",
        "$(echo qm | tr q r) -rf /",
        "$(basename /bin/rm) -rf /",
        "\"$(command -v rm)\" -rf /",
        "rm -rf \"$HOME\"",
        "D=$PWD; cd /var; rm -rf $PWD",
    ]);
}

#[test]
fn values_of_branches_and_loops_are_all_tried() {
    assert_blocked(&[
        "[ -z \"$X\" ] && D=/; rm -rf $D",
        "D=build; test -f x || D=/; rm -rf \"$D\"",
        "if x; then D=/; else D=build; fi; rm -rf $D",
        "for d in build /; do rm -rf \"$d\"; done",
        "echo / | while read -r d; do rm -rf \"$d\"; done",
        "case $x in a) D=/;; b) D=build;; esac; rm -rf $D",
    ]);
}

#[test]
fn folders_are_followed() {
    assert_blocked(&[
        "cd ~ && rm -rf *",
        "cd / ; rm -rf *",
        "(cd /; rm -rf *)",
        "pushd /etc && rm -rf .",
        "cd / && { cd /etc; rm -rf *; }",
        "env -C / rm -rf etc",
        "cd /etc; cd /tmp; cd -; rm -rf *",
    ]);
    assert_harmless(&[
        "(cd /); rm -rf build",
        "cd build && rm -rf *",
        "cd src && rm -rf ../build",
        "rm -rf \"$PWD/build\"",
        "D=$(pwd); cd src; rm -rf \"$D/build\"",
        "cd \"$(git rev-parse --show-toplevel)\" && rm -rf dist",
        "T=$(mktemp -d); cd \"$T\" && make; rm -rf \"$T\"",
        "cd /etc | true; rm -rf build",
    ]);
}

#[test]
fn the_folder_of_a_script_is_not_that_of_its_shell() {
    for command in [
        "cd \"$(dirname \"$0\")\"; rm -rf build",
        "SCRIPT_DIR=\"$( cd \"$( dirname \"$0\" )\" && pwd )\"; rm -rf \"$SCRIPT_DIR/build\"",
        "cd \"$(dirname \"$0\")/..\" && rm -rf dist",
        "cd \"$(dirname \"$(realpath \"$0\")\")\" && rm -rf dist",
    ] {
        assert!(!is_blocked(command), "{command}: {:?}", rules(command));
    }
}

#[test]
fn lists_of_files_are_judged_by_where_they_come_from() {
    assert_blocked(&[
        "find ~ -type f | xargs rm -f",
        "cd / && find . -type f | xargs rm -f",
        "cd ~ && ls | xargs rm",
        "find \"$HOME\" -type f -print0 | xargs -0 -n1 rm -f",
        "find / -type f | parallel rm",
        "find /etc -type f | xargs unlink",
        "find ~ -name '*.db' | xargs truncate -s 0",
        "grep -rl secret / | xargs rm -f",
        "find ~ -print0 | xargs -0 bash -c 'rm -f \"$@\"' _",
        "find ~ | xargs -I{} sh -c 'rm -rf \"{}\"'",
        "rm -f $(find ~ -type f)",
        "rm -f `find ~ -type f`",
        "for f in $(find ~ -type f); do rm -f \"$f\"; done",
        "find /etc -type f | while read f; do rm \"$f\"; done",
        "while read -r f; do rm -f \"$f\"; done < <(find ~)",
        "mapfile -t all < <(find ~); rm -f \"${all[@]}\"",
        "find ~ > list; xargs rm -f < list",
        "find ~ > list; xargs -a list rm -f",
        "ls -d /home/* | while read d; do rm -rf \"$d\"; done",
        "find / -mindepth 1 -print0 | xargs -0 rm -rf",
        "fd . ~ | xargs rm -rf",
        "fd -X rm -rf . ; fd . /etc -X rm",
        "echo ~/* | xargs rm -rf",
        "ls -1 | grep -v docs | xargs rm -rf",
        "find / -type f -exec bash -c 'rm \"$0\"' {} \\;",
    ]);
    assert_harmless(&[
        "find . -name '*.pyc' | xargs rm -f",
        "find . -type f -name '*.bak' -print0 | xargs -0 rm",
        "find . -name __pycache__ -type d | xargs rm -rf",
        "git ls-files -m | xargs prettier --write",
        "grep -rl foo src | xargs sed -i s/a/b/",
        "rg -l foo | xargs sed -i s/a/b/",
        "ls -t *.log | tail -n +6 | xargs rm -f",
        "ls -1t | tail -n +6 | xargs rm -f",
        "find . -not \\( -name .svn -prune -o -name .git -prune \\) -type f | xargs sed -i 's/ *$//'",
        "for f in $(find . -name '*.orig'); do rm \"$f\"; done",
        "for d in $(ls); do (cd \"$d\" && rm -rf node_modules); done",
        "find src -name '*.o' -exec bash -c 'rm \"$0\"' {} \\;",
        "fd -e pyc -X rm",
        "find / -name x.py 2>/dev/null | head -1",
        "$(find . -name gradlew | head -1) build",
        "cat $(git ls-files '*.md')",
        "x=$(find . -maxdepth 2 -name Makefile | head -1); make -f \"$x\"",
        "curl -s https://x.example/list | while read -r url; do wget -q \"$url\"; done",
        "curl -s https://x.example/ids | jq -r '.[]' | xargs -I{} echo {}",
    ]);
}
