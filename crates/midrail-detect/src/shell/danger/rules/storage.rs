//! What destroys object storage and backups.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("rclone-delete", &["rclone"], High, "Deletes files at the destination, or all of a remote")
        .when(&[
            "sync|delete|purge|deletefile|rmdirs|rmdir|cleanup|dedupe|bisync|move|moveto",
            "copy|copyto --delete-excluded", "config delete|disconnect", "backend @cleanup|drop|remove",
        ])
        .unless(&["-n", "* -i|--interactive"])
        .safer("rclone --dry-run shows what would go; rclone copy deletes nothing")
        .stops(&[
            "rclone sync /a remote:b", "rclone purge remote:b", "rclone --config c delete remote:b/x",
            "rclone move /a remote:b", "rclone cleanup store:", "rclone dedupe store:",
        ])
        .passes(&[
            "rclone copy /a remote:b", "rclone ls remote:", "rclone sync --dry-run /a remote:b",
            "rclone sync -n a b", "rclone config",
        ]),
    rule("minio-remove", &["mc", "mcli"], High, "Deletes buckets or objects, or changes who may use them")
        .when(&[
            "rb|rm", "mirror --remove",
            "admin bucket|user|policy|group|service|config|replicate|tier|accesskey delete|remove|\
             disable|unset|stop|reset|rm|detach|restart|freeze",
            "admin bucket remote|quota remove|rm|--clear",
            "ilm|event|tag|replicate|version|retention|legalhold|encrypt|anonymous|policy|idp remove|\
             rm|suspend|clear|set|disable",
            "ilm rule rm|remove", "undo|mv", "admin decommission|decom start|cancel",
            "alias remove|rm|rm --all", "batch cancel",
        ])
        .unless(&["alias rm|remove", "tag|encrypt|version set|enable|list"])
        .safer("mc ls shows what is there")
        .stops(&[
            "mc rb --force s/b", "mc rm --recursive --force s/b", "mc --json rb s/b",
            "mc mirror --remove a s/b", "mc admin user remove s u", "mc admin policy unset s p",
            "mc admin user disable s u",
        ])
        .passes(&["mc ls s/b", "mc cp a s/b", "mc admin info s", "mc mirror a s/b", "mc alias list", "mc"]),
    rule(
        "bucket-remove",
        &[
            "s3cmd", "s5cmd", "b2", "s4cmd", "ossutil", "ossutil64", "coscmd", "coscli", "obsutil",
            "qshell", "azcopy", "gof3r", "ia", "dx", "storj", "uplink", "ipfs", "hf", "huggingface-cli",
            "wandb", "dvc", "gdrive", "lakectl", "quilt3",
        ],
        High,
        "Deletes buckets or objects",
    )
        .when(&[
            "rb|rm|del|delete|remove|expire|delete-bucket|delete-file-version|\
             cancel-all-unfinished-large-files|clear-account|batchdelete|abort|delbucket|rmdir|\
             delmarker",
            "sync --delete-removed|--delete|--delete-destination|--delete-destination=true",
            "mv @*s3://*|*oss://*", "bucket|file|key|replication|rm delete|delete-*|clear",
            "repo delete|delete-files|tag", "repo gc", "pin rm", "gc",
            "repo|artifact|model|sweep|branch|tag rm|delete|revert|cancel",
            "branch|repo|tag|fs delete|revert|reset|rm", "delete-cache", "access revoke",
        ])
        .unless(&["sync --dry-run", "... list|ls"])
        .safer("list what is there first")
        .stops(&[
            "s3cmd rb s3://x", "s3cmd del -r s3://x", "s5cmd rm 's3://x/*'", "b2 delete-bucket x",
            "b2 bucket delete x", "azcopy remove https://x --recursive", "ossutil rm -r oss://x",
            "s3cmd sync --delete-removed a s3://x", "azcopy sync a b --delete-destination=true",
            "huggingface-cli repo delete x",
        ])
        .passes(&[
            "s3cmd ls", "s5cmd cp a s3://x", "b2 list-buckets", "azcopy copy a b", "dvc pull",
            "hf download x",
        ]),
    rule("backup-forget", &["restic", "rustic", "autorestic", "resticprofile"], High, "Deletes backups")
        .when(&[
            "forget|prune|unlock|rewrite", "key remove|passwd", "... forget|prune", "tag --remove|--set",
            "repair @*", "migrate",
        ])
        .unless(&["-n"])
        .safer("restic forget --dry-run shows what would go")
        .stops(&["restic forget --keep-last 1 --prune", "restic -r x prune", "restic key remove 1"])
        .passes(&["restic snapshots", "restic backup .", "restic forget -n --keep-last 1", "restic check"]),
    rule("borg-delete", &["borg", "borgmatic", "borg2", "vorta"], High, "Deletes backups")
        .when(&[
            "delete|prune|compact|rdelete|repo-delete|recreate|break-lock|repo-compress|rename",
            "check --repair", "... prune|delete|compact|break-lock", "key remove|change-passphrase",
            "config --delete",
        ])
        .unless(&["-n", "list|info|create|extract|mount|diff"])
        .safer("borg prune --dry-run --list shows what would go")
        .stops(&[
            "borg delete repo::a", "borg prune --keep-last 1", "borg compact", "borg break-lock vault",
            "borg recreate repo::a", "borgmatic prune", "borg check --repair repo",
        ])
        .passes(&[
            "borg list vault", "borg create repo::a .", "borg prune -n --keep-last 1", "borg check vault",
            "borg extract repo::a",
        ]),
    rule(
        "backup-delete",
        &[
            "kopia", "duplicity", "duplicacy", "bup", "tarsnap", "rdiff-backup", "bacula", "bconsole",
            "barman", "pgbackrest", "wal-g", "wal-e", "xtrabackup", "mylvmbackup", "bareos",
            "urbackupclientctl", "tmutil", "wbadmin", "vssadmin", "wmic", "duplicati-cli",
            "proxmox-backup-client", "k10tools", "rsnapshot", "attic", "zbackup", "snapraid", "pghoard",
            "cassandra-medusa", "medusa",
        ],
        High,
        "Deletes backups",
    )
        .when(&[
            "snapshot|policy|repository|blob|content|manifest|cache delete|remove|clear|expire|\
             disconnect",
            "maintenance run --full",
            "remove-older-than|remove-all-but-n-full|remove-all-inc-of-but-n-full|cleanup|collapse @*",
            "prune|delete|rm|gc|purge|expire|stanza-delete|delete-backup|forget|nuke|wipe|fsck --prune",
            "-d|--delete|--nuke|--remove-older-than|--fsck-prune",
            "delete everything|before|retain|target|garbage",
            "delete|deletelocalsnapshots|deleteinprogress|removedestination|disable|disablelocal|\
             thinlocalsnapshots|setdestination|inheritbackup|removeexclusion|deletesnapshot",
            "remove increments", "... --remove-older-than", "... stanza-delete|expire",
        ])
        .unless(&[
            "list|status|info|listbackups|create|backup|check|verify|latestbackup|machinedirectory|\
             startbackup|isexcluded|destinationinfo|compare|calculatedrift|listlocalsnapshots",
            "-l|--list", "list shadows", "-n", "... list",
        ])
        .safer("list the backups first; let the owner delete")
        .stops(&[
            "kopia snapshot delete x --delete", "duplicity remove-older-than 30D x", "tarsnap -d -f x",
            "barman delete main x", "pgbackrest --stanza=x stanza-delete", "wal-g delete retain 1",
            "tmutil delete /x", "tmutil disable",
        ])
        .passes(&[
            "kopia snapshot list", "duplicity full a b", "tarsnap -c -f x a", "tmutil listbackups",
            "barman list-backup main", "wal-g backup-list",
        ]),
    rule(
        "download-mirror-delete",
        &[
            "lftp", "ftp", "sftp", "unison", "csync", "osync", "lsyncd", "syncthing", "smbclient",
            "cadaver", "ncftp", "nextcloudcmd",
        ],
        Medium,
        "Deletes files on a server, or at the destination",
    )
        .when(&[
            "-e=*mirror*--delete*|-e=*rm*|-c=*mirror*--delete*|-c=*del*|-c=*rm*-r*", "--delete|--delete-first",
            "@*mirror*--delete*|*rm*-r*|*mdelete*", "<*rm*|*mdelete*|*delete*",
        ])
        .likely()
        .safer("list what it would delete first")
        .stops(&[
            "lftp -e 'mirror -R --delete a b' host", "lftp -c 'open x; mirror -R --delete a b'",
            "lftp -c 'open x; rm -r a'",
        ])
        .passes(&["lftp host", "sftp host"]),
    rule(
        "archive-critical",
        &["vssadmin", "wbadmin", "bcdedit", "wmic"],
        Critical,
        "Deletes what a machine would be restored from",
    )
        .when(&[
            "delete shadows|catalog|backup|systemstatebackup", "shadowcopy delete",
            "... recoveryenabled|bootstatuspolicy", "resize shadowstorage",
        ])
        .safer("list the backups first; let the owner delete")
        .stops(&[
            "vssadmin delete shadows /all", "wbadmin delete catalog", "bcdedit /set {default} recoveryenabled no",
            "wmic shadowcopy delete",
        ])
        .passes(&["vssadmin list shadows"]),
];
