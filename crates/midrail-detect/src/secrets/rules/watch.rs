//! Logs, metrics and incidents: formats of their keys.

use midrail_core::Severity;

use super::{Rule, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    near("datadog-key", "a Datadog key", &["datadog", "dd_api", "dd-api", "dd_app", "ddog"], r"(?:[0-9a-f]{40}|[0-9a-z]{40}|[0-9a-f]{32})")
        .entropy(28)
        .yes(&["datadog_api_token = \"tgh¦zvxk2bdsamayptpkyjlwoz4or8cy02n54tdi3\"", "\"datadog_api_token\": \"tgh¦zvxk2bdsamayptpkyjlwoz4or8cy02n54tdi3\""])
        .no(&["datadog_api_token = get_datadog_api_token()", "the datadog page says tgh¦zvxk2bdsamayptpkyjlwoz4or8cy02n54tdi3"]),
    prefix("newrelic-key", "a New Relic key", &["NRAK-", "NRII-", "NRJS-", "NRBR-", "NRIQ-", "NRAL-"], r"NR(?:AK|II|JS|BR|IQ|AL)-[0-9A-Za-z]{19,42}")
        .entropy(25)
        .any_case()
        .yes(&["key=NRJ¦S-h0KFD6fSkO851RnwQhl", "see NRJ¦S-h0KFD6fSkO851RnwQhl here"])
        .no(&["NRJS-…", "NRJS-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("newrelic-license", "a New Relic license key", &["FFFFNRAL"], r"(?:[0-9a-f]{32}|eu01xx[0-9a-f]{18,28})FFFFNRAL")
        .lead(34)
        .entropy(28)
        .yes(&["key=a1e¦a962e7d048912f18d8675dc15f916FFFFNRAL", "key=eu0¦1xx41ecccc3fc1626e53a13043b02FFFFNRAL", "see a1e¦a962e7d048912f18d8675dc15f916FFFFNRAL here"])
        .no(&["FFFFNRAL…", "FFFFNRALxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("newrelic-key", "a New Relic key", &["new-relic", "newrelic", "new_relic"], r"(?:[0-9A-Za-z]{64}|[0-9A-Za-z]{40})")
        .entropy(30)
        .yes(&["new-relic_api_token = \"20S¦wiYkahfiCK3hgv8oNbKyKyTkm8ZEIWkjteeXp\"", "\"new-relic_api_token\": \"20S¦wiYkahfiCK3hgv8oNbKyKyTkm8ZEIWkjteeXp\""])
        .no(&["new-relic_api_token = get_new_relic_api_token()", "the new-relic page says 20S¦wiYkahfiCK3hgv8oNbKyKyTkm8ZEIWkjteeXp"]),
    prefix("grafana-token", "a Grafana service account token", &["glsa_"], r"glsa_[0-9A-Za-z]{32}_[0-9A-Fa-f]{8}")
        .entropy(30)
        .yes(&["key=gls¦a_jXYqfRPXuVNMfZg77lHNjK9bxKgw5gEl_02abfC3f", "see gls¦a_jXYqfRPXuVNMfZg77lHNjK9bxKgw5gEl_02abfC3f here"])
        .no(&["glsa_…", "glsa_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("grafana-token", "a Grafana Cloud token", &["glc_"], r"glc_[0-9A-Za-z+/]{32,}={0,3}")
        .entropy(32)
        .yes(&["key=glc¦_icOMTRaxTMHLRtw7J19N9l3h8PZpUSh7", "see glc¦_icOMTRaxTMHLRtw7J19N9l3h8PZpUSh7 here"])
        .no(&["glc_…", "glc_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("grafana-token", "a Grafana key", &["eyJrIjoi"], r"eyJrIjoi[0-9A-Za-z]{60,}={0,3}")
        .entropy(32)
        .yes(&["key=eyJ¦rIjoiY6MNnsaCKpNwhovnCLnBzDhlwFjf2LVCuT0KbBGaWFs8BAQk4hGqUmg7jjti", "see eyJ¦rIjoiY6MNnsaCKpNwhovnCLnBzDhlwFjf2LVCuT0KbBGaWFs8BAQk4hGqUmg7jjti here"])
        .no(&["eyJrIjoi…", "eyJrIjoixxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sentry-token", "a Sentry organisation token", &["sntrys_"], r"sntrys_eyJpYXQiO[0-9A-Za-z+/=]{40,}_[0-9A-Za-z+/]{43}")
        .entropy(35)
        .yes(&["key=snt¦rys_eyJpYXQiOeaK5xEb10FhHKSyja8LbaPIdzwTCdykesINofBKo_fxvycIVlRlSp6Wzb57ZImggwRYo512tlnHt5DF0Vhij", "see snt¦rys_eyJpYXQiOeaK5xEb10FhHKSyja8LbaPIdzwTCdykesINofBKo_fxvycIVlRlSp6Wzb57ZImggwRYo512tlnHt5DF0Vhij here"])
        .no(&["sntrys_…", "sntrys_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sentry-token", "a Sentry user token", &["sntryu_"], r"sntryu_[0-9a-f]{64}")
        .entropy(25)
        .yes(&["key=snt¦ryu_a6f350606b562ad61d7b7cbee8c399bcd772b753b1897024e9d0433d5a712455", "see snt¦ryu_a6f350606b562ad61d7b7cbee8c399bcd772b753b1897024e9d0433d5a712455 here"])
        .no(&["sntryu_…", "sntryu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("sentry-token", "a Sentry token", &["sentry"], r"[0-9a-f]{64}")
        .entropy(28)
        .yes(&["sentry_api_token = \"e81¦936855a18c9b5ac5f5bb7368fe1becac7d8e24af73924985bb636d9ef946d\"", "\"sentry_api_token\": \"e81¦936855a18c9b5ac5f5bb7368fe1becac7d8e24af73924985bb636d9ef946d\""])
        .no(&["sentry_api_token = get_sentry_api_token()", "the sentry page says e81¦936855a18c9b5ac5f5bb7368fe1becac7d8e24af73924985bb636d9ef946d"]),
    inside("sentry-dsn", "a Sentry data source name with a secret", &["ingest.sentry.io", "@sentry.io/"], r"https://([0-9a-f]{32}(?::[0-9a-f]{32})?)@")
        .lead(80)
        .entropy(28)
        .severity(Severity::Low)
        .yes(&["key=htt¦ps://9415f65215a7718d497d8f2f08943b8b@o42.ingest.sentry.io/7", "see htt¦ps://9415f65215a7718d497d8f2f08943b8b@o42.ingest.sentry.io/7 here"])
        .no(&["ingest.sentry.io…", "ingest.sentry.ioxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("dynatrace-token", "a Dynatrace token", &["dt0c01.", "dt0s01.", "dt0s02."], r"dt0[cs]0[12]\.[0-9A-Za-z]{8,24}\.[0-9A-Za-z]{64}")
        .entropy(35)
        .yes(&["key=dt0¦c01.KuDDH6nG.Ij7Fq8NPHJqdGx905NwF1t21Mz0VGm317VLEzFj3Tmc8Pd0E3vj5lKpqeHH5rLDe", "see dt0¦c01.KuDDH6nG.Ij7Fq8NPHJqdGx905NwF1t21Mz0VGm317VLEzFj3Tmc8Pd0E3vj5lKpqeHH5rLDe here"])
        .no(&["dt0c01.…", "dt0c01.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("honeycomb-key", "a Honeycomb key", &["hcaik_", "hcbik_", "hcalk_", "hcxmk_"], r"hc(?:ai|bi|al|xm)k_[0-9a-z]{40,}")
        .entropy(30)
        .yes(&["key=hcx¦mk_thumfttazjp5y9c993u0em6ke8p8v1mpd0yf431l", "see hcx¦mk_thumfttazjp5y9c993u0em6ke8p8v1mpd0yf431l here"])
        .no(&["hcxmk_…", "hcxmk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("honeycomb-key", "a Honeycomb key", &["honeycomb"], r"[0-9A-Za-z]{22,32}")
        .entropy(30)
        .yes(&["honeycomb_api_token = \"vn5¦4KwE0I2RIJiTvWiOI39\"", "\"honeycomb_api_token\": \"vn5¦4KwE0I2RIJiTvWiOI39\""])
        .no(&["honeycomb_api_token = get_honeycomb_api_token()", "the honeycomb page says vn5¦4KwE0I2RIJiTvWiOI39"]),
    near("splunk-token", "a Splunk HEC token", &["splunk", "hec_token"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["splunk_api_token = \"a80¦AACb3-86B3-BCdf-d2fd-caeE9C1aa6F4\"", "\"splunk_api_token\": \"a80¦AACb3-86B3-BCdf-d2fd-caeE9C1aa6F4\""])
        .no(&["splunk_api_token = get_splunk_api_token()", "the splunk page says a80¦AACb3-86B3-BCdf-d2fd-caeE9C1aa6F4"]),
    near("sumologic-key", "a Sumo Logic key", &["sumo"], r"(?:[0-9A-Za-z]{64}|su[0-9A-Za-z]{12})")
        .entropy(28)
        .yes(&["sumo_api_token = \"iMQ¦ohNA5S92GN7tgPQ4KJQHsfmHAXzKAO1oGChuwMXpK9vkWPM4OrUAB4YT5i103\"", "\"sumo_api_token\": \"iMQ¦ohNA5S92GN7tgPQ4KJQHsfmHAXzKAO1oGChuwMXpK9vkWPM4OrUAB4YT5i103\""])
        .no(&["sumo_api_token = get_sumo_api_token()", "the sumo page says iMQ¦ohNA5S92GN7tgPQ4KJQHsfmHAXzKAO1oGChuwMXpK9vkWPM4OrUAB4YT5i103"]),
    near("logdna-key", "a LogDNA ingestion key", &["logdna", "mezmo"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["logdna_api_token = \"337¦3aed4abceefaa7184b3ff4eb65879\"", "\"logdna_api_token\": \"337¦3aed4abceefaa7184b3ff4eb65879\""])
        .no(&["logdna_api_token = get_logdna_api_token()", "the logdna page says 337¦3aed4abceefaa7184b3ff4eb65879"]),
    near("loggly-token", "a Loggly token", &["loggly"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["loggly_api_token = \"FE8¦03F9f-DDcC-35eb-0Fe8-BAEC1CFF4648\"", "\"loggly_api_token\": \"FE8¦03F9f-DDcC-35eb-0Fe8-BAEC1CFF4648\""])
        .no(&["loggly_api_token = get_loggly_api_token()", "the loggly page says FE8¦03F9f-DDcC-35eb-0Fe8-BAEC1CFF4648"]),
    near("papertrail-token", "a Papertrail token", &["papertrail"], r"[0-9A-Za-z]{20}")
        .entropy(28)
        .yes(&["papertrail_api_token = \"eYp¦4TcxtlavCYUnnLpij\"", "\"papertrail_api_token\": \"eYp¦4TcxtlavCYUnnLpij\""])
        .no(&["papertrail_api_token = get_papertrail_api_token()", "the papertrail page says eYp¦4TcxtlavCYUnnLpij"]),
    near("rollbar-token", "a Rollbar token", &["rollbar"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["rollbar_api_token = \"7e6¦7f29ece1b018bb145e1f6fcb9c205\"", "\"rollbar_api_token\": \"7e6¦7f29ece1b018bb145e1f6fcb9c205\""])
        .no(&["rollbar_api_token = get_rollbar_api_token()", "the rollbar page says 7e6¦7f29ece1b018bb145e1f6fcb9c205"]),
    near("bugsnag-key", "a Bugsnag key", &["bugsnag"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["bugsnag_api_token = \"5fd¦ac82f73e3da64e7d7606fadc6cd1d\"", "\"bugsnag_api_token\": \"5fd¦ac82f73e3da64e7d7606fadc6cd1d\""])
        .no(&["bugsnag_api_token = get_bugsnag_api_token()", "the bugsnag page says 5fd¦ac82f73e3da64e7d7606fadc6cd1d"]),
    near("airbrake-key", "an Airbrake key", &["airbrake"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["airbrake_api_token = \"c58¦03085335abefd4e0d7a4ed03db479\"", "\"airbrake_api_token\": \"c58¦03085335abefd4e0d7a4ed03db479\""])
        .no(&["airbrake_api_token = get_airbrake_api_token()", "the airbrake page says c58¦03085335abefd4e0d7a4ed03db479"]),
    near("raygun-key", "a Raygun key", &["raygun"], r"[0-9A-Za-z]{22}")
        .entropy(30)
        .yes(&["raygun_api_token = \"xGX¦NBaRbrRPxYHI6N8Rvqc\"", "\"raygun_api_token\": \"xGX¦NBaRbrRPxYHI6N8Rvqc\""])
        .no(&["raygun_api_token = get_raygun_api_token()", "the raygun page says xGX¦NBaRbrRPxYHI6N8Rvqc"]),
    near("elastic-key", "an Elastic key", &["elastic", "elasticsearch"], r"[0-9A-Za-z_-]{20}:[0-9A-Za-z_-]{22}")
        .entropy(32)
        .yes(&["elastic_api_token = \"Lrr¦RcZvYUCP34L6ThtV2:hO0r6ZDKNntk9xZAbLvZ3D\"", "\"elastic_api_token\": \"Lrr¦RcZvYUCP34L6ThtV2:hO0r6ZDKNntk9xZAbLvZ3D\""])
        .no(&["elastic_api_token = get_elastic_api_token()", "the elastic page says Lrr¦RcZvYUCP34L6ThtV2:hO0r6ZDKNntk9xZAbLvZ3D"]),
    prefix("elastic-key", "an Elastic Cloud key", &["essu_"], r"essu_[0-9A-Za-z+/]{40,}={0,2}")
        .entropy(32)
        .yes(&["key=ess¦u_jeDdHuQooAEGpDJqcfwDhbRgknOtSjt3fi6yHyDV", "see ess¦u_jeDdHuQooAEGpDJqcfwDhbRgknOtSjt3fi6yHyDV here"])
        .no(&["essu_…", "essu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("pagerduty-key", "a PagerDuty key", &["pagerduty", "pager_duty", "pd_"], r"(?:[0-9a-f]{32}|[0-9A-Za-z_-]{20})")
        .entropy(30)
        .yes(&["pagerduty_api_token = \"115¦aaf48b161ebc0ea7a2a7b20d7657e\"", "\"pagerduty_api_token\": \"115¦aaf48b161ebc0ea7a2a7b20d7657e\""])
        .no(&["pagerduty_api_token = get_pagerduty_api_token()", "the pagerduty page says 115¦aaf48b161ebc0ea7a2a7b20d7657e"]),
    near("opsgenie-key", "an Opsgenie key", &["opsgenie"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["opsgenie_api_token = \"f21¦21A51-CAC7-1f37-32b1-e07AE83f17fC\"", "\"opsgenie_api_token\": \"f21¦21A51-CAC7-1f37-32b1-e07AE83f17fC\""])
        .no(&["opsgenie_api_token = get_opsgenie_api_token()", "the opsgenie page says f21¦21A51-CAC7-1f37-32b1-e07AE83f17fC"]),
    near("victorops-key", "a VictorOps key", &["victorops", "splunk_oncall"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["victorops_api_token = \"8A0¦70C69-fB5F-93bF-10C8-d5D0Fb4B2a0c\"", "\"victorops_api_token\": \"8A0¦70C69-fB5F-93bF-10C8-d5D0Fb4B2a0c\""])
        .no(&["victorops_api_token = get_victorops_api_token()", "the victorops page says 8A0¦70C69-fB5F-93bF-10C8-d5D0Fb4B2a0c"]),
    near("statuspage-key", "a Statuspage key", &["statuspage"], r"(?:[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}|[0-9A-Za-z]{64})")
        .entropy(28)
        .yes(&["statuspage_api_token = \"5ac¦B69dC-De75-9F7B-1B68-eD2Ad9ff3f7A\"", "\"statuspage_api_token\": \"5ac¦B69dC-De75-9F7B-1B68-eD2Ad9ff3f7A\""])
        .no(&["statuspage_api_token = get_statuspage_api_token()", "the statuspage page says 5ac¦B69dC-De75-9F7B-1B68-eD2Ad9ff3f7A"]),
    near("uptimerobot-key", "an UptimeRobot key", &["uptimerobot", "uptime_robot"], r"[um][0-9]{6,9}-[0-9a-f]{24}")
        .entropy(28)
        .yes(&["uptimerobot_api_token = \"u31¦7302-d6bd105346bceb1b3dce8603\"", "\"uptimerobot_api_token\": \"u31¦7302-d6bd105346bceb1b3dce8603\""])
        .no(&["uptimerobot_api_token = get_uptimerobot_api_token()", "the uptimerobot page says u31¦7302-d6bd105346bceb1b3dce8603"]),
    near("betterstack-token", "a Better Stack token", &["betterstack", "logtail", "betteruptime"], r"[0-9A-Za-z]{24}")
        .entropy(30)
        .yes(&["betterstack_api_token = \"wz6¦2zYYBNXAJv3zZ8b8vn1Am\"", "\"betterstack_api_token\": \"wz6¦2zYYBNXAJv3zZ8b8vn1Am\""])
        .no(&["betterstack_api_token = get_betterstack_api_token()", "the betterstack page says wz6¦2zYYBNXAJv3zZ8b8vn1Am"]),
    prefix("axiom-token", "an Axiom token", &["xaat-", "xapt-"], r"xa(?:at|pt)-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["key=xaa¦t-0FAb92e9-De74-9695-E1AD-CDE5cd861Ece", "see xaa¦t-0FAb92e9-De74-9695-E1AD-CDE5cd861Ece here"])
        .no(&["xaat-…", "xaat-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("posthog-key", "a PostHog personal key", &["phx_"], r"phx_[0-9A-Za-z_-]{43,}")
        .entropy(32)
        .yes(&["key=phx¦_r3zJU11P5lxZxzkEObFpEtI6Z7wO80o7pEsHR0oORku", "see phx¦_r3zJU11P5lxZxzkEObFpEtI6Z7wO80o7pEsHR0oORku here"])
        .no(&["phx_…", "phx_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("posthog-project-key", "a PostHog project key", &["phc_"], r"phc_[0-9A-Za-z_-]{43,}")
        .entropy(32)
        .severity(Severity::Low)
        .yes(&["key=phc¦_hZydSOVwlvrOJH5IX0cW0ZL0y02TuUuYkXwyvUt3Z0G", "see phc¦_hZydSOVwlvrOJH5IX0cW0ZL0y02TuUuYkXwyvUt3Z0G here"])
        .no(&["phc_…", "phc_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("segment-key", "a Segment write key", &["segment"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["segment_api_token = \"xOM¦H1BhfwOmbCfAgpKVU56VXdi35TgAP\"", "\"segment_api_token\": \"xOM¦H1BhfwOmbCfAgpKVU56VXdi35TgAP\""])
        .no(&["segment_api_token = get_segment_api_token()", "the segment page says xOM¦H1BhfwOmbCfAgpKVU56VXdi35TgAP"]),
    prefix("segment-token", "a Segment public API token", &["sgp_"], r"sgp_[0-9A-Za-z]{64}")
        .entropy(35)
        .yes(&["key=sgp¦_f9bbo0JKf638NJ3IxRjMLe9FsMqv26yEd6vrsIPGfmVt4FuFL4of2RmajY1f1r3D", "see sgp¦_f9bbo0JKf638NJ3IxRjMLe9FsMqv26yEd6vrsIPGfmVt4FuFL4of2RmajY1f1r3D here"])
        .no(&["sgp_…", "sgp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("mixpanel-secret", "a Mixpanel secret", &["mixpanel"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["mixpanel_api_token = \"df4¦0d9f1cc424e767106cce579cea0d0\"", "\"mixpanel_api_token\": \"df4¦0d9f1cc424e767106cce579cea0d0\""])
        .no(&["mixpanel_api_token = get_mixpanel_api_token()", "the mixpanel page says df4¦0d9f1cc424e767106cce579cea0d0"]),
    near("amplitude-key", "an Amplitude key", &["amplitude"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["amplitude_api_token = \"9dd¦11725e04fccce4cf9bd30b743d425\"", "\"amplitude_api_token\": \"9dd¦11725e04fccce4cf9bd30b743d425\""])
        .no(&["amplitude_api_token = get_amplitude_api_token()", "the amplitude page says 9dd¦11725e04fccce4cf9bd30b743d425"]),
    near("heap-key", "a Heap key", &["heapanalytics", "heap_api"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["heapanalytics_api_token = \"5dd¦2c9f83cedd3e6bc75b4001642dcff\"", "\"heapanalytics_api_token\": \"5dd¦2c9f83cedd3e6bc75b4001642dcff\""])
        .no(&["heapanalytics_api_token = get_heapanalytics_api_token()", "the heapanalytics page says 5dd¦2c9f83cedd3e6bc75b4001642dcff"]),
    prefix("checkly-key", "a Checkly key", &["cu_"], r"cu_[0-9a-f]{32}")
        .entropy(28)
        .yes(&["key=cu_¦96dc0323f307f2d9a6e62e5c821358b5", "see cu_¦96dc0323f307f2d9a6e62e5c821358b5 here"])
        .no(&["cu_…", "cu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
