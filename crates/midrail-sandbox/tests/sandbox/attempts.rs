//! Attempts to leave the sandbox. Each is shown to work without it.

use midrail_sandbox::{Layers, Network};

use crate::world::{self, SECRET, World};

/// What an attempt shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Without a sandbox it works; in no sandbox it does.
    Stopped,
    /// In a sandbox without mounts it works too: a limit of Landlock that the guide names.
    StoppedByMounts,
    /// It needs privileges or a kernel that this machine may not have, so it is not shown to work.
    Unproven,
}
use Kind::{Stopped, StoppedByMounts, Unproven};

const ATTEMPTS: &[(Kind, &str)] = &[
    // Changes of files outside.
    (Stopped, r#"echo x > "$OUT/file""#),
    (Stopped, r#"echo x >> "$OUT/file""#),
    (Stopped, r#": > "$OUT/file""#),
    (Stopped, r#"truncate -s 0 "$OUT/file""#),
    (Stopped, r#"echo x > "$OUT/new""#),
    (Stopped, r#"rm "$OUT/file""#),
    (Stopped, r#"rm -rf "$OUT""#),
    (Stopped, r#"rm -rf "$HOME"/* "$HOME"/.[a-z]*"#),
    (Stopped, r#"cd ..; rm -rf outside"#),
    (Stopped, r#"mv "$OUT/file" ."#),
    (Stopped, r#"mv src/main.c "$OUT""#),
    (Stopped, r#"mv src "$OUT/folder""#),
    (Stopped, r#"cp src/main.c "$OUT/file""#),
    (Stopped, r#"mkdir "$OUT/new""#),
    (Stopped, r#"rm "$OUT/folder/file"; rmdir "$OUT/folder""#),
    (Stopped, r#"mkfifo "$OUT/pipe""#),
    (Stopped, r#"ln -s / "$OUT/link""#),
    (Stopped, r#"ln src/main.c "$OUT/link""#),
    (Stopped, r#"ln "$OUT/file" here && echo x >> here"#),
    (Stopped, r#"ln -s "$OUT" link; echo x > link/file"#),
    (Stopped, r#"ln -s "$OUT/file" link; echo x > link"#),
    (Stopped, r#"ln -s "$OUT" src/deep; cp src/main.c src/deep/file"#),
    (Stopped, r#"echo x > "/proc/self/root$OUT/file""#),
    (Stopped, r#"echo x > "/proc/$$/root$OUT/file""#),
    (Stopped, r#"echo x > "/proc/$PPID/root$OUT/file""#),
    (Stopped, r#"echo x > "/proc/self/cwd/../outside/file""#),
    (Stopped, r#"echo x > /proc/$VICTIM/cwd/../outside/file"#),
    (Stopped, r#"dd if=/dev/zero of="$OUT/file" bs=1 count=1 conv=notrunc 2>/dev/null"#),
    (Stopped, r#"sed -i s/./x/ "$OUT/file""#),
    (Stopped, r#"tar cf - src | tar xf - -C "$OUT""#),
    (Stopped, r#"perl -e 'rename "$ENV{OUT}/file", "$ENV{OUT}/other"'"#),
    (Stopped, r#"perl -e 'unlink "$ENV{OUT}/file"'"#),
    (Stopped, r#"perl -e 'truncate "$ENV{OUT}/file", 1'"#),
    (StoppedByMounts, r#"chmod 777 "$OUT/file""#),
    (StoppedByMounts, r#"touch -d 2001-01-01 "$OUT/file""#),
    (StoppedByMounts, r#"chmod -R 000 "$HOME/tools""#),
    // A race of a folder with a link.
    (
        Stopped,
        r#"for i in 1 2 3 4 5 6 7 8 9; do mkdir -p d; rm -rf d; ln -s "$OUT" d; echo x > d/race; rm d; done"#,
    ),
    // Open files of the process that starts the sandbox.
    (Stopped, r#"echo x >&9"#),
    (Stopped, r#"cat <&8"#),
    (Stopped, r#"echo x > /proc/self/fd/9"#),
    (Unproven, r#"cat /proc/$PPID/fd/8"#),
    // Files to keep.
    (Stopped, r#"echo x > .git/hooks/pre-push"#),
    (Stopped, r#"echo x > .git/hooks/post-merge"#),
    (Stopped, r#"echo x >> .git/config"#),
    (Stopped, r#"rm .git/config"#),
    (Stopped, r#"rm -rf .git/hooks"#),
    (Stopped, r#"rm -rf .git"#),
    (Stopped, r#"mv .git g"#),
    (Stopped, r#"mv .git g; mkdir -p .git/hooks; echo x > .git/hooks/pre-push"#),
    (Stopped, r#"mv .git g; ln -s g .git; echo x > g/config"#),
    (Stopped, r#"mv .git/hooks .git/h; mkdir .git/hooks"#),
    (Stopped, r#"echo x > new; mv new .git/config"#),
    (Stopped, r#"ln -sf ../src/main.c .git/config"#),
    (Stopped, r#"ln .git/config here && echo x >> here"#),
    (Stopped, r#"chmod +x .git/hooks/pre-push"#),
    (Stopped, r#"cp src/main.c .git/hooks/"#),
    (Stopped, r#"perl -e 'truncate ".git/config", 0'"#),
    (Stopped, r#"mkdir .midrail; echo x > .midrail/pack.yaml"#),
    (Stopped, r#"ln -s src .midrail"#),
    (Stopped, r#"echo x > .midrail"#),
    (Stopped, r#"cd ..; mv project p; mkdir -p project/.git/hooks"#),
    (Stopped, r#"git config core.hooksPath /tmp; git config core.fsmonitor x"#),
    // Secrets.
    (Stopped, r#"cat "$HOME/.ssh/id_rsa""#),
    (Stopped, r#"cat "$OUT/file""#),
    (Stopped, r#"cp -r "$HOME/.ssh" here; cat here/id_rsa"#),
    (Stopped, r#"ln -s "$HOME/.ssh/id_rsa" here; cat here"#),
    (Stopped, r#"ln "$HOME/.ssh/id_rsa" here; cat here"#),
    (Stopped, r#"cat "/proc/self/root$HOME/.ssh/id_rsa""#),
    (Stopped, r#"cat "/proc/$VICTIM/root$HOME/.ssh/id_rsa""#),
    (Stopped, r#"tar cf - -C "$HOME" .ssh"#),
    (Stopped, r#"grep -r hunter ~"#),
    (Stopped, r#"tr '\0' '\n' < /proc/$VICTIM/environ"#),
    (StoppedByMounts, r#"cat .env"#),
    (StoppedByMounts, r#"mv keys k; cat k/id"#),
    (StoppedByMounts, r#"ln .env here; cat here"#),
    (StoppedByMounts, r#"cp -a keys k; cat k/id"#),
    // The network, and programs that listen.
    (Stopped, r#"exec 3<>/dev/tcp/127.0.0.1/$PORT"#),
    (Stopped, r#"perl -MIO::Socket::INET -e 'IO::Socket::INET->new("127.0.0.1:$ENV{PORT}")'"#),
    (Stopped, r#"perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "$ENV{OUT}/socket")'"#),
    (Stopped, r#"ln -s "$OUT/socket" s; perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "s")'"#),
    (Stopped, r#"perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => "\0box-$ENV{PORT}")'"#),
    (Unproven, r#"perl -e 'socket(S, 40, 1, 0) and print "hunter2"'"#),
    (Unproven, r#"perl -e 'socket(S, 17, 3, 0) and print "hunter2"'"#),
    (Unproven, r#"perl -e 'socket(S, 38, 5, 0) and print "hunter2"'"#),
    // Other processes.
    (Stopped, r#"kill -9 $VICTIM"#),
    (Stopped, r#"kill -STOP $VICTIM; kill -9 $VICTIM"#),
    (Stopped, r#"perl -e 'kill 9, $ENV{VICTIM}'"#),
    (Unproven, r#"gdb -p $VICTIM -batch -ex 'call (int)unlink("x")'"#),
    (Unproven, r#"dd if=/proc/$VICTIM/mem bs=1 count=1"#),
    (Stopped, r#"(sleep 0.4; echo x > "$OUT/late") & disown"#),
    // System calls: namespaces, mounts, rings, keys, programs in the kernel.
    (Unproven, r#"unshare -rm true && echo hunter2"#),
    (Unproven, r#"unshare -m true && echo hunter2"#),
    (Unproven, r#"unshare -U true && echo hunter2"#),
    (Unproven, r#"nsenter -t 1 -m -p cat "$OUT/file""#),
    (Unproven, r#"nsenter -t $VICTIM -m cat "$OUT/file""#),
    (Unproven, r#"mount --bind src .git/hooks; echo x > .git/hooks/pre-push"#),
    (Unproven, r#"umount .git/hooks; umount .git/config; echo x > .git/config"#),
    (Unproven, r#"mount -o remount,rw,bind .git/config; echo x > .git/config"#),
    (Unproven, r#"chroot /proc/$VICTIM/root cat "$OUT/file""#),
    (Unproven, r#"mknod disk b 8 0 && echo hunter2"#),
    (Unproven, r#"mknod kmsg c 1 11 && cat kmsg && echo hunter2"#),
    (Unproven, r#"perl -e 'my $p = "\0" x 120; print "hunter2" if syscall(425, 1, $p) >= 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(321, 0, 0, 0) == 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(272, 0x10000000) == 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(272 | 0x40000000, 0x10000000) == 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(250, 0, -3, 0) > 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(323, 0) >= 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(101, 16, $ENV{VICTIM}, 0, 0) == 0'"#),
    (Unproven, r#"perl -e 'print "hunter2" if syscall(521 | 0x40000000, 16, $ENV{VICTIM}, 0, 0) == 0'"#),
    (
        Unproven,
        r#"perl -e 'my $p = syscall(56, 0x10000011, 0, 0, 0, 0); exit 0 if $p == 0; print "hunter2" if $p > 0'"#,
    ),
    (Unproven, r#"perl -e 'my $c = "x"; print "hunter2" if ioctl(STDIN, 0x5412, $c)'"#),
    (Unproven, r#"sudo -n cat "$OUT/file""#),
    (Unproven, r#"su -c "cat $OUT/file""#),
    (Unproven, r#"echo 1 > /proc/sys/kernel/sysrq && echo hunter2"#),
    (Unproven, r#"echo x > /sys/kernel/uevent_helper && echo hunter2"#),
    (Unproven, r#"echo x > /etc/midrail-attempt && echo hunter2"#),
    (Unproven, r#"echo x > /usr/midrail-attempt && echo hunter2"#),
    (Unproven, r#"docker run -v /:/h alpine cat "/h$OUT/file""#),
    (Unproven, r#"debugfs -R "cat $OUT/file" "$(findmnt -no SOURCE /)""#),
];

/// Runs all attempts whose line contains a text. Returns those that left the sandbox.
pub(crate) fn run(filter: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let attempts: Vec<_> = ATTEMPTS.iter().filter(|(_, line)| line.contains(filter)).collect();
    for (kind, line) in &attempts {
        if *kind != Unproven && !takes_effect_outside(line) {
            failures.push(format!("without a sandbox it has no effect: {line}"));
        }
    }
    for layers in [Layers::Full, Layers::Partial] {
        if !world::is_available(layers) {
            continue;
        }
        let mut count = 0;
        for (kind, line) in &attempts {
            for network in [Network::None, Network::All] {
                if network == Network::All && (line.contains("/dev/tcp") || line.contains("INET")) {
                    continue;
                }
                let escape = escape(line, layers, network);
                let may_pass = *kind == StoppedByMounts && layers == Layers::Partial;
                match escape {
                    Some(what) if !may_pass => {
                        failures.push(format!("{layers:?} {network:?}: {line}\n    {what}"))
                    }
                    _ => count += 1,
                }
            }
        }
        println!("attempts in a {layers:?} sandbox: {count} as expected");
    }
    failures
}

fn takes_effect_outside(line: &str) -> bool {
    let mut world = World::new();
    let before = world.state();
    let output = world.run_outside(line);
    std::thread::sleep(std::time::Duration::from_millis(if line.contains("sleep") { 900 } else { 15 }));
    before != world.state() || String::from_utf8_lossy(&output.stdout).contains(SECRET)
}

/// What an attempt changed or read.
fn escape(line: &str, layers: Layers, network: Network) -> Option<String> {
    let mut world = World::new();
    let before = world.state();
    let mut sandbox = world.sandbox(layers);
    sandbox.network = network;
    let run = world.run(&sandbox, &world.line(line));
    std::thread::sleep(std::time::Duration::from_millis(if line.contains("sleep") { 900 } else { 2 }));
    let after = world.state();
    if let Err(error) = &run.report {
        return Some(format!("the sandbox failed: {error}"));
    }
    if run.out().contains(SECRET) {
        return Some(format!("it printed {}", run.out()));
    }
    let changed: Vec<String> = before
        .keys()
        .chain(after.keys())
        .filter(|key| before.get(*key) != after.get(*key))
        .map(|key| format!("{key}: {:?} is now {:?}", before.get(key), after.get(key)))
        .collect();
    (!changed.is_empty()).then(|| changed.join("\n    "))
}
