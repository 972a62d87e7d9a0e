//! Code hosts and builds: formats of their keys.

use midrail_core::Severity;

use super::{Rule, Verify, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("github-token", "a GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[0-9A-Za-z]{36,}")
        .plain()
        .severity(Severity::Critical)
        .verify(Verify::Crc32)
        .yes(&["key=ghp¦_KqR6botNO46onyLtiXpDY8jpl0paB9Zkx3vT", "see ghp¦_KqR6botNO46onyLtiXpDY8jpl0paB9Zkx3vT here"])
        .no(&["ghp_…", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("github-token", "a fine-grained GitHub token", &["github_pat_"], r"github_pat_[0-9A-Za-z_]{22,}")
        .entropy(25)
        .severity(Severity::Critical)
        .yes(&["key=git¦hub_pat_AYUjhcvdsqlcD9E038H3SG", "see git¦hub_pat_AYUjhcvdsqlcD9E038H3SG here"])
        .no(&["github_pat_…", "github_pat_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("github-token", "an old GitHub app token", &["v1."], r"v1\.[0-9a-f]{40}")
        .entropy(30)
        .yes(&["key=v1.¦b9285c548b994fff45de8ac8a366431ceaf131da", "see v1.¦b9285c548b994fff45de8ac8a366431ceaf131da here"])
        .no(&["v1.…", "v1.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("github-old-token", "an old GitHub token", &["github", "gh_token", "ghtoken"], r"[0-9a-f]{40}")
        .entropy(32)
        .yes(&["github_api_token = \"4ed¦d911d449829efa367af8bf046b3b803d63496\"", "\"github_api_token\": \"4ed¦d911d449829efa367af8bf046b3b803d63496\""])
        .no(&["github_api_token = get_github_api_token()", "the github page says 4ed¦d911d449829efa367af8bf046b3b803d63496"]),
    prefix("gitlab-token", "a GitLab personal access token", &["glpat-"], r"glpat-[0-9A-Za-z_-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9})?")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=glp¦at-olf6fvRl3m6GaSEMr19g", "see glp¦at-olf6fvRl3m6GaSEMr19g here"])
        .no(&["glpat-…", "glpat-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-trigger-token", "a GitLab pipeline trigger token", &["glptt-"], r"glptt-[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .yes(&["key=glp¦tt-iZeE2hxOctNluMGTwmhH", "see glp¦tt-iZeE2hxOctNluMGTwmhH here"])
        .no(&["glptt-…", "glptt-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-runner-token", "a GitLab runner token", &["GR1348941"], r"GR1348941[0-9A-Za-z_-]{20,}")
        .entropy(30)
        .yes(&["key=GR1¦3489412Ruy1zb8KfzPuNyLOJRG", "see GR1¦3489412Ruy1zb8KfzPuNyLOJRG here"])
        .no(&["GR1348941…", "GR1348941xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-runner-token", "a GitLab runner token", &["glrt-"], r"glrt-(?:t[0-9]_)?[0-9A-Za-z_-]{20,}(?:\.[0-9a-z]{2}\.?[0-9a-z]{7,9}|\.[0-9a-z]{9})?")
        .entropy(30)
        .yes(&["key=glr¦t-OQFhkCHNeRK6kJNiwO4F", "see glr¦t-OQFhkCHNeRK6kJNiwO4F here"])
        .no(&["glrt-…", "glrt-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-deploy-token", "a GitLab deploy token", &["gldt-"], r"gldt-[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .yes(&["key=gld¦t-9lVIQWU0XmnG7Zoi2eSF", "see gld¦t-9lVIQWU0XmnG7Zoi2eSF here"])
        .no(&["gldt-…", "gldt-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-feed-token", "a GitLab feed token", &["glft-"], r"glft-[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["key=glf¦t-pChj2ncQf8hfm8JYFzKQ", "see glf¦t-pChj2ncQf8hfm8JYFzKQ here"])
        .no(&["glft-…", "glft-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-mail-token", "a GitLab incoming mail token", &["glimt-"], r"glimt-[0-9A-Za-z_-]{25}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["key=gli¦mt-biVZhuuFmXfmvlvSRc6GY2S8P", "see gli¦mt-biVZhuuFmXfmvlvSRc6GY2S8P here"])
        .no(&["glimt-…", "glimt-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-agent-token", "a GitLab agent token", &["glagent-"], r"glagent-[0-9A-Za-z_-]{50,}")
        .entropy(30)
        .yes(&["key=gla¦gent-pwxpH8N1J1Z7sb3pMrRqr6UNCxdc8M3fYFqWiKff1WOhrrtCch", "see gla¦gent-pwxpH8N1J1Z7sb3pMrRqr6UNCxdc8M3fYFqWiKff1WOhrrtCch here"])
        .no(&["glagent-…", "glagent-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-app-secret", "a GitLab OAuth application secret", &["gloas-"], r"gloas-[0-9A-Za-z_-]{60,}")
        .entropy(32)
        .yes(&["key=glo¦as-0EqZUTyfTSBh4LgBdg5osa2l10zHuUD8sQrlWZDczvKKCNWsXbevU77hrLhH", "see glo¦as-0EqZUTyfTSBh4LgBdg5osa2l10zHuUD8sQrlWZDczvKKCNWsXbevU77hrLhH here"])
        .no(&["gloas-…", "gloas-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-scim-token", "a GitLab SCIM token", &["glsoat-"], r"glsoat-[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .yes(&["key=gls¦oat-rvpU6oIg0vaRsAixXcUG", "see gls¦oat-rvpU6oIg0vaRsAixXcUG here"])
        .no(&["glsoat-…", "glsoat-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-ci-token", "a GitLab CI job token", &["glcbt-"], r"glcbt-[0-9A-Za-z]{1,5}_[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .yes(&["key=glc¦bt-9_jb6Ro4WkprZwTGOCWtKT", "see glc¦bt-9_jb6Ro4WkprZwTGOCWtKT here"])
        .no(&["glcbt-…", "glcbt-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-flag-token", "a GitLab feature flag client token", &["glffct-"], r"glffct-[0-9A-Za-z_-]{20,}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["key=glf¦fct-yNt4e6x3wlIBSKasmUll", "see glf¦fct-yNt4e6x3wlIBSKasmUll here"])
        .no(&["glffct-…", "glffct-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gitlab-session", "a GitLab session cookie", &["_gitlab_session="], r"_gitlab_session=([0-9a-z]{32})")
        .entropy(28)
        .yes(&["key=_gi¦tlab_session=m9yn57izyrqnk4xz5j4yotsxaq17xrab", "see _gi¦tlab_session=m9yn57izyrqnk4xz5j4yotsxaq17xrab here"])
        .no(&["_gitlab_session=…", "_gitlab_session=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("bitbucket-token", "a Bitbucket repository token", &["ATCTT3xFfGN0"], r"ATCTT3xFfGN0[0-9A-Za-z_=-]{100,}")
        .entropy(40)
        .yes(&["key=ATC¦TT3xFfGN0w7qD0oKvZjcPjJ3bdgjBcBoDULyrkL7Cn8sTCedX8UMIQhWwbgf4muea2EqvYXVgkww6wcl0VtJPjJtNE8xWbZOI0tVXxN6rlMSw", "see ATC¦TT3xFfGN0w7qD0oKvZjcPjJ3bdgjBcBoDULyrkL7Cn8sTCedX8UMIQhWwbgf4muea2EqvYXVgkww6wcl0VtJPjJtNE8xWbZOI0tVXxN6rlMSw here"])
        .no(&["ATCTT3xFfGN0…", "ATCTT3xFfGN0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("bitbucket-app-password", "a Bitbucket app password", &["ATBB"], r"ATBB[0-9A-Za-z]{28,36}")
        .entropy(32)
        .yes(&["key=ATB¦BHE1hnlvrjni9Zo8YCmzXvg4SaA5F3eEb", "see ATB¦BHE1hnlvrjni9Zo8YCmzXvg4SaA5F3eEb here"])
        .no(&["ATBB…", "ATBBxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("bitbucket-secret", "a Bitbucket client secret", &["bitbucket"], r"(?:[0-9A-Za-z_=-]{64}|[0-9A-Za-z]{32})")
        .entropy(32)
        .yes(&["bitbucket_api_token = \"JCP¦IGRXsvFhLkUOfG1y6U7tYAKdQSWyK8K0xiwC9HbZQYlbYCpj3bBXL4T3s3Wwo\"", "\"bitbucket_api_token\": \"JCP¦IGRXsvFhLkUOfG1y6U7tYAKdQSWyK8K0xiwC9HbZQYlbYCpj3bBXL4T3s3Wwo\""])
        .no(&["bitbucket_api_token = get_bitbucket_api_token()", "the bitbucket page says JCP¦IGRXsvFhLkUOfG1y6U7tYAKdQSWyK8K0xiwC9HbZQYlbYCpj3bBXL4T3s3Wwo"]),
    prefix("atlassian-token", "an Atlassian API token", &["ATATT3xFfGF0"], r"ATATT3xFfGF0[0-9A-Za-z_=-]{60,}")
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["key=ATA¦TT3xFfGF0VoruSOcHS1tgHfIQ0HycSvNH55hvxAflZlAy9fEOWhOrSG8xdzILQGt2xWSu", "see ATA¦TT3xFfGF0VoruSOcHS1tgHfIQ0HycSvNH55hvxAflZlAy9fEOWhOrSG8xdzILQGt2xWSu here"])
        .no(&["ATATT3xFfGF0…", "ATATT3xFfGF0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("atlassian-token", "an Atlassian API token", &["atlassian", "confluence", "jira"], r"[0-9A-Za-z]{24}")
        .entropy(32)
        .yes(&["atlassian_api_token = \"A9D¦YUvhyv2b2Mg9oWMW8b92y\"", "\"atlassian_api_token\": \"A9D¦YUvhyv2b2Mg9oWMW8b92y\""])
        .no(&["atlassian_api_token = get_atlassian_api_token()", "the atlassian page says A9D¦YUvhyv2b2Mg9oWMW8b92y"]),
    near("gitea-token", "a Gitea or Forgejo token", &["gitea", "forgejo", "codeberg"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&["gitea_api_token = \"380¦13f982f77474b1802157127be39b1faabbc1f\"", "\"gitea_api_token\": \"380¦13f982f77474b1802157127be39b1faabbc1f\""])
        .no(&["gitea_api_token = get_gitea_api_token()", "the gitea page says 380¦13f982f77474b1802157127be39b1faabbc1f"]),
    near("gitter-token", "a Gitter token", &["gitter"], r"[0-9A-Za-z_-]{40}")
        .entropy(32)
        .yes(&["gitter_api_token = \"BZ0¦dBUeaEnKBXsPDZn5Xmgaru5B6XzeKujpLWBxg\"", "\"gitter_api_token\": \"BZ0¦dBUeaEnKBXsPDZn5Xmgaru5B6XzeKujpLWBxg\""])
        .no(&["gitter_api_token = get_gitter_api_token()", "the gitter page says BZ0¦dBUeaEnKBXsPDZn5Xmgaru5B6XzeKujpLWBxg"]),
    near("circleci-token", "a CircleCI token", &["circleci", "circle_token", "circle-token", "circle_ci"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&["circleci_api_token = \"5e7¦848184d8da3dfe477b8ac187252be5c8b5e47\"", "\"circleci_api_token\": \"5e7¦848184d8da3dfe477b8ac187252be5c8b5e47\""])
        .no(&["circleci_api_token = get_circleci_api_token()", "the circleci page says 5e7¦848184d8da3dfe477b8ac187252be5c8b5e47"]),
    prefix("circleci-token", "a CircleCI token", &["CCIPAT_", "CCIPRJ_"], r"CCIP(?:AT|RJ)_[0-9A-Za-z]{22}_[0-9a-f]{40}")
        .entropy(32)
        .yes(&["key=CCI¦PAT_akfNCJwbxpZ31Y56gXIqR4_103025bd1e5c9cf63378ea2feea63f8db29d27dc", "see CCI¦PAT_akfNCJwbxpZ31Y56gXIqR4_103025bd1e5c9cf63378ea2feea63f8db29d27dc here"])
        .no(&["CCIPAT_…", "CCIPAT_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("travis-token", "a Travis CI token", &["travis"], r"[0-9A-Za-z_=-]{22}")
        .entropy(30)
        .yes(&["travis_api_token = \"c6t¦mXKfhMlipaeaQVwQFEA\"", "\"travis_api_token\": \"c6t¦mXKfhMlipaeaQVwQFEA\""])
        .no(&["travis_api_token = get_travis_api_token()", "the travis page says c6t¦mXKfhMlipaeaQVwQFEA"]),
    near("drone-token", "a Drone CI token", &["drone", "droneci"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["drone_api_token = \"iwY¦abj6uAh7ajw7udNx7JOQAzZjgacB1\"", "\"drone_api_token\": \"iwY¦abj6uAh7ajw7udNx7JOQAzZjgacB1\""])
        .no(&["drone_api_token = get_drone_api_token()", "the drone page says iwY¦abj6uAh7ajw7udNx7JOQAzZjgacB1"]),
    prefix("buildkite-token", "a Buildkite token", &["bkua_", "bkaj_", "bkct_"], r"bk(?:ua|aj|ct)_[0-9A-Za-z]{40,}")
        .entropy(32)
        .yes(&["key=bkc¦t_JvpfzigS65KBiLpWKphfdB8WbwoxPKCJ3xYeut4i", "see bkc¦t_JvpfzigS65KBiLpWKphfdB8WbwoxPKCJ3xYeut4i here"])
        .no(&["bkct_…", "bkct_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("codecov-token", "a Codecov token", &["codecov"], r"(?:[0-9A-Za-z]{32}|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(30)
        .yes(&["codecov_api_token = \"C9p¦NXFcFDOWuKSRd6aCccqdOoM2ywwdW\"", "\"codecov_api_token\": \"C9p¦NXFcFDOWuKSRd6aCccqdOoM2ywwdW\""])
        .no(&["codecov_api_token = get_codecov_api_token()", "the codecov page says C9p¦NXFcFDOWuKSRd6aCccqdOoM2ywwdW"]),
    near("codacy-token", "a Codacy token", &["codacy"], r"[0-9A-Za-z]{20,32}")
        .entropy(32)
        .yes(&["codacy_api_token = \"pTC¦DnGGE0MWKgDaUOgRP\"", "\"codacy_api_token\": \"pTC¦DnGGE0MWKgDaUOgRP\""])
        .no(&["codacy_api_token = get_codacy_api_token()", "the codacy page says pTC¦DnGGE0MWKgDaUOgRP"]),
    near("coveralls-token", "a Coveralls repository token", &["coveralls"], r"[0-9A-Za-z]{32,40}")
        .entropy(32)
        .yes(&["coveralls_api_token = \"Xtn¦L1F7y9htZxtioxceKkQwvcprS2gXF\"", "\"coveralls_api_token\": \"Xtn¦L1F7y9htZxtioxceKkQwvcprS2gXF\""])
        .no(&["coveralls_api_token = get_coveralls_api_token()", "the coveralls page says Xtn¦L1F7y9htZxtioxceKkQwvcprS2gXF"]),
    prefix("codeclimate-token", "a Code Climate reporter id", &["cc_test_reporter_id="], r"(?i:cc_test_reporter_id)=([0-9a-f]{64})")
        .entropy(30)
        .severity(Severity::Low)
        .any_case()
        .yes(&["key=cc_¦test_reporter_id=f8fb064da565de0b0c992069f0bffc6f58fc05bdeb4f93aa9ccd3f5fe373b9f9", "see cc_¦test_reporter_id=f8fb064da565de0b0c992069f0bffc6f58fc05bdeb4f93aa9ccd3f5fe373b9f9 here"])
        .no(&["cc_test_reporter_id=…", "cc_test_reporter_id=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sonar-token", "a SonarQube token", &["squ_", "sqp_", "sqa_"], r"sq[upa]_[0-9a-f]{40}")
        .entropy(30)
        .yes(&["key=sqa¦_8eff0751d09c20fb4f353037090143303e34c335", "see sqa¦_8eff0751d09c20fb4f353037090143303e34c335 here"])
        .no(&["sqa_…", "sqa_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("sonar-token", "a SonarQube token", &["sonar"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&["sonar_api_token = \"e7a¦789e1826911ee85126978fb94b18f2b72a8b7\"", "\"sonar_api_token\": \"e7a¦789e1826911ee85126978fb94b18f2b72a8b7\""])
        .no(&["sonar_api_token = get_sonar_api_token()", "the sonar page says e7a¦789e1826911ee85126978fb94b18f2b72a8b7"]),
    near("snyk-token", "a Snyk token", &["snyk"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["snyk_api_token = \"62E¦9a8dD-1069-ea0f-13C3-2aa5EBB0Ab78\"", "\"snyk_api_token\": \"62E¦9a8dD-1069-ea0f-13C3-2aa5EBB0Ab78\""])
        .no(&["snyk_api_token = get_snyk_api_token()", "the snyk page says 62E¦9a8dD-1069-ea0f-13C3-2aa5EBB0Ab78"]),
    prefix("snyk-token", "a Snyk token", &["snyk_uat."], r"snyk_(?:uat|sat)\.[0-9A-Fa-f]{8}\.[0-9A-Za-z_-]{40,}")
        .entropy(35)
        .yes(&["key=sny¦k_uat.D75EbBFF.rbiguhXv11quiX2FMOCITwtCk2PoPHj6NKHR7tuO", "see sny¦k_uat.D75EbBFF.rbiguhXv11quiX2FMOCITwtCk2PoPHj6NKHR7tuO here"])
        .no(&["snyk_uat.…", "snyk_uat.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("semgrep-token", "a Semgrep token", &["semgrep_"], r"semgrep_[0-9a-f]{64}")
        .entropy(30)
        .yes(&["key=sem¦grep_756996d5696b71cb63ef89b2f09b915fbaed50ffdb7509b541cc84bf0b1dbed6", "see sem¦grep_756996d5696b71cb63ef89b2f09b915fbaed50ffdb7509b541cc84bf0b1dbed6 here"])
        .no(&["semgrep_…", "semgrep_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sourcegraph-token", "a Sourcegraph token", &["sgp_", "slk_"], r"(?:sgp_(?:(?:[0-9A-Fa-f]{16}|local)_)?[0-9A-Fa-f]{40}|slk_[0-9A-Fa-f]{64})")
        .entropy(30)
        .yes(&["key=sgp¦_DaB79fEc0cfDEAfEC5e6a2D3AcAd42bdc2fCc931", "see sgp¦_DaB79fEc0cfDEAfEC5e6a2D3AcAd42bdc2fCc931 here"])
        .no(&["sgp_…", "sgp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("sourcegraph-token", "a Sourcegraph token", &["sourcegraph"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&["sourcegraph_api_token = \"87b¦1e5e9015def52f93927cbbb79081f0e3f8f65\"", "\"sourcegraph_api_token\": \"87b¦1e5e9015def52f93927cbbb79081f0e3f8f65\""])
        .no(&["sourcegraph_api_token = get_sourcegraph_api_token()", "the sourcegraph page says 87b¦1e5e9015def52f93927cbbb79081f0e3f8f65"]),
    near("jenkins-token", "a Jenkins API token", &["jenkins"], r"[0-9a-f]{32,34}")
        .entropy(30)
        .yes(&["jenkins_api_token = \"134¦c505c5d484f8ad5ba4d73741dadce\"", "\"jenkins_api_token\": \"134¦c505c5d484f8ad5ba4d73741dadce\""])
        .no(&["jenkins_api_token = get_jenkins_api_token()", "the jenkins page says 134¦c505c5d484f8ad5ba4d73741dadce"]),
    prefix("jfrog-token", "an Artifactory key", &["AKC"], r"AKC[0-9A-Za-z]{10,}")
        .entropy(10)
        .plain()
        .yes(&["key=AKC¦YvgbCJ38QT", "see AKC¦YvgbCJ38QT here"])
        .no(&["AKC…"]),
    prefix("jfrog-token", "an Artifactory reference token", &["cmVmd"], r"cmVmd[0-9A-Za-z]{59}")
        .entropy(35)
        .yes(&["key=cmV¦mdW4MCSWcBRZkQsBIxOwpT9Sn1AIp0nrg8l27mXsfs6q5b7ESP9Qw24cWzkXh", "see cmV¦mdW4MCSWcBRZkQsBIxOwpT9Sn1AIp0nrg8l27mXsfs6q5b7ESP9Qw24cWzkXh here"])
        .no(&["cmVmd…", "cmVmdxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("jfrog-token", "an Artifactory password or key", &["jfrog", "artifactory", "bintray", "xray"], r"(?:[0-9a-z]{73}|[0-9a-z]{64}|[0-9a-z]{109}|AP[0-9A-Fa-f]{1}[0-9A-Za-z]{8,})")
        .entropy(25)
        .yes(&["jfrog_api_token = \"APd¦nRyASbz5\"", "\"jfrog_api_token\": \"APd¦nRyASbz5\""])
        .no(&["jfrog_api_token = get_jfrog_api_token()", "the jfrog page says APd¦nRyASbz5"]),
    prefix("jfrog-token", "an encrypted Artifactory password", &["AP6"], r"AP[0-9A-Fa-f]{1}[0-9A-Za-z]{8,}")
        .entropy(26)
        .beside("rtifactory")
        .yes(&["xrtifactory_key = AP6¦aUW9TWRa"])
        .no(&["AP6…", "AP6xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("octopus-key", "an Octopus Deploy key", &["API-"], r"API-[A-Z0-9]{26,32}")
        .entropy(32)
        .yes(&["key=API¦-YG7LLR4ZB64FBOLVUDTKEZS0OP", "see API¦-YG7LLR4ZB64FBOLVUDTKEZS0OP here"])
        .no(&["API-…", "API-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("prefect-key", "a Prefect API key", &["pnu_", "pnb_"], r"pn[ub]_[0-9A-Za-z]{36}")
        .entropy(30)
        .yes(&["key=pnu¦_i13XCByi8o94wdCjFpbxhg6sLoPlYdq17udX", "see pnu¦_i13XCByi8o94wdCjFpbxhg6sLoPlYdq17udX here"])
        .no(&["pnu_…", "pnu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("databricks-token", "a Databricks token", &["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=dap¦i94d6e6da802b32b97aa43b0d35534572", "see dap¦i94d6e6da802b32b97aa43b0d35534572 here"])
        .no(&["dapi…", "dapixxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("postman-key", "a Postman key", &["PMAK-"], r"PMAK-[0-9A-Fa-f]{24}-[0-9A-Fa-f]{34}")
        .entropy(30)
        .yes(&["key=PMA¦K-9B0CaAef1aBbE10831d0b049-3b043fdb117e35F7E2bb3C357F4D33eC57", "see PMA¦K-9B0CaAef1aBbE10831d0b049-3b043fdb117e35F7E2bb3C357F4D33eC57 here"])
        .no(&["PMAK-…", "PMAK-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("postman-collection-key", "a Postman collection access key", &["PMAT-"], r"PMAT-[0-9A-Z]{26}")
        .entropy(30)
        .severity(Severity::Medium)
        .yes(&["key=PMA¦T-QPS7WY5XJP2WN90NXKZA96ZFAM", "see PMA¦T-QPS7WY5XJP2WN90NXKZA96ZFAM here"])
        .no(&["PMAT-…", "PMAT-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("readme-key", "a ReadMe API key", &["rdme_"], r"rdme_[0-9a-z]{70}")
        .entropy(32)
        .yes(&["key=rdm¦e_em5bfjuod6da9ar6bh7k6joevx5jxk9ybpgja3kmfwq2jvv1x1luriv7k8erbyay14gpoy", "see rdm¦e_em5bfjuod6da9ar6bh7k6joevx5jxk9ybpgja3kmfwq2jvv1x1luriv7k8erbyay14gpoy here"])
        .no(&["rdme_…", "rdme_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("launchdarkly-key", "a LaunchDarkly key", &["sdk-", "api-", "mob-"], r"(?:sdk|api|mob)-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["key=mob¦-dBEcC6a1-66C6-c3eC-ADe3-dCda0aB60955", "see mob¦-dBEcC6a1-66C6-c3eC-ADe3-dCda0aB60955 here"])
        .no(&["mob-…", "mob-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("launchdarkly-key", "a LaunchDarkly token", &["launchdarkly"], r"[0-9A-Za-z_=-]{40}")
        .entropy(30)
        .yes(&["launchdarkly_api_token = \"3mU¦SFiHwe5hHwiSF1uFaJ6VdrevaaUW4HkjbyBzg\"", "\"launchdarkly_api_token\": \"3mU¦SFiHwe5hHwiSF1uFaJ6VdrevaaUW4HkjbyBzg\""])
        .no(&["launchdarkly_api_token = get_launchdarkly_api_token()", "the launchdarkly page says 3mU¦SFiHwe5hHwiSF1uFaJ6VdrevaaUW4HkjbyBzg"]),
    prefix("unleash-key", "an Unleash API token", &["*:*."], r"\*:\*\.[0-9a-f]{56,64}")
        .entropy(30)
        .yes(&["key=*:*¦.2000bb412b6e4e79677e212aa97c38d9d07757f0ace4d6233cf029d7", "see *:*¦.2000bb412b6e4e79677e212aa97c38d9d07757f0ace4d6233cf029d7 here"])
        .no(&["*:*.…", "*:*.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("statsig-key", "a Statsig secret key", &["secret-"], r"secret-[0-9A-Za-z]{43}")
        .entropy(35)
        .yes(&["key=sec¦ret-AIkvyUxRwKNBTbfsEIhjiqi41vvpuPQWDxquQzDGuJ8", "see sec¦ret-AIkvyUxRwKNBTbfsEIhjiqi41vvpuPQWDxquQzDGuJ8 here"])
        .no(&["secret-…", "secret-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("configcat-key", "a ConfigCat SDK key", &["configcat-sdk-1/"], r"configcat-sdk-1/[0-9A-Za-z_-]{22}/[0-9A-Za-z_-]{22}")
        .entropy(32)
        .severity(Severity::Medium)
        .yes(&["key=con¦figcat-sdk-1/BDa3UtyRzBtSHiclOQd1X4/FzrC1MZJdcJYsFGvX5ppxJ", "see con¦figcat-sdk-1/BDa3UtyRzBtSHiclOQd1X4/FzrC1MZJdcJYsFGvX5ppxJ here"])
        .no(&["configcat-sdk-1/…", "configcat-sdk-1/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("browserstack-key", "a BrowserStack access key", &["browserstack"], r"[0-9A-Za-z]{20}")
        .entropy(30)
        .yes(&["browserstack_api_token = \"bj5¦9UhYX2g0V0WzJPt8A\"", "\"browserstack_api_token\": \"bj5¦9UhYX2g0V0WzJPt8A\""])
        .no(&["browserstack_api_token = get_browserstack_api_token()", "the browserstack page says bj5¦9UhYX2g0V0WzJPt8A"]),
    near("saucelabs-key", "a Sauce Labs access key", &["sauce"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["sauce_api_token = \"9fF¦89EEe-Ac27-8dba-D4D3-CfA3dBbc23DE\"", "\"sauce_api_token\": \"9fF¦89EEe-Ac27-8dba-D4D3-CfA3dBbc23DE\""])
        .no(&["sauce_api_token = get_sauce_api_token()", "the sauce page says 9fF¦89EEe-Ac27-8dba-D4D3-CfA3dBbc23DE"]),
    near("lambdatest-key", "a LambdaTest access key", &["lambdatest", "lt_access"], r"[0-9A-Za-z]{50}")
        .entropy(32)
        .yes(&["lambdatest_api_token = \"eoW¦9k36ma12oGIBpRXHQ3DeI5Dj0qyR978awTFUsntiPi1mD9y\"", "\"lambdatest_api_token\": \"eoW¦9k36ma12oGIBpRXHQ3DeI5Dj0qyR978awTFUsntiPi1mD9y\""])
        .no(&["lambdatest_api_token = get_lambdatest_api_token()", "the lambdatest page says eoW¦9k36ma12oGIBpRXHQ3DeI5Dj0qyR978awTFUsntiPi1mD9y"]),
    prefix("percy-token", "a Percy token", &["web_"], r"web_[0-9a-f]{64}")
        .entropy(30)
        .severity(Severity::Medium)
        .yes(&["key=web¦_deb98bdab3efad1c2a010b6de95d559e57ef587bd82d2c77de7347ea503fddcc", "see web¦_deb98bdab3efad1c2a010b6de95d559e57ef587bd82d2c77de7347ea503fddcc here"])
        .no(&["web_…", "web_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("chromatic-token", "a Chromatic project token", &["chpt_"], r"chpt_[0-9a-f]{12,20}")
        .entropy(25)
        .severity(Severity::Medium)
        .yes(&["key=chp¦t_6fc0f7f8314f", "see chp¦t_6fc0f7f8314f here"])
        .no(&["chpt_…", "chpt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("cypress-key", "a Cypress record key", &["cypress_record_key="], r"(?i:cypress_record_key)=([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(28)
        .severity(Severity::Medium)
        .any_case()
        .yes(&["key=cyp¦ress_record_key=EEaD6Ba0-6E33-e7Fe-fDc6-2032DC64A150", "see cyp¦ress_record_key=EEaD6Ba0-6E33-e7Fe-fDc6-2032DC64A150 here"])
        .no(&["cypress_record_key=…", "cypress_record_key=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
