//! What stops the machine, its services or its users, or takes its guards away.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

/// Groups whose members may do all that the administrator may.
const ADMIN_GROUPS: &str = "-G=*sudo*|-G=*docker*|-G=*wheel*|-G=*admin*|-G=root*|-G=*lxd*|-G=*disk*|-G=*libvirt*|\
    --groups=*sudo*|--groups=*docker*|--groups=*wheel*|--groups=*admin*|--groups=root*|--groups=*lxd*";

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "shutdown",
        &["shutdown", "reboot", "halt", "poweroff", "telinit", "init", "kexec"],
        High,
        "Stops the machine",
    )
        .when(&["!-c|--show|-w|--wtmp-only"])
        .unless(&["-c", "-k", "--show", "-w|--wtmp-only", "1|2|3|4|5|q|Q|s|S|u|U"])
        .safer("leave it to the user")
        .stops(&[
            "shutdown -h now", "reboot", "halt -f", "poweroff", "init 0", "init 6", "telinit 6", "shutdown",
        ])
        .passes(&["shutdown -c", "shutdown --help", "init 3"]),
    rule("systemctl-power", &["systemctl", "loginctl"], High, "Stops the machine")
        .when(&[
            "poweroff|reboot|halt|kexec|rescue|emergency|soft-reboot|switch-root|isolate|kill",
            "kill-user|terminate-user|kill-session|terminate-session|terminate-seat",
            "set-default|revert|set-property @*",
        ])
        .safer("leave it to the user")
        .stops(&[
            "systemctl poweroff", "systemctl -f reboot", "systemctl isolate rescue.target",
            "loginctl terminate-user me", "systemctl kill x",
        ])
        .passes(&["systemctl status", "systemctl is-active x", "loginctl list-sessions"]),
    rule("service-stop", &["systemctl"], High, "Stops a service, also for the next start of the machine")
        .when(&["stop|disable|mask @*"])
        .unless(&["--user"])
        .safer("systemctl restart brings it back")
        .stops(&[
            "systemctl stop squid", "systemctl disable --now sshd", "systemctl mask x",
            "systemctl -q stop docker.service",
        ])
        .passes(&[
            "systemctl restart nginx", "systemctl start x", "systemctl status x", "systemctl enable x",
            "systemctl list-units",
        ]),
    rule(
        "service-stop-old",
        &[
            "service", "rc-service", "sv", "initctl", "rc-update", "update-rc.d", "chkconfig",
            "supervisorctl", "s6-svc", "svcadm", "invoke-rc.d", "monit", "runsvctrl", "svc", "dinitctl",
            "nssm", "sc",
        ],
        High,
        "Stops a service, also for the next start of the machine",
    )
        .when(&[
            "* stop|disable|remove|defaults-disabled|off|force-stop|zap",
            "stop|disable|down|exit|delete|del|kill|remove|force-stop|d|k|shutdown @*",
            "kill|delete|stop all", "shutdown|unmonitor", "... off|disable",
        ])
        .unless(&["* start|status|restart|reload"])
        .safer("restart brings it back")
        .stops(&[
            "service squid stop", "rc-service x stop", "sv stop x", "update-rc.d x disable",
            "chkconfig x off", "supervisorctl stop all",
        ])
        .passes(&[
            "service squid status", "service x restart", "supervisorctl status", "pm2 list",
            "pm2 restart x", "chkconfig --list",
        ]),
    rule("pm2-stop", &["pm2", "forever"], Medium, "Stops every process that it looks after")
        .when(&["stop|delete|del|restart all", "kill|unstartup|stopall|flush|resurrect"])
        .safer("name the process that you started")
        .stops(&["pm2 delete all", "pm2 kill", "forever stopall"])
        .passes(&["pm2 list", "pm2 restart x", "pm2 stop api"]),
    rule("launchd", &["launchctl"], Medium, "Stops a service")
        .when(&["unload|bootout|remove|stop|disable|kill|reboot|unsetenv"])
        .safer("launchctl kickstart restarts it")
        .stops(&["launchctl unload a.plist", "launchctl bootout system/x", "launchctl remove x"])
        .passes(&["launchctl list", "launchctl load a.plist", "launchctl print system"]),
    rule(
        "server-stop",
        &[
            "nginx", "apachectl", "apache2ctl", "httpd", "haproxy", "caddy", "traefik", "lighttpd",
            "varnishadm", "uwsgi", "unitctl", "asterisk", "postfix", "squid", "rndc", "catalina.sh",
            "shutdown.sh", "stop-all.sh", "jboss-cli.sh",
        ],
        High,
        "Stops a server that others use",
    )
        .when(&[
            "-s=stop|-s=quit", "-k=stop|-k=graceful-stop|-k=shutdown|-k=kill",
            "stop|graceful-stop|abort|halt", "-s|-f @f|t", "--stop|-x=*stop*", "-st|-sf @*",
        ])
        .unless(&["-c !-s|-k !@*"])
        .safer("reload keeps it running")
        .stops(&[
            "nginx -s stop", "nginx -s quit", "apachectl stop", "apachectl -k graceful-stop", "caddy stop",
            "rndc stop",
        ])
        .passes(&[
            "nginx -t", "nginx -s reload", "apachectl configtest", "caddy reload", "haproxy -c -f x",
            "nginx -T",
        ]),
    rule("proxy-hand-over", &["haproxy"], Medium, "Replaces the running proxy")
        .when(&["-s @*", "-s=* "])
        .unless(&["-c"])
        .safer("haproxy -c checks the settings first")
        .stops(&["haproxy -sf 123", "haproxy -f a.cfg -st 123"])
        .passes(&["haproxy -v", "haproxy -c -f a.cfg"]),
    rule("kill-everything", &["kill"], Critical, "Ends every process of the user or of the machine")
        .when(&["-1 !@*", "@-1|1"])
        .unless(&["-1 @*", "-l|-L", "-0"])
        .safer("kill the one process that you started")
        .stops(&["kill -9 -1", "kill -- -1", "kill -s KILL -- -1", "kill 1", "kill -9 1"])
        .passes(&[
            "kill 1234", "kill -9 4711", "kill -l", "kill -1 1234", "kill -0 1", "kill %1", "kill -TERM 5",
        ]),
    rule("kill-many", &["kill"], Medium, "Ends processes that the line does not tell")
        .when(&["-9|--KILL|--SIGKILL|-s=KILL|-s=9|-s=SIGKILL @$(*|`*"])
        .unless(&["-0", "@$(lsof*|$(cat*|$(*pgrep*-f*|`lsof*|`cat*"])
        .likely()
        .safer("kill the one process that you started")
        .stops(&["kill -9 $(pgrep squid)", "kill -KILL $(pidof postgres)"])
        .passes(&["kill $(lsof -ti:3000)", "kill $(cat app.pid)", "kill $PID"]),
    rule("killall", &["killall", "pkill", "skill", "xkill", "slay"], Medium, "Ends every process of a name")
        .when(&[
            "-9|--KILL -u|--user", "-u|--user|-U|--uid|-t|-g",
            "systemd|init|sshd|launchd|WindowServer|Finder|Dock|loginwindow|dockerd|containerd|\
             kubelet|postgres|mysqld|mongod|redis-server|nginx|apache2|httpd|Xorg|gnome-shell|\
             NetworkManager|dbus-daemon|explorer.exe|java|bash|zsh|sh|.|[*]|.[*]|ssh|cron|rsyslogd|\
             auditd",
            "-9|--signal=KILL|--signal=9|-s=KILL|-s=9|--KILL|--SIGKILL @node|python|python3|java|ruby|\
             php|docker|chrome|firefox|Safari",
        ])
        .unless(&["-0|--CONT|--USR1|--USR2|--HUP|--SIGHUP|--STOP", "-l|--list", "-f @*/*|*.*|*-*"])
        .likely()
        .safer("kill the one process that you started")
        .stops(&[
            "killall mysqld", "killall -9 java", "pkill -9 -u me", "pkill -u root", "pkill sshd",
            "killall -u me", "pkill -9 python",
        ])
        .passes(&["pkill -f vite", "pkill -f 'node server.js'", "killall myapp", "pkill myserver"]),
    rule("crontab-remove", &["crontab"], High, "Deletes all planned jobs of a user")
        .when(&["-r"])
        .safer("crontab -l > backup first")
        .stops(&["crontab -r", "crontab -u me -r", "crontab -ri"])
        .passes(&["crontab -l", "crontab -e"]),
    rule("crontab-replace", &["crontab"], Medium, "Replaces all planned jobs of a user")
        .when(&["@*", "-"])
        .unless(&["-l|-e|-r|-T"])
        .likely()
        .safer("crontab -l > backup first")
        .stops(&["crontab jobs.txt", "crontab -u me -"])
        .passes(&["crontab -l"]),
    rule(
        "jobs-remove",
        &["atrm", "at", "batch", "scancel", "qdel", "bkill", "lprm", "cancel", "schtasks"],
        Medium,
        "Deletes planned or running jobs",
    )
        .when(&["-r|-d|-a|--all @*", "-u|--user|-a", "/delete", "all|0|ALL|-"])
        .unless(&["-l|-q -l"])
        .safer("name the one job that you started")
        .stops(&["at -r 5", "scancel -u me", "qdel all", "lprm -"])
        .passes(&["at -l", "scancel 123", "at now"]),
    rule(
        "user-remove",
        &["userdel", "deluser", "groupdel", "delgroup", "rmuser", "ldapdelete"],
        High,
        "Deletes users or groups",
    )
        .when(&["@*"])
        .safer("leave accounts to the user")
        .stops(&["userdel -r me", "deluser me", "groupdel staff", "deluser --remove-home me"])
        .passes(&["userdel --help"]),
    rule(
        "user-change",
        &["usermod", "gpasswd", "groupmod", "smbpasswd"],
        Medium,
        "Changes who may log in, or with which rights",
    )
        .when(&["-L|--lock|-d|--delete|-x|-r|-R|-U|-p|--password|-e|--expiredate|-s|-G|--groups|-A|-M|-o"])
        .unless(&["-a -G", "--append --groups"])
        .safer("leave accounts to the user")
        .stops(&["usermod -L me", "gpasswd -d me docker", "usermod -G wheel me"])
        .passes(&["usermod -aG audio me", "usermod -a -G video me"]),
    rule("rights-by-group", &["usermod"], Medium, "Gives a user the rights of the administrator")
        .when(&[ADMIN_GROUPS])
        .safer("leave accounts to the user")
        .stops(&["usermod -aG sudo me", "usermod -a -G docker me", "usermod --append --groups wheel me"])
        .passes(&["usermod -aG audio me", "usermod -c name me"]),
    rule(
        "rights-by-membership",
        &["adduser", "gpasswd", "addgroup"],
        Medium,
        "Gives a user the rights of the administrator",
    )
        .when(&["* sudo|docker|wheel|admin|root|lxd|disk|shadow|libvirt"])
        .unless(&["-d|--delete|--ingroup|-G"])
        .safer("leave accounts to the user")
        .stops(&["adduser me sudo", "gpasswd -a me docker", "gpasswd --add me wheel"])
        .passes(&["adduser me", "adduser me audio", "gpasswd -a me audio"]),
    rule("capabilities", &["setcap"], Medium, "Gives a program rights of the administrator")
        .when(&["@*"])
        .unless(&["-r|-v"])
        .safer("leave the rights of programs alone")
        .stops(&["setcap cap_setuid+ep ./tool", "setcap cap_net_admin=eip /usr/bin/x"])
        .passes(&["setcap -v cap_net_raw+ep x", "setcap -r x"]),
    rule("password-none", &["passwd", "chpasswd"], High, "Lets others log in with another password or none")
        .when(&["-d|--delete @*", "-d|--delete", "--stdin @*", "<*:*"])
        .safer("leave accounts to the user")
        .stops(&["passwd -d root", "passwd --delete me", "chpasswd <<< root:x"])
        .passes(&["passwd -S me"]),
    rule("password-many", &["chpasswd", "newusers"], High, "Changes the passwords of other users")
        .safer("leave accounts to the user")
        .stops(&["chpasswd", "chpasswd -e", "newusers list.txt"])
        .passes(&["chpasswd --help"]),
    rule("rights-without-password", &["visudo"], High, "Lets a user run everything without a password")
        .when(&["<*NOPASSWD*"])
        .safer("leave the rights of users to the user")
        .stops(&["visudo <<< 'me ALL=(ALL) NOPASSWD: ALL'"])
        .passes(&["visudo -c"]),
    rule("tunnel-back", &["ssh", "autossh"], Medium, "Lets another machine reach this one through a tunnel")
        .when(&["-R|-R=*", "-o=RemoteForward*"])
        .safer("forward a port of the other machine to this one with -L")
        .stops(&["ssh -R 8080:localhost:80 host", "ssh -fNR 2222:localhost:22 me@host"])
        .passes(&["ssh -L 8080:localhost:80 host", "ssh host", "ssh -i key host"]),
    rule("preload", &["export", "declare", "typeset", "setenv"], Medium, "Loads code into every program that is started")
        .when(&["... LD_PRELOAD=/*|LD_PRELOAD=.*|LD_PRELOAD=*.so*|LD_AUDIT=*|DYLD_INSERT_LIBRARIES=*"])
        .safer("set it for the one program that needs it")
        .stops(&["export LD_PRELOAD=/tmp/x.so", "export DYLD_INSERT_LIBRARIES=x.dylib"])
        .passes(&["export LD_PRELOAD=", "export LD_LIBRARY_PATH=/opt/lib"]),
    rule("kill-any", &["pkill", "killall", "skill"], High, "Ends every process of the user or of the machine")
        .when(&["@.|[*]|.[*]|"])
        .unless(&["-0", "-l|--list"])
        .safer("kill the one process that you started")
        .stops(&["pkill -9 -f .", "pkill -f ''", "pkill -f '.*'", "pkill '*'"])
        .passes(&["pkill -f ./server", "pkill -f vite", "killall myapp"]),
    rule("kill-what-is-read", &["xargs", "gxargs"], Medium, "Ends processes that the line does not tell")
        .when(&["kill -9|--KILL|--SIGKILL"])
        // What holds one port or one file is what was asked for; so are jobs of this shell.
        .unless(&[">lsof|fuser|cat|jobs"])
        .likely()
        .safer("kill the one process that you started")
        .stops(&["xargs kill -9", "xargs -r -n 1 kill -KILL"])
        .passes(&["xargs kill", "xargs ls -9"]),
    rule("kill-any-at-once", &["killall5"], High, "Ends every process of the machine")
        .safer("kill the one process that you started")
        .stops(&["killall5", "killall5 -9"])
        .passes(&["killall5 --help"]),
    rule(
        "directory-user-remove",
        &["dscl", "sysadminctl", "net", "pw", "samba-tool", "ipa", "dseditgroup"],
        High,
        "Deletes users or groups, or changes who may log in",
    )
        .when(&[
            "-delete|-passwd|-change|-deleteUser|-deleteuser|-resetPasswordFor", "... -delete", "... delete",
            "user|group|localgroup @/delete|/del|/active:no", "userdel|groupdel|lock",
            "user|group|computer delete|disable|removemembers", "user-del|group-del|host-del|user-disable",
            "-o @delete",
        ])
        .safer("leave accounts to the user")
        .stops(&[
            "dscl . -delete /Users/me", "sysadminctl -deleteUser me", "net user me /delete",
            "samba-tool user delete me", "pw userdel me", "dscl . delete /Users/me",
        ])
        .passes(&["dscl . -list /Users", "net user", "net use", "dscl . -read /Users/me"]),
    rule(
        "password-change",
        &[
            "passwd", "chpasswd", "chage", "faillock", "visudo", "vigr", "vipw", "chsh", "pwconv",
            "grpconv", "authselect", "pam-auth-update", "realm",
        ],
        Medium,
        "Changes who may log in, or with which rights",
    )
        .when(&["@*", "-d|-l|-e|-u|-E|-S|--delete|--lock|--expire|--stdin", "!-*"])
        .unless(&[
            "-S|--status|-l|--list|--list-shells", "-c|--check", "-V", "list|discover|current|check",
            "-s !@*", "-l",
        ])
        .likely()
        .safer("leave accounts to the user")
        .stops(&["passwd root", "passwd -d me", "visudo", "chpasswd", "chage -E 0 me"])
        .passes(&["passwd -S", "visudo -c", "chage -l me"]),
    rule(
        "firewall-off",
        &[
            "iptables", "ip6tables", "ebtables", "arptables", "iptables-nft", "ip6tables-nft",
            "iptables-legacy",
        ],
        High,
        "Takes the rules of the firewall away",
    )
        .when(&["-F|-X|--flush|--delete-chain", "-P|--policy @ACCEPT|DROP|REJECT", "-D|--delete @*"])
        .unless(&["-L|-S|--list"])
        .safer("iptables-save keeps a copy")
        .stops(&[
            "iptables -F", "iptables -t nat -F", "iptables -P INPUT ACCEPT", "ip6tables --flush",
            "iptables -X", "iptables -P FORWARD DROP",
        ])
        .passes(&["iptables -L", "iptables -t nat -L -n", "iptables -S"]),
    rule(
        "firewall-tools-off",
        &[
            "ufw", "nft", "firewall-cmd", "pfctl", "csf", "shorewall", "ipset", "ipfw", "netsh",
            "fail2ban-client", "iptables-restore", "socketfilterfw", "apf", "nixos-firewall-tool",
            "crowdsec", "cscli",
        ],
        High,
        "Takes the rules of the firewall away",
    )
        .when(&[
            "disable|--force|reset|delete @*", "disable", "... reset", "--force @reset|disable",
            "flush ruleset|table", "delete table|chain|set|ruleset", "destroy table|ruleset",
            "--panic-on|--remove-service|--remove-port|--remove-rich-rule|--remove-source|\
             --complete-reload|--remove-interface|--set-default-zone|--delete-zone|--reset-to-defaults",
            "-d|-F", "-x|--disable|-f|-tf", "clear|stop|flush|destroy|-f|delete", "advfirewall set @off",
            "advfirewall reset", "stop|unban", "... flush", "--setglobalstate=off|--setglobalstate @off",
            "decisions|bouncers|machines delete",
        ])
        .unless(&[
            "status|list|show|version|enable|allow|limit|app", "-s|-sr|-n", "--list-all|--state|--get-*",
        ])
        .safer("leave the firewall to the user")
        .stops(&[
            "ufw disable", "ufw --force reset", "ufw reset", "nft flush ruleset", "firewall-cmd --panic-on",
            "pfctl -d", "netsh advfirewall set allprofiles state off", "ipset destroy x",
            "ufw delete allow 22",
        ])
        .passes(&[
            "ufw status", "ufw enable", "nft list ruleset", "firewall-cmd --list-all", "pfctl -s rules",
            "ufw allow 80",
        ]),
    rule(
        "guards-off",
        &["setenforce", "csrutil", "aa-disable", "aa-teardown", "aa-complain"],
        High,
        "Switches off what protects the machine",
    )
        .when(&["0|permissive|Permissive", "disable|clear|authenticated-root|netboot", "@/*"])
        .unless(&["status|report|1|enforcing|enable"])
        .safer("leave the guards of the machine alone")
        .stops(&["setenforce 0", "csrutil disable", "aa-disable /usr/bin/x"])
        .passes(&["csrutil status", "getenforce", "setenforce 1"]),
    rule("gatekeeper-off", &["spctl", "tccutil", "mokutil"], High, "Switches off what protects the machine")
        .when(&[
            "--master-disable|--global-disable|--disable|--remove", "reset",
            "--disable-validation|--reset|--delete",
        ])
        .safer("leave the guards of the machine alone")
        .stops(&["spctl --master-disable", "tccutil reset All", "mokutil --disable-validation"])
        .passes(&["spctl --status", "mokutil --sb-state"]),
    rule(
        "selinux-change",
        &["semodule", "setsebool", "semanage"],
        Medium,
        "Changes what protects the machine",
    )
        .when(&[
            "-r|--remove|-d|--disable|-B", "* off|0|false", "permissive -a|--add",
            "* -D|--deleteall|-d|--delete",
        ])
        .unless(&["-l|--list"])
        .safer("leave the guards of the machine alone")
        .stops(&["setsebool -P x off", "semodule --disable x", "semanage permissive --add httpd_t"])
        .passes(&["semodule -l", "semanage permissive --list", "semanage fcontext -a -t x /y"]),
    rule("audit-off", &["auditctl"], High, "Switches off the record of what is done")
        .when(&["-D|-d", "-e @0", "-e=0"])
        .safer("leave the record alone")
        .stops(&["auditctl -e 0", "auditctl -D"])
        .passes(&["auditctl -l", "auditctl -s"]),
    rule(
        "defender-off",
        &["mpcmdrun", "set-mppreference", "falconctl", "osqueryctl", "wazuh-control", "ossec-control"],
        High,
        "Switches off what protects the machine",
    )
        .when(&["-RemoveDefinitions|-r", "-DisableRealtimeMonitoring|-D", "unload|uninstall|stop"])
        .safer("leave the guards of the machine alone")
        .stops(&["falconctl uninstall", "wazuh-control stop"])
        .passes(&["falconctl stats", "wazuh-control status"]),
    rule(
        "mac-settings",
        &[
            "defaults", "nvram", "pmset", "scutil", "systemsetup", "networksetup", "dsconfigad", "profiles",
            "kextunload", "softwareupdate", "mdutil", "firmwarepasswd", "bless", "startosinstall",
        ],
        Medium,
        "Changes settings of the machine",
    )
        .when(&[
            "delete|write|rename|import @*", "-currentHost|-host @delete|write", "-c|-d|-D", "@*=*",
            "-a|-b|-u @*", "--set", "-set*|-remove*|-delete*|-create*|-detect*|-add*|-switch*",
            "-remove|-R|-D|remove", "-b|-c|-m|--bundle-id @*", "-E|-X", "-i @off",
            "--reset-ignored|-ia|-i -a", "-setpasswd|-delete", "--setBoot|--mount", "-o @delete",
            "--eraseinstall",
        ])
        .unless(&[
            "read|read-type|domains|find|export", "-p|-g|-x -p", "-get*|-list*|-show*|-print*",
            "--get|--dns|--proxy|-r", "-l|--list", "-s", "status|list|show|-P",
        ])
        .likely()
        .safer("leave the settings of the machine to the user")
        .stops(&[
            "defaults delete com.apple.finder", "nvram -c", "nvram boot-args=-v", "nvram -d a-name",
            "defaults write com.example.app flag -bool true", "systemsetup -settimezone UTC",
            "networksetup -setdnsservers Wi-Fi 1.1.1.1", "mdutil -E /",
        ])
        .passes(&[
            "defaults read com.apple.dock", "nvram -p", "systemsetup -gettimezone",
            "networksetup -listallnetworkservices", "pmset -g",
        ]),
    rule("keystore-delete", &["keytool"], High, "Deletes a key or a certificate")
        .when(&["-delete"])
        .safer("copy the key store first")
        .stops(&["keytool -delete -alias x -keystore k.jks"])
        .passes(&["keytool -list -keystore k.jks", "keytool -genkeypair -alias delete"]),
    rule("keychain", &["security"], High, "Shows, changes or deletes passwords and certificates")
        .when(&[
            "delete-*|dump-*|export|find-generic-password|find-internet-password|add-trusted-cert|\
             remove-trusted-cert|set-keychain-*|authorizationdb|unlock-keychain|create-keychain|import",
        ])
        .safer("let the user look it up")
        .stops(&[
            "security dump-keychain", "security find-generic-password -s x -w",
            "security delete-keychain x",
        ])
        .passes(&["security find-identity -v", "security list-keychains", "security find-certificate -a"]),
    rule(
        "kernel-modules",
        &["rmmod", "insmod", "kldunload", "kextunload", "kextload"],
        Medium,
        "Loads or removes a part of the kernel",
    )
        .when(&["@*"])
        .safer("leave the kernel to the user")
        .stops(&["rmmod x", "insmod x.ko"])
        .passes(&["rmmod --help"]),
    rule(
        "kernel-module-remove",
        &["modprobe"],
        Medium,
        "Removes a part of the kernel, or loads one by force",
    )
        .when(&["-r|--remove|-f|--force"])
        .unless(&["-n|--show-depends"])
        .safer("leave the kernel to the user")
        .stops(&["modprobe -r x", "modprobe -f x"])
        .passes(&["modprobe x", "modprobe --show-depends x"]),
    rule("suspend", &["systemctl", "rtcwake"], Medium, "Puts the machine to sleep")
        .when(&["suspend|hibernate|hybrid-sleep|suspend-then-hibernate", "-m|--mode"])
        .unless(&["list-*|status", "-l", "-m -n"])
        .safer("leave it to the user")
        .stops(&["systemctl suspend", "systemctl hibernate"])
        .passes(&["systemctl", "systemctl status"]),
    rule("kernel-settings", &["sysctl"], Medium, "Changes how the kernel runs")
        .when(&["-w|--write", "@*=*", "-p|--load|--system @*", "-f @*"])
        .unless(&["-a|-n !-w"])
        .safer("sysctl -a only shows")
        .stops(&["sysctl -w kernel.sysrq=1", "sysctl net.ipv4.ip_forward=1"])
        .passes(&["sysctl -a", "sysctl kernel.hostname"]),
    rule(
        "boot-change",
        &[
            "grub-install", "grub2-install", "extlinux", "lilo", "bootsect", "rpi-update",
            "do-release-upgrade",
        ],
        High,
        "Changes how the machine starts",
    )
        .unless(&["-c|--check-dist-upgrade-only", "-V|--version", "-q"])
        .safer("leave the start of the machine to the user")
        .stops(&["grub-install /dev/sda", "do-release-upgrade"])
        .passes(&["grub-install --version", "do-release-upgrade -c"]),
    rule(
        "boot-entries",
        &["efibootmgr", "bootctl", "grubby", "bcdedit", "flashrom", "proxmox-boot-tool", "fwupdmgr"],
        High,
        "Changes how the machine starts",
    )
        .when(&[
            "-B|--delete-bootnum|-o|--bootorder|-O|--delete-bootorder|-n|--bootnext|-c|--create|-D|\
             --remove-dups",
            "remove|install|set-default|cleanup|unlink|clean",
            "--remove-kernel|--set-default|--remove-args|--update-kernel",
            "/delete|/set|/deletevalue|/default|/import", "-w|--write|-E|--erase",
            "... format|downgrade|reinstall",
        ])
        .unless(&["-r|--read"])
        .safer("leave the start of the machine to the user")
        .stops(&[
            "efibootmgr -B -b 0001", "bootctl remove", "flashrom -p internal -w a.bin",
            "grubby --remove-kernel x",
        ])
        .passes(&[
            "efibootmgr -v", "bootctl status", "fwupdmgr get-devices", "grubby --info=ALL",
            "flashrom -p internal -r a.bin",
        ]),
    rule(
        "swap-and-clock",
        &[
            "swapoff", "timedatectl", "hwclock", "date", "hostnamectl", "localectl", "ntpdate",
            "update-alternatives", "alternatives", "ldconfig", "systemd-tmpfiles", "tuned-adm", "cpupower",
        ],
        Medium,
        "Changes the clock, the name or shared settings of the machine",
    )
        .when(&[
            "set-time|set-timezone|set-ntp|set-local-rtc|set-hostname|set-locale|set-keymap", "-s|--set",
            "-w|--systohc|--hctosys", "-a|--all", "--remove|--remove-all|--purge",
        ])
        .unless(&["-d|--date", "--display|--list|--query"])
        .likely()
        .safer("leave the settings of the machine to the user")
        .stops(&[
            "timedatectl set-time 12:00", "date -s 2020-01-01", "swapoff -a",
            "update-alternatives --remove-all java", "hostnamectl set-hostname x",
        ])
        .passes(&[
            "date", "timedatectl", "date -d yesterday", "hostnamectl", "update-alternatives --display java",
        ]),
    rule(
        "automation",
        &["osascript", "shortcuts", "automator", "open"],
        Medium,
        "Steers other programs of the user",
    )
        .when(&[
            "-e=*tell*app*|-e=*keystroke*|-e=*do*shell*script*|-e=*Application(*", "run @*",
            "@*.workflow|*.action", "-a @Terminal*|iTerm*|Automator|Script*|System*|Keychain*",
            "@*.command|*.terminal", "delete @*", "@*.scpt|*.applescript",
        ])
        .likely()
        .safer("ask the user to do it")
        .stops(&[
            "osascript -e 'tell application \"Music\" to quit'", "shortcuts run x", "automator a.workflow",
            "open -a iTerm",
        ])
        .passes(&[
            "open index.html", "open -a Safari https://x", "shortcuts list",
            "osascript -e 'display dialog 1'", "open .",
        ]),
    rule("fuser-kill", &["fuser"], Medium, "Ends every process that uses a file system")
        .when(&["-k -m", "-k|--kill @/|/home*|/usr*|/var*|/etc*|/dev/*"])
        .likely()
        .safer("fuser without -k only lists")
        .stops(&["fuser -km /mnt", "fuser -k /dev/sda1"])
        .passes(&["fuser -k 3000/tcp", "fuser a.txt"]),
    rule(
        "desktop-settings",
        &["dconf", "gsettings", "kwriteconfig5", "kwriteconfig6", "xfconf-query", "reg", "reg.exe"],
        Medium,
        "Deletes settings of the user",
    )
        .when(&["reset -f", "reset-recursively|reset-all", "--delete", "-r -R", "delete @*", "import @*"])
        .safer("dconf dump keeps a copy")
        .stops(&["dconf reset -f /", "gsettings reset-recursively org.gnome.x", "reg delete HKLM\\\\x /f"])
        .passes(&["dconf read /a", "gsettings get a b", "reg query HKCU"]),
    rule(
        "toolchain-remove",
        &[
            "rustup", "pyenv", "rbenv", "nvm", "asdf", "mise", "sdk", "rvm", "fnm", "ollama", "volta",
            "goenv", "jenv", "opencode",
        ],
        Medium,
        "Removes tools or models of the user",
    )
        .when(&["self uninstall", "rm|uninstall|implode|prune @*", "toolchain uninstall|remove", "implode"])
        .likely()
        .safer("leave the tools to the user")
        .stops(&["rustup self uninstall", "pyenv uninstall 3.8", "ollama rm x", "rvm implode"])
        .passes(&["rustup update", "nvm use 20", "ollama list", "rustup toolchain install x"]),
];
