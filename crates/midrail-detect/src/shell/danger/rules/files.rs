//! What destroys files and folders.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Loss, Rule, Targets, rule};

const RM: &[&str] = &["rm", "grm"];
const MV: &[&str] = &["mv", "gmv"];
const CP: &[&str] = &["cp", "gcp", "install", "ln"];
const FIND: &[&str] = &["find", "gfind"];
const CHMOD: &[&str] = &["chmod"];
const CHOWN: &[&str] = &["chown", "chgrp"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("rm-recursive", RM, High, "Deletes folders and everything below them")
        .when(&["-r|-R|--recursive"])
        .hits(Loss::Tree, Targets::Operands(0))
        .safer("name the exact folder inside the project, or move it to a temporary folder first")
        .stops(&[
            "rm -rf /", "rm -fr ~", "rm -r -f /etc", "rm --recurs --for /usr", "rm -rfv /home/me",
            "rm -rf .", "rm -rf *", "rm -rf ./*", "rm -rf ..", "rm -rf /tmp/../opt",
            "rm -rf ~/projects/app", "rm -r ~/Documents", "rm -rf .git", "rm -rf -- /opt/app",
            "rm -rf $DIR/", "rm -rf \"$DIR\"/*", "rm -rf $DIR", "rm -rf", "rm -rf build /etc",
            "rm -rf /srv/www", "rm -rf ~/.ssh", "rm -rf --no-preserve-root /", "rm / -rf",
            "rm -rf .midrail", "rm -rf build/../..", "rm -rf $HOME", "rm -rf \"${HOME}/\"",
            "rm -Rf /var/lib/postgresql", "RM -rf /",
        ])
        .passes(&[
            "rm -rf node_modules", "rm -rf ./build", "rm -rf target dist .next", "rm -r src/__pycache__",
            "rm -rf build/*", "rm -rf /tmp/x", "rm -rf /var/tmp/pieces*", "rm -rf $TMPDIR/x",
            "rm -rf \"$(mktemp -d)\"", "rm -rf *.o", "rm -rf ${TMPDIR}/pieces", "rm --help",
            "rm -rf sub/../build", "rm -rf $PWD/build",
        ]),
    rule("rm-file", RM, Medium, "Deletes files outside of the project")
        .unless(&["-r|-R|--recursive"])
        .hits(Loss::File, Targets::Operands(0))
        .safer("delete files inside the project only")
        .stops(&[
            "rm /etc/passwd", "rm -f /etc/nginx/sites.conf", "rm ~/notes.txt", "rm ~/Desktop/a.txt", "rm *",
            "rm ../a.txt", "rm ~/.bash_history",
        ])
        .passes(&[
            "rm notes.md todo.md", "rm -i letter.txt", "rm -f /tmp/x.sock", "rm \"$FILE\"", "rm *.pyc",
            "rm -f .git/index.lock", "rm build/*",
        ]),
    rule("unlink", &["unlink"], Medium, "Deletes a file outside of the project")
        .hits(Loss::File, Targets::Operands(0))
        .safer("delete files inside the project only")
        .stops(&["unlink /etc/hosts", "unlink ~/Documents/a.log"])
        .passes(&["unlink current", "unlink /tmp/x"]),
    rule("rmdir", &["rmdir"], Medium, "Removes folders of the system")
        .when(&["@/*|~"])
        .hits(Loss::Move, Targets::Operands(0))
        .safer("remove folders inside the project only")
        .stops(&["rmdir /etc/app"])
        .passes(&["rmdir build", "rmdir -p a/b/c", "rmdir ~/empty"]),
    rule(
        "shred",
        &["shred", "srm", "wipe", "gshred"],
        High,
        "Overwrites files so that nobody can bring them back",
    )
        .hits(Loss::Tree, Targets::Operands(0))
        .safer("delete single files inside the project with rm")
        .stops(&[
            "shred -u ~/notes.txt", "shred -vfz /dev/sda", "srm -r ~/Documents", "shred /var/log/auth.log",
            "wipe -rf /data",
        ])
        .passes(&["shred /tmp/key", "srm -z letter.txt"]),
    rule(
        "shred-file",
        &["shred", "gshred"],
        Medium,
        "Overwrites a file so that nobody can bring it back",
    )
        .when(&["@*"])
        .unless(&["@/*|~*|$*|{}", "--help|--version"])
        .safer("delete it with rm; what git or a backup holds can then be brought back")
        .stops(&["shred -u secret.txt", "shred -n 10 notes.md"])
        .passes(&["shred /tmp/key", "shred -u /tmp/a.key", "shred --version"]),
    rule("truncate", &["truncate"], Medium, "Cuts files off")
        .hits(Loss::File, Targets::Operands(0))
        .safer("copy the file first")
        .stops(&[
            "truncate -s 0 /var/log/syslog", "truncate -s0 ~/Desktop/log.txt",
            "truncate --size=0 /etc/passwd",
        ])
        .passes(&["truncate -s 0 app.log", "truncate -s 1G /tmp/disk.img"]),
    rule("rename-away", MV, High, "Moves what other things rely on out of its place")
        .unless(&["-t|--target-directory"])
        .hits(Loss::Move, Targets::AllButLast)
        .safer("copy it, or move files inside the project only")
        .stops(&[
            "mv /etc elsewhere", "mv ~ /tmp/x", "mv /usr/bin/python /tmp", "mv .git /tmp/g",
            "mv ~/Documents/a.txt .", "mv ~/.ssh /tmp",
        ])
        .passes(&["mv a b", "mv src/a.rs src/b.rs", "mv ~/a.zip .", "mv /tmp/x ."]),
    rule("rename-onto", MV, High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Last)
        .safer("write to a new file inside the project")
        .stops(&[
            "mv hosts /etc/hosts", "mv a.pdf ~/Desktop/final.pdf", "mv x /usr/bin/ls",
            "mv key ~/.ssh/id_rsa",
        ])
        .passes(&["mv a b", "mv build/app ~/bin/app", "mv a /tmp/"]),
    rule("move-to-null", MV, High, "Moves files onto a device that keeps nothing")
        .when(&["@*/dev/null @*", "-t=/dev/null|--target-directory=/dev/null"])
        .unless(&["/dev/null !@*"])
        .safer("delete inside the project, or move to a temporary folder")
        .stops(&["mv plan.txt /dev/null", "mv -fv a b /dev/null", "mv ~/x /dev/null"])
        .passes(&["mv plan.txt old/"]),
    rule("copy-onto", CP, High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Last)
        .safer("write to a new file inside the project")
        .stops(&[
            "cp x /etc/passwd", "cp letter.txt ~/Desktop/", "ln -sf /dev/null /etc/hosts",
            "install -m 755 a /usr/bin/a", "cp evil.sh ~/.bashrc", "cp img /dev/sda",
        ])
        .passes(&[
            "cp a b", "cp ~/Downloads/table.csv ./", "cp -r src /tmp/x", "ln -s a b", "cp /etc/hosts .",
        ]),
    rule("copy-null", CP, High, "Empties a file")
        .when(&["/dev/null", "... /dev/null @*"])
        .hits(Loss::File, Targets::Last)
        .safer("copy the file first")
        .stops(&[
            "cp /dev/null ~/notes.txt", "cp /dev/null /var/log/syslog", "ln -sf /dev/null ~/.bash_history",
        ])
        .passes(&["cp /dev/null app.log", "cp a /dev/null"]),
    rule("tee-onto", &["tee", "sponge"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Operands(0))
        .safer("write to a new file inside the project")
        .stops(&[
            "tee /etc/hosts", "tee -a ~/.bashrc", "tee ~/Desktop/out.txt", "tee /dev/sda",
            "tee -a ~/.ssh/authorized_keys",
        ])
        .passes(&["tee out.log", "tee -a /tmp/x /dev/null", "tee /dev/stderr"]),
    rule("edit-in-place", &["sed", "gsed", "perl"], High, "Changes files that other things rely on")
        .when(&["-i|--in-place|-i=*"])
        .hits(Loss::Write, Targets::Operands(0))
        .safer("change files inside the project only")
        .stops(&[
            "sed -i s/a/b/ /etc/ssh/sshd_config", "sed -i.bak 's/x/y/' ~/.bashrc",
            "sed -i s/a/b/ ~/Desktop/notes.txt", "perl -pi -e s/a/b/ /etc/hosts",
        ])
        .passes(&["sed -i s/a/b/ src/main.rs", "sed -n 1,5p /etc/hosts", "sed s/a/b/ /etc/hosts"]),
    rule("rights-recursive", CHMOD, High, "Changes the rights of whole folders that other things rely on")
        .when(&["-R|--recursive"])
        .hits(Loss::Rights, Targets::Operands(0))
        .safer("change single files inside the project")
        .stops(&[
            "chmod -R 755 /", "chmod -R a+rwx /etc", "chmod 777 -R ~", "chmod -Rv /usr",
            "chmod -R 700 .git", "chmod -R 755 ..",
        ])
        .passes(&["chmod -R 755 build", "chmod -R u+w src", "chmod +x run.sh", "chmod -R 755 ."]),
    rule("rights-open", CHMOD, Medium, "Lets every user of the machine change these files")
        .when(&["777|0777|a+rwx|ugo+rwx|a=rwx|666|0666|o+w|a+w -R|--recursive"])
        .hits(Loss::Tree, Targets::Operands(1))
        .safer("give rights to the one user or group that needs them")
        .stops(&["chmod -R 777 /var/www", "chmod 777 -R .", "chmod -R 777 /", "chmod -R a+rwx ~/app"])
        .passes(&["chmod -R 777 storage", "chmod 777 /tmp/x", "chmod -R 755 dist"]),
    rule("rights-of-file", CHMOD, Medium, "Changes the rights of files that other things rely on")
        .when(&["!-R|--recursive"])
        // Who keeps others out of a login's own files does what the login asks for.
        .unless(&["600|400|700|0600|0400|0700|go-rwx|og-rwx|go=|u=rw,go= ~/.ssh|~/.ssh/*|$HOME/.ssh|$HOME/.ssh/* !@*"])
        .hits(Loss::FileRights, Targets::Operands(1))
        .safer("change single files inside the project")
        .stops(&["chmod 666 ~/.ssh/config", "chmod 777 /etc/shadow", "chmod 777 ~/Desktop/a.sh", "chmod u+s /bin/bash", "chmod 000 /"])
        .passes(&["chmod +x run.sh", "chmod 600 ~/.ssh/id_rsa", "chmod 600 ~/.ssh/config", "chmod 777 a.sh", "chmod +x ~/bin/tool"]),
    rule("rights-none", CHMOD, High, "Takes every right on whole folders away")
        .when(&["0|00|000|0000|a-rwx|ugo-rwx|-rwx|a= -R|--recursive"])
        .hits(Loss::Tree, Targets::Operands(1))
        .safer("name the one right that is meant")
        .stops(&["chmod -R 0 .", "chmod -R 000 ~/app", "chmod -R a-rwx /srv"])
        .passes(&["chmod -R 000 build", "chmod -R 0755 .", "chmod 000 a.txt", "chmod -R go-rwx ."]),
    rule("rights-setuid", CHMOD, High, "Lets every user run a program as its owner")
        .when(&["u+s|+s|a+s|*u+s*|4755|4777|6755|4711|4555"])
        .safer("leave the rights of programs alone")
        .stops(&["chmod u+s /bin/bash", "chmod 4755 ./shell"])
        .passes(&["chmod 755 a", "chmod g+s shared"]),
    rule("owner-recursive", CHOWN, High, "Changes the owner of whole folders that other things rely on")
        .when(&["-R|--recursive"])
        .hits(Loss::Rights, Targets::Operands(1))
        .safer("change single files inside the project")
        .stops(&["chown -R root:root /usr", "chown -R me ~", "chgrp -R staff /usr", "chown -R nobody /etc"])
        .passes(&["chown -R me:me build", "chown me file", "chown -R me ."]),
    rule("owner-of-file", CHOWN, Medium, "Changes the owner of files that other things rely on")
        .when(&["!-R|--recursive"])
        .hits(Loss::FileRights, Targets::Operands(1))
        .safer("change single files inside the project")
        .stops(&["chown root ~/Desktop/letter.txt", "chown me /etc/passwd"])
        .passes(&["chown me a.txt", "chown me /tmp/x"]),
    rule(
        "attributes",
        &["chattr"],
        Medium,
        "Changes attributes that keep files from being changed or deleted",
    )
        .when(&["@+*|-*|=*", "-*"])
        .safer("leave the attributes of files alone")
        .stops(&["chattr +i /etc/resolv.conf", "chattr -i /etc/passwd", "chattr -R +a logs"])
        .passes(&["chattr --help"]),
    rule("access-lists", &["setfacl"], High, "Changes who may read and write whole folders")
        .when(&["-R|--recursive"])
        .hits(Loss::Rights, Targets::Operands(0))
        .safer("change single files inside the project")
        .stops(&["setfacl -R -b /etc", "setfacl -R -m u:x:rwx /"])
        .passes(&["setfacl -m u:x:r file", "setfacl -R -m u:x:r src"]),
    rule("find-delete", FIND, High, "Deletes everything that it finds")
        .when(DELETES)
        .unless(&[FILTERED])
        .hits(Loss::Tree, Targets::ContentOrHere(0))
        .safer("list what it finds first, without -delete")
        .stops(&[
            "find / -delete", "find . -delete", "find -delete", "find ~ -exec rm -rf {} ;",
            "find . -type f -exec rm {} +", "find $X/ -delete", "find . -name * -delete",
            "find . ! -name keep -delete", "find . -delete -name x",
        ])
        .passes(&[
            "find . -name '*.pyc' -delete", "find . -name __pycache__ -exec rm -rf {} +",
            "find build -delete", "find / -name x", "find /tmp/x -delete",
            "find . -name '*.pyc' -not -path './venv/*' -delete", "find . -type l -delete",
        ]),
    rule("find-delete-some", FIND, Medium, "Deletes what it finds outside of the project")
        .when(DELETES)
        .hits(Loss::Picked, Targets::ContentOrHere(0))
        .safer("list what it finds first, without -delete")
        .stops(&[
            "find / -name '*.log' -delete", "find ~ -name .DS_Store -delete",
            "find /var/log -mtime +30 -exec rm {} ;", "find .. -name '*.o' -delete",
        ])
        .passes(&[
            "find . -name '*.pyc' -delete", "find src tests -name '*.bak' -exec rm {} +",
            "find /tmp -mtime +7 -delete", "find . -empty -delete",
        ]),
    rule("find-rights", FIND, High, "Changes the rights of everything that it finds")
        .when(&["-exec=chmod|-exec=chown|-execdir=chmod|-execdir=chown"])
        .hits(Loss::Rights, Targets::ContentOrHere(0))
        .safer("list what it finds first, and change files inside the project only")
        .stops(&["find / -exec chmod 777 {} ;", "find /etc -type f -exec chown me {} +"])
        .passes(&["find . -name '*.sh' -exec chmod +x {} ;"]),
    rule("fd-delete", &["fd", "fdfind"], High, "Deletes everything that it finds")
        .when(&["rm -x|-X|--exec|--exec-batch"])
        .unless(&["-e|--extension|-g|--glob|--changed-within|--changed-before|--size"])
        .safer("list what it finds first")
        .stops(&["fd -X rm", "fd -H -x rm -rf"])
        .passes(&["fd -e pyc", "fd tmp"]),
    rule("rsync-delete", &["rsync"], Medium, "Deletes files at the destination that the source lacks")
        .when(RSYNC_DELETES)
        .unless(&["-n", "--list-only", TO_HOST])
        .safer("look at what rsync -n --delete would do")
        .stops(&["rsync -a --delete /a/ /b/", "rsync --del a/ b/", "rsync --del a/ ../b/", "rsync -a --delete a/ ./", "rsync -a --delete host:a/ ~/b/"])
        .passes(&[
            "rsync -a a/ /b/", "rsync -avzn --delete a/ /b/", "rsync --delete --dry-run a/ /b/",
            "rsync -a --exclude --delete a/ /b/",
        ]),
    rule("rsync-delete-remote", &["rsync"], Medium, "Deletes files on another machine that the source lacks")
        .when(&[
            "--del|--delete|--delete-before|--delete-during|--delete-delay|--delete-after|\
             --delete-excluded|--delete-missing-args ... *:* !@*",
        ])
        .unless(&["-n", "--list-only"])
        .safer("look at what rsync -n --delete would do")
        .stops(&["rsync -az --delete-excluded a/ host:/b/", "rsync -a --delete dist/ me@host:/srv/www"])
        .passes(&["rsync -a a/ host:/b/", "rsync -an --delete a/ host:/b/"]),
    rule("rsync-remove-source", &["rsync"], Medium, "Deletes the files that it has copied")
        .when(&["--remove-source-files|--remove-sent-files"])
        .unless(&["-n"])
        .safer("compare the copies, then delete by name")
        .stops(&["rsync -a --remove-source-files a/ b/"])
        .passes(&["rsync -an --remove-source-files a/ b/"]),
    rule("tar-remove", &["tar", "gtar", "zip"], Medium, "Deletes the files that it has packed")
        .when(&["--remove-files", "-m|--move @*.zip"])
        .unless(&["-x|--extract"])
        .safer("look into the archive first, then delete by name")
        .stops(&["tar czf a.tgz --remove-files src", "zip -rm a.zip src"])
        .passes(&["tar czf a.tgz src", "tar xmf a.tar", "zip -r a.zip src"]),
    rule(
        "tar-over-system",
        &["tar", "bsdtar", "gtar", "unzip", "cpio"],
        High,
        "Unpacks over files of the system",
    )
        .when(&[
            "-x|--extract|--get -C=/|--directory=/", "-C=/etc*|-C=/usr*|-C=/bin*|-C=/boot*", "@x* -C=/",
            "-d=/",
        ])
        .safer("unpack into a folder inside the project")
        .stops(&["tar xzf a.tgz -C /", "tar -x -f a.tar -C /etc"])
        .passes(&["tar xzf a.tgz -C /tmp/x", "tar czf a.tgz -C / home"]),
    rule("trash-empty", &["trash-empty"], Medium, "Deletes for good what was only put aside")
        .safer("leave the trash to its owner")
        .stops(&["trash-empty", "trash-empty 30"])
        .passes(&["trash-empty --dry-run"]),
    rule("trash-remove", &["trash-rm", "trash"], Medium, "Deletes for good what was only put aside")
        .when(&["empty|emptyall", "-e|--empty"])
        .safer("leave the trash to its owner")
        .stops(&["trash empty --all"])
        .passes(&["trash a.txt", "trash list", "trash put empty.txt"]),
    rule(
        "delete-with-data",
        &["transmission-remote", "quickemu", "deluge-console", "pkcs11-tool"],
        High,
        "Deletes data with the entry that leads to it",
    )
        .when(&[
            "--remove-and-delete|--delete-vm|--delete-disk|--remove_data|--delete-object", "rm --remove_data",
        ])
        .safer("list the entry first; let the owner delete its data")
        .stops(&[
            "transmission-remote host -t 1 --remove-and-delete", "quickemu --vm a.conf --delete-disk",
            "pkcs11-tool --type cert --label x --delete-object",
        ])
        .passes(&["transmission-remote host -l", "quickemu --vm a.conf", "pkcs11-tool --list-objects"]),
    rule("trash-empty-gio", &["gio"], Medium, "Deletes for good what was only put aside")
        .when(&["trash --empty"])
        .safer("leave the trash to its owner")
        .stops(&["gio trash --empty"])
        .passes(&["gio info a", "gio trash a"]),
    rule("disk-image", &["dd", "dcfldd", "dc3dd"], Critical, "Writes over a device or a file of the system")
        .hits(Loss::Write, Targets::Keyed("of="))
        .safer("write to an image file inside the project")
        .stops(&[
            "dd if=/dev/zero of=/dev/sda", "dd of=/dev/nvme0n1 if=a.img bs=4M", "dd if=x of=/etc/passwd",
        ])
        .passes(&[
            "dd if=/dev/zero of=disk.img bs=1M count=10", "dd if=/dev/sdc of=backup.img",
            "dd if=a of=/dev/null",
        ]),
    rule(
        "duplicates-delete",
        &["fdupes", "jdupes", "rdfind", "czkawka_cli", "rmlint"],
        High,
        "Deletes files that it takes for copies",
    )
        .when(&["-d|--delete|-N|--noprompt|-deleteduplicates|--delete-method|-D", "... -deleteduplicates"])
        .safer("list the copies first")
        .stops(&["fdupes -rdN .", "jdupes --delete --recurse x"])
        .passes(&["fdupes -r .", "jdupes -r x"]),
    rule("find-delete-other", &["bfs"], High, "Deletes everything that it finds")
        .when(DELETES)
        .unless(&[FILTERED])
        .hits(Loss::Tree, Targets::ContentOrHere(0))
        .safer("list what it finds first, without -delete")
        .stops(&["bfs / -delete"])
        .passes(&["bfs . -name '*.o' -delete"]),
    rule(
        "remover-tools",
        &["rimraf", "del-cli", "premove", "rmrf", "rm-rf"],
        High,
        "Deletes folders and everything below them",
    )
        .hits(Loss::Tree, Targets::Operands(0))
        .safer("name the exact folder inside the project")
        .stops(&[
            "npx rimraf ~", "rimraf /", "pnpm dlx rimraf ..", "bunx del-cli ~/work", "yarn rimraf .",
            "npx --yes rimraf@5 /srv/www", "bun x rimraf ~",
        ])
        .passes(&["npx rimraf dist", "rimraf node_modules build", "npx del-cli dist", "rimraf --help"]),
    rule("shx-remove", &["shx"], High, "Deletes folders and everything below them")
        .when(&["rm -r|-R|--recursive"])
        .hits(Loss::Tree, Targets::Operands(1))
        .safer("name the exact folder inside the project")
        .stops(&["npx shx rm -rf ~", "shx rm -r /opt/app"])
        .passes(&["npx shx rm -rf dist", "shx mkdir -p dist", "shx cp a b"]),
    rule("download-onto", &["curl", "curlie"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Options(&["-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar"]))
        .safer("download to a new file inside the project")
        .stops(&["curl -o /etc/passwd https://x.io/p", "curl -sSLo ~/.bashrc https://x.io/rc"])
        .passes(&[
            "curl -o page.html https://x.io", "curl -o /dev/null https://x.io", "curl -o /tmp/a https://x.io",
            "curl -Lo /usr/local/bin/tool https://x.io/tool",
        ]),
    rule("download-onto-wget", &["wget"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Options(&["-O", "--output-document", "-o", "--output-file", "-a"]))
        .safer("download to a new file inside the project")
        .stops(&["wget -O ~/.bashrc https://x.io/rc", "wget -qO /etc/hosts https://x.io/hosts"])
        .passes(&["wget -O a.tgz https://x.io/a", "wget -qO- https://x.io", "wget -O /dev/null https://x.io"]),
    rule("download-onto-other", &["http", "https", "xh", "aria2c"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Options(&["-o", "--output"]))
        .safer("download to a new file inside the project")
        .stops(&["http -o /etc/hosts x.io/hosts", "aria2c -o /etc/hosts https://x.io/hosts"])
        .passes(&["http -o a.json x.io/a", "aria2c https://x.io/a.iso"]),
    rule("sort-onto", &["sort", "gsort"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Options(&["-o", "--output"]))
        .safer("write to a new file inside the project")
        .stops(&["sort -o /etc/passwd names.txt", "sort -u --output=/etc/hosts a"])
        .passes(&["sort -o a.txt a.txt", "sort /etc/passwd", "sort -t : -k 3 /etc/passwd"]),
    rule("line-editor", &["ed", "ex", "red"], High, "Changes files that other things rely on")
        .hits(Loss::Write, Targets::Operands(0))
        .safer("change files inside the project only")
        .stops(&["ed /etc/passwd", "ed -s /etc/hosts", "ex -s ~/.bashrc"])
        .passes(&["ed notes.txt", "ex -s src/main.c"]),
    rule("find-print-onto", FIND, High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Options(&["-fprint", "-fprint0", "-fprintf", "-fls"]))
        .safer("write to a new file inside the project")
        .stops(&["find . -fprintf /etc/passwd %p", "find / -name x -fprint /etc/hosts"])
        .passes(&["find . -fprint list.txt", "find /etc -name x -printf %p"]),
    rule("awk-print-onto", &["awk", "gawk", "mawk", "nawk"], High, "Replaces what other things rely on")
        .hits(Loss::Write, Targets::Printed)
        .safer("print to a new file inside the project")
        .stops(&["awk '{print > \"/etc/passwd\"}' a", "awk '{print $1 >> \"/etc/hosts\"}' a"])
        .passes(&[
            "awk '{print > \"out.txt\"}' a", "awk '{print $1}' /etc/passwd",
            "awk '$3 > 5 {print \"/etc/passwd\"}' a",
        ]),
    rule("install-setuid", &["install"], Medium, "Lets every user run a program as its owner")
        .when(&[
            "-m=4755|-m=04755|-m=4777|-m=6755|-m=4711|-m=4555|-m=*u+s*|--mode=4755|--mode=04755|--mode=4777|\
             --mode=6755|--mode=4711|--mode=4555|--mode=*u+s*",
        ])
        .safer("leave the rights of programs alone")
        .stops(&["install -m 4755 shell /opt/shell", "install --mode=u+s a b"])
        .passes(&["install -m 755 a b", "install -d -m 444 x"]),
    rule("holes-in-file", &["fallocate"], Medium, "Takes a part out of files")
        .when(&["-p|--punch-hole|-c|--collapse-range|-z|--zero-range"])
        .hits(Loss::File, Targets::Operands(0))
        .safer("copy the file first")
        .stops(&["fallocate -p -o 0 -l 1G /var/lib/db.img", "fallocate --punch-hole -l 4K ~/disk.img"])
        .passes(&["fallocate -l 1G disk.img", "fallocate -p -l 4K disk.img", "fallocate -l 1G /tmp/x"]),
    rule("cmake-remove", &["cmake"], High, "Deletes folders and everything below them")
        .when(&["-E=rm|-E=remove|-E=remove_directory"])
        .hits(Loss::Tree, Targets::Operands(0))
        .safer("name the exact folder inside the project")
        .stops(&["cmake -E rm -rf ~", "cmake -E remove_directory /home", "cmake -E remove -f /etc/hosts"])
        .passes(&["cmake -E rm -rf build", "cmake -E make_directory /home/x", "cmake --build build", "cmake -B build"]),
    rule("editor-writes", &["vi", "vim", "nvim", "ex", "view"], High, "Changes files that other things rely on")
        .when(&["-c=*wq*|-c=w*|-c=x*|-c=*update*|-c=*write*"])
        .hits(Loss::Write, Targets::Operands(0))
        .safer("change files inside the project only")
        .stops(&["vi -es -c '%d|wq' /etc/passwd", "vim -c 'wq' ~/.bashrc"])
        .passes(&["vi -es -c '%d|wq' notes.txt", "vim -c 'set nu' /etc/hosts", "vim +10 src/main.rs"]),
    rule("rsync-delete-home", &["rsync"], High, "Deletes everything at the destination that the source lacks")
        .when(RSYNC_DELETES)
        .unless(&["-n", "--list-only"])
        .hits(Loss::Rights, Targets::Last)
        .safer("look at what rsync -n --delete would do")
        .stops(&["rsync -a --delete /tmp/empty/ /home/me/", "rsync -a --delete empty/ /"])
        .passes(&["rsync -a src/ /home/me/", "rsync -an --delete a/ ~"]),
];

/// What lets a copy take away what its source lacks.
const RSYNC_DELETES: &[&str] =
    &["--del|--delete|--delete-before|--delete-during|--delete-delay|--delete-after|--delete-excluded|\
     --delete-missing-args"];

/// The last operand lies on another machine.
const TO_HOST: &str = "... *:* !@*";

/// What narrows a search down. A name that fits everything does not.
const FILTERED: &str = "-name|-iname|-path|-ipath|-wholename|-regex|-iregex|-empty|-mtime|-ctime|-atime|-mmin|\
    -cmin|-amin|-newer|-newermt|-size|-user|-inum|-samefile|-xtype|-type=l|-links|-perm|-group|-uid|-gid|\
    -nouser|-nogroup|-used !-name=[*] !-iname=[*]";

/// What a search deletes with.
const DELETES: &[&str] = &[
    "-delete",
    "-exec=rm|-exec=*/rm|-execdir=rm|-execdir=*/rm|-ok=rm|-okdir=rm|-exec=unlink|-execdir=unlink",
    "-exec=shred|-execdir=shred|-exec=truncate|-execdir=truncate|-exec=srm|-exec=wipe",
];
