//! Programs that run another: what starts services, changes rights and names, and reaches other machines and containers.

use super::{PLAIN, Rest, Wrapper};

/// One row a program.
pub(in super::super) const WRAPPERS: &[Wrapper] = &[
    // The first process of a container, and of services.
    Wrapper {
        programs: &["tini", "tini-static", "dumb-init", "catatonit"],
        values: &["-p", "-e", "-r", "--rewrite"],
        ..PLAIN
    },
    Wrapper {
        programs: &["daemonize", "daemon"],
        values: &[
            "-a",
            "-c",
            "-e",
            "-E",
            "-l",
            "-o",
            "-p",
            "-u",
            "-n",
            "--name",
            "--user",
            "--chdir",
            "--output",
            "--stdout",
            "--stderr",
            "--pidfile",
            "--env",
        ],
        ..PLAIN
    },
    Wrapper {
        programs: &["chpst"],
        values: &["-u", "-U", "-b", "-e", "-/", "-n", "-l", "-L", "-m", "-d", "-o", "-p", "-f", "-c", "-t"],
        is_privileged: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["s6-setuidgid", "setuidgid", "envuidgid", "s6-envuidgid", "runas"],
        skip: 1,
        is_privileged: true,
        ..PLAIN
    },
    Wrapper { programs: &["envdir", "s6-envdir", "setlock", "s6-setlock", "logexec"], skip: 1, ..PLAIN },
    Wrapper {
        programs: &["runcon"],
        values: &["-t", "--type", "-u", "--user", "-r", "--role", "-l", "--range"],
        skip: 1,
        ..PLAIN
    },
    Wrapper {
        programs: &[
            "nocache",
            "ifne",
            "steam-run",
            "gamescope",
            "mangohud",
            "prime-run",
            "nvidia-offload",
            "wine",
            "wine64",
            "box64",
            "dbus-launch",
            "exec-notify",
            "ts-node-script",
            "cross-env",
            "cross-env-shell",
        ],
        values: &["-W", "-H", "-w", "-h", "-r"],
        assigns: true,
        ..PLAIN
    },
    Wrapper { programs: &["tsp", "ts"], values: &["-L", "-N", "-D", "-W", "-O"], ..PLAIN },
    Wrapper { programs: &["pee"], rest: Rest::Text, ..PLAIN },
    Wrapper { programs: &["flatpak-spawn"], values: &["--directory", "--env", "--forward-fd"], ..PLAIN },
    Wrapper {
        programs: &["env-cmd", "dotenv-cli"],
        values: &["-f", "--file", "-e", "--environments", "-r", "--rc-file"],
        ..PLAIN
    },
    Wrapper {
        programs: &["run-s", "run-p"],
        values: &["-n", "--npm-path", "--max-parallel"],
        rest: Rest::Text,
        ..PLAIN
    },
    Wrapper {
        programs: &["cargo-watch"],
        values: &["-x", "--exec", "-w", "--watch", "-i", "--ignore", "-d", "--delay"],
        code: &["-s", "--shell"],
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["cargo"],
        verbs: &[&["watch"]],
        values: &["-x", "--exec", "-w", "--watch", "-i", "--ignore", "-d", "--delay"],
        code: &["-s", "--shell"],
        rest: Rest::Nothing,
        ..PLAIN
    },
    Wrapper {
        programs: &["cargo"],
        verbs: &[&["watch"]],
        values: &["-x", "--exec", "-w", "--watch", "-i", "--ignore", "-d", "--delay", "-s", "--shell"],
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper { programs: &["screen"], starts: &["stuff"], rest: Rest::Text, needs_dashes: true, ..PLAIN },
    Wrapper { programs: &["sops"], verbs: &[&["exec-env"]], skip: 1, rest: Rest::Text, ..PLAIN },
    Wrapper {
        programs: &["srun", "mpirun", "mpiexec", "prun"],
        values: &["-n", "-np", "-N", "-c", "-p", "-t", "-J", "-w", "--host", "--hostfile", "-H", "--map-by"],
        ..PLAIN
    },
    Wrapper { programs: &["sbatch"], code: &["--wrap"], rest: Rest::Nothing, ..PLAIN },
    // Other networks and containers.
    Wrapper { programs: &["ip"], verbs: &[&["netns", "exec"]], values: &["-n", "-netns"], skip: 1, ..PLAIN },
    Wrapper { programs: &["ip"], verbs: &[&["vrf", "exec"]], skip: 1, ..PLAIN },
    // Both see the user's own home.
    Wrapper {
        programs: &["toolbox"],
        verbs: &[&["run"]],
        values: &["-c", "--container", "-d", "--distro", "-r", "--release"],
        ..PLAIN
    },
    Wrapper {
        programs: &["distrobox"],
        verbs: &[&["enter"]],
        values: &["-n", "--name", "-a", "--additional-flags"],
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["distrobox-enter"],
        values: &["-n", "--name", "-a", "--additional-flags"],
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["lxc-attach"],
        values: &["-n", "--name", "-P", "-u", "-g", "-v", "--set-var"],
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["multipass", "limactl", "orb", "machinectl"],
        verbs: &[&["exec"], &["shell"], &["run"]],
        values: &["-d", "--working-directory", "--workdir", "-m", "-u", "--uid"],
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["apptainer", "singularity", "enroot", "udocker"],
        verbs: &[&["exec"], &["run"], &["start"]],
        values: &["-B", "--bind", "--pwd", "--env", "-m", "--mount"],
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["nomad"],
        verbs: &[&["alloc", "exec"], &["exec"]],
        values: &["-task", "-job", "-e"],
        skip: 1,
        is_remote: true,
        ..PLAIN
    },
    // Many machines at once.
    Wrapper {
        programs: &["salt", "salt-ssh"],
        starts: &["cmd.run", "cmd.run_all", "cmd.run_stdout", "cmd.run_bg", "cmd.shell", "cmd.script"],
        rest: Rest::Text,
        needs_dashes: true,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["salt-call"],
        starts: &["cmd.run", "cmd.run_all", "cmd.run_stdout", "cmd.run_bg", "cmd.shell", "cmd.script"],
        rest: Rest::Text,
        needs_dashes: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["fab"],
        values: &["-H", "--hosts", "-i", "--identity", "-S", "-c", "-r"],
        needs_dashes: true,
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["knife"],
        verbs: &[&["ssh"]],
        values: &["-x", "-i", "-a", "-C", "-P", "-E", "-c", "--ssh-user", "--ssh-identity-file"],
        skip: 1,
        mixes_options: true,
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["bolt"],
        verbs: &[&["command", "run"]],
        values: &["-t", "--targets", "-u", "--user"],
        rest: Rest::Text,
        is_remote: true,
        ..PLAIN
    },
    Wrapper {
        programs: &["az"],
        verbs: &[
            &["vm", "run-command", "invoke"],
            &["vm", "run-command", "create"],
            &["vmss", "run-command", "invoke"],
        ],
        values: &[
            "-g",
            "--resource-group",
            "-n",
            "--name",
            "--command-id",
            "--vm-name",
            "--run-command-name",
        ],
        code: &["--scripts", "--script"],
        rest: Rest::Nothing,
        is_remote: true,
        ..PLAIN
    },
];
