//! Code that a line does not show escalates, and code is judged with what it is given.

use super::*;

/// Lines of which nothing may be asked.
fn assert_not_opaque(commands: &[&str]) {
    for command in commands {
        assert!(!rules(command).iter().any(|rule| rule == "opaque"), "{command}: {:?}", rules(command));
    }
}

fn assert_writes(path: &str, commands: &[&str]) {
    for command in commands {
        let writes = analyse(command).writes;
        let removes = analyse(command).dangers.into_iter().flat_map(|danger| danger.targets);
        let found = writes.iter().cloned().chain(removes).any(|it| it == path);
        assert!(found, "{command}: {writes:?}");
    }
}

#[test]
fn inline_code_writes_what_it_is_given() {
    assert_writes(
        "conf/a.yaml",
        &[
            "python3 -c 'import sys; open(sys.argv[1],\"w\").write(\"pack: x\")' conf/a.yaml",
            "perl -e 'unlink @ARGV' conf/a.yaml",
            "perl -e 'unlink $ARGV[0]' conf/a.yaml",
            "perl -e 'unlink shift' conf/a.yaml",
            "perl -e 'open(F,\">\",$ARGV[0]); print F \"x\"' conf/a.yaml",
            "perl -e 'open F, \">$ARGV[0]\"; print F \"x\"' conf/a.yaml",
            "ruby -e 'File.write(ARGV[0],\"x\")' conf/a.yaml",
            "ruby -e 'ARGV.each { |f| File.delete(f) }' conf/a.yaml",
            "node -e 'require(\"fs\").writeFileSync(process.argv[1],\"x\")' conf/a.yaml",
            "node -e 'process.argv.slice(1).forEach(f => require(\"fs\").unlinkSync(f))' conf/a.yaml",
            "php -r 'unlink($argv[1]);' conf/a.yaml",
            "php -r 'file_put_contents($argv[1], \"x\");' conf/a.yaml",
            "lua -e 'os.remove(arg[1])' conf/a.yaml",
            "awk 'BEGIN{print \"x\" > ARGV[1]}' conf/a.yaml",
            "awk -v f=conf/a.yaml 'BEGIN{print \"x\" > f}'",
            "awk '{print \"x\" > FILENAME}' conf/a.yaml",
            "echo conf/a.yaml | python3 -c 'import sys,os; [os.remove(l.strip()) for l in sys.stdin]'",
            "F=conf/a.yaml python3 -c 'import os; os.remove(os.environ[\"F\"])'",
            "python3 - conf/a.yaml <<< 'import sys; open(sys.argv[1],\"w\")'",
            "python3 -c 'import os,sys; os.rename(sys.argv[1], \"x\")' conf/a.yaml",
            "python3 -c 'import os; os.chdir(\"conf\"); open(\"a.yaml\",\"w\").write(\"x\")'",
        ],
    );
    assert_writes("${unknown}/a.yaml", &["python3 -c 'import os; os.unlink(\"a.yaml\", dir_fd=d)'"]);
}

#[test]
fn inline_code_changes_folders() {
    assert_blocked(&[
        "python3 -c 'import os,shutil; os.chdir(\"/\"); shutil.rmtree(\"etc\")'",
        "node -e 'process.chdir(\"/\"); require(\"fs\").rmSync(\"etc\",{recursive:true})'",
        "node -e 'process.chdir(\"/\"); require(\"child_process\").execSync(\"rm -rf etc\")'",
        "perl -e 'chdir \"/\"; system(\"rm -rf etc\")'",
        "perl -e 'chdir(\"/\"); unlink \"etc/passwd\"'",
        "ruby -e 'Dir.chdir(\"/\"); FileUtils.rm_rf(\"etc\")'",
        "ruby -e 'Dir.chdir(\"/\") { system(\"rm -rf etc\") }'",
        "python3 -c 'import subprocess; subprocess.run([\"rm\",\"-rf\",\"etc\"], cwd=\"/\")'",
        "node -e 'require(\"child_process\").execSync(\"rm -rf etc\", {cwd: \"/\"})'",
        "ruby -e 'system(\"rm -rf etc\", chdir: \"/\")'",
        "php -r 'chdir(\"/\"); system(\"rm -rf etc\");'",
        "python3 -c 'import sys,shutil; shutil.rmtree(sys.argv[1])' /etc",
    ]);
}

#[test]
fn inline_code_runs_what_it_is_given() {
    assert_blocked(&[
        "perl -e 'exec @ARGV' rm -rf /etc",
        "python3 -c 'import os,sys; os.system(sys.argv[1])' 'rm -rf /etc'",
        "python3 -c 'import os; [os.system(c) for c in [\"rm -rf /etc\"]]'",
        "node -e '[\"rm -rf /etc\"].forEach(c => require(\"child_process\").execSync(c))'",
        "python3 -c 'import os; d={\"a\":\"rm -rf /etc\"}; os.system(d[\"a\"])'",
        "awk -v c='rm -rf /etc' 'BEGIN{system(c)}'",
        "awk '{system($0)}' <<< 'rm -rf /etc'",
        "awk '{print | \"sh\"}' <<< 'rm -rf /etc'",
        "dc -e '!rm -rf ~'",
        "ed f <<< '!rm -rf ~'",
        "vim -es <<< ':!rm -rf ~'",
        "gdb -batch -ex 'python import os; os.system(\"rm -rf ~\")'",
        "m4 <<< 'syscmd(rm -rf ~)'",
        "ruby -e 'exec(*ARGV)' rm -rf /etc",
        "php -r 'system($argv[1]);' 'rm -rf /etc'",
    ]);
}

#[test]
fn code_that_is_not_shown_is_opaque() {
    assert_rule(
        "opaque",
        &[
            "awk '{system($0)}' f",
            "python3 -c 'import os; os.system(os.environ[\"X\"])'",
            "python3 -c 'import os; os.system(os.getenv(\"X\"))'",
            "python3 -c 'import subprocess,os; subprocess.run(os.environ[\"X\"], shell=True)'",
            "python3 -c 'import os; os.system(open(\"f\").read())'",
            "perl -e 'system($ENV{X})'",
            "perl -e 'system $ENV{X}'",
            "perl -e 'exec @ARGV' \"$X\"",
            "ruby -e 'system(ENV[\"X\"])'",
            "ruby -e '`#{ENV[\"X\"]}`'",
            "node -e 'require(\"child_process\").execSync(process.env.X)'",
            "node -e 'require(\"child_process\").spawn(process.env.X, [])'",
            "awk 'BEGIN{system(ENVIRON[\"X\"])}'",
            "awk 'BEGIN{ENVIRON[\"X\"] | getline}'",
            "php -r 'system(getenv(\"X\"));'",
            "lua -e 'os.execute(os.getenv(\"X\"))'",
            "python3 <<< \"$X\"",
            "echo \"$X\" | node",
            "echo \"$X\" | perl",
            "echo \"$X\" | ruby",
            "echo \"$X\" | php",
            "bash <(echo \"$X\")",
            "python3 <(echo \"$X\")",
            "printenv X | sh",
            "${X:-ls}",
            "${!X}",
            "$@",
            "$1",
            "${X[0]}",
            "./$X",
            "pwsh -c \"$X\"",
            "xargs -I{} sh -c {} < f",
            "cat f | xargs -I{} sh -c '{}'",
            "cat f | xargs -I{} bash -c \"{}\"",
            "emacs --eval \"$X\"",
            "emacs --batch --eval \"$X\"",
            "vim -c \"$X\"",
            "gdb -ex \"$X\"",
            "make -f - <<< \"$X\"",
            "compgen -C \"$X\"",
            "hash -p $X ls; ls",
            "jq -r .cmd f | sh",
            "jq -r .cmd f | python3",
            "kubectl get x | sh",
            "pbpaste | bash",
            "python3 -c \"import os; $X\"",
            "python3 -c \"$X; print(1)\"",
            "source <(echo \"$X\")",
            ". <(jq -r .cmd f)",
            "jq -r .cmd f | source /dev/stdin",
            "echo \"$X\" > x.sh; bash x.sh",
            "jq -r .cmd f > x.sh; bash x.sh",
            "cat f | xargs sh -c",
            "cat f | xargs env",
            "cat f | xargs -I{} {}",
            "xargs -I{} sh -c '{} a' < f",
            "cmd /c \"$X\"",
            "eval \"${X:-ls}\"",
            "sh -c \"${X:-ls}\"",
            "sudo $X",
            "env $X",
            "ssh-agent $X",
            "timeout 5 $X",
        ],
    );
}

#[test]
fn everyday_code_is_not_opaque() {
    assert_not_opaque(&[
        "python3 script.py \"$X\"",
        "node -e 'console.log(process.env.X)'",
        "awk '{print $1}' f",
        "awk -F: '{print $1 > \"out.txt\"}' f",
        "echo \"$X\" | python3 script.py",
        "curl https://a.example/x | jq .",
        "python3 -c 'import subprocess; subprocess.run([\"git\",\"status\"])'",
        "cat x | grep y",
        "python3 -c 'import json,sys; print(json.load(sys.stdin)[\"a\"])' < x.json",
        "python3 -c 'import sys; print(sys.argv[1])' \"$X\"",
        "python3 -c \"print('$X')\"",
        "python3 -c 'import subprocess,sys; subprocess.run([sys.executable,\"x.py\"])'",
        "python3 - <<'E'\nimport subprocess\ndef run(c):\n    return subprocess.check_output(c, shell=True)\nrun(\"git status\")\nrun(\"ls\")\nE",
        "node -e 'const {execSync}=require(\"child_process\"); const run = c => execSync(c); run(\"git status\")'",
        "node -e 'const {execSync}=require(\"child_process\"); function run(c){ return execSync(c) }; run(\"git status\")'",
        "python3 -c 'import subprocess; [subprocess.run(c) for c in [[\"git\",\"status\"],[\"ls\"]]]'",
        "python3 -c 'import subprocess\nfor c in [\"git status\",\"ls\"]: subprocess.run(c, shell=True)'",
        "python3 -c 'import subprocess,sys; cmd=[\"git\"]+sys.argv[1:]; subprocess.run(cmd)' log",
        "python3 -c 'import subprocess; cmd=[\"git\"]; cmd+=[\"log\"]; subprocess.run(cmd)'",
        "node -e 'const re=/a/; re.exec(process.argv[1])' x",
        "python3 -c 'import sys; open(sys.argv[1],\"w\").write(\"x\")' notes.md",
        "python3 -c 'import re,sys; t=open(\"a.txt\").read(); open(\"a.txt\",\"w\").write(t)'",
        "python3 -c 'import os; [os.remove(f) for f in os.listdir(\"build\")]'",
        "perl -pi -e 's/a/b/' f.txt",
        "perl -ne 'print if /x/' f.txt",
        "ruby -e 'puts ARGV[0]' x",
        "cat script.sh | sh",
        "echo 'ls' | sh",
        "echo \"print(1)\" | python3",
        "python3 -m http.server",
        "git log --format=%H | xargs -n1 git show",
        "find . -name '*.py' | xargs python3 -m py_compile",
        "find . -name '*.sh' | xargs -I{} bash {}",
        "ls | xargs -I{} sh -c 'echo {}'",
        "cat f | xargs -I{} sh -c 'test -f {} && echo {}'",
        "parallel echo ::: a b",
        "vim -c ':wq' f",
        "emacs --batch --eval '(print 1)'",
        "make -j4",
        "gcc-$V x.c",
        "\"$HOME/.local/bin/tool\" x",
        "$HOME/bin/tool",
        "\"$VIRTUAL_ENV/bin/python\" x.py",
        "$(npm bin)/eslint .",
        "bash -c 'echo \"$1\"' x y",
        "f() { \"$@\"; }; f ls",
        "eval \"$(ssh-agent -s)\"",
        "awk '{ cmd = \"date +%s -d \" $1; cmd | getline t; print t }' f",
        "awk 'BEGIN { while ((\"ls\" | getline line) > 0) print line }'",
        "python3 -c 'import subprocess as s; out = s.run(\"git log -1\", shell=True, capture_output=True).stdout; print(out)'",
        "python3 -c 'import platform; print(platform.system())'",
        "perl -e 'print \"a\"; system(\"ls\");'",
        "docker compose exec app python3 -c 'print(1)'",
        "source <(kubectl completion bash)",
        "rm -rf \"${X:-build}\"",
        "python3 x.py \"${X:-a}\"",
        "diff <(jq . a) <(jq . b)",
        "python3 x.py <(jq . a)",
        "cat <(sort a)",
        "hash -r",
        "compgen -c",
        "complete -F f g",
        "xargs -a list rm",
        "git ls-files | xargs sed -i s/a/b/",
        "cat urls | xargs -n1 curl -O",
        "ed f <<< 'p'",
        "dc -e '1 1 + p'",
        "echo '1 2 + p' | dc",
        "vim -es f <<< 'wq'",
        "gdb -batch -ex bt ./a",
        "cat x | ed f",
        "docker ps -q | xargs docker inspect",
        "find . -type f | xargs wc -l",
        "ls | xargs",
        "echo \"select 1\" | psql",
        "cat x.sql | psql",
        "npx tsc x.ts && node x.js",
        "cat a.sh b.sh > c.sh && bash c.sh",
    ]);
}

#[test]
fn variables_that_are_code_are_followed_wherever_they_are_set() {
    assert_blocked(&[
        "env 'BASH_FUNC_ls%%=() { rm -rf ~; }' bash -c ls",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.st GIT_CONFIG_VALUE_0='!rm -rf ~' git st",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.sshCommand GIT_CONFIG_VALUE_0='rm -rf ~' git fetch",
        "GIT_CONFIG_PARAMETERS=\"'alias.st=!rm -rf ~'\" git st",
        "FZF_DEFAULT_COMMAND='rm -rf ~' fzf",
    ]);
    assert_rule(
        "opaque",
        &[
            "MAKEFLAGS='--eval=x:=$(shell rm -rf ~)' make",
            "LD_PRELOAD=/usr/../work/x.so ls",
            "PATH=/tmp:$PATH ls",
            "PATH=/work/repo/evil:$PATH ls",
            "PATH=$X ls",
            "PATH=$X:$PATH ls",
            "NODE_OPTIONS=\"$X\" node a.js",
            "read LD_PRELOAD <<< ./x.so; export LD_PRELOAD; ls",
            "printf -v LD_PRELOAD %s ./x.so; export LD_PRELOAD; ls",
            "export \"$K=$V\"",
            "export \"LD_PRELOAD=./x.so\"",
            "declare -x \"LD_PRELOAD=./x.so\"",
            "cmake -E env LD_PRELOAD=./x.so ls",
            "for LD_PRELOAD in ./x.so; do export LD_PRELOAD; ls; done",
            ": ${LD_PRELOAD:=./x.so}; export LD_PRELOAD; ls",
            "systemd-run -E LD_PRELOAD=./x.so ls",
            "systemd-run --setenv=LD_PRELOAD=./x.so ls",
            "GIT_SSH_COMMAND=./x git fetch",
            "RUSTC_WRAPPER=./x cargo build",
            "ZDOTDIR=./x zsh",
            "MAVEN_OPTS=-javaagent:x.jar mvn test",
            "GRADLE_OPTS=-javaagent:x.jar gradle test",
            "PYTHONPATH=/tmp/x python3 a.py",
            "PERL5LIB=/tmp/x perl a.pl",
            "RUBYLIB=/tmp ruby a.rb",
            "GOFLAGS=-toolexec=./x go build",
            "npm_config_script_shell=./x npm test",
            "TAR_OPTIONS='--checkpoint-action=exec=./x' tar xf a.tar",
            "BUN_OPTIONS='--preload ./x.ts' bun test",
            "GIT_CONFIG_GLOBAL=./cfg git status",
            "mapfile -t LD_PRELOAD <<< ./x.so; export LD_PRELOAD",
            "LD_PRELOAD=$X ls",
        ],
    );
    assert_not_opaque(&[
        "PATH=$PATH:$HOME/.local/bin ls",
        "export PATH=\"$HOME/.cargo/bin:$PATH\"",
        "PATH=node_modules/.bin:$PATH eslint .",
        "export PATH+=:/opt/tool/bin",
        "PATH=$JAVA_HOME/bin:$PATH java -version",
        "export PATH=\"$(go env GOPATH)/bin:$PATH\"",
        "export PATH=\"/opt/homebrew/bin:$PATH\"",
        "PYTHONPATH=src pytest",
        "PYTHONPATH=. python3 a.py",
        "PYTHONPATH=$PWD:$PYTHONPATH python3 a.py",
        "PYTHONPATH=\"$PWD/src\" pytest",
        "NODE_OPTIONS=--max-old-space-size=4096 npm test",
        "NODE_OPTIONS=\"$NODE_OPTIONS --max-old-space-size=4096\" npm test",
        "MAKEFLAGS=-j4 make",
        "export MAKEFLAGS=\"-j$(nproc)\"",
        "GIT_CONFIG_GLOBAL=/dev/null git status",
        "GIT_PAGER=cat git log",
        "EDITOR=vim git commit",
        "GIT_EDITOR=true git rebase --continue",
        "GIT_SSH_COMMAND='ssh -i key' git fetch",
        "RUSTC_WRAPPER=sccache cargo build",
        "RUSTC_WRAPPER= cargo build",
        "GOFLAGS=-mod=mod go build ./...",
        "MAVEN_OPTS=-Xmx2g mvn test",
        "export FOO=\"$BAR\"",
        "export $(cat .env | xargs)",
        "read -r a b <<< \"1 2\"",
        "for f in a b; do echo $f; done",
        "unset LD_PRELOAD",
        "LD_LIBRARY_PATH=./lib ./a.out",
        "env FOO=bar node a.js",
        "export A=1 B=2",
        "npm_config_registry=https://registry.npmjs.org npm view x",
        "JAVA_TOOL_OPTIONS=-Xmx1g java -jar a.jar",
    ]);
}

#[test]
fn traps_run_in_the_folder_where_the_shell_ends() {
    assert_blocked(&[
        "trap 'rm -rf etc' EXIT; cd /",
        "trap 'cd /' DEBUG; rm -rf etc",
        "(trap 'rm -rf etc' EXIT; cd /)",
        "bash -c \"trap 'rm -rf etc' EXIT; cd /\"",
        "CDPATH=/; cd etc; rm -rf ssh",
        "shopt -s autocd; /; rm -rf etc",
        "start-stop-daemon --start --chdir / --exec /bin/rm -- -rf etc",
        "nsenter --wd=/ rm -rf etc",
        "cmake -E chdir / rm -rf etc",
    ]);
    assert_harmless(&[
        "f() { trap f EXIT; }; f",
        "trap 'rm -f \"$t\"' EXIT; t=$(mktemp); cd src",
        "CDPATH=.; cd src",
    ]);
    assert_writes(
        "src/a",
        &["git -C src rm -f a", "tar xf a.tar --one-top-level=src/a", "cpio -D src/a -i < x"],
    );
}
