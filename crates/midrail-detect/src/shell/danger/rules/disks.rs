//! What destroys disks, partitions, volumes and file systems.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Loss, Rule, Targets, rule};

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "make-file-system",
        &[
            "mkfs", "mkfs.*", "mke2fs", "mkswap", "newfs", "newfs_apfs", "newfs_hfs", "mkntfs", "mkdosfs",
            "format.com", "bcachefs",
        ],
        Critical,
        "Makes a new file system, and destroys all that was on the device",
    )
        .when(&["@/dev/*", "@$*", "@*:", "... /dev/*"])
        .unless(&["-n !-F|--force|-f !-L", "-N"])
        .safer("work on an image file")
        .stops(&["mkfs.ext4 /dev/sda1", "mkfs -t xfs /dev/nvme0n1", "mkfs.ext4 $DISK", "mkswap /dev/sdb2"])
        .passes(&["mkfs.ext4 disk.img", "mkfs.ext4 -n /dev/sdc1", "mkfs"]),
    rule(
        "wipe-signatures",
        &[
            "wipefs", "blkdiscard", "sgdisk", "nwipe", "scrub", "badblocks", "hdparm", "sg_format",
            "sg_sanitize", "nvme", "mdadm", "dmsetup",
        ],
        Critical,
        "Destroys all that is on the device",
    )
        .when(&[
            "@/dev/* -a|--all|-o|--offset|-f|--force",
            "-z|--zap|-Z|--zap-all|-o|--clear|-d|--delete|-g|-G @/dev/*", "@/dev/* -w|--write-mode",
            "format|sanitize|delete-ns|write|write-zeroes|write-uncor|security-send|detach-ns",
            "--zero-superblock|--stop|--remove|--fail|-S|--user-master|--security-erase|\
             --security-erase-enhanced|--trim-sector-ranges|--write-sector|--dco-restore|\
             --security-erase=*",
            "remove|remove_all|wipe_table",
        ])
        .unless(&["-n|--no-act", "-l|-p|--print"])
        .safer("work on an image file")
        .stops(&[
            "wipefs -a /dev/sda", "blkdiscard -f /dev/sda", "sgdisk --zap-all /dev/sda",
            "nvme format /dev/nvme0n1", "mdadm --zero-superblock /dev/sdb1",
            "hdparm --security-erase p /dev/sda", "badblocks -w /dev/sda",
        ])
        .passes(&[
            "wipefs /dev/sda", "sgdisk -p /dev/sda", "nvme list", "mdadm --detail /dev/md0",
            "hdparm -I /dev/sda", "wipefs -n -a /dev/sda",
        ]),
    rule(
        "wipe-device",
        &["blkdiscard", "nwipe", "scrub", "sg_format", "sg_sanitize"],
        Critical,
        "Destroys all that is on the device",
    )
        .when(&["@/dev/*", "@$*"])
        .safer("work on an image file")
        .stops(&["blkdiscard /dev/nvme0n1", "nwipe --autonuke /dev/sdb"])
        .passes(&["blkdiscard disk.img"]),
    rule(
        "partition",
        &["fdisk", "sfdisk", "parted", "partx", "gparted", "gpt", "disklabel", "kpartx"],
        High,
        "Changes the partitions of a disk",
    )
        .when(&["@/dev/*", "@$*"])
        .unless(&[
            "-l|--list|-p|--print|-d|--dump|--show|-v|--verify|-F|-x|-V|-J|--json|-i|--info",
            "... print|unit|align-check", "-g|--show-geometry",
        ])
        .safer("fdisk -l only lists")
        .stops(&[
            "fdisk /dev/sdc", "parted /dev/sda mklabel gpt", "sfdisk /dev/sdc", "parted -s /dev/sdb rm 1",
            "sfdisk --delete /dev/sda",
        ])
        .passes(&[
            "fdisk -l", "fdisk -l /dev/sdc", "parted /dev/sda print", "sfdisk -d /dev/sda",
            "fdisk disk.img",
        ]),
    rule("partition-editor", &["gdisk", "cfdisk", "cgdisk"], High, "Changes the partitions of a disk")
        .when(&["@/dev/*", "@$*"])
        .unless(&["-l|--list"])
        .safer("fdisk -l only lists")
        .stops(&["gdisk /dev/nvme1n1", "cfdisk /dev/sda"])
        .passes(&["gdisk -l /dev/sdc", "gdisk disk.img"]),
    rule(
        "partition-probe",
        &[
            "partprobe", "blockdev", "resize2fs", "tune2fs", "e2fsck", "fsck", "fsck.*", "xfs_repair",
            "debugfs", "ntfsfix", "btrfs", "xfs_growfs", "e2label", "fstrim",
        ],
        Medium,
        "Changes a device or its file system in place",
    )
        .when(&[
            "@/dev/* !-n|-N", "--setrw|--setro|--flushbufs|--setra|--rereadpt @/dev/*",
            "rescue|check @/dev/*",
        ])
        .unless(&[
            "-l|-n|-N|--report|--getsize64|--getss|--getro|--getsz|--getbsz|--getra|--getsize|-s|\
             --readonly",
            "device|filesystem|fi|scrub|balance|inspect-internal|property|receive|send|subvolume|quota",
        ])
        .likely()
        .safer("look at it with a read-only option first")
        .stops(&[
            "partprobe /dev/sdc", "resize2fs /dev/sda1", "fsck -y /dev/sda1", "debugfs -w /dev/sda1",
            "fsck.ext4 /dev/sda1",
        ])
        .passes(&["tune2fs -l /dev/sda1", "fsck -n /dev/sda1", "resize2fs disk.img", "blockdev --report"]),
    rule("encrypt-device", &["cryptsetup"], Critical, "Destroys or locks what is on an encrypted device")
        .when(&[
            "luksFormat|luksErase|erase|reencrypt|luksKillSlot|luksRemoveKey|luksHeaderRestore|\
             plainFormat",
        ])
        .safer("leave encrypted devices to the user")
        .stops(&[
            "cryptsetup luksFormat /dev/sdc1", "cryptsetup erase /dev/sda",
            "cryptsetup -q luksFormat /dev/sdb",
        ])
        .passes(&["cryptsetup status x", "cryptsetup luksDump /dev/sdc1"]),
    rule("encrypted-device-change", &["cryptsetup"], Medium, "Changes an encrypted device or its keys")
        .when(&[
            "luksAddKey|luksChangeKey|luksConvertKey|luksSuspend|close|luksClose|remove|open|luksOpen|\
             resize|convert|repair|config",
        ])
        .likely()
        .safer("leave encrypted devices to the user")
        .stops(&["cryptsetup luksAddKey /dev/sdc1", "cryptsetup close x", "cryptsetup open /dev/sda1 x"])
        .passes(&["cryptsetup status x", "cryptsetup isLuks /dev/sdc1"]),
    rule(
        "encryption-off",
        &["fdesetup", "manage-bde", "geli", "veracrypt"],
        High,
        "Switches off or changes the encryption of a disk",
    )
        .when(&[
            "disable|changerecovery|removerecovery|remove|haltdeferral", "-off", "@-off",
            "init|kill|delkey|detach", "--create|-C",
        ])
        .safer("leave encrypted devices to the user")
        .stops(&["fdesetup disable", "geli kill da0"])
        .passes(&["fdesetup status", "geli list"]),
    rule(
        "factory-reset",
        &["steamos-factory-reset", "tpm2_clear"],
        Critical,
        "Erases the machine or its keys",
    )
        .safer("leave it to the user")
        .stops(&["steamos-factory-reset", "tpm2_clear"])
        .passes(&["tpm2_clear --help"]),
    rule(
        "logical-volumes",
        &[
            "lvremove", "vgremove", "pvremove", "lvreduce", "lvresize", "vgreduce", "vgcfgrestore",
            "pvmove", "vgexport", "lvconvert",
        ],
        Critical,
        "Removes or shrinks volumes with all that is on them",
    )
        .when(&["@*"])
        .unless(&["-t|--test", "-L=+*|--size=+*"])
        .safer("lvs, vgs and pvs only list")
        .stops(&["lvremove -f vg0/data", "vgremove vg0", "pvremove /dev/sdb", "lvreduce -L 5G vg0/x"])
        .passes(&["lvremove -t vg0/x", "lvresize -L +5G vg0/x"]),
    rule("lvm-tool", &["lvm"], Critical, "Removes or shrinks volumes with all that is on them")
        .when(&["lvremove|vgremove|pvremove|lvreduce"])
        .safer("lvm lvs only lists")
        .stops(&["lvm lvremove vg0/x"])
        .passes(&["lvm lvs"]),
    rule("pool-destroy", &["zpool", "zfs"], Critical, "Destroys file systems, snapshots or whole pools")
        .when(&[
            "destroy|labelclear|offline|detach|remove|split", "rollback|release|receive|recv -F|-r|-R|-rf",
            "rollback", "create -f", "inherit -r",
        ])
        .unless(&["destroy -n", "remove -n"])
        .safer("zfs list and zpool status only list")
        .stops(&[
            "zpool destroy tank", "zfs destroy -r tank/x", "zfs rollback -r tank/x@a",
            "zpool labelclear -f /dev/sda",
        ])
        .passes(&["zpool status", "zfs list", "zfs snapshot tank/x@a", "zfs destroy -nv tank/x"]),
    rule(
        "subvolume-delete",
        &["btrfs", "snapper", "timeshift", "bcachefs"],
        High,
        "Deletes a subvolume or a snapshot",
    )
        .when(&[
            "subvolume|sub|su|subv delete|del", "device|dev delete|remove|del",
            "delete|remove|rm|undochange|rollback", "--delete|--delete-all|--restore",
            "filesystem|fi resize", "-c @delete|delete",
        ])
        .safer("btrfs subvolume list only lists")
        .stops(&[
            "btrfs subvolume delete /data/x", "btrfs device remove /dev/sdb /mnt", "snapper delete 1-10",
            "timeshift --delete-all",
        ])
        .passes(&["btrfs subvolume list /", "snapper list", "timeshift --list"]),
    rule("mac-disk", &["diskutil", "hdiutil", "asr", "apfs.util"], Critical, "Erases a disk or a volume")
        .when(&[
            "eraseDisk|erasedisk|eraseVolume|erasevolume|eraseOptical|zeroDisk|randomDisk|secureErase|\
             secureerase|reformat|partitionDisk|partitiondisk|splitPartition|mergePartitions|\
             resizeVolume|zerodisk|randomdisk",
            "apfs|ap delete*|erase*|resize*|revert*",
            "ar|appleRAID|coreStorage|cs|corestorage delete*|remove*|destroy*|create*",
            "restore --erase|-erase", "erasekeys|burn",
        ])
        .safer("diskutil list only lists")
        .stops(&[
            "diskutil eraseDisk JHFS+ x disk2", "diskutil apfs deleteVolume disk5s2",
            "diskutil secureErase 0 disk3", "diskutil apfs deleteContainer disk2",
        ])
        .passes(&["diskutil list", "diskutil info disk7", "hdiutil attach a.dmg", "diskutil apfs list"]),
    rule("device-moved", &["mv", "ln", "rm"], Critical, "Takes a device away from the system")
        .when(&["@/dev/sd*|/dev/nvme*|/dev/hd*|/dev/vd*|/dev/mmcblk*|/dev/disk*|/dev/mapper/*"])
        .unless(&["-s|--symbolic"])
        .safer("unmount it first; leave disks to the user")
        .stops(&["rm /dev/sda", "mv /dev/nvme0n1 /tmp"])
        .passes(&["ln -s /dev/sda x"]),
    rule("mount-change", &["mount"], Medium, "Mounts a device, or changes how a mounted one may be used")
        .when(&[
            "@/dev/*", "-o=*remount*|--options=*remount*",
            "--bind|--rbind|--move|-B|-M @/|/etc*|/usr*|/bin*|/boot*",
        ])
        .unless(&["-o=*ro*,loop*", "-l"])
        .likely()
        .safer("leave mounts to the user")
        .stops(&[
            "mount /dev/sdc1 /mnt", "mount -o remount,rw /", "mount -t ext4 /dev/nvme0n1p1 /mnt",
            "mount --bind /tmp/x /etc",
        ])
        .passes(&["mount", "mount -l", "mount disk.img x", "mount -a", "mount -t tmpfs tmpfs build"]),
    rule("mount-over", &["mount"], High, "Hides what lies in a folder behind something else")
        .unless(&["-t=proc|-t=sysfs|-t=dev*|-t=cgroup*|-t=efivarfs"])
        .hits(Loss::Move, Targets::Last)
        .safer("mount it on an empty folder of its own")
        .stops(&["mount -t tmpfs tmpfs /home", "mount --bind empty /etc", "mount -t tmpfs none ~/.ssh"])
        .passes(&["mount -t tmpfs tmpfs build", "mount disk.img /mnt/x", "mount -t proc proc /proc", "mount"]),
    rule("unmount-forced", &["umount"], Medium, "Takes a file system away while it is in use")
        .when(&["-f|--force|-l|--lazy|-a|--all|-R|--recursive", "@/|/home|/usr|/var|/boot|/etc"])
        .safer("umount without -f refuses while it is in use")
        .stops(&["umount -l /mnt", "umount -f /data", "umount -a", "umount /home"])
        .passes(&["umount /mnt/x", "umount x"]),
    rule(
        "device-write",
        &[
            "ddrescue", "partclone.*", "partimage", "ocs-sr", "rpi-imager", "bmaptool", "usbimager",
            "e2image", "fsarchiver", "pvcreate",
        ],
        Critical,
        "Writes over a device",
    )
        .when(&[
            "* /dev/sd*|/dev/nvme*|/dev/mmcblk*|/dev/disk*|/dev/vd*", "--cli @/dev/*", "-f|--force @/dev/*",
            "copy|flash|write @/dev/*", "restfs|restdir @*", "local @flash",
        ])
        .safer("write to an image file")
        .stops(&[
            "ddrescue --force /dev/sda /dev/sdb map", "rpi-imager --cli a.img /dev/sdb",
            "pvcreate --force /dev/sdb1", "bmaptool copy a.img /dev/sdb",
        ])
        .passes(&["ddrescue /dev/sda a.img map", "pvcreate --help"]),
    rule(
        "phone-wipe",
        &[
            "adb", "fastboot", "heimdall", "odin4", "idevicerestore", "cfgutil", "st-flash", "esptool",
            "esptool.py", "nrfjprog", "avrdude", "stm32flash", "dfu-util", "picotool", "gpg-card", "ykman",
            "yubico-piv-tool", "gphoto2",
        ],
        High,
        "Erases a device that is connected",
    )
        .when(&[
            "... erase|format|flash|flashall|wipe|factory-reset|erase_flash|erase_region|-w|reset|\
             erase-flash|write_flash",
            "-w|--erase|--eraseall|-e|--erase-all|--recover|--delete-all-files", "uninstall @*",
            "shell rm -r|-R|-f", "shell pm|wipe|recovery clear|uninstall|data|*",
            "shell @*rm*-r*|*pm*clear*|*wipe*|*pm*uninstall*", "... disable-verity",
            "oem unlock|lock|relock", "flashing unlock|lock", "sideload-erase", "-D|--download",
        ])
        .unless(&[
            "devices|logcat|install|pull|push|forward|reverse|start-server|kill-server|connect|info|\
             list|reboot|version",
            "... read|verify|chip_id|list|info",
        ])
        .likely()
        .safer("leave connected devices to the user")
        .stops(&[
            "adb uninstall com.x", "fastboot erase userdata", "fastboot flash boot a.img",
            "adb shell rm -rf /sdcard/x", "ykman fido reset", "gpg-card factory-reset", "st-flash erase",
            "fastboot -w",
        ])
        .passes(&["adb devices", "adb logcat", "adb shell ls", "fastboot devices", "adb install a.apk"]),
    rule(
        "namespace-destroy",
        &[
            "ndctl", "ceph", "rbd", "rados", "gluster", "drbdadm", "cephadm", "radosgw-admin", "multipath",
            "tgtadm", "targetcli", "iscsiadm", "mfsmaster", "beegfs-ctl", "lfs", "stratis", "vdo",
            "systemd-cryptenroll", "systemd-firstboot",
        ],
        Critical,
        "Destroys storage with all that is on it",
    )
        .when(&[
            "destroy-namespace|disable-namespace|zero-labels|sanitize-dimm",
            "osd|pool|mon|mds|fs|auth|mgr|orch destroy|purge|rm|delete|down|out|lost|remove|rm-*",
            "osd pool|crush delete|rm|remove", "rm|remove|purge|rmsnap|cleanup|flatten-remove",
            "snap|trash|mirror|image rm|remove|purge|delete", "-p @rm|rmpool|purge", "rmpool|purge",
            "volume|peer|snapshot delete|stop|reset|detach|remove-brick|deactivate",
            "down|invalidate|wipe-md|create-md|detach", "rm-cluster",
            "bucket|user|object|subuser rm|purge|unlink", "-f|-F", "... delete",
            "pool|filesystem|fs destroy", "--wipe-slot|--wipe-slot=*|--delete-root-password|--reset",
            "-o @delete|--logout|-u", "--op=delete",
        ])
        .unless(&["... list|ls|status|info|show|stat|df|tree"])
        .safer("list it first; let the owner delete")
        .stops(&[
            "ndctl destroy-namespace --force x", "ceph osd pool delete x x --yes-i-really-really-mean-it",
            "rbd rm pool/x", "gluster volume delete x", "drbdadm down r0", "rados purge x",
            "stratis pool destroy x", "systemd-cryptenroll --wipe-slot=all /dev/sda2",
        ])
        .passes(&["ceph status", "rbd ls", "gluster volume info", "ceph osd tree"]),
];
