//! One row a program that runs another.

use super::{DOCKER_VALUES, PLAIN, Rest, Wrapper};

/// All of them.
pub(in super::super) const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        programs: &["sudo", "doas", "please", "run0", "pkexec", "gksudo", "kdesudo"],
        values: &[
            "-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-r", "--role", "-t",
            "--type", "-T", "-U", "-D", "--chdir", "-R", "--chroot", "-c",
        ],
        assigns: true,
        is_privileged: true,
        ..PLAIN
    },
    Wrapper { programs: &["gosu", "su-exec", "chpst-user"], skip: 1, is_privileged: true, ..PLAIN },
    Wrapper {
        programs: &["setpriv"],
        values: &["--reuid", "--regid", "--groups", "--ruid", "--euid", "--rgid", "--egid", "--inh-caps"],
        is_privileged: true,
        ..PLAIN
    },
    Wrapper { programs: &["capsh"], code: &["-c"], needs_dashes: true, is_privileged: true, ..PLAIN },
    Wrapper {
        programs: &["su", "runuser"],
        values: &["-s", "--shell", "-g", "-G", "-w"],
        code: &["-c", "--command", "--session-command"],
        rest: Rest::Nothing,
        is_privileged: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["runuser"],
        values: &["-u", "--user", "-g", "-G", "-s"],
        code: &["-c", "--command"],
        is_privileged: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["env", "genv"],
        values: &["-u", "--unset", "-C", "--chdir", "-P", "--argv0", "-a"],
        code: &["-S", "--split-string"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        programs: &[
            "nohup",
            "setsid",
            "builtin",
            "catchsegv",
            "eatmydata",
            "unbuffer",
            "dbus-run-session",
            "torsocks",
            "torify",
            "proxychains",
            "proxychains4",
            "noglob",
            "nocorrect",
            "linux32",
            "linux64",
            "i386",
            "x86_64",
            "fakeroot",
            "tsocks",
            "ltrace-wrap",
            "winpty",
            "chronic",
            "errno-run",
            "vblank_mode",
            "primusrun",
            "optirun",
            "gamemoderun",
            "xvfb-run",
            "systemd-cat",
            "aa-exec",
            "pdm-run",
            "dotenvx",
            "softlimit",
            "with-contenv",
        ],
        values: &["-s", "-p", "-e", "-n", "-f"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { programs: &["command"], values: &[], ..PLAIN },
    Wrapper { programs: &["exec"], values: &["-a"], ..PLAIN },
    Wrapper { programs: &["time", "gtime"], values: &["-f", "--format", "-o", "--output"], ..PLAIN },
    Wrapper {
        programs: &["timeout", "gtimeout"],
        values: &["-k", "--kill-after", "-s", "--signal"],
        skip: 1,
        ..PLAIN
    },
    Wrapper { programs: &["nice", "gnice"], values: &["-n", "--adjustment"], ..PLAIN },
    Wrapper { programs: &["ionice"], values: &["-c", "--class", "-n", "--classdata", "-p"], ..PLAIN },
    Wrapper { programs: &["chrt"], values: &["-T", "-P", "-D", "-p"], skip: 1, ..PLAIN },
    Wrapper { programs: &["taskset"], values: &["-p"], skip: 1, ..PLAIN },
    Wrapper {
        programs: &["numactl", "cgexec", "prlimit", "cpulimit", "trickle"],
        values: &["-g", "-m", "-N", "-C", "-l", "-d", "-u"],
        ..PLAIN
    },
    Wrapper {
        programs: &["stdbuf", "gstdbuf"],
        values: &["-i", "-o", "-e", "--input", "--output", "--error"],
        ..PLAIN
    },
    Wrapper {
        programs: &[
            "strace",
            "ltrace",
            "perf",
            "valgrind",
            "dtruss",
            "rr",
            "hyperfine",
            "heaptrack",
            "bpftrace",
            "gdb",
        ],
        values: &[
            "-o", "-e", "-s", "-p", "-E", "-u", "-a", "-b", "-I", "-S", "-P", "-w", "-r", "-n", "-m", "-x",
            "-ex",
        ],
        ..PLAIN
    },
    Wrapper {
        programs: &["watch", "gwatch", "viddy"],
        values: &["-n", "--interval", "-q", "--equexit"],
        rest: Rest::Text,
        ..PLAIN
    },
    Wrapper {
        programs: &["entr", "watchexec", "chokidar", "reflex", "nodemon"],
        values: &["-w", "-e", "-f", "-i", "-d", "-r"],
        ..PLAIN
    },
    Wrapper {
        programs: &["flock"],
        values: &["-w", "--wait", "--timeout", "-E", "--conflict-exit-code"],
        code: &["-c", "--command"],
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        programs: &["unshare", "nsenter"],
        values: &[
            "-t",
            "--target",
            "-S",
            "-G",
            "-R",
            "--root",
            "-w",
            "--wd",
            "--setuid",
            "--setgid",
            "--propagation",
        ],
        ..PLAIN
    },
    Wrapper {
        programs: &["chroot", "arch-chroot"],
        values: &["--userspec", "--groups"],
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["proot", "firejail", "bwrap", "systemd-nspawn"],
        values: &[
            "-r",
            "-b",
            "-w",
            "-R",
            "-S",
            "-D",
            "--bind",
            "--ro-bind",
            "--dev-bind",
            "--dev",
            "--proc",
            "--tmpfs",
            "--chdir",
            "--setenv",
            "--unsetenv",
            "--uid",
            "--gid",
            "--hostname",
            "--symlink",
            "--dir",
        ],
        ..PLAIN
    },
    Wrapper {
        programs: &["script"],
        values: &["-E", "-I", "-O", "-B", "-T", "-m"],
        code: &["-c", "--command"],
        skip: 1,
        ..PLAIN
    },
    Wrapper { programs: &["fzf", "sk"], code: &["--preview"], rest: Rest::Nothing, ..PLAIN },
    Wrapper { programs: &["nodemon"], code: &["-x", "--exec"], rest: Rest::Nothing, ..PLAIN },
    Wrapper { programs: &["caffeinate"], values: &["-t", "-w"], ..PLAIN },
    Wrapper {
        programs: &["systemd-run"],
        values: &[
            "-u",
            "--unit",
            "-p",
            "--property",
            "-M",
            "--machine",
            "-H",
            "--host",
            "-E",
            "--setenv",
            "--on-active",
            "--on-calendar",
            "--slice",
            "--uid",
            "--gid",
        ],
        ..PLAIN
    },
    Wrapper { programs: &["setarch"], skip: 1, ..PLAIN },
    Wrapper { programs: &["rlwrap"], values: &["-H", "-f", "-C", "-D", "-s"], ..PLAIN },
    Wrapper { programs: &["asdf"], verbs: &[&["exec"]], ..PLAIN },
    Wrapper {
        programs: &["hyperfine"],
        values: &[
            "-w",
            "--warmup",
            "-r",
            "--runs",
            "-m",
            "-M",
            "-n",
            "--command-name",
            "-S",
            "--shell",
            "-u",
        ],
        code: &["-p", "--prepare", "-c", "--cleanup", "-s", "--setup"],
        rest: Rest::Text,
        ..PLAIN
    },
    Wrapper {
        programs: &["perf"],
        verbs: &[&["stat"], &["record"], &["trace"], &["mem"], &["c2c"]],
        values: &["-e", "-o", "-r", "-F", "-C", "-I", "-D"],
        ..PLAIN
    },
    Wrapper { programs: &["faketime"], values: &["-f"], skip: 1, ..PLAIN },
    Wrapper { programs: &["ssh-agent"], values: &["-a", "-t", "-E", "-P"], ..PLAIN },
    Wrapper { programs: &["arch"], values: &["-arch", "-e", "-d"], ..PLAIN },
    Wrapper {
        programs: &["retry"],
        values: &[
            "-t", "--times", "-d", "--delay", "-n", "-m", "--tries", "--until", "--max", "--sleep", "-s",
        ],
        ..PLAIN
    },
    Wrapper { programs: &["entr"], code: &["-s"], ..PLAIN },
    Wrapper {
        programs: &["aws-vault", "chamber", "saml2aws", "granted", "envchain"],
        verbs: &[&["exec"]],
        values: &["-d", "--duration", "-b", "--backend", "-r", "--region"],
        skip: 1,
        mixes_options: true,
        ..PLAIN
    },
    Wrapper { programs: &["dotenv"], values: &["-e", "-f", "-c", "-v", "-p", "--file"], ..PLAIN },
    Wrapper {
        programs: &["ddev", "lando"],
        verbs: &[&["exec"], &["ssh"]],
        values: &["-s", "--service", "-d", "--dir", "-u", "--user"],
        code: &["-c", "--command"],
        is_remote: true,
        ..PLAIN
    },
    Wrapper { programs: &["man"], code: &["-P", "--pager"], rest: Rest::Nothing, ..PLAIN },
    Wrapper { programs: &["direnv"], verbs: &[&["exec"]], skip: 1, ..PLAIN },
    Wrapper { programs: &["mise", "rtx", "proto"], verbs: &[&["exec"], &["x"]], needs_dashes: true, ..PLAIN },
    Wrapper {
        programs: &["nix"],
        verbs: &[&["develop"], &["shell"], &["run"]],
        starts: &["-c", "--command"],
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["nix-shell", "devbox", "flox"],
        values: &["-p", "--packages", "-I", "--arg", "--argstr"],
        code: &["--run", "--command"],
        rest: Rest::Nothing,
        ..PLAIN
    },
    Wrapper {
        programs: &["docker", "podman", "nerdctl"],
        verbs: &[&["exec"], &["container", "exec"]],
        values: DOCKER_VALUES,
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["docker", "podman", "nerdctl"],
        verbs: &[&["run"], &["container", "run"], &["create"]],
        values: DOCKER_VALUES,
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["docker", "podman", "nerdctl"],
        verbs: &[&["compose", "exec"], &["compose", "run"]],
        values: DOCKER_VALUES,
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["docker-compose", "podman-compose"],
        verbs: &[&["exec"], &["run"]],
        values: DOCKER_VALUES,
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["kubectl", "oc", "k3s", "microk8s", "kubecolor"],
        verbs: &[&["exec"], &["run"], &["debug"], &["kubectl", "exec"]],
        values: &[
            "-n",
            "--namespace",
            "-c",
            "--container",
            "--context",
            "-f",
            "--filename",
            "--image",
            "--kubeconfig",
        ],
        skip: 1,
        mixes_options: true,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["lxc", "incus", "lxc-attach", "crictl", "ctr"],
        verbs: &[&["exec"]],
        values: &["-n", "--cwd", "--env", "--user"],
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["ssh", "autossh", "sshpass-ssh", "dbclient", "tsh", "mosh"],
        values: &[
            "-i", "-p", "-l", "-o", "-F", "-L", "-R", "-D", "-J", "-b", "-c", "-e", "-m", "-O", "-Q", "-S",
            "-w", "-W", "-E", "-I", "-B", "-P", "--ssh",
        ],
        skip: 1,
        mixes_options: true,
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper { programs: &["sshpass"], values: &["-p", "-f", "-d", "-P"], ..PLAIN },
    Wrapper {
        programs: &["pssh", "parallel-ssh", "pdsh", "clush"],
        values: &["-h", "-H", "-w", "-l", "-p", "-t", "-o", "-g"],
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["ansible"],
        values: &["-m", "-i", "-u", "-l", "-e", "-f"],
        code: &["-a", "--args"],
        rest: Rest::Nothing,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["vagrant"],
        verbs: &[&["ssh"]],
        code: &["-c", "--command"],
        rest: Rest::Nothing,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["gcloud"],
        verbs: &[&["compute", "ssh"]],
        code: &["--command"],
        rest: Rest::Nothing,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["gcloud"],
        verbs: &[&["compute", "ssh"], &["alpha", "compute", "ssh"]],
        values: &["--zone", "--project", "--command", "--ssh-key-file"],
        needs_dashes: true,
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["heroku", "fly", "flyctl", "railway", "eb"],
        verbs: &[&["run"], &["ssh", "console"], &["ssh"]],
        code: &["-C", "--command", "-c"],
        rest: Rest::Text,
        values: &["-a", "--app"],
        is_remote: true,
        ..PLAIN
    },
    Wrapper { programs: &["wsl"], values: &["-d", "--distribution", "-u", "--user", "--cd"], ..PLAIN },
    Wrapper {
        programs: &["npm", "pnpm", "yarn"],
        values: &["-p", "--package", "-w", "--prefix"],
        code: &["-c", "--call"],
        rest: Rest::Nothing,
        ..PLAIN
    },
    Wrapper {
        programs: &["npx", "bunx", "pnpx"],
        values: &["-p", "--package", "-w", "--prefix"],
        code: &["-c", "--call"],
        ..PLAIN
    },
    Wrapper {
        programs: &["npm", "pnpm", "yarn", "bun"],
        verbs: &[&["exec"], &["x"], &["dlx"]],
        values: &["-p", "--package", "-w", "--workspace", "--prefix", "--filter", "-C", "--dir"],
        ..PLAIN
    },
    Wrapper {
        programs: &[
            "poetry",
            "pipenv",
            "pdm",
            "uv",
            "rye",
            "hatch",
            "rbenv",
            "pyenv",
            "conda",
            "mamba",
            "micromamba",
            "pixi",
            "op",
            "doppler",
            "infisical",
            "dotenv",
            "railway",
        ],
        verbs: &[&["run"], &["exec"]],
        values: &["-n", "--name", "-p", "--prefix", "--python", "--with", "--env-file", "--directory", "-f"],
        ..PLAIN
    },
    Wrapper { programs: &["bundle", "bundler"], verbs: &[&["exec"]], ..PLAIN },
    Wrapper { programs: &["busybox", "toybox"], ..PLAIN },
    Wrapper {
        programs: &["concurrently", "npm-run-all"],
        rest: Rest::Text,
        values: &["-n", "--names", "-c"],
        ..PLAIN
    },
    Wrapper { programs: &["screen"], values: &["-S", "-t", "-c", "-p", "-T"], ..PLAIN },
    Wrapper {
        programs: &[
            "xterm",
            "gnome-terminal",
            "konsole",
            "alacritty",
            "kitty",
            "urxvt",
            "st",
            "wezterm",
            "x-terminal-emulator",
        ],
        values: &["-T", "-geometry", "--title"],
        starts: &["-e", "-x", "--command"],
        needs_dashes: true,
        ..PLAIN
    },
];
