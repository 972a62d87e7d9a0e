//! What publishes or withdraws packages, and what takes packages off the machine.

use midrail_core::Severity::{High, Medium};

use super::super::rule::{Rule, rule};

const NPM: &[&str] = &["npm", "pnpm", "yarn", "bun"];

const SYSTEM_PACKAGES: &[&str] = &["apt", "apt-get", "aptitude", "yum", "dnf", "zypper", "apk", "nala"];

// Rows are laid out by hand: what belongs together stands together.
#[rustfmt::skip]
pub(super) const RULES: &[Rule] = &[
    rule(
        "npm-unpublish",
        NPM,
        High,
        "Withdraws a package that others rely on, or changes who may publish it",
    )
        .when(&[
            "unpublish|unpub|deprecate|undeprecate", "npm unpublish|deprecate|tag|owner",
            "dist-tag|dist-tags|tag rm|remove|del", "owner|author add|rm|remove",
            "access revoke|set|restricted|grant|public", "team|org destroy|rm|remove",
            "token|profile revoke|delete|disable-2fa", "hook rm",
        ])
        .unless(&["npm tag list"])
        .safer("publish a new version")
        .stops(&[
            "npm unpublish x", "npm unpublish -f", "pnpm unpublish x", "yarn npm unpublish x",
            "npm deprecate x msg", "npm dist-tag rm x beta", "npm owner rm me x",
            "npm --prefix a unpublish x", "npm access revoke x",
        ])
        .passes(&[
            "npm install", "npm ci", "npm run build", "npm dist-tag ls", "npm uninstall left-pad",
            "pnpm rm lodash", "npm owner ls x", "yarn remove x",
        ]),
    rule("npm-publish", NPM, High, "Publishes a package; that cannot be taken back")
        .when(&[
            "publish", "dist-tag add", "npm publish", "-r|--recursive publish",
            "workspaces foreach npm publish", "workspace * publish",
        ])
        .safer("npm publish --dry-run; let a person publish")
        .stops(&[
            "npm publish", "npm publish --access public", "pnpm publish -r", "yarn npm publish",
            "yarn publish", "bun publish", "npm dist-tag add x@1 latest",
        ])
        .passes(&["npm publish --dry-run", "npm pack", "npm version patch", "npm run publish-docs"]),
    rule("npm-run-release", NPM, Medium, "Runs a script that may publish a package")
        .when(&["run|run-script publish|release", "release"])
        .likely()
        .safer("read the script first; let a person publish")
        .stops(&["npm run release", "pnpm run publish", "yarn release"])
        .passes(&["npm run release-notes", "npm run build"]),
    rule("npm-token", NPM, Medium, "Makes a key by which others may publish")
        .when(&["token create"])
        .safer("let the owner of the account make it")
        .stops(&["npm token create"])
        .passes(&["npm token list"]),
    rule("npm-source", NPM, Medium, "Takes packages from another server from now on")
        .when(&["config|c set registry|*:registry @*", "config|c set registry=*|*:registry=*", "set registry|registry=*"])
        .unless(&[
            "@*https://registry.npmjs.org*|*https://registry.yarnpkg.com*|*https://npm.pkg.github.com*|\
             *://localhost*|*://127.0.0.1*|*.pkg.dev*|*pkgs.dev.azure.com*|*.amazonaws.com*",
        ])
        .likely()
        .safer("name the registry for the one install that needs it")
        .stops(&["npm config set registry http://x.io", "npm config set registry=http://x.io/npm"])
        .passes(&[
            "npm config set registry https://registry.npmjs.org/", "npm config get registry",
            "npm config set registry http://localhost:4873",
        ]),
    rule("python-source", &["pip", "pip3", "uv"], Medium, "Takes packages from a server that is not known")
        .when(&[
            "... install|sync|download -i=*|--index-url=*|--default-index=* !-i=$*|--index-url=$* !-i=https://*pypi.org*|\
             --index-url=https://*pypi.org*|--index-url=https://download.pytorch.org*|--index-url=*://localhost*|\
             -i=*://localhost*|--index-url=*.pkg.dev*|--index-url=*.amazonaws.com*|\
             --index-url=*pkgs.dev.azure.com*|--index-url=*://127.0.0.1*|--default-index=https://*pypi.org*",
            "... install|sync|download --extra-index-url=* !--extra-index-url=$*|\
             --extra-index-url=https://*pypi.org*|--extra-index-url=https://download.pytorch.org*|\
             --extra-index-url=*://localhost*|--extra-index-url=*.pkg.dev*|--extra-index-url=*.amazonaws.com*|\
             --extra-index-url=*pkgs.dev.azure.com*|--extra-index-url=https://pypi.nvidia.com*",
            "config set *.index-url|*.extra-index-url|*.trusted-host !@https://*pypi.org*",
        ])
        .likely()
        .safer("use the index that the project names")
        .stops(&[
            "pip install --index-url http://x.io/simple foo", "pip install -i http://x.io foo",
            "pip config set global.index-url https://x.io/simple", "uv pip install --extra-index-url https://x.io foo",
        ])
        .passes(&[
            "pip install foo", "pip install torch --index-url https://download.pytorch.org/whl/cpu",
            "pip install -i https://test.pypi.org/simple foo", "pip config list",
        ]),
    rule(
        "release-tools",
        &[
            "lerna", "changeset", "changesets", "nx", "rush", "beachball", "goreleaser", "cargo-release",
            "jreleaser", "dart", "flutter", "vsce", "ovsx", "web-ext", "clasp", "jsr", "deno",
        ],
        High,
        "Publishes packages; that cannot be taken back",
    )
        .when(&["publish|release|shipit|unpublish", "pub publish|lish"])
        .unless(&["release --snapshot|--skip-publish|--skip=publish", "publish -d|--snapshot", "pub get"])
        .likely()
        .safer("use a dry run; let a person publish")
        .stops(&[
            "lerna publish", "changeset publish", "dart pub publish", "flutter pub publish --force",
            "vsce publish", "goreleaser release", "deno publish",
        ])
        .passes(&[
            "lerna run build", "changeset version", "flutter pub get", "goreleaser release --snapshot",
            "nx build x", "deno run a.ts",
        ]),
    rule(
        "cargo-publish",
        &["cargo"],
        High,
        "Publishes or withdraws a crate; a version cannot be published twice",
    )
        .when(&[
            "publish|yank|release", "owner -a|-r|--add|--remove", "release @*",
            "smart-release|workspaces publish",
        ])
        .unless(&["publish -n", "release !-x|--execute"])
        .safer("cargo publish --dry-run; let a person publish")
        .stops(&[
            "cargo publish", "cargo publish -p x", "cargo yank --vers 1.0.0 x", "cargo owner --remove me x",
            "cargo release --execute",
        ])
        .passes(&[
            "cargo build", "cargo publish --dry-run", "cargo package", "cargo owner --list", "cargo test",
            "cargo clean",
        ]),
    rule(
        "python-publish",
        &["twine", "poetry", "uv", "hatch", "flit", "pdm", "setup.py", "maturin", "rye", "anaconda"],
        High,
        "Publishes a package; a version cannot be published twice",
    )
        .when(&["upload|publish|release|register", "sdist|bdist_wheel upload", "... upload", "remove @*/*"])
        .unless(&["upload -r=testpypi|--repository=testpypi", "publish -r=testpypi|--repository=testpypi"])
        .safer("publish to a test index; let a person publish")
        .stops(&[
            "twine upload dist/*", "poetry publish --build", "uv publish", "python -m twine upload dist/*",
            "flit publish", "python setup.py sdist upload", "hatch publish",
        ])
        .passes(&[
            "twine check dist/*", "poetry build", "uv build", "twine upload -r testpypi dist/*", "uv sync",
            "poetry install", "python setup.py build",
        ]),
    rule(
        "gem-push",
        &[
            "gem", "bundle", "rake", "pod", "luarocks", "rebar3", "stack", "cabal", "opam", "nimble",
            "conan", "cpan-upload", "dune-release",
        ],
        High,
        "Publishes or withdraws a package",
    )
        .when(&[
            "push|yank|owner @*", "push|yank", "trunk delete|deprecate|add-owner|remove-owner",
            "upload|publish|release", "... release|release:*", "hex publish|retire|cut",
        ])
        .unless(&["owner !-a|--add|-r|--remove"])
        .safer("let a person publish")
        .stops(&[
            "gem push x.gem", "gem yank x -v 1.0", "pod trunk delete x 1.0", "rake release",
            "bundle exec rake release", "luarocks upload x", "cabal upload --publish x.tar.gz",
        ])
        .passes(&[
            "gem install x", "gem build x.gemspec", "bundle install", "pod install", "rake test",
            "cabal build", "gem owner x",
        ]),
    rule("pod-push", &["pod"], High, "Publishes a pod; a version cannot be published twice")
        .when(&["trunk push", "repo push"])
        .safer("pod lib lint checks it; let a person publish")
        .stops(&["pod trunk push x.podspec", "pod repo push specs x.podspec"])
        .passes(&["pod lib lint", "pod install"]),
    rule("mix-publish", &["mix"], High, "Publishes or withdraws a package")
        .when(&["hex.publish|hex.retire|hex.owner|hex.organization"])
        .safer("mix hex.publish --dry-run; let a person publish")
        .stops(&["mix hex.publish", "mix hex.retire x 1 security"])
        .passes(&["mix hex.info", "mix deps.get"]),
    rule("nuget-push", &["dotnet", "nuget", "paket"], High, "Publishes or withdraws a package")
        .when(&["nuget push|delete", "push|delete @*"])
        .safer("let a person publish")
        .stops(&["dotnet nuget push x.nupkg", "nuget delete x 1.0", "dotnet nuget delete x 1 -k y"])
        .passes(&["dotnet pack", "dotnet build", "nuget restore", "dotnet nuget list source"]),
    rule(
        "java-deploy",
        &["mvn", "mvnw", "gradle", "gradlew", "sbt", "ant", "lein", "mill", "leiningen"],
        Medium,
        "Publishes packages to a server",
    )
        .when(&[
            "... deploy|release:perform|release:prepare|deploy:*|publish|publishAll*|publishPlugins|\
             uploadArchives|*:publish|*:publishPlugins|publishToSonatype|closeAndRelease*|\
             bintrayUpload|publishSigned|sonatypeRelease|sonatypeBundleRelease|publish*ToMaven*|\
             release|appengineDeploy|nexus-staging:*|cf:delete|publish-signed",
        ])
        .unless(&["... publishToMavenLocal|publishLocal|publishM2"])
        .safer("install locally; let a person publish")
        .stops(&[
            "mvn deploy", "./mvnw -B release:perform", "gradle publish --info", "./gradlew :lib:publish",
            "mvn clean deploy -DskipTests", "sbt publishSigned", "lein deploy",
        ])
        .passes(&[
            "mvn install", "gradle build", "./gradlew publishToMavenLocal", "mvn clean package",
            "gradle clean",
        ]),
    rule(
        "system-package-remove",
        &[
            "apt", "apt-get", "aptitude", "yum", "dnf", "zypper", "apk", "brew", "snap", "flatpak", "port",
            "emerge", "pkg", "opkg", "choco", "scoop", "winget", "microdnf", "tdnf", "eopkg", "nala",
            "pkgin", "slackpkg", "swupd", "guix", "rpm-ostree", "mas", "pkgutil", "urpme", "pkg_delete",
            "dnf5",
        ],
        Medium,
        "Takes programs off the machine, and all that relies on them",
    )
        .when(&[
            "... remove|purge|autoremove|erase|uninstall|del|delete|rm|dist-upgrade|bundle-remove|\
             removepkg|unmerge|autopurge|--unmerge|deinstall",
            "-C|--unmerge|--depclean|-c", "--forget", "history undo|rollback",
        ])
        .unless(&[
            "-s|--assumeno", "cache|list|info|search|show|install|update|config",
            "... install|update|search|show|list|info|cache",
        ])
        .safer("leave the machine's programs to the user")
        .stops(&[
            "apt remove nginx", "apt-get purge -y nginx", "yum erase x", "dnf autoremove",
            "brew uninstall x", "apk del x", "apt-get -y autoremove --purge", "snap remove x",
            "zypper rm x", "emerge --unmerge x", "choco uninstall x",
        ])
        .passes(&[
            "apt install nginx", "apt list", "brew install x", "apt-get -s remove x", "dnf search x",
            "brew list", "apt-get update", "apt-get install -y remove-me",
        ]),
    rule(
        "low-level-package-remove",
        &[
            "dpkg", "rpm", "pacman", "yay", "paru", "xbps-remove", "nix-env", "nix-collect-garbage",
            "nix-store", "installp", "pkg_delete", "removepkg", "equo",
        ],
        Medium,
        "Takes programs off the machine, and all that relies on them",
    )
        .when(&[
            "-r|-P|--remove|--purge|-e|--erase|-R|--uninstall|--nodeps|-Rns|--delete-generations|-d|\
             --delete-old|--delete|--gc|--force-all|--force-remove-reinstreq",
            "remove @*",
        ])
        .unless(&[
            "-S|--sync -y|-u|-s|-i|-l", "-q|-l|-L|-i -d|-R !-e", "-Q|--query", "-q|--query",
            "--dry-run|--print-roots|-p", "-S", "-U|--upgrade", "-h|--help", "-F|--files",
        ])
        .safer("leave the machine's programs to the user")
        .stops(&[
            "dpkg --purge x", "dpkg -r x", "rpm -e x", "pacman -Rns x", "pacman -R x",
            "nix-collect-garbage -d", "xbps-remove -R x", "yay -Rns x",
        ])
        .passes(&[
            "dpkg -l", "rpm -qa", "pacman -Syu", "pacman -S x", "dpkg -i x.deb", "rpm -qR x",
            "nix-env -i x",
        ]),
    rule(
        "python-package-remove",
        &["pipx", "conda", "mamba", "poetry", "micromamba", "uv"],
        Medium,
        "Removes packages or whole environments",
    )
        .when(&[
            "uninstall @*", "uninstall -r", "uninstall-all|reinstall-all", "remove --all",
            "env remove", "remove @*", "tool uninstall",
        ])
        .likely()
        .safer("use an environment of your own")
        .stops(&[
            "conda env remove -n x", "conda remove --all -n x", "poetry remove x", "pipx uninstall-all",
        ])
        .passes(&["pip install x", "conda install x", "poetry add x", "uv sync", "pip list"]),
    rule("pip-remove-many", &["pip", "pip3"], Medium, "Removes many packages at once")
        .when(&["uninstall -r|--requirement", "uninstall @$(*|`*", "uninstall {}"])
        .likely()
        .safer("use an environment of your own")
        .stops(&["pip uninstall -y -r requirements.txt", "pip uninstall -y $(pip freeze)"])
        .passes(&["pip uninstall -y foo", "python -m pip uninstall foo", "pip list"]),
    rule("system-package-remove-all", SYSTEM_PACKAGES, High, "Takes all programs off the machine")
        .when(&["... remove|purge|erase|autoremove|uninstall|del @[*]"])
        .unless(&["-s|--assumeno"])
        .safer("name the one program that you mean")
        .stops(&["apt-get purge -y '*'", "dnf remove '*'"])
        .passes(&["apt-get -s purge '*'", "apt list '*'"]),
    rule(
        "release-at-once",
        &["semantic-release", "np", "release-it"],
        High,
        "Publishes packages; that cannot be taken back",
    )
        .unless(&["-d|--no-ci=false|--preview", "-v"])
        .safer("use a dry run; let a person publish")
        .stops(&["semantic-release", "npx np", "release-it minor", "npx semantic-release"])
        .passes(&["semantic-release --dry-run", "np --preview"]),
];
