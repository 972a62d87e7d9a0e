//! What cuts the machine off, and what writes to or deletes on other machines.

use midrail_core::Severity::{High, Medium};

use super::super::rule::{Rule, rule};

const CURL: &[&str] = &["curl", "curlie"];
const HTTPIE: &[&str] = &["http", "https", "xh", "xhs", "httpie"];

/// Hosts of the machine itself on which a developer tries things out.
const LOCAL: &str = "@*localhost*|*127.0.0.1*|*0.0.0.0*|*[::1]*|:*|*host.docker.internal*|*.local/*|*.test/*";

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule("http-delete", CURL, Medium, "Deletes something on a server")
        .when(&["-X=DELETE|--request=DELETE|-X=delete|--request=delete|-X=PURGE|--request=PURGE|-X=Delete"])
        .unless(&[LOCAL])
        .safer("get it first; let the owner delete")
        .stops(&[
            "curl -X DELETE https://api.example.com/users/1", "curl https://x.io/a -XDELETE",
            "curl -s --request DELETE https://x.io/a", "curl -sX DELETE https://x.io/a",
        ])
        .passes(&[
            "curl https://x.io/a", "curl -X POST https://x.io/a -d {}",
            "curl -X DELETE http://localhost:3000/todos/1",
        ]),
    rule("http-delete-data", CURL, High, "Deletes data or a project that a service keeps")
        .when(&[
            "-X=DELETE|--request=DELETE|-X=delete|--request=delete @*:9200*|*:7700*|*:8108*|*:8983*|\
             *:6333*|*:5984*|*:8086*|*:9201*|*:8529*|*:15672*|*:8500*|*:8200*|*:2379*|*:4242*|\
             */indexes/*|*/collections/*|*/api/admin/*|*/_snapshot/*|*/_data_stream/*|*/v1/kv/*|\
             *api.github.com/repos/*|*/api/v4/projects/*",
        ])
        .safer("get it first; use a service of your own")
        .stops(&[
            "curl -X DELETE http://localhost:9200/logs", "curl -XDELETE 'localhost:7700/indexes/x'",
            "curl -X DELETE localhost:6333/collections/x", "curl -X DELETE https://api.github.com/repos/o/r",
        ])
        .passes(&[
            "curl http://localhost:9200/_cat/indices",
            "curl -X POST http://localhost:7700/indexes/x/search",
        ]),
    rule("http-delete-by-path", CURL, High, "Deletes data, or changes or stops a service")
        .when(&[
            "-X=POST|-X=PUT|--request=POST|--request=PUT|-X=post|-X=put|-d|--data|--data-binary|\
             --data-raw|--json|--request=post @*/_delete_by_query*|*/doDelete*|*/documents/delete*|\
             */delete-batch*|*/_cluster/settings*|*/_shutdown*|*/actuator/shutdown*|*/-/quit*|\
             */admin/tsdb/delete_series*|*/_close|*/doWipeOutWorkspace*|*/safeExit*|*/quietDown*|\
             */exit",
        ])
        .safer("search with the same query first")
        .stops(&[
            "curl -X POST localhost:9200/x/_delete_by_query -d {}", "curl -X POST http://ci/job/x/doDelete",
            "curl -X PUT http://localhost:9200/_cluster/settings -d {}",
            "curl -X POST localhost:7700/indexes/x/documents/delete-batch",
        ])
        .passes(&[
            "curl -X POST localhost:9200/x/_search -d {}", "curl http://localhost:9200/_cluster/settings",
            "curl -X PUT localhost:9200/x",
        ]),
    rule("http-delete-body", CURL, Medium, "Deletes data by a query or a statement in the body")
        .when(&[
            "-d=*<delete>*|--data=*<delete>*|--data-binary=*<delete>*|--data-raw=*<delete>*|\
             -d=*DROP*TABLE*|-d=*DROP*DATABASE*|--data=*DROP*|--data-urlencode=*DROP*|\
             -d=*mutation*delete*|--data-raw=*mutation*delete*|--data=*mutation*delete*",
        ])
        .unless(&[
            "@*localhost:30*|*localhost:40*|*localhost:50*|*localhost:51*|*localhost:80*|*127.0.0.1:30*|\
             *127.0.0.1:50*|*127.0.0.1:80*",
        ])
        .likely()
        .safer("ask for what it would delete first")
        .stops(&[
            "curl localhost:8983/solr/x/update -d '<delete><query>*:*</query></delete>'",
            "curl host -d 'q=DROP DATABASE x'",
        ])
        .passes(&[
            "curl host -d '{\"query\": \"select\"}'",
            "curl -d '{\"sql\":\"DROP TABLE x\"}' localhost:3000/lint",
        ]),
    rule("ftp-delete", CURL, Medium, "Deletes something on a server")
        .when(&[
            "-Q=*DELE*|--quote=*DELE*|-Q=*RMD*|--quote=*RMD*|-Q=*dele*|--quote=*dele*|-Q=*rmd*|-Q=rm*|\
             --quote=rm*",
        ])
        .safer("list the folder first; let the owner delete")
        .stops(&["curl -Q 'DELE a.txt' ftp://x.io", "curl ftp://x.io --quote 'RMD old'"])
        .passes(&["curl ftp://x.io/a.txt", "curl -Q 'NOOP' ftp://x.io"]),
    rule("http-statement", CURL, High, "Deletes data by a statement in the address")
        .when(&["@*query=DROP*|*query=drop*|*query=TRUNCATE*|*query=truncate*|*query=ALTER*DELETE*|*query=DELETE*|*q=DROP*"])
        .safer("ask for what it would delete first")
        .stops(&["curl 'http://ch:8123/?query=DROP+TABLE+x'", "curl -X POST 'http://ch:8123/?query=TRUNCATE%20TABLE%20x'"])
        .passes(&["curl 'http://ch:8123/?query=SELECT+1'"]),
    rule("http-delete-data-other", HTTPIE, High, "Deletes data that a service keeps")
        .when(&[
            "DELETE|delete @*:9200*|*:7700*|*:8108*|*:8983*|*:6333*|*:5984*|*:8086*|*:8529*|*:15672*|*:8500*|\
             *:8200*|*api.github.com/repos/*|*/api/v4/projects/*",
        ])
        .safer("get it first; use a service of your own")
        .stops(&["http DELETE 'http://es:9200/logs-*'", "http DELETE :9200/a"])
        .passes(&["http GET :9200/a", "http DELETE :3000/todos/1"]),
    rule("http-delete-other", HTTPIE, Medium, "Deletes something on a server")
        .when(&["DELETE|delete"])
        .unless(&[
            "DELETE|delete @localhost/*|localhost:3*|localhost:8000*|localhost:8080*|localhost:5000*|\
             localhost:4000*|:3*|:8000*|:8080*|:5000*|:4000*|http://localhost:3*|http://localhost:8*|\
             http://localhost:5*|http://127.0.0.1*",
        ])
        .safer("get it first; let the owner delete")
        .stops(&["http DELETE example.com/a", "xh delete https://x.io/a", "http DELETE :9200/a"])
        .passes(&["http GET example.com", "http POST :7700/indexes/x/search", "http DELETE :3000/todos/1"]),
    rule("http-delete-by-path-other", HTTPIE, High, "Deletes data, or changes or stops a service")
        .when(&[
            "POST|PUT|post|put @*/_delete_by_query*|*/doDelete*|*/documents/delete*|*/delete-batch*|\
             */_cluster/settings*|*/actuator/shutdown*",
        ])
        .safer("search with the same query first")
        .stops(&["http POST :9200/x/_delete_by_query", "http PUT http://search:9200/_cluster/settings"])
        .passes(&["http POST :9200/x/_search"]),
    rule("http-delete-wget", &["wget"], Medium, "Deletes something on a server")
        .when(&["--method=DELETE|--method=delete"])
        .unless(&[LOCAL])
        .safer("get it first; let the owner delete")
        .stops(&["wget --method=DELETE https://x.io/a"])
        .passes(&["wget https://x.io/a"]),
    rule("link-down", &["ip"], High, "Cuts the machine off from its network")
        .when(&[
            "link|l set ... down", "link|l delete|del",
            "addr|address|a|route|r|rule|neigh|n|tunnel|netns del|delete|flush",
        ])
        .unless(&["netns delete|del @*"])
        .safer("leave the network to the user")
        .stops(&[
            "ip link set eth0 down", "ip route flush table main", "ip link delete x",
            "ip addr flush dev eth0", "ip route del default", "ip l set dev eth0 down",
        ])
        .passes(&[
            "ip link set eth3 up", "ip addr", "ip route", "ip -br link",
            "ip route add 10.0.0.0/8 via 10.0.0.1",
        ]),
    rule(
        "link-down-tools",
        &["ifconfig", "nmcli", "networkctl", "rfkill", "ipconfig", "connmanctl"],
        High,
        "Cuts the machine off from its network",
    )
        .when(&[
            "... down", "connection|con|c|device|dev|d delete|down|disconnect", "radio|r wifi|all|wwan off",
            "networking|n off", "down|delete|disable", "block", "/release",
        ])
        .safer("leave the network to the user")
        .stops(&[
            "ifconfig eth3 down", "nmcli con down x", "nmcli networking off", "nmcli radio wifi off",
            "rfkill block all",
        ])
        .passes(&["ifconfig", "ifconfig eth3", "nmcli con show", "ifconfig eth0 up", "nmcli con up x"]),
    rule("interface-down", &["ifdown", "wg-quick"], High, "Cuts the machine off from its network")
        .when(&["@* !up|save|strip", "-a"])
        .safer("leave the network to the user")
        .stops(&["ifdown eth0", "ifdown -a", "wg-quick down wg0"])
        .passes(&["wg-quick up wg0", "ifdown --help"]),
    rule("route-delete", &["route"], High, "Cuts the machine off from its network")
        .when(&["... del|delete|flush", "-f"])
        .safer("leave the network to the user")
        .stops(&["route del default", "route delete 0.0.0.0", "route -n flush"])
        .passes(&["route", "route -n", "route add default gw 1.1.1.1"]),
    rule("traffic-shaping", &["tc"], Medium, "Slows down or drops what the machine sends")
        .when(&["qdisc|filter|class add|del|replace|delete|change"])
        .safer("leave the network to the user")
        .stops(&["tc qdisc add dev eth0 root netem loss 50%"])
        .passes(&["tc qdisc show"]),
    rule("known-hosts-remove", &["ssh-keygen"], Medium, "Forgets the key by which another machine is known")
        .when(&["-R|-R=*"])
        .safer("compare the new key with its owner")
        .stops(&["ssh-keygen -R host", "ssh-keygen -f ~/.ssh/known_hosts -R host"])
        .passes(&["ssh-keygen -l", "ssh-keygen -t ed25519 -f key", "ssh-keygen -lf a.pub"]),
    rule(
        "copy-to-system-elsewhere",
        &["scp", "rsync", "sftp", "rcp", "pscp"],
        High,
        "Replaces files of the system on another machine",
    )
        .when(&[
            "... *:/|*:/etc|*:/etc/*|*:/usr|*:/usr/*|*:/bin|*:/bin/*|*:/sbin|*:/sbin/*|*:/boot|\
             *:/boot/*|*:/lib|*:/lib/*|*:/lib64|*:/lib64/*|*:/var/lib*|*:/root|*:/root/*|*:/dev/*|\
             *:/sys/*|*:/proc/* !@*",
        ])
        .unless(&["* !@*"])
        .safer("copy to a folder of your own on that machine")
        .stops(&[
            "scp a.conf me@host:/etc/", "scp -r . root@host:/", "scp bin host:/usr/local/bin/",
            "rsync -a x/ host:/etc/",
        ])
        .passes(&[
            "scp host:/etc/hosts .", "scp a host:/home/me/", "scp a host:~/x", "scp a host:/tmp/",
            "rsync -a host:/etc/ etc/",
        ]),
    rule(
        "wipe-elsewhere",
        &["pdsh", "clush", "dsh", "pssh", "parallel-ssh", "mussh", "cssh"],
        High,
        "Destroys files on many machines",
    )
        .when(&["... *rm*-r*|rm|reboot|shutdown*|*mkfs*|*dd*of=*"])
        .safer("try it on one machine of your own first")
        .stops(&["pdsh -w a[1-9] 'rm -rf /data'", "clush -a reboot"])
        .passes(&["pdsh -w a uptime"]),
    rule(
        "jenkins",
        &["jenkins-cli", "jenkins-cli.jar", "jenkins"],
        High,
        "Deletes jobs, builds, nodes or credentials of a build server",
    )
        .when(&[
            "... delete-*|safe-shutdown|shutdown|quiet-down|disable-job|disconnect-node|offline-node|\
             clear-queue|safe-restart|restart|update-job|update-credentials-*|groovy|groovysh|\
             disable-plugin",
        ])
        .safer("get-job keeps a copy")
        .stops(&[
            "java -jar jenkins-cli.jar -s http://ci/ delete-job x", "jenkins-cli delete-builds x 1..5",
            "java -jar jenkins-cli.jar -s http://ci/ safe-shutdown",
        ])
        .passes(&[
            "java -jar jenkins-cli.jar -s http://ci/ list-jobs", "jenkins-cli build x", "java -jar app.jar",
        ]),
    rule("names-change", &["nsupdate"], High, "Changes names that others look up")
        .safer("look the names up first; let the owner change them")
        .stops(&["nsupdate -k key", "nsupdate changes.txt"])
        .passes(&["nsupdate --help", "nsupdate -V"])
        .unless(&["-V"]),
    rule(
        "names-zone-delete",
        &["pdnsutil", "knotc", "rndc", "dnscontrol", "octodns-sync"],
        High,
        "Deletes or replaces names that others look up",
    )
        .when(&[
            "delete-*|remove-*|clear-*|zone-purge|zone-unset|conf-unset|delzone|flush*",
            "push|create-domains", "--doit",
        ])
        .safer("preview the change first")
        .stops(&[
            "pdnsutil delete-zone x.io", "rndc delzone x.io", "dnscontrol push", "octodns-sync --doit",
        ])
        .passes(&["pdnsutil list-zone x.io", "dnscontrol preview", "rndc status"]),
];
