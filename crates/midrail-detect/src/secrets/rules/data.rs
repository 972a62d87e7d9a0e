//! Databases, storage and search: formats of their keys.

use midrail_core::Severity;

use super::{Rule, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("planetscale-token", "a PlanetScale token", &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"], r"pscale_(?:tkn|oauth|pw)_[0-9A-Za-z=_.-]{32,64}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=psc¦ale_oauth_j9h79fTeGNIFpz2nwDN6JzGv7TuofihK", "see psc¦ale_oauth_j9h79fTeGNIFpz2nwDN6JzGv7TuofihK here"])
        .no(&["pscale_oauth_…", "pscale_oauth_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("supabase-token", "a Supabase token", &["sbp_", "sb_secret_"], r"(?:sbp_[0-9a-f]{40}|sb_secret_[0-9A-Za-z_-]{31,})")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=sb_¦secret_EGDaSu9o1tS3YV3tVEUec5Jb9M7lmLU", "see sb_¦secret_EGDaSu9o1tS3YV3tVEUec5Jb9M7lmLU here"])
        .no(&["sb_secret_…", "sb_secret_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("neon-key", "a Neon key", &["napi_"], r"napi_[0-9a-z]{60,70}")
        .entropy(32)
        .yes(&["key=nap¦i_fb016yi6n12417c6ssswts2ry8sgh4gkye9m7wgjvb5tpz6yprph83c7f5zhaqqt", "see nap¦i_fb016yi6n12417c6ssswts2ry8sgh4gkye9m7wgjvb5tpz6yprph83c7f5zhaqqt here"])
        .no(&["napi_…", "napi_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("xata-key", "a Xata key", &["xau_"], r"xau_[0-9A-Za-z]{33,}")
        .entropy(32)
        .yes(&["key=xau¦_iMwBSQT7my4rvyDVrKjBj9RZgKkPTeS83", "see xau¦_iMwBSQT7my4rvyDVrKjBj9RZgKkPTeS83 here"])
        .no(&["xau_…", "xau_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("fauna-secret", "a Fauna secret", &["fnA"], r"fnA[A-Za-z][0-9A-Za-z_-]{36}")
        .entropy(34)
        .yes(&["key=fnA¦a8yyp14dApGInH9K0Y5eN2YeYQynBAC9iZKeg", "see fnA¦a8yyp14dApGInH9K0Y5eN2YeYQynBAC9iZKeg here"])
        .no(&["fnA…", "fnAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("clickhouse-key", "a ClickHouse Cloud secret", &["4b1d"], r"4b1d[0-9A-Za-z]{38}")
        .entropy(32)
        .yes(&["key=4b1¦dMB9Thsv4D0ced9WAcSn7NXuCzNQO6ejO6S8y9z", "see 4b1¦dMB9Thsv4D0ced9WAcSn7NXuCzNQO6ejO6S8y9z here"])
        .no(&["4b1d…", "4b1dxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("airtable-token", "an Airtable token", &["pat"], r"pat[0-9A-Za-z]{14}\.[0-9a-f]{64}")
        .entropy(32)
        .yes(&["key=pat¦7nacaDPMdOyJop.e0a1705931b4d56798b0017236090453a3ead90dc308730c58295667789d05fb", "see pat¦7nacaDPMdOyJop.e0a1705931b4d56798b0017236090453a3ead90dc308730c58295667789d05fb here"])
        .no(&["pat…", "patxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("airtable-key", "an Airtable key", &["airtable"], r"(?:key)?[0-9A-Za-z]{14,17}")
        .entropy(25)
        .yes(&["airtable_api_token = \"PfW¦EwPz4JFFZFZ\"", "\"airtable_api_token\": \"PfW¦EwPz4JFFZFZ\""])
        .no(&["airtable_api_token = get_airtable_api_token()", "the airtable page says PfW¦EwPz4JFFZFZ"]),
    prefix("notion-token", "a Notion token", &["ntn_"], r"ntn_[0-9A-Za-z]{40,50}")
        .entropy(32)
        .yes(&["key=ntn¦_63023901332VPqr5iO6JlqQjijd69dXQmIsmUEggMVU9qx", "see ntn¦_63023901332VPqr5iO6JlqQjijd69dXQmIsmUEggMVU9qx here"])
        .no(&["ntn_…", "ntn_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("notion-token", "a Notion token", &["secret_"], r"secret_[0-9A-Za-z]{43}")
        .entropy(36)
        .yes(&["key=sec¦ret_a7Fs8Xy3ylm9QVtuUP5TvSTnl7ROA4CEhnSmsOqtcdW", "see sec¦ret_a7Fs8Xy3ylm9QVtuUP5TvSTnl7ROA4CEhnSmsOqtcdW here"])
        .no(&["secret_…", "secret_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("algolia-key", "an Algolia key", &["algolia"], r"[0-9a-z]{32}")
        .entropy(30)
        .yes(&["algolia_api_token = \"pyh¦yv8d9prjxxi9hn862nf4g8durdcdz\"", "\"algolia_api_token\": \"pyh¦yv8d9prjxxi9hn862nf4g8durdcdz\""])
        .no(&["algolia_api_token = get_algolia_api_token()", "the algolia page says pyh¦yv8d9prjxxi9hn862nf4g8durdcdz"]),
    near("meilisearch-key", "a Meilisearch key", &["meili"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&["meili_api_token = \"78b¦43f4778fb82e140ba1ddf4ac18c399d1a75a087322d834580421a9032f7dd\"", "\"meili_api_token\": \"78b¦43f4778fb82e140ba1ddf4ac18c399d1a75a087322d834580421a9032f7dd\""])
        .no(&["meili_api_token = get_meili_api_token()", "the meili page says 78b¦43f4778fb82e140ba1ddf4ac18c399d1a75a087322d834580421a9032f7dd"]),
    near("typesense-key", "a Typesense key", &["typesense"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["typesense_api_token = \"CyP¦XIzRD2Ha9KIEG4hiKQh64fGgAlt77\"", "\"typesense_api_token\": \"CyP¦XIzRD2Ha9KIEG4hiKQh64fGgAlt77\""])
        .no(&["typesense_api_token = get_typesense_api_token()", "the typesense page says CyP¦XIzRD2Ha9KIEG4hiKQh64fGgAlt77"]),
    near("confluent-key", "a Confluent key or secret", &["confluent"], r"(?:[0-9A-Za-z+/]{64}|[0-9A-Za-z]{16})")
        .entropy(26)
        .yes(&["confluent_api_token = \"Xnb¦wZmyDit3Eh83S\"", "\"confluent_api_token\": \"Xnb¦wZmyDit3Eh83S\""])
        .no(&["confluent_api_token = get_confluent_api_token()", "the confluent page says Xnb¦wZmyDit3Eh83S"]),
    near("cloudant-password", "a Cloudant password", &["cloudant"], r"(?:[0-9a-f]{64}|[a-z]{24})")
        .entropy(20)
        .plain()
        .yes(&["cloudant_api_token = \"0cd¦edec547358b032302adf3497783b8561e18f76e51b4fef53109653afa6414\"", "\"cloudant_api_token\": \"0cd¦edec547358b032302adf3497783b8561e18f76e51b4fef53109653afa6414\""])
        .no(&["cloudant_api_token = get_cloudant_api_token()", "the cloudant page says 0cd¦edec547358b032302adf3497783b8561e18f76e51b4fef53109653afa6414"]),
    inside("cloudant-password", "a Cloudant password in a URL", &[".cloudant.com"], r"://[0-9A-Za-z_-]+:([0-9A-Fa-f]{64}|[a-z]{24})@")
        .lead(110)
        .entropy(20)
        .yes(&["key=://¦L:bhnfqjzpitpkvldiwsncdahf@host.cloudant.com", "see ://¦L:bhnfqjzpitpkvldiwsncdahf@host.cloudant.com here"])
        .no(&[".cloudant.com…", ".cloudant.comxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("contentful-token", "a Contentful token", &["CFPAT-"], r"CFPAT-[0-9A-Za-z_-]{43}")
        .entropy(32)
        .yes(&["key=CFP¦AT-aZtQZd23H2jppxrJ5RiU9JvZmYgW9e9UqfHy7MpRY0P", "see CFP¦AT-aZtQZd23H2jppxrJ5RiU9JvZmYgW9e9UqfHy7MpRY0P here"])
        .no(&["CFPAT-…", "CFPAT-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("contentful-token", "a Contentful token", &["contentful"], r"[0-9A-Za-z_=-]{43}")
        .entropy(32)
        .yes(&["contentful_api_token = \"6SG¦PIBosUYan4Wv4BQP5hjlP2nlHpq8RDzIO2Q23PKV\"", "\"contentful_api_token\": \"6SG¦PIBosUYan4Wv4BQP5hjlP2nlHpq8RDzIO2Q23PKV\""])
        .no(&["contentful_api_token = get_contentful_api_token()", "the contentful page says 6SG¦PIBosUYan4Wv4BQP5hjlP2nlHpq8RDzIO2Q23PKV"]),
    near("cloudinary-secret", "a Cloudinary secret", &["cloudinary"], r"[0-9A-Za-z_-]{27}")
        .entropy(32)
        .yes(&["cloudinary_api_token = \"B1S¦W67oEykQk7mmtZkfzzIZgUvw\"", "\"cloudinary_api_token\": \"B1S¦W67oEykQk7mmtZkfzzIZgUvw\""])
        .no(&["cloudinary_api_token = get_cloudinary_api_token()", "the cloudinary page says B1S¦W67oEykQk7mmtZkfzzIZgUvw"]),
    prefix("prismic-token", "a Prismic token", &["MC5"], r"MC5[0-9A-Za-z.-]{50,}")
        .entropy(36)
        .beside("rismic")
        .yes(&["xrismic_key = MC5¦Ii5UXxxRZRYvgQPHT5RtPvSnW6clQO9UFGSg1jW6BFUJIsMkmA"])
        .no(&["MC5…", "MC5xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sanity-token", "a Sanity token", &["skE"], r"skE[0-9A-Za-z]{77,}")
        .entropy(38)
        .beside("anity")
        .yes(&["xanity_key = skE¦yjj6oe8v3BanLRZdKOy4CLqxzlVLH3oRpNj7MzZ3EoDfXeJKiz85HCydP7cAup4z5psjYv9ifBDbk"])
        .no(&["skE…", "skExxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("dropbox-token", "a Dropbox access token", &["sl."], r"sl\.(?:u\.)?[0-9A-Za-z_-]{130,}")
        .entropy(38)
        .yes(&["key=sl.¦WJ9o9uFvlA3Q3LMQImH9EPlD4cRKYacZ1NpSlMC5ezbKbVt82iiGg62WpMfrEppqHUkpuxOkuS8BVxdzjS0CovbmXavoTpRuirBQL6ewl23JIHnwBdFIEYZIpBCdxwy6hx", "see sl.¦WJ9o9uFvlA3Q3LMQImH9EPlD4cRKYacZ1NpSlMC5ezbKbVt82iiGg62WpMfrEppqHUkpuxOkuS8BVxdzjS0CovbmXavoTpRuirBQL6ewl23JIHnwBdFIEYZIpBCdxwy6hx here"])
        .no(&["sl.…", "sl.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("dropbox-token", "a Dropbox token", &["dropbox"], r"(?:[0-9A-Za-z]{11}AAAAAAAAAA[0-9A-Za-z_=-]{43}|[0-9a-z]{15}|sl\.[0-9A-Za-z_=-]{135})")
        .entropy(25)
        .yes(&["dropbox_api_token = \"sl.¦r1clahtONpJtraXGSsSqiFRoxhETZ6zcSSm5AiJt88PVb1epU5rIkoMI4ZUstv35xYjAaesd85l5T908qTN66ZPN2oRqzELQhcNMcH7iA2za1LtsQPoV1GxcoBeM8GF5ZBae4i8\"", "\"dropbox_api_token\": \"sl.¦r1clahtONpJtraXGSsSqiFRoxhETZ6zcSSm5AiJt88PVb1epU5rIkoMI4ZUstv35xYjAaesd85l5T908qTN66ZPN2oRqzELQhcNMcH7iA2za1LtsQPoV1GxcoBeM8GF5ZBae4i8\""])
        .no(&["dropbox_api_token = get_dropbox_api_token()", "the dropbox page says sl.¦r1clahtONpJtraXGSsSqiFRoxhETZ6zcSSm5AiJt88PVb1epU5rIkoMI4ZUstv35xYjAaesd85l5T908qTN66ZPN2oRqzELQhcNMcH7iA2za1LtsQPoV1GxcoBeM8GF5ZBae4i8"]),
    near("box-secret", "a Box client secret", &["box_client", "box_secret", "boxapp"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["box_client_api_token = \"Bsc¦mlr15vcV9zqdlVo4JGD52VAlS5ISF\"", "\"box_client_api_token\": \"Bsc¦mlr15vcV9zqdlVo4JGD52VAlS5ISF\""])
        .no(&["box_client_api_token = get_box_client_api_token()", "the box_client page says Bsc¦mlr15vcV9zqdlVo4JGD52VAlS5ISF"]),
    near("mongodb-atlas-key", "a MongoDB Atlas private key", &["atlas", "mongodb"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["atlas_api_token = \"A31¦1b88F-c3dD-56Ae-0AC8-5B9b657c4Ac7\"", "\"atlas_api_token\": \"A31¦1b88F-c3dD-56Ae-0AC8-5B9b657c4Ac7\""])
        .no(&["atlas_api_token = get_atlas_api_token()", "the atlas page says A31¦1b88F-c3dD-56Ae-0AC8-5B9b657c4Ac7"]),
    prefix("snowflake-token", "a Snowflake token", &["ver:1-hint:"], r"ver:1-hint:[0-9]+-ETMsDgAAA[0-9A-Za-z+/]{60,}={0,2}")
        .entropy(36)
        .yes(&["key=ver¦:1-hint:0-ETMsDgAAAVRQDlFBQnj45bfdzKHenXfYzd9OpXEsd0uUryTX9BI5U0aNUnjkc50JM1ueV", "see ver¦:1-hint:0-ETMsDgAAAVRQDlFBQnj45bfdzKHenXfYzd9OpXEsd0uUryTX9BI5U0aNUnjkc50JM1ueV here"])
        .no(&["ver:1-hint:…", "ver:1-hint:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("upstash-token", "an Upstash token", &["upstash"], r"A[A-Z][0-9A-Za-z_-]{50,}={0,2}")
        .entropy(36)
        .yes(&["upstash_api_token = \"AJA¦tFRSSo45BLYydfwLKZyc6dOn83rZIffm7cvNs9ThfSveil89Z\"", "\"upstash_api_token\": \"AJA¦tFRSSo45BLYydfwLKZyc6dOn83rZIffm7cvNs9ThfSveil89Z\""])
        .no(&["upstash_api_token = get_upstash_api_token()", "the upstash page says AJA¦tFRSSo45BLYydfwLKZyc6dOn83rZIffm7cvNs9ThfSveil89Z"]),
    near("convex-key", "a Convex deploy key", &["convex"], r"(?:prod|dev):[a-z0-9-]+\|[0-9A-Za-z+/]{60,}={0,2}")
        .entropy(36)
        .yes(&["convex_api_token = \"dev¦:e|SvoVqFALSzjT1ReaJuCuGzIdczmqzJKCrBS8LzwDZyfyeCDqhxXHhATHYnG8\"", "\"convex_api_token\": \"dev¦:e|SvoVqFALSzjT1ReaJuCuGzIdczmqzJKCrBS8LzwDZyfyeCDqhxXHhATHYnG8\""])
        .no(&["convex_api_token = get_convex_api_token()", "the convex page says dev¦:e|SvoVqFALSzjT1ReaJuCuGzIdczmqzJKCrBS8LzwDZyfyeCDqhxXHhATHYnG8"]),
    prefix("dbt-token", "a dbt Cloud token", &["dbtc_", "dbtu_"], r"dbt[cu]_[0-9A-Za-z_-]{40,}")
        .entropy(34)
        .yes(&["key=dbt¦c_ze8a9DALnVHlaHVjt5PlrfcAaOqSmphwPnl9aupr", "see dbt¦c_ze8a9DALnVHlaHVjt5PlrfcAaOqSmphwPnl9aupr here"])
        .no(&["dbtc_…", "dbtc_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("mode-token", "a Mode token", &["mode_api", "modeanalytics"], r"[0-9a-f]{24}")
        .entropy(28)
        .yes(&["mode_api_api_token = \"8ea¦aea3f327a7217266aa3be\"", "\"mode_api_api_token\": \"8ea¦aea3f327a7217266aa3be\""])
        .no(&["mode_api_api_token = get_mode_api_api_token()", "the mode_api page says 8ea¦aea3f327a7217266aa3be"]),
    near("metabase-key", "a Metabase key", &["metabase", "mb_api"], r"mb_[0-9A-Za-z+/]{43}=")
        .entropy(36)
        .yes(&["metabase_api_token = \"mb_¦sS2kXXGuPyWJArRQSkKvvzAfQ8cIDyrgdFcYwFAoPzA=\"", "\"metabase_api_token\": \"mb_¦sS2kXXGuPyWJArRQSkKvvzAfQ8cIDyrgdFcYwFAoPzA=\""])
        .no(&["metabase_api_token = get_metabase_api_token()", "the metabase page says mb_¦sS2kXXGuPyWJArRQSkKvvzAfQ8cIDyrgdFcYwFAoPzA="]),
    prefix("astra-token", "an Astra DB token", &["AstraCS:"], r"AstraCS:[A-Za-z0-9]{24}:[0-9a-f]{64}")
        .entropy(34)
        .severity(Severity::Critical)
        .yes(&["key=Ast¦raCS:xTO9KwYCK2oqm1p0nZ1XSa7F:0dfd81d4f60169e64d6c5fbe75272e322623e27add8cc931ad79752e6a693123", "see Ast¦raCS:xTO9KwYCK2oqm1p0nZ1XSa7F:0dfd81d4f60169e64d6c5fbe75272e322623e27add8cc931ad79752e6a693123 here"])
        .no(&["AstraCS:…", "AstraCS:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("influx-token", "an InfluxDB token", &["apiv3_"], r"apiv3_[0-9A-Za-z_-]{80,}")
        .entropy(38)
        .yes(&["key=api¦v3_f5REvbWJZ2UMw4m8ZXRyHP3Bz4KqVg6ypXREzkqj4k1X3BUnIls4im0gnFOvqFbiHlHOx90TxqlerwZi", "see api¦v3_f5REvbWJZ2UMw4m8ZXRyHP3Bz4KqVg6ypXREzkqj4k1X3BUnIls4im0gnFOvqFbiHlHOx90TxqlerwZi here"])
        .no(&["apiv3_…", "apiv3_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("influx-token", "an InfluxDB token", &["influx"], r"[0-9A-Za-z_-]{86}==")
        .entropy(40)
        .yes(&["influx_api_token = \"GgK¦LUFQvybcaH4QYrujeDROHSpq70ew49tNRzb8MLmWNOsRAUwu7zzyOfxtYDFjscgeGdMyAKGmfJQYfhuQLfc==\"", "\"influx_api_token\": \"GgK¦LUFQvybcaH4QYrujeDROHSpq70ew49tNRzb8MLmWNOsRAUwu7zzyOfxtYDFjscgeGdMyAKGmfJQYfhuQLfc==\""])
        .no(&["influx_api_token = get_influx_api_token()", "the influx page says GgK¦LUFQvybcaH4QYrujeDROHSpq70ew49tNRzb8MLmWNOsRAUwu7zzyOfxtYDFjscgeGdMyAKGmfJQYfhuQLfc=="]),
    prefix("cockroach-key", "a CockroachDB Cloud key", &["CCDB1_"], r"CCDB1_[0-9A-Za-z]{22}_[0-9A-Za-z]{40}")
        .entropy(36)
        .yes(&["key=CCD¦B1_mCo1mZTCKI2WMZ5t0EBIwt_d7YnTu56xEI4xWo7iEriXfQOYqgcAe5hZOUOpN3q", "see CCD¦B1_mCo1mZTCKI2WMZ5t0EBIwt_d7YnTu56xEI4xWo7iEriXfQOYqgcAe5hZOUOpN3q here"])
        .no(&["CCDB1_…", "CCDB1_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("tinybird-token", "a Tinybird token", &["p.eyJ"], r"p\.eyJ[0-9A-Za-z_-]{30,}\.[0-9A-Za-z_-]{43}")
        .entropy(38)
        .yes(&["key=p.e¦yJAuBPyUkCMjTkF3MYQ983a7HL9D3CHM.toZl33wx0guW6k7LofeL60k6rpggz4KlbqqNsCqczIE", "see p.e¦yJAuBPyUkCMjTkF3MYQ983a7HL9D3CHM.toZl33wx0guW6k7LofeL60k6rpggz4KlbqqNsCqczIE here"])
        .no(&["p.eyJ…", "p.eyJxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("hasura-secret", "a Hasura admin secret", &["x-hasura-admin-secret", "hasura_graphql_admin_secret"], r#"[^\s"'\\,;()]{12,}"#)
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["x-hasura-admin-secret = \"PNG¦JCLTKJJYX\"", "\"x-hasura-admin-secret\": \"PNG¦JCLTKJJYX\""])
        .no(&["x-hasura-admin-secret = get_x_hasura_admin_secret()", "the x-hasura-admin-secret page says PNG¦JCLTKJJYX"]),
    near("firebase-key", "a Firebase cloud messaging key", &["firebase", "fcm"], r"AAAA[0-9A-Za-z_-]{7}:APA91b[0-9A-Za-z_-]{134}")
        .entropy(38)
        .severity(Severity::Critical)
        .yes(&["firebase_api_token = \"AAA¦AaQSKI67:APA91bkd9rFfLcuRsOeK07FzPCxhKtfmjvX7Y0gvE3QBbQNuiGqYdN8VVeknZBT7tBRpp00ldSHDe2dBagiZhjMVWvhPTLvfTxbbRUGVenusiMnAxQYbFsTwzJZILnD1Wb8ozvCkwb2x\"", "\"firebase_api_token\": \"AAA¦AaQSKI67:APA91bkd9rFfLcuRsOeK07FzPCxhKtfmjvX7Y0gvE3QBbQNuiGqYdN8VVeknZBT7tBRpp00ldSHDe2dBagiZhjMVWvhPTLvfTxbbRUGVenusiMnAxQYbFsTwzJZILnD1Wb8ozvCkwb2x\""])
        .no(&["firebase_api_token = get_firebase_api_token()", "the firebase page says AAA¦AaQSKI67:APA91bkd9rFfLcuRsOeK07FzPCxhKtfmjvX7Y0gvE3QBbQNuiGqYdN8VVeknZBT7tBRpp00ldSHDe2dBagiZhjMVWvhPTLvfTxbbRUGVenusiMnAxQYbFsTwzJZILnD1Wb8ozvCkwb2x"]),
    prefix("firebase-key", "a Firebase cloud messaging key", &["AAAA"], r"AAAA[0-9A-Za-z_-]{7}:APA91b[0-9A-Za-z_-]{134}")
        .entropy(38)
        .severity(Severity::Critical)
        .yes(&["key=AAA¦AaQSKI67:APA91bkd9rFfLcuRsOeK07FzPCxhKtfmjvX7Y0gvE3QBbQNuiGqYdN8VVeknZBT7tBRpp00ldSHDe2dBagiZhjMVWvhPTLvfTxbbRUGVenusiMnAxQYbFsTwzJZILnD1Wb8ozvCkwb2x", "see AAA¦AaQSKI67:APA91bkd9rFfLcuRsOeK07FzPCxhKtfmjvX7Y0gvE3QBbQNuiGqYdN8VVeknZBT7tBRpp00ldSHDe2dBagiZhjMVWvhPTLvfTxbbRUGVenusiMnAxQYbFsTwzJZILnD1Wb8ozvCkwb2x here"])
        .no(&["AAAA…", "AAAAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("kubernetes-bootstrap-token", "a Kubernetes bootstrap token", &["--token "], r"--token ([a-z0-9]{6}\.[a-z0-9]{16})")
        .entropy(25)
        .line()
        .yes(&["key=--t¦oken 09iqhd.3535q8szd4cke786", "see --t¦oken 09iqhd.3535q8szd4cke786 here"])
        .no(&["--token …", "--token xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
