//! Commands in texts that a shell evaluates once more.

use super::super::analyse;

#[test]
fn substitutions_in_subscripts_arithmetic_and_prompts_run() {
    for line in [
        "echo ${a[$(git push)]}",
        "echo \"${a[`git push`]}\"",
        "a[$(git push)]=1",
        "a[$(git push)]+=1",
        "echo ${#a[$(git push)]}",
        "echo ${!a[$(git push)]}",
        "echo ${a[$(git push)]:-x}",
        "cat <<E\n${a[$(git push)]}\nE",
        "[[ 'a[$(git push)]' -eq 1 ]]",
        "x='a[$(git push)]'; [[ x -eq 1 ]]",
        "x='a[$(git push)]'; echo $((x))",
        "x='a[$(git push)]'; y=x; echo $((y + 1))",
        "x='a[$(git push)]'; ((x))",
        "x='a[$(git push)]'; echo ${y:x}",
        "x='$(git push)'; echo \"${x@P}\"",
        "[[ -v 'a[$(git push)]' ]]",
        "unset 'a[$(git push)]'",
        "let 'x=a[$(git push)]'",
        "read 'a[$(git push)]' < f",
        "printf -v 'a[$(git push)]' x",
        "declare -i 'x=a[$(git push)]'",
        "f() { git push; }; export -f f; bash -c f",
        "f() { git push; }; declare -fx f; ls | xargs -I{} bash -c 'f {}'",
    ] {
        let found = analyse(line);
        assert!(found.commands.iter().any(|call| call.program == "git"), "{line}: {:?}", found.commands);
    }
    for line in [
        "echo '${a[$(git push)]}'",
        "x='$(git push)'; echo $x",
        "echo \"${a[1]}\" ${b[$i]}",
        "[[ $x == '$(git push)' ]]",
    ] {
        let found = analyse(line);
        assert!(!found.commands.iter().any(|call| call.program == "git"), "{line}: {:?}", found.commands);
    }
}
