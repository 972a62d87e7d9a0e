//! What destroys containers, images and volumes.

use midrail_core::Severity::{Critical, High, Medium};

use super::super::rule::{Rule, rule};

const DOCKER: &[&str] = &["docker", "podman", "nerdctl", "finch"];
const COMPOSE: &[&str] = &["docker-compose", "podman-compose"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "container-prune",
        DOCKER,
        High,
        "Deletes all that is not in use right now: containers, networks, images, volumes",
    )
        .when(&["system prune -a|--all|--volumes|-f|--force", "volume prune", "system reset"])
        .safer("docker system df shows what is there; delete by name")
        .stops(&[
            "docker system prune -af", "docker system prune --volumes", "docker volume prune --force",
            "podman system reset", "docker -H tcp://x system prune -f",
            "docker --context c system prune -a",
        ])
        .passes(&["docker system df", "docker ps -a", "docker volume ls"]),
    rule("container-prune-some", DOCKER, Medium, "Deletes what is not in use right now")
        .when(&[
            "system|container|network|pod|machine prune", "image|images|builder|buildx prune -a|--all",
            "machine rm|reset",
        ])
        .safer("delete by name")
        .stops(&[
            "docker system prune", "docker container prune --force", "docker network prune -f",
            "docker image prune -a", "docker buildx prune -a",
        ])
        .passes(&["docker image prune", "docker builder prune", "docker image ls"]),
    rule("container-volume-remove", DOCKER, High, "Deletes volumes with all that is in them")
        .when(&["volume rm|remove", "rm|remove -v|--volumes -f|--force", "container rm -v"])
        .safer("copy the volume first")
        .stops(&["docker volume rm data", "docker volume rm $(docker volume ls -q)", "docker rm -fv db"])
        .passes(&["docker volume ls", "docker volume create x", "docker rm x"]),
    rule("container-remove", DOCKER, Medium, "Stops and deletes containers, with what they have written")
        .when(&[
            "rm|remove -f|--force|-a|--all", "container rm|remove -f|--force", "pod rm -f|--force|-a|--all",
            "rm|rmi|stop|kill|restart|pause @$(*|`*", "rm|rmi|stop|kill|restart|pause {}", "container|image|network rm|stop|kill @$(*|`*",
        ])
        .unless(&["stop|kill|restart|pause @$(*--filter*|$(*-f*|$(*-qf*|`*--filter*"])
        .safer("docker stop, then docker rm, of the containers that you started")
        .stops(&[
            "docker rm -f web", "docker rm --force $(docker ps --all -q)",
            "docker stop $(docker ps --quiet)", "docker container rm -f a b", "podman rm --all",
        ])
        .passes(&[
            "docker rm web", "docker stop web", "docker run --rm -it x", "docker kill web",
            "docker stop $(docker ps -q --filter name=web)",
        ]),
    rule("container-image-remove", DOCKER, Medium, "Deletes images, also those that are in use")
        .when(&["rmi -f|--force|-a|--all", "image rm|remove -f|--force|-a|--all", "manifest rm"])
        .safer("docker rmi without -f refuses where it is in use")
        .stops(&["docker rmi -f x", "docker image rm --force x"])
        .passes(&["docker rmi x", "docker image rm x:1", "docker images"]),
    rule(
        "container-network-remove",
        DOCKER,
        Medium,
        "Deletes networks, secrets or settings that containers rely on",
    )
        .when(&[
            "network rm|remove", "secret|config|context|plugin|builder|buildx rm|remove", "trust revoke",
            "checkpoint rm",
        ])
        .unless(&["buildx rm !-f|--force|--all-inactive", "context rm !-f|--force"])
        .safer("docker network inspect shows who uses it")
        .stops(&["docker network rm net", "docker secret rm x"])
        .passes(&["docker network ls", "docker network create x"]),
    rule("compose-down-volumes", DOCKER, High, "Deletes the volumes of all services")
        .when(&["compose ... down -v|--volumes|--rmi", "compose ... rm -v"])
        .safer("docker compose down keeps the volumes")
        .stops(&[
            "docker compose down -v", "docker compose -f a.yml down --volumes",
            "docker compose down --rmi all", "docker compose --profile x down -v",
        ])
        .passes(&["docker compose down", "docker compose up -d", "docker compose -f a.yml stop"]),
    rule("compose-tool-down-volumes", COMPOSE, High, "Deletes the volumes of all services")
        .when(&["down -v|--volumes|--rmi", "rm -v"])
        .safer("docker-compose down keeps the volumes")
        .stops(&["docker-compose down -v", "docker-compose -f a.yml down --volumes"])
        .passes(&["docker-compose down", "docker-compose up -d"]),
    rule("swarm-leave", DOCKER, High, "Takes a node out of the swarm, or stops a service")
        .when(&[
            "swarm leave", "node rm|demote", "service scale @*=0",
            "node update --availability=drain", "swarm ca --rotate", "service update --replicas=0",
        ])
        .safer("docker stack services shows what runs")
        .stops(&[
            "docker swarm leave -f", "docker node rm x",
            "docker service scale web=0",
        ])
        .passes(&["docker stack ls", "docker service scale web=3", "docker node ls"]),
    rule(
        "container-privileged",
        DOCKER,
        Medium,
        "Gives a container the rights of the machine's administrator",
    )
        .when(&[
            "run|create --privileged|--privileged=true",
            "run|create --pid=host|--cap-add=ALL|--cap-add=SYS_ADMIN", "run|create|container @/:/*",
            "run|create -v=/:*|--volume=/:*|-v=/etc:*|-v=/root*:*|--mount=*source=/,*|--mount=*src=/,*",
            "container run --privileged", "exec --privileged",
        ])
        .unless(&["run|create --privileged=false"])
        .likely()
        .safer("give single capabilities, and mount only the project")
        .stops(&[
            "docker run --privileged x", "docker run -v /:/host x", "docker run -it --pid=host x",
            "docker create --privileged=true x",
        ])
        .passes(&[
            "docker run caddy", "docker run --privileged=false x", "docker run -v ./src:/app x",
            "docker run -v $PWD:/app x",
        ]),
    rule(
        "container-runtime",
        &[
            "crictl", "ctr", "buildah", "lxc", "lxc-destroy", "lxc-stop", "incus", "machinectl", "nspawn",
            "runc", "crun", "multipass", "colima", "limactl", "lima", "orb", "orbctl", "toolbox",
            "distrobox", "distrobox-rm",
        ],
        High,
        "Deletes containers, images or whole machines",
    )
        .when(&[
            "rm|rmp|rmi -a|--all|--prune|-f|--force",
            "containers|images|snapshots|tasks|c|i|t|snapshot|task|content rm|delete|del|kill|remove|\
             prune",
            "delete|destroy|remove|purge|rebuild|factory-reset|rm @*",
            "delete|purge|reset|prune|factory-reset",
            "storage|image|network|profile|project|snapshot|volume delete|rm", "kill|terminate|poweroff @*",
            "-n|--name|-f",
        ])
        .unless(&["list|ls|ps|info|start|status|run|exec|pull|launch|create|attach"])
        .safer("list first, and delete by name")
        .stops(&[
            "crictl rmi --prune", "crictl rm -fa", "lxc delete -f x", "ctr images rm x",
            "multipass delete x --purge", "colima delete", "limactl delete -f x", "incus delete x",
            "lxc-destroy -n x", "buildah rm --all",
        ])
        .passes(&["crictl ps", "lxc list", "multipass list", "colima start", "limactl list"]),
    rule(
        "virtual-machine",
        &[
            "virsh", "vboxmanage", "vboxheadless", "qm", "pct", "vagrant", "prlctl", "vmrun", "govc",
            "esxcli", "xe", "tart", "qemu-img", "utmctl", "pvesh", "pveum", "vim-cmd", "virt-clone",
        ],
        High,
        "Deletes or switches off a virtual machine or its disk",
    )
        .when(&[
            "undefine|destroy|vol-delete|pool-delete|net-destroy|net-undefine|snapshot-delete|\
             managedsave-remove|pool-destroy|vol-wipe|snapshot-revert|pool-undefine|detach-disk",
            "unregistervm|closemedium|snapshot @*delete*|--delete|* --delete",
            "unregistervm --delete|--delete-all", "controlvm @poweroff",
            "snapshot * delete|restore|rollback",
            "destroy|rollback|delsnapshot|delete|deleteVM|deleteSnapshot|rollback|stop|shutdown|purge",
            "box|snapshot remove|delete|restore|prune",
            "... vm.destroy|datastore.rm|snapshot.remove|snapshot.revert|vm.power|host.remove|\
             object.destroy|pool.destroy",
            "vm process kill|destroy",
            "vm-destroy|vdi-destroy|vm-uninstall|sr-destroy|host-forget|snapshot-uninstall",
            "vmsvc/destroy|vmsvc/unregister", "delete|remove", "commit|resize --shrink", "snapshot -d",
        ])
        .unless(&["controlvm * acpipowerbutton|savestate"])
        .safer("make a snapshot first")
        .stops(&[
            "virsh undefine vm --remove-all-storage", "virsh destroy vm",
            "VBoxManage unregistervm x --delete", "vagrant destroy -f", "qm destroy 100",
            "vagrant box remove x", "govc vm.destroy x", "prlctl delete x",
        ])
        .passes(&[
            "virsh list", "VBoxManage list vms", "vagrant up", "vagrant status", "qm list", "vagrant halt",
        ]),
    rule(
        "registry-delete",
        &["skopeo", "crane", "gcrane", "regctl", "oras", "reg", "harbor"],
        High,
        "Deletes an image on the server",
    )
        .when(&[
            "delete|rm @*", "tag|manifest|blob|index|image rm|delete|del", "manifest delete",
            "repo|repository|project|artifact|artifacts delete",
        ])
        .safer("leave the deletion to the owner")
        .stops(&[
            "skopeo delete docker://x/y:1", "crane delete x/y@sha256:0", "regctl tag rm x/y:1",
            "oras manifest delete x/y:1",
        ])
        .passes(&["skopeo inspect docker://x/y", "crane ls x/y"]),
    rule("snapshot-save-over", DOCKER, Critical, "Deletes a machine with all of its containers")
        .when(&["machine rm|reset -f|--force", "machine reset"])
        .safer("podman machine stop keeps it")
        .stops(&["podman machine rm -f default", "podman machine reset"])
        .passes(&["podman machine ls"]),
    rule("stack-remove", DOCKER, High, "Removes a stack or a service with all of its containers")
        .when(&["stack|service rm|remove|down"])
        .safer("docker stack services shows what would go")
        .stops(&["docker stack rm app", "docker service rm web"])
        .passes(&["docker stack ls", "docker service ls"]),
    rule("container-mounts-root", DOCKER, High, "Gives a container all files of the machine")
        .when(&[
            "run|create @/:/*", "container run|create @/:/*",
            "run|create -v=/:*|--volume=/:*|--mount=*source=/,*|--mount=*src=/,*",
        ])
        .safer("mount only the project")
        .stops(&["docker run -v /:/host x", "docker run --volume=/:/mnt x", "docker run -it -v /:/h:ro x sh"])
        .passes(&["docker run -v ./src:/app x", "docker run -v /data:/data x"]),
];
