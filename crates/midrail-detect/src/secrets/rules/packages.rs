//! Package registries: formats of their keys.

use midrail_core::Severity;

use super::{Rule, Verify, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("npm-token", "an npm access token", &["npm_"], r"npm_[0-9A-Za-z]{36}")
        .entropy(28)
        .severity(Severity::Critical)
        .verify(Verify::Crc32)
        .yes(&[
            "key=npm¦_alKcFSGkKHbdQymwHCgGSEQ7zoeEOyAVklkM",
            "see npm¦_alKcFSGkKHbdQymwHCgGSEQ7zoeEOyAVklkM here",
        ])
        .no(&["npm_…", "npm_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix(
        "npm-old-token",
        "an old npm token",
        &["_authtoken="],
        r"(?i:_authtoken)=([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})",
    )
    .entropy(28)
    .severity(Severity::Critical)
    .any_case()
    .yes(&[
        "key=_au¦thtoken=38D5124D-365D-1a22-dD0E-ad42C40Df9b7",
        "see _au¦thtoken=38D5124D-365D-1a22-dD0E-ad42C40Df9b7 here",
    ])
    .no(&["_authtoken=…", "_authtoken=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("pypi-token", "a PyPI token", &["pypi-"], r"pypi-[0-9A-Za-z_-]{50,}")
        .entropy(30)
        .severity(Severity::Critical)
        .verify(Verify::Pypi)
        .yes(&[
            "key=pyp¦i-1QZeIeLOyMnG0DhT1QCJHJJklkgBE6E4bpWI77WF7Z1rStD0sP",
            "see pyp¦i-1QZeIeLOyMnG0DhT1QCJHJJklkgBE6E4bpWI77WF7Z1rStD0sP here",
        ])
        .no(&["pypi-…", "pypi-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("rubygems-token", "a RubyGems key", &["rubygems_"], r"rubygems_[0-9a-f]{48}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&[
            "key=rub¦ygems_fee2dccd0806f9f6f5f81575c5c1dd6f6cbbd4eff447b0a7",
            "see rub¦ygems_fee2dccd0806f9f6f5f81575c5c1dd6f6cbbd4eff447b0a7 here",
        ])
        .no(&["rubygems_…", "rubygems_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("clojars-token", "a Clojars deploy token", &["CLOJARS_"], r"CLOJARS_[0-9A-Za-z]{60}")
        .entropy(32)
        .yes(&[
            "key=CLO¦JARS_omzvgi1Ji4z70AjurXTatXquSxshduaMOZxav2qZZPO3KxDHR55k9h9nkmDZ",
            "see CLO¦JARS_omzvgi1Ji4z70AjurXTatXquSxshduaMOZxav2qZZPO3KxDHR55k9h9nkmDZ here",
        ])
        .no(&["CLOJARS_…", "CLOJARS_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("nuget-key", "a NuGet API key", &["oy2"], r"oy2[a-z0-9]{43}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&[
            "key=oy2¦7urqwdup2u62zpltibbg8jvenpm1jk58qdkripck1iw",
            "see oy2¦7urqwdup2u62zpltibbg8jvenpm1jk58qdkripck1iw here",
        ])
        .no(&["oy2…", "oy2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("crates-token", "a crates.io token", &["cio"], r"cio[0-9A-Za-z]{32}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["key=cio¦v67dVVjrCPwluF0oI35NcAGHV5pn4m4U", "see cio¦v67dVVjrCPwluF0oI35NcAGHV5pn4m4U here"])
        .no(&["cio…", "cioxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("packagist-token", "a Packagist token", &["packagist"], r"[0-9A-Za-z]{20,40}")
        .entropy(30)
        .yes(&[
            "packagist_api_token = \"Wpc¦8Y7tf3vtY1G9RBRRv\"",
            "\"packagist_api_token\": \"Wpc¦8Y7tf3vtY1G9RBRRv\"",
        ])
        .no(&[
            "packagist_api_token = get_packagist_api_token()",
            "the packagist page says Wpc¦8Y7tf3vtY1G9RBRRv",
        ]),
    prefix(
        "packagist-token",
        "a Packagist token",
        &["packagist_uut_", "packagist_out_", "packagist_ors_"],
        r"packagist_(?:uut|out|ors)_[0-9a-f]{64,}",
    )
    .entropy(30)
    .yes(&[
        "key=pac¦kagist_ors_92ff34c2491853fb0cd7180704c4b41ae75ffbf6c46e0be6f152f8849a06c128",
        "see pac¦kagist_ors_92ff34c2491853fb0cd7180704c4b41ae75ffbf6c46e0be6f152f8849a06c128 here",
    ])
    .no(&["packagist_ors_…", "packagist_ors_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix(
        "dockerhub-token",
        "a Docker Hub token",
        &["dckr_pat_", "dckr_oat_"],
        r"dckr_[po]at_[0-9A-Za-z_-]{27,}",
    )
    .entropy(30)
    .severity(Severity::Critical)
    .yes(&["key=dck¦r_oat_k3El9UnLeClExkmiwK8UBggzn8r", "see dck¦r_oat_k3El9UnLeClExkmiwK8UBggzn8r here"])
    .no(&["dckr_oat_…", "dckr_oat_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near(
        "dockerhub-token",
        "a Docker Hub token",
        &["docker"],
        r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    )
    .entropy(28)
    .yes(&[
        "docker_api_token = \"B3A¦AAAf8-0043-CD15-FF6A-40cAccFFA7A3\"",
        "\"docker_api_token\": \"B3A¦AAAf8-0043-CD15-FF6A-40cAccFFA7A3\"",
    ])
    .no(&[
        "docker_api_token = get_docker_api_token()",
        "the docker page says B3A¦AAAf8-0043-CD15-FF6A-40cAccFFA7A3",
    ]),
    prefix("jsr-token", "a JSR token", &["jsrp_", "jsrd_"], r"jsr[pd]_[0-9A-Za-z]{40,}")
        .entropy(32)
        .yes(&[
            "key=jsr¦p_HuDl7DP1pdkRXWmgW6bEcPqXCdnuFxCE3PaUZjgQ",
            "see jsr¦p_HuDl7DP1pdkRXWmgW6bEcPqXCdnuFxCE3PaUZjgQ here",
        ])
        .no(&["jsrp_…", "jsrp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("cloudsmith-key", "a Cloudsmith key", &["cloudsmith"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&[
            "cloudsmith_api_token = \"ab1¦3e7830a912b8eb280af6674a884b4505a045c\"",
            "\"cloudsmith_api_token\": \"ab1¦3e7830a912b8eb280af6674a884b4505a045c\"",
        ])
        .no(&[
            "cloudsmith_api_token = get_cloudsmith_api_token()",
            "the cloudsmith page says ab1¦3e7830a912b8eb280af6674a884b4505a045c",
        ]),
    near("gemfury-token", "a Gemfury token", &["gemfury", "fury_"], r"[0-9A-Za-z_-]{20,30}")
        .entropy(36)
        .yes(&[
            "gemfury_api_token = \"rxe¦fWTbc98wI6ay4aMTH\"",
            "\"gemfury_api_token\": \"rxe¦fWTbc98wI6ay4aMTH\"",
        ])
        .no(&["gemfury_api_token = get_gemfury_api_token()", "the gemfury page says rxe¦fWTbc98wI6ay4aMTH"]),
    near("sonatype-token", "a Sonatype user token", &["sonatype", "ossrh", "nexus"], r"[0-9A-Za-z+/]{40,64}")
        .entropy(35)
        .yes(&[
            "sonatype_api_token = \"e9q¦LZt7XUwJjYm1IR8wgXJysjcFQdUrxaDqUH5dn\"",
            "\"sonatype_api_token\": \"e9q¦LZt7XUwJjYm1IR8wgXJysjcFQdUrxaDqUH5dn\"",
        ])
        .no(&[
            "sonatype_api_token = get_sonatype_api_token()",
            "the sonatype page says e9q¦LZt7XUwJjYm1IR8wgXJysjcFQdUrxaDqUH5dn",
        ]),
    near(
        "anaconda-token",
        "an Anaconda token",
        &["anaconda", "conda_"],
        r"[a-z]{2}-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    )
    .entropy(28)
    .yes(&[
        "anaconda_api_token = \"ed-¦3FceF64d-2eba-870a-DFb0-36246719ee2b\"",
        "\"anaconda_api_token\": \"ed-¦3FceF64d-2eba-870a-DFb0-36246719ee2b\"",
    ])
    .no(&[
        "anaconda_api_token = get_anaconda_api_token()",
        "the anaconda page says ed-¦3FceF64d-2eba-870a-DFb0-36246719ee2b",
    ]),
];
