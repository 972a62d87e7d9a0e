//! What destroys work under version control, or on the servers that hold it.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const GIT: &[&str] = &["git"];
const FORGE: &[&str] = &["gh", "glab"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("git-push-force", GIT, High, "Overwrites commits on the server that others may rely on")
        .when(&["push -f|--force", "push @+*", "push --force=*"])
        .unless(&["push -n", "push --force=false"])
        .safer("git push --force-with-lease")
        .stops(&[
            "git push --force", "git push -f origin main", "git push origin trunk --force",
            "git push -uf origin x", "git push origin +main", "git push --force=true origin trunk",
            "git -C repo push -f", "git push --forc", "git push --force-with-lease --force",
        ])
        .passes(&[
            "git push", "git push origin main", "git push --force-with-lease", "git push -u origin x",
            "git push -n -f", "git push origin x --force-if-includes --force-with-lease",
            "git push --follow-tags", "git push git push git push",
        ]),
    rule(
        "git-push-mirror",
        GIT,
        Critical,
        "Makes the server's branches and tags equal to the local ones, and deletes the others",
    )
        .when(&["push --mirror|--prune"])
        .unless(&["push -n"])
        .safer("push the branches that you mean by name")
        .stops(&["git push --mirror", "git push origin --prune 'refs/heads/*'"])
        .passes(&["git push --all", "git push --tags fork", "git fetch --prune", "git clone --mirror x"]),
    rule("git-push-delete", GIT, High, "Deletes a branch or a tag on the server")
        .when(&["push -d|--delete", "push @:*"])
        .unless(&["push -n"])
        .safer("leave the deletion to the owner of the branch")
        .stops(&["git push origin --delete x", "git push -d origin x", "git push origin :x"])
        .passes(&["git push origin a:b", "git push origin HEAD:main"]),
    rule("git-reset-hard", GIT, High, "Throws away all changes that are not committed")
        .when(&["reset --hard|--merge", "read-tree --reset -u", "checkout-index -f -a", "checkout-index -f --all"])
        .safer("git stash, then git reset --hard")
        .stops(&[
            "git reset --hard", "git reset --hard HEAD~7", "git -c a=b reset --hard",
            "git --git-dir=x --work-tree y reset HEAD --hard", "git reset --har", "git reset --merge",
            "git read-tree -u --reset HEAD", "git checkout-index -fa",
        ])
        .passes(&[
            "git reset", "git reset --soft HEAD~1", "git reset HEAD a.txt", "git help reset",
            "git reset --mixed", "git log --grep 'reset --hard'", "git commit -m 'reset --hard'",
        ]),
    rule("git-clean", GIT, High, "Deletes files that git does not know")
        .when(&["clean -f|--force", "clean -x|-X -d", "clean -c=clean.require*=*"])
        .unless(&["clean -n", "clean -i", "clean --interactive"])
        .safer("git clean -n shows what would go")
        .stops(&["git clean -f", "git clean -fdx", "git clean -d --force", "git clean -xdf src",
            "git -c clean.requireForce=false clean",
        ])
        .passes(&[
            "git clean -n", "git clean -dn", "git clean -fdn", "git clean --dry-run -f", "git clean -i",
        ]),
    rule("git-checkout-all", GIT, High, "Throws away changes that are not committed")
        .when(&["checkout @.|./|:/|[*]|..|../", "checkout -f|--force"])
        .unless(&["checkout -b|-B|--orphan !-f|--force"])
        .safer("git stash keeps them")
        .stops(&[
            "git checkout .", "git checkout -- .", "git checkout -f", "git checkout HEAD -- ./",
            "git checkout trunk -f", "git checkout -- ./*",
        ])
        .passes(&["git checkout main", "git checkout -b x", "git checkout -", "git checkout -B x origin/x"]),
    rule("git-checkout-files", GIT, Medium, "Throws away changes of these files that are not committed")
        .when(&[
            "checkout --", "checkout --ours|--theirs @.", "checkout --pathspec-from-file",
            // No branch is named like this, and only files follow a first name.
            "checkout @*/|./*|../*", "checkout * *",
            // Nor like a file of code or text.
            "checkout @*.js|*.jsx|*.ts|*.tsx|*.mjs|*.vue|*.py|*.rs|*.go|*.java|*.kt|*.c|*.h|*.cc|*.cpp|*.hpp|*.cs|*.rb|*.php|*.swift|*.scala|*.sh|*.sql|*.md|*.txt|*.json|*.yaml|*.yml|*.toml|*.lock|*.html|*.css|*.scss|*.xml|*.csv|*.ipynb",
        ])
        // A side of a conflict is chosen.
        .unless(&["checkout -b|-B|--orphan|-t|--track", "checkout --ours|--theirs !@.|./|:/|[*]|..|../|*/"])
        .safer("git stash push FILE keeps them")
        .stops(&[
            "git checkout -- lib/parse.rs", "git checkout HEAD~1 -- a.txt", "git checkout src/",
            "git checkout HEAD~3 src/", "git checkout HEAD src/a.rs", "git checkout a.rs b.rs",
            "git checkout ./a.rs", "git checkout src/util.js", "git checkout Cargo.lock", "git checkout --ours .",
            "git checkout --theirs src/",
        ])
        .passes(&[
            "git checkout feature/x", "git checkout -b parser-work", "git checkout -b x origin/x",
            "git checkout --ours package-lock.json", "git checkout --theirs -- a.txt",
            "git checkout v1.2.3", "git checkout release-2.x", "git checkout --track origin/x", "git checkout HEAD~3",
        ]),
    rule("git-restore-all", GIT, High, "Throws away changes that are not committed")
        .when(&["restore @.|./|:/|[*]|..|../ !--staged !-S", "restore @.|./|:/|[*] -W|--worktree"])
        .safer("git stash keeps them")
        .stops(&[
            "git restore .", "git restore --source=HEAD~2 .", "git restore --staged --worktree .",
            "git restore -SW ./",
        ])
        .passes(&["git restore --staged .", "git restore -S ."]),
    rule("git-restore-files", GIT, Medium, "Throws away changes of these files that are not committed")
        .when(&["restore @* !--staged !-S", "restore @* -W|--worktree", "restore -p|--patch !--staged !-S"])
        .safer("git stash push FILE keeps them")
        .stops(&[
            "git restore a.txt", "git restore -s HEAD~1 a.txt", "git restore --staged --worktree a.txt",
        ])
        .passes(&["git restore --staged a.txt", "git restore --help"]),
    rule("git-switch-discard", GIT, High, "Throws away changes that are not committed")
        .when(&["switch -f|--force|--discard-changes"])
        .safer("git stash keeps them")
        .stops(&["git switch -f main", "git switch --discard-changes x"])
        .passes(&["git switch main", "git switch -c x", "git switch -C x"]),
    rule("git-branch-delete", GIT, High, "Deletes a branch whose commits may be nowhere else")
        .when(&["branch -D", "branch -d|--delete -f|--force"])
        .safer("git branch -d deletes only what is merged")
        .stops(&[
            "git branch -D x", "git branch -d -f x", "git branch --delete --force x",
            "git branch -rD origin/x",
        ])
        .passes(&["git branch -d x", "git branch", "git branch -a", "git branch x", "git branch -m a b"]),
    rule("git-branch-move", GIT, Medium, "Lets a branch point elsewhere; its commits may be nowhere else")
        .when(&["branch -f|--force !-d|--delete", "branch -M @*", "branch -C"])
        .unless(&["branch -M main|master|trunk|develop !@*"])
        .safer("make a new branch with another name")
        .stops(&["git branch -f main HEAD~5", "git branch --force x y", "git branch -M a b"])
        .passes(&["git branch -m a b", "git branch -c a b", "git branch -M main"]),
    rule("git-fetch-force", GIT, Medium, "Lets a branch here point to what the server has; its commits may be nowhere else")
        .when(&["fetch|pull @+*:*", "fetch -f|--force @*:*"])
        .unless(&["fetch|pull @*:refs/remotes/*", "fetch --dry-run"])
        .safer("git fetch, then look at both")
        .stops(&["git fetch origin +main:main", "git fetch -f origin main:main", "git pull origin +main:main"])
        .passes(&[
            "git fetch origin main:main", "git fetch origin '+refs/heads/*:refs/remotes/origin/*'", "git fetch -f --tags",
            "git fetch origin",
        ]),
    rule("git-stash-drop", GIT, High, "Deletes work that was put aside")
        .when(&["stash drop|clear"])
        .safer("git stash list and git stash show -p first")
        .stops(&["git stash drop", "git stash clear", "git stash drop stash@{1}"])
        .passes(&["git stash", "git stash pop", "git stash list", "git stash push -m drop"]),
    rule("git-rewrite-history", GIT, High, "Rewrites the history of whole branches")
        .when(&["filter-branch", "filter-repo !--analyze", "replace !-l|--list @*", "fast-import --force"])
        .safer("work on a fresh clone")
        .stops(&["git filter-branch --tree-filter x HEAD", "git filter-repo --path x", "git replace a b"])
        .passes(&["git filter-repo --analyze", "git replace -l", "git rebase main", "git commit --amend"]),
    rule("git-reflog-expire", GIT, High, "Deletes the record by which lost commits are found again")
        .when(&[
            "reflog delete",
            "reflog expire --expire=now|--expire=all|--all|--expire-unreachable=now|\
             --expire-unreachable=all|--expire=0*",
        ])
        .unless(&["reflog -n"])
        .safer("leave the reflog alone")
        .stops(&[
            "git reflog expire --expire=now --all", "git reflog delete HEAD@{1}", "git reflog expire --all",
        ])
        .passes(&["git reflog", "git reflog show", "git reflog expire --expire=6.months"]),
    rule(
        "git-gc-now",
        GIT,
        High,
        "Deletes commits that no branch holds, so that they cannot be found again",
    )
        .when(&[
            "gc --prune=now|--prune=all|--prune=0*", "prune !-n", "prune --expire=now",
            "repack -a -d -A --unpack-unreachable=now",
        ])
        .unless(&["prune -n"])
        .safer("git gc keeps what was used lately")
        .stops(&["git gc --prune=now", "git gc --prune=now --quiet", "git prune", "git prune --expire=now"])
        .passes(&["git gc", "git gc --auto", "git gc --prune=2.weeks.ago", "git prune -n"]),
    rule("git-worktree-remove", GIT, High, "Deletes a working copy together with its changes")
        .when(&["worktree remove -f|--force"])
        .safer("git worktree remove refuses where something is not committed")
        .stops(&["git worktree remove --force ../x", "git worktree remove -f x"])
        .passes(&["git worktree remove x", "git worktree list", "git worktree add -f x"]),
    rule("git-update-ref", GIT, High, "Deletes a reference whose commits may be nowhere else")
        .when(&["update-ref -d|--stdin", "symbolic-ref -d|--delete"])
        .safer("git branch -d deletes only what is merged")
        .stops(&["git update-ref -d refs/heads/x", "git update-ref -d HEAD", "git symbolic-ref -d HEAD"])
        .passes(&["git update-ref refs/heads/x HEAD", "git show-ref -d"]),
    rule("git-tag-delete", GIT, Medium, "Deletes or moves a tag that others may rely on")
        .when(&["tag -d|--delete", "tag -f|--force"])
        .safer("make a new tag")
        .stops(&["git tag -d v1", "git tag -f v1", "git tag --delete v1 v2"])
        .passes(&["git tag", "git tag v1", "git tag -a v1 -m x", "git tag -l"]),
    rule("git-rm-recursive", GIT, Medium, "Deletes files from the working copy")
        .when(&["rm -r -f", "rm -r @.|./|[*]|:/", "rm -f @.|./|[*]|:/"])
        .unless(&["rm --cached", "rm -n"])
        .safer("git rm --cached keeps the files")
        .stops(&["git rm -rf src", "git rm -r -f .", "git rm -r *"])
        .passes(&[
            "git rm a.txt", "git rm -r --cached node_modules", "git rm -rf --cached .", "git rm -rn .",
        ]),
    rule("git-submodule-deinit", GIT, Medium, "Deletes the working copy of a submodule")
        .when(&["submodule deinit -f|--force|--all"])
        .safer("look for changes in the submodule first")
        .stops(&[
            "git submodule deinit -f lib", "git submodule deinit --all",
        ])
        .passes(&[
            "git submodule update --init --depth 1", "git submodule deinit lib",
            "git submodule foreach git status",
        ]),
    rule("git-remote-remove", GIT, Medium, "Forgets a remote and its branches, or points it elsewhere")
        .when(&["remote remove|rm @*", "remote set-url @*"])
        .safer("git remote -v first")
        .stops(&[
            "git remote remove fork", "git remote rm upstream", "git remote set-url origin https://x/y",
        ])
        .passes(&["git remote -v", "git remote add x y", "git remote prune fork"]),
    rule("git-config-runs-code", GIT, Medium, "Lets git run other programs from now on")
        .when(&[
            "config core.hooksPath|core.hookspath|core.fsmonitor|core.sshCommand @*", "config alias.* @!*",
            "-c=core.hooksPath*|-c=core.fsmonitor*|-c=core.sshCommand*|-c=alias.*=!*",
        ])
        .unless(&["config --get|--unset|-l|--list|--get-all|--get-regexp"])
        .likely()
        .safer("leave the settings of git to the user")
        .stops(&[
            "git config core.hooksPath /tmp/hooks", "git config --global alias.x '!rm -rf ~'",
            "git -c core.hooksPath=/tmp/x commit",
        ])
        .passes(&[
            "git config user.name me", "git config --get core.hooksPath", "git config alias.st status",
            "git config --global core.editor vim",
        ]),
    rule("git-objects-gone", GIT, Medium, "Deletes files that the server may not hold")
        .when(&["lfs prune !--verify-remote", "annex drop|dropunused --force", "annex uninit"])
        .unless(&["lfs -d"])
        .safer("git lfs prune --verify-remote")
        .stops(&["git lfs prune", "git annex drop --force a"])
        .passes(&["git lfs pull", "git lfs prune --verify-remote", "git annex drop a"]),
    rule(
        "git-server-broken",
        GIT,
        Medium,
        "Removes what keeps commits from being pushed or lost by mistake",
    )
        .when(&["config receive.deny* false|ignore", "notes prune|remove"])
        .safer("leave the data of git alone")
        .stops(&["git config receive.denyNonFastForwards false", "git notes remove HEAD"])
        .passes(&["git push --no-verify", "git commit --no-verify", "git notes list"]),
    rule("bfg", &["bfg", "bfg.jar"], High, "Rewrites the history of all branches")
        .safer("work on a fresh clone")
        .stops(&["bfg --strip-blobs-bigger-than 1M repo.git", "java -jar bfg.jar --delete-files x"])
        .passes(&["bfg --help"]),
    rule("repository-delete", FORGE, Critical, "Deletes a repository with all that belongs to it")
        .when(&["repo|project delete"])
        .safer("archive it")
        .stops(&["gh repo delete someone/thing", "gh repo delete me/x --yes", "glab repo delete me/x"])
        .passes(&["gh repo view", "gh repo clone me/x", "gh repo list", "gh repo delete --help"]),
    rule(
        "repository-change",
        FORGE,
        Medium,
        "Changes a repository in a way that breaks what others rely on",
    )
        .when(&[
            "repo archive|rename|transfer",
            "repo edit --visibility|--visibility=*|--default-branch|\
             --accept-visibility-change-consequences",
            "repo sync --force", "repo deploy-key delete", "repo autolink delete",
        ])
        .safer("leave it to the owner")
        .stops(&[
            "gh repo archive me/x", "gh repo rename y", "gh repo edit --visibility private",
            "gh repo sync --force",
        ])
        .passes(&["gh repo unarchive me/x", "gh repo edit --description x", "gh repo sync"]),
    rule("forge-delete", FORGE, High, "Deletes something on the server that others rely on")
        .when(&[
            "release|secret|variable|ruleset|gist|environment|codespace|codespaces|cs|label|milestone|\
             snippet|issue|mr|pr|deploy-key|ssh-key|gpg-key|token|cluster|schedule|incident|iteration|\
             securefile delete|remove|revoke|delete-asset",
            "release delete-asset", "ci|pipeline|pipelines|job delete", "run|cache|workflow delete",
            "org|group|user delete|remove",
        ])
        .safer("leave the deletion to the owner")
        .stops(&[
            "gh release delete v1", "gh secret delete KEY", "gh cache delete x --confirm",
            "glab variable delete X", "glab ci delete 1", "gh run delete 1", "gh issue delete 3",
            "gh label delete bug --yes",
        ])
        .passes(&[
            "gh release list", "gh secret set X", "gh pr list", "gh pr close 1", "glab ci list",
            "gh run watch 1", "gh release create v1",
        ]),
    rule("forge-disable", FORGE, Medium, "Stops work that runs on the server")
        .when(&["workflow disable", "schedule delete", "runner unregister|delete"])
        .safer("leave it to the owner")
        .stops(&["gh workflow disable ship.yml"])
        .passes(&["gh workflow run deploy.yml", "gh workflow enable a.yml", "gh workflow list"]),
    rule("forge-api-delete", FORGE, High, "Deletes something on the server by its interface")
        .when(&["api -X=DELETE|--method=DELETE|-X=delete|--method=delete"])
        .safer("leave the deletion to the owner")
        .stops(&[
            "gh api -X DELETE repos/me/x", "glab api -XDELETE projects/1",
            "gh api --method DELETE /user/keys/1",
        ])
        .passes(&["gh api repos/me/x", "gh api -X POST repos/me/x/issues"]),
    rule("mercurial", &["hg"], High, "Throws away changes or commits")
        .when(&[
            "strip", "purge|clean", "update|up|checkout|co -C|--clean", "revert -a|--all",
            "push -f|--force", "rollback", "debugstrip", "histedit", "prune",
            "shelve -d|--delete|--cleanup",
        ])
        .safer("hg shelve keeps changes")
        .stops(&["hg strip tip", "hg update -C", "hg revert --all", "hg purge", "hg push -f"])
        .passes(&["hg status", "hg update", "hg revert a.txt", "hg push"]),
    rule("subversion", &["svn", "svnadmin"], Medium, "Throws away changes, or deletes files on the server")
        .when(&[
            "revert -R|--recursive|--depth=infinity", "cleanup --remove-unversioned|--remove-ignored",
            "delete|rm|remove|del @*://*", "delete|rm|remove|del --force",
        ])
        .safer("svn diff first")
        .stops(&["svn revert -R .", "svn cleanup --remove-unversioned", "svn rm https://x/y"])
        .passes(&["svn status", "svn revert a.txt", "svn rm a.txt"]),
    rule("fossil", &["fossil"], Medium, "Deletes files with their changes, or throws changes away")
        .when(&["delete|rm|forget --hard", "clean -f|--force|-x|--verily", "revert !@*", "purge", "scrub", "shun"])
        .safer("fossil stash keeps changes")
        .stops(&["fossil rm --hard a.txt", "fossil clean --force", "fossil revert"])
        .passes(&["fossil status", "fossil rm a.txt", "fossil revert a.txt", "fossil clean"]),
    rule("jujutsu", &["jj"], Medium, "Throws away changes or commits")
        .when(&["op|operation abandon|restore", "abandon", "util gc", "git push --deleted|--delete"])
        .safer("jj undo brings the last step back")
        .stops(&["jj op abandon ..x", "jj git push --deleted", "jj abandon x"])
        .passes(&["jj status", "jj git push", "jj new"]),
    rule(
        "git-clean-tool",
        &["git-clean", "git-reset", "git-push", "git-filter-branch", "git-filter-repo"],
        High,
        "Destroys work as git with this sub-command does",
    )
        .when(&[
            "--hard|-f|--force|--mirror",
            "--path|--path-glob|--strip-blobs-bigger-than|--invert-paths|--tree-filter|--index-filter",
        ])
        .unless(&["-n"])
        .safer("git stash keeps what is not committed")
        .stops(&["git-reset --hard", "git-filter-repo --path x"])
        .passes(&["git-push origin main", "git-clean -n"]),
    rule("git-submodule-foreach", GIT, High, "Throws away changes in every submodule")
        .when(&["submodule foreach @*clean*-*f*|*reset*--hard*|*checkout*--*", "submodule foreach * clean|reset -f|--hard"])
        .safer("git submodule foreach git status first")
        .stops(&["git submodule foreach 'git clean -fdx'", "git submodule foreach 'git reset --hard'"])
        .passes(&["git submodule foreach 'git pull'", "git submodule foreach git fetch"]),
    rule("git-push-elsewhere", GIT, Medium, "Sends all branches or tags to a server that is only named here")
        .when(&["push --all|--branches|--tags @https://*|http://*|ssh://*|git://*|git@*|*@*:*"])
        .unless(&["push -n"])
        .safer("push one branch to a remote that the repository knows")
        .stops(&["git push https://elsewhere.io/x.git --all", "git push --all git@elsewhere.io:x/y"])
        .passes(&["git push origin --all", "git push --tags", "git push https://x.io/a.git main"]),
    rule("merge-past-checks", &["gh"], Medium, "Merges although checks or reviews are missing")
        .when(&["pr merge --admin"])
        .safer("gh pr merge --auto waits for the checks")
        .stops(&["gh pr merge 12 --admin --squash", "gh pr merge --admin"])
        .passes(&["gh pr merge 12 --squash", "gh pr merge --auto", "gh pr view 12"]),
    rule("forge-graphql-delete", FORGE, High, "Deletes something on the server by its interface")
        .when(&["api graphql -f=*mutation*delete*|-F=*mutation*delete*|--field=*mutation*delete*|--raw-field=*mutation*delete*"])
        .safer("leave the deletion to the owner")
        .stops(&["gh api graphql -f 'query=mutation { deleteRef(input: {refId: 1}) { x } }'"])
        .passes(&["gh api graphql -f 'query={ viewer { login } }'"]),
    rule("perforce", &["p4"], High, "Deletes files with their history, or throws away changes")
        .when(&["... obliterate -y", "... revert @//...|...", "... client|depot|branch|label|user -d", "... clean"])
        .unless(&["... clean -n", "... revert -n"])
        .safer("p4 obliterate without -y only shows")
        .stops(&["p4 obliterate -y //depot/x/...", "p4 revert //...", "p4 client -d me"])
        .passes(&["p4 obliterate //depot/x/...", "p4 sync", "p4 clean -n"]),
];
