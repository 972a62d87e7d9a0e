//! Identity, social media, work and maps: formats of their keys.

use midrail_core::Severity;

use super::{Rule, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("midrail-approver-key", "the key of someone who answers requests to people", &["mrk_"], r"mrk_[0-9a-f]{64}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&[
            "key=mr¦k_3f4315ef58bac3ca50e4bd605ccfcad07e2bbe16e5f72c458f08332d1fcba0bd",
            "my key is mr¦k_41f9c9232727c5480ff7de04c350b784522ec5d448789d94a755b2437c8527de, keep it",
        ])
        .no(&["mrk_…", "mrk_0000000000000000000000000000000000000000000000000000000000000000"]),
    prefix("facebook-token", "a Facebook access token", &["EAAC", "EAAM", "EAAB", "EAAD", "EAAE", "EAAF", "EAAG", "EAAH", "EAAJ", "EAAK", "EAAL", "EAAN", "EAAO", "EAAP", "EAAR", "EAAS", "EAAT", "EAAU", "EAAV", "EAAW", "EAAX", "EAAY", "EAAZ", "EAAI", "EAAQ"], r"EAA[A-Z][0-9A-Za-z]{60,}")
        .entropy(38)
        .severity(Severity::Critical)
        .yes(&["key=EAA¦THGjNPi8TrTtfWU6CR6HvyfrE3dYbc5aLuwRBkFPz4UUTUStwCcomUprVKkMn", "see EAA¦THGjNPi8TrTtfWU6CR6HvyfrE3dYbc5aLuwRBkFPz4UUTUStwCcomUprVKkMn here"])
        .no(&["EAAT…", "EAATxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("facebook-app-token", "a Facebook app token", &["facebook"], r"(?i:facebook)[^\n]{0,40}[^0-9A-Za-z]([0-9]{15,16}(?:\||%7[Cc])[0-9A-Za-z_-]{27,40})")
        .entropy(32)
        .any_case()
        .line()
        .yes(&["key=fac¦ebook=080974408083751%7cDeX50lRr49NHP1sX3GKGT3tc95m", "see fac¦ebook=080974408083751%7cDeX50lRr49NHP1sX3GKGT3tc95m here"])
        .no(&["facebook…", "facebookxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("facebook-secret", "a Facebook app secret", &["facebook", "fb_app", "fb_secret"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["facebook_api_token = \"fd6¦44aae7f30ca91f5f1d5ea68f03ccc\"", "\"facebook_api_token\": \"fd6¦44aae7f30ca91f5f1d5ea68f03ccc\""])
        .no(&["facebook_api_token = get_facebook_api_token()", "the facebook page says fd6¦44aae7f30ca91f5f1d5ea68f03ccc"]),
    prefix("instagram-token", "an Instagram token", &["IGQ"], r"IGQ[A-Z][0-9A-Za-z_-]{60,}")
        .entropy(38)
        .yes(&["key=IGQ¦FKNFplJgRhS0DAd41Foc0TOlLphVcGDVu6t0IsrONmkH83piMFMcpdUIZPiEE", "see IGQ¦FKNFplJgRhS0DAd41Foc0TOlLphVcGDVu6t0IsrONmkH83piMFMcpdUIZPiEE here"])
        .no(&["IGQ…", "IGQxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("twitter-key", "a Twitter key or secret", &["twitter"], r"(?:[0-9]{15,25}-[0-9A-Za-z]{20,40}|[0-9A-Za-z]{50}|[0-9A-Za-z]{45}|[0-9A-Za-z]{25})")
        .entropy(30)
        .yes(&["twitter_api_token = \"082¦326201457547-0XQ9bjLxDFbBb1pIrotp\"", "\"twitter_api_token\": \"082¦326201457547-0XQ9bjLxDFbBb1pIrotp\""])
        .no(&["twitter_api_token = get_twitter_api_token()", "the twitter page says 082¦326201457547-0XQ9bjLxDFbBb1pIrotp"]),
    prefix("twitter-bearer", "a Twitter bearer token", &["AAAAAAAAAAAAAAAAAAAA"], r"AAAAAAAAAAAAAAAAAAAA[0-9A-Za-z%]{60,}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=AAA¦AAAAAAAAAAAAAAAAAxupnrR6pOEj7pGPcU9GL0tc55tW7qmQkij17WcWnN1PA5RGnkAb0M0Rydacn", "see AAA¦AAAAAAAAAAAAAAAAAxupnrR6pOEj7pGPcU9GL0tc55tW7qmQkij17WcWnN1PA5RGnkAb0M0Rydacn here"])
        .no(&["AAAAAAAAAAAAAAAAAAAA…", "AAAAAAAAAAAAAAAAAAAAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("linkedin-secret", "a LinkedIn client id or secret", &["linkedin"], r"(?:[0-9A-Za-z]{16}|[0-9A-Za-z]{14}|WPL_AP[01]\.[0-9A-Za-z]{16}\.[0-9A-Za-z+/]{8}=?=?)")
        .entropy(26)
        .yes(&["linkedin_api_token = \"WPL¦_AP1.tM4a4K6UpwkXehca.y74cHBLa\"", "\"linkedin_api_token\": \"WPL¦_AP1.tM4a4K6UpwkXehca.y74cHBLa\""])
        .no(&["linkedin_api_token = get_linkedin_api_token()", "the linkedin page says WPL¦_AP1.tM4a4K6UpwkXehca.y74cHBLa"]),
    prefix("linkedin-secret", "a LinkedIn client secret", &["WPL_AP"], r"WPL_AP[01]\.[0-9A-Za-z]{16}\.[0-9A-Za-z+/]{4,8}={0,2}")
        .entropy(30)
        .yes(&["key=WPL¦_AP1.Pw8mhADo9Ciyoj9z.Ccdv", "see WPL¦_AP1.Pw8mhADo9Ciyoj9z.Ccdv here"])
        .no(&["WPL_AP…", "WPL_APxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("reddit-secret", "a Reddit secret", &["reddit"], r"[0-9A-Za-z_-]{27,30}")
        .entropy(32)
        .yes(&["reddit_api_token = \"TVl¦8K1PZaJi6GWppcE3U0dBpY8b\"", "\"reddit_api_token\": \"TVl¦8K1PZaJi6GWppcE3U0dBpY8b\""])
        .no(&["reddit_api_token = get_reddit_api_token()", "the reddit page says TVl¦8K1PZaJi6GWppcE3U0dBpY8b"]),
    prefix("pinterest-token", "a Pinterest token", &["pina_"], r"pina_[0-9A-Za-z]{60,}")
        .entropy(34)
        .yes(&["key=pin¦a_ADtWeHDmeYTrMMzbd8al9pxy5gUjEJMfM2dHg0oW0VNl0w6eTK4v06ItGxVQ", "see pin¦a_ADtWeHDmeYTrMMzbd8al9pxy5gUjEJMfM2dHg0oW0VNl0w6eTK4v06ItGxVQ here"])
        .no(&["pina_…", "pina_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("tiktok-token", "a TikTok access token", &["act."], r"act\.[0-9A-Za-z]{40,}(?:![0-9a-z]{4,})?")
        .entropy(36)
        .yes(&["key=act¦.JVeQZP4CjSIDlaBZiq4ALNw5nMNUTcLdvSLrbTbu", "see act¦.JVeQZP4CjSIDlaBZiq4ALNw5nMNUTcLdvSLrbTbu here"])
        .no(&["act.…", "act.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("spotify-secret", "a Spotify client secret", &["spotify"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["spotify_api_token = \"eb5¦e9036ef29ace44ba37fe232bac93a\"", "\"spotify_api_token\": \"eb5¦e9036ef29ace44ba37fe232bac93a\""])
        .no(&["spotify_api_token = get_spotify_api_token()", "the spotify page says eb5¦e9036ef29ace44ba37fe232bac93a"]),
    near("flickr-key", "a Flickr key", &["flickr"], r"(?:[0-9a-f]{32}|[0-9a-f]{16})")
        .entropy(28)
        .yes(&["flickr_api_token = \"3cd¦2b72e6eb15b69627f4cb1265b2f46\"", "\"flickr_api_token\": \"3cd¦2b72e6eb15b69627f4cb1265b2f46\""])
        .no(&["flickr_api_token = get_flickr_api_token()", "the flickr page says 3cd¦2b72e6eb15b69627f4cb1265b2f46"]),
    near("vk-token", "a VK token", &["vk_", "vkontakte"], r"(?:vk1\.a\.[0-9A-Za-z_-]{60,}|[0-9a-f]{85})")
        .entropy(34)
        .yes(&["vk_api_token = \"0b0¦7f550e4aa75e0e3f04780db1c64c7389e37716737cb98d6208024a34590786cb3133722f0c7471326f\"", "\"vk_api_token\": \"0b0¦7f550e4aa75e0e3f04780db1c64c7389e37716737cb98d6208024a34590786cb3133722f0c7471326f\""])
        .no(&["vk_api_token = get_vk_api_token()", "the vk_ page says 0b0¦7f550e4aa75e0e3f04780db1c64c7389e37716737cb98d6208024a34590786cb3133722f0c7471326f"]),
    prefix("vk-token", "a VK token", &["vk1.a."], r"vk1\.a\.[0-9A-Za-z_-]{60,}")
        .entropy(36)
        .yes(&["key=vk1¦.a.S87k1r6ZogTxwyuza3lwi7e3JEQDmtZHxR6HNBtNvw46UK8ykR2Eb8yswhTp", "see vk1¦.a.S87k1r6ZogTxwyuza3lwi7e3JEQDmtZHxR6HNBtNvw46UK8ykR2Eb8yswhTp here"])
        .no(&["vk1.a.…", "vk1.a.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("weibo-secret", "a Weibo secret", &["weibo"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["weibo_api_token = \"a55¦11fb47058e29ec8ba66f33bcc978e\"", "\"weibo_api_token\": \"a55¦11fb47058e29ec8ba66f33bcc978e\""])
        .no(&["weibo_api_token = get_weibo_api_token()", "the weibo page says a55¦11fb47058e29ec8ba66f33bcc978e"]),
    near("wechat-secret", "a WeChat app secret", &["wechat", "weixin", "wx_secret", "appsecret"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["wechat_api_token = \"bb4¦190be020b5f806abcfd763fb93017\"", "\"wechat_api_token\": \"bb4¦190be020b5f806abcfd763fb93017\""])
        .no(&["wechat_api_token = get_wechat_api_token()", "the wechat page says bb4¦190be020b5f806abcfd763fb93017"]),
    near("dingtalk-secret", "a DingTalk secret or token", &["dingtalk", "dingding"], r"(?:SEC[0-9a-f]{64}|[0-9a-f]{64})")
        .entropy(28)
        .yes(&["dingtalk_api_token = \"SEC¦ff2b7fb4c5b03c1732f334a0bab2f7431f365443325462f33e1dd3e85565fd2c\"", "\"dingtalk_api_token\": \"SEC¦ff2b7fb4c5b03c1732f334a0bab2f7431f365443325462f33e1dd3e85565fd2c\""])
        .no(&["dingtalk_api_token = get_dingtalk_api_token()", "the dingtalk page says SEC¦ff2b7fb4c5b03c1732f334a0bab2f7431f365443325462f33e1dd3e85565fd2c"]),
    near("lark-secret", "a Lark or Feishu secret", &["lark", "feishu"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["lark_api_token = \"9Ag¦rS3IYrtqKia5WzYng7jD7isT78rXM\"", "\"lark_api_token\": \"9Ag¦rS3IYrtqKia5WzYng7jD7isT78rXM\""])
        .no(&["lark_api_token = get_lark_api_token()", "the lark page says 9Ag¦rS3IYrtqKia5WzYng7jD7isT78rXM"]),
    inside("lark-webhook", "a Lark or Feishu webhook", &["/open-apis/bot/"], r"/open-apis/bot/v2/hook/([0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(28)
        .yes(&["key=/op¦en-apis/bot/v2/hook/5Df60eAe-2c9D-73E7-fB4A-497eFdF5dEa6", "see /op¦en-apis/bot/v2/hook/5Df60eAe-2c9D-73E7-fB4A-497eFdF5dEa6 here"])
        .no(&["/open-apis/bot/…", "/open-apis/bot/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("yandex-token", "a Yandex OAuth token", &["yandex"], r"(?:y0_[0-9A-Za-z_-]{50,}|A[Q0][0-9A-Za-z_-]{37,})")
        .entropy(32)
        .yes(&["yandex_api_token = \"y0_¦cUYVStmsxvCQrFlz6b6krrlqRMsgT1EjEAjgB7WPQBq1cvtXg4\"", "\"yandex_api_token\": \"y0_¦cUYVStmsxvCQrFlz6b6krrlqRMsgT1EjEAjgB7WPQBq1cvtXg4\""])
        .no(&["yandex_api_token = get_yandex_api_token()", "the yandex page says y0_¦cUYVStmsxvCQrFlz6b6krrlqRMsgT1EjEAjgB7WPQBq1cvtXg4"]),
    near("okta-token", "an Okta token", &["okta"], r"00[0-9A-Za-z_=-]{40}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["okta_api_token = \"00E¦QvdKQjCWIvYP8aoQwSxM11d3Tl5kY9QwyVLAnhK\"", "\"okta_api_token\": \"00E¦QvdKQjCWIvYP8aoQwSxM11d3Tl5kY9QwyVLAnhK\""])
        .no(&["okta_api_token = get_okta_api_token()", "the okta page says 00E¦QvdKQjCWIvYP8aoQwSxM11d3Tl5kY9QwyVLAnhK"]),
    inside("okta-token", "an Okta token in a header", &["SSWS "], r"SSWS (00[0-9A-Za-z_=-]{38,42})")
        .line()
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["Authorization: SSWS 00e¦KdNnFRIBXuDL7DxtpYlSXpfKtHF4vUCsMehGAkW", "okta: SSWS 00e¦KdNnFRIBXuDL7DxtpYlSXpfKtHF4vUCsMehGAkW"])
        .no(&["Authorization: SSWS ${TOKEN}", "SSWS 0000000000000000000000000000000000000000000000"]),
    prefix("ory-token", "an Ory token", &["ory_at_", "ory_rt_", "ory_pat_", "ory_ac_"], r"ory_(?:at|rt|pat|ac)_[0-9A-Za-z_-]{30,}")
        .entropy(32)
        .yes(&["key=ory¦_at_ZDe1f8rESQedUStPKR0CsTy4Qwb8DwkNhFdnXsiVpzz", "see ory¦_pat_ZDe1f8rESQedUStPKR0CsTy4Qwb8DwkNhFdnXsiVpzz here"])
        .no(&["ory_at_…", "ory_at_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("auth0-secret", "an Auth0 client secret", &["auth0"], r"[0-9A-Za-z_-]{64}")
        .entropy(36)
        .yes(&["auth0_api_token = \"KRp¦2ONmedYQPofKiMt5TTub2jgvVR2GEsgkHHw2FPvaaSy50yvVI1cZ3GpONAsQx\"", "\"auth0_api_token\": \"KRp¦2ONmedYQPofKiMt5TTub2jgvVR2GEsgkHHw2FPvaaSy50yvVI1cZ3GpONAsQx\""])
        .no(&["auth0_api_token = get_auth0_api_token()", "the auth0 page says KRp¦2ONmedYQPofKiMt5TTub2jgvVR2GEsgkHHw2FPvaaSy50yvVI1cZ3GpONAsQx"]),
    near("onelogin-secret", "a OneLogin secret", &["onelogin"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&["onelogin_api_token = \"5c9¦ef617870ff354d7a89e3d7a52f37270a5708375838f639fdd94f646720bf4\"", "\"onelogin_api_token\": \"5c9¦ef617870ff354d7a89e3d7a52f37270a5708375838f639fdd94f646720bf4\""])
        .no(&["onelogin_api_token = get_onelogin_api_token()", "the onelogin page says 5c9¦ef617870ff354d7a89e3d7a52f37270a5708375838f639fdd94f646720bf4"]),
    prefix("clerk-key", "a Clerk secret key", &["sk_live_", "sk_test_"], r"sk_(?:live|test)_[0-9A-Za-z]{40,}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=sk_¦test_ptRPz7akMJ52ktDNPjF1edysVXpxojapV0lC1PsV", "see sk_¦test_ptRPz7akMJ52ktDNPjF1edysVXpxojapV0lC1PsV here"])
        .no(&["sk_test_…", "sk_test_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("workos-key", "a WorkOS key", &["sk_live_", "sk_test_"], r"sk_(?:live|test)_a2V5[0-9A-Za-z+/]{40,}")
        .entropy(34)
        .severity(Severity::Critical)
        .yes(&["key=sk_¦live_a2V5KTSyaVF3rjKWDsNFNtojS0ckAJ68oZeCKdNJLIz9", "see sk_¦live_a2V5KTSyaVF3rjKWDsNFNtojS0ckAJ68oZeCKdNJLIz9 here"])
        .no(&["sk_live_…", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("stytch-secret", "a Stytch secret", &["secret-live-", "secret-test-"], r"secret-(?:live|test)-[0-9A-Za-z_-]{32,}=?")
        .entropy(32)
        .yes(&["key=sec¦ret-test-W5KXiEzo7zVJATVf1H6Rg24nhGiNTb5I", "see sec¦ret-test-W5KXiEzo7zVJATVf1H6Rg24nhGiNTb5I here"])
        .no(&["secret-test-…", "secret-test-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("recaptcha-secret", "a reCAPTCHA secret", &["6La", "6Lb", "6Lc", "6Ld", "6Le", "6Lf", "6Lg"], r"6L[0-9A-Za-z_-]{6}AAAAA[0-9A-Za-z_-]{27}")
        .entropy(34)
        .severity(Severity::Medium)
        .yes(&["key=6Lb¦vJ1T8AAAAAM7kYjMdgdakP8em1enbknRdAhMT", "see 6Lb¦vJ1T8AAAAAM7kYjMdgdakP8em1enbknRdAhMT here"])
        .no(&["6Lb…", "6Lbxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("hcaptcha-secret", "an hCaptcha secret", &["hcaptcha"], r"(?:0x[0-9A-Fa-f]{40}|ES_[0-9a-f]{32})")
        .entropy(28)
        .yes(&["hcaptcha_api_token = \"ES_¦0b176b88a4fe265d82aefd04c95a0968\"", "\"hcaptcha_api_token\": \"ES_¦0b176b88a4fe265d82aefd04c95a0968\""])
        .no(&["hcaptcha_api_token = get_hcaptcha_api_token()", "the hcaptcha page says ES_¦0b176b88a4fe265d82aefd04c95a0968"]),
    near("turnstile-secret", "a Turnstile secret", &["turnstile"], r"0x4[0-9A-Za-z_-]{30,}")
        .entropy(32)
        .yes(&["turnstile_api_token = \"0x4¦NaZPhy7ghsG3AvEMvmGkyaGpG87RJ5\"", "\"turnstile_api_token\": \"0x4¦NaZPhy7ghsG3AvEMvmGkyaGpG87RJ5\""])
        .no(&["turnstile_api_token = get_turnstile_api_token()", "the turnstile page says 0x4¦NaZPhy7ghsG3AvEMvmGkyaGpG87RJ5"]),
    prefix("adobe-secret", "an Adobe client secret", &["p8e-"], r"p8e-[0-9A-Za-z_-]{32}")
        .entropy(28)
        .yes(&["key=p8e¦-Bz6KK8kC0DeaphfJuVDiLEFuZ8BIlnD6", "see p8e¦-Bz6KK8kC0DeaphfJuVDiLEFuZ8BIlnD6 here"])
        .no(&["p8e-…", "p8e-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("adobe-client-id", "an Adobe client id", &["adobe"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Low)
        .yes(&["adobe_api_token = \"5fa¦24fd783d2949426ce69002503d7c7\"", "\"adobe_api_token\": \"5fa¦24fd783d2949426ce69002503d7c7\""])
        .no(&["adobe_api_token = get_adobe_api_token()", "the adobe page says 5fa¦24fd783d2949426ce69002503d7c7"]),
    prefix("linear-key", "a Linear key", &["lin_api_", "lin_oauth_"], r"lin_(?:api|oauth)_[0-9A-Za-z]{40,64}")
        .entropy(30)
        .yes(&["key=lin¦_api_IeVhAzm0c6y07xZOEIgSn0gIoR0Sgvb3trJoqrIg", "see lin¦_api_IeVhAzm0c6y07xZOEIgSn0gIoR0Sgvb3trJoqrIg here"])
        .no(&["lin_api_…", "lin_api_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("linear-secret", "a Linear client secret", &["linear"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["linear_api_token = \"3d0¦d189902953688efd1d83957a28698\"", "\"linear_api_token\": \"3d0¦d189902953688efd1d83957a28698\""])
        .no(&["linear_api_token = get_linear_api_token()", "the linear page says 3d0¦d189902953688efd1d83957a28698"]),
    near("asana-secret", "an Asana secret", &["asana"], r"(?:[0-9A-Za-z]{32}|[0-9]{16}|[0-9]/[0-9]{16}(?:/[0-9]{16})?:[0-9A-Za-z]{32})")
        .entropy(24)
        .yes(&["asana_api_token = \"ylk¦ENvD8nVj4qhO1QX6J5gY9KEYKjLAO\"", "\"asana_api_token\": \"ylk¦ENvD8nVj4qhO1QX6J5gY9KEYKjLAO\""])
        .no(&["asana_api_token = get_asana_api_token()", "the asana page says ylk¦ENvD8nVj4qhO1QX6J5gY9KEYKjLAO"]),
    prefix("clickup-token", "a ClickUp token", &["pk_"], r"pk_[0-9]{6,9}_[0-9A-Z]{32}")
        .entropy(32)
        .yes(&["key=pk_¦206353_P6WMWUVZFUQ7HTS731VVU4I8S1GOVFR8", "see pk_¦206353_P6WMWUVZFUQ7HTS731VVU4I8S1GOVFR8 here"])
        .no(&["pk_…", "pk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("trello-key", "a Trello key or token", &["trello"], r"(?:ATTA[0-9a-f]{72}|[0-9a-f]{64}|[0-9a-f]{32})")
        .entropy(28)
        .yes(&["trello_api_token = \"4f9¦a6be0b43dec8fe5747c84d8c4d4a77ff7f6ee9e9255b5d7e1c529bc0e47f3\"", "\"trello_api_token\": \"4f9¦a6be0b43dec8fe5747c84d8c4d4a77ff7f6ee9e9255b5d7e1c529bc0e47f3\""])
        .no(&["trello_api_token = get_trello_api_token()", "the trello page says 4f9¦a6be0b43dec8fe5747c84d8c4d4a77ff7f6ee9e9255b5d7e1c529bc0e47f3"]),
    prefix("trello-token", "a Trello token", &["ATTA"], r"ATTA[0-9a-f]{72}")
        .entropy(28)
        .yes(&["key=ATT¦A0300d7d660080bc7b1e59bb2f186174317f0063eb6ec8cfd932b34d1bdd47c1e58414d27", "see ATT¦A0300d7d660080bc7b1e59bb2f186174317f0063eb6ec8cfd932b34d1bdd47c1e58414d27 here"])
        .no(&["ATTA…", "ATTAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("monday-token", "a monday.com token", &["monday"], r"eyJhbGciOi[0-9A-Za-z_.-]{60,}")
        .entropy(38)
        .yes(&["monday_api_token = \"eyJ¦hbGciOipldqNltBzdwuFNssiugvBRIS8jZMdz9fdf2qWqLHGIsaSKU8cHkVDBJUtilL\"", "\"monday_api_token\": \"eyJ¦hbGciOipldqNltBzdwuFNssiugvBRIS8jZMdz9fdf2qWqLHGIsaSKU8cHkVDBJUtilL\""])
        .no(&["monday_api_token = get_monday_api_token()", "the monday page says eyJ¦hbGciOipldqNltBzdwuFNssiugvBRIS8jZMdz9fdf2qWqLHGIsaSKU8cHkVDBJUtilL"]),
    prefix("figma-token", "a Figma token", &["figd_", "figp_", "figo_", "figu_"], r"fig[doup]_[0-9A-Za-z_-]{40,}")
        .entropy(34)
        .yes(&["key=fig¦u_gYh2SZt1A5uhkriJVgEzHOUg7mMXZ1KwoF5VOxSF", "see fig¦u_gYh2SZt1A5uhkriJVgEzHOUg7mMXZ1KwoF5VOxSF here"])
        .no(&["figu_…", "figu_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("miro-token", "a Miro token", &["eyJtaXJvLm9yaWdpbiI6"], r"eyJtaXJvLm9yaWdpbiI6[0-9A-Za-z]{8,}_[0-9A-Za-z_-]{26,}")
        .entropy(34)
        .yes(&["key=eyJ¦taXJvLm9yaWdpbiI68x3t6Eo1_hkgp4WK8DJtjshfHIYKzb87a2t", "see eyJ¦taXJvLm9yaWdpbiI68x3t6Eo1_hkgp4WK8DJtjshfHIYKzb87a2t here"])
        .no(&["eyJtaXJvLm9yaWdpbiI6…", "eyJtaXJvLm9yaWdpbiI6xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("frameio-token", "a Frame.io token", &["fio-u-"], r"fio-u-[0-9A-Za-z_=-]{64}")
        .entropy(32)
        .yes(&["key=fio¦-u-j7Z3RCefGOlxZzZQxhQY9Z42ZoaK1mjSIMuABmlUNALXxCytGz3vLuDeKXeXibX6", "see fio¦-u-j7Z3RCefGOlxZzZQxhQY9Z42ZoaK1mjSIMuABmlUNALXxCytGz3vLuDeKXeXibX6 here"])
        .no(&["fio-u-…", "fio-u-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("typeform-token", "a Typeform token", &["tfp_"], r"tfp_[0-9A-Za-z_.=-]{40,60}")
        .entropy(32)
        .yes(&["key=tfp¦_ROOQdAPntS1a1xNRtwr4EYFtrpHzQ6tYjMDWecwm", "see tfp¦_ROOQdAPntS1a1xNRtwr4EYFtrpHzQ6tYjMDWecwm here"])
        .no(&["tfp_…", "tfp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("settlemint-token", "a SettleMint token", &["sm_pat_", "sm_aat_", "sm_sat_"], r"sm_[pas]at_[0-9A-Za-z]{16}")
        .entropy(28)
        .yes(&["key=sm_¦pat_FgwmlV1ADoU4NXQP", "see sm_¦pat_FgwmlV1ADoU4NXQP here"])
        .no(&["sm_pat_…", "sm_pat_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("hubspot-token", "a HubSpot private app token", &["pat-na1-", "pat-eu1-", "pat-na2-", "pat-ap1-"], r"pat-(?:na|eu|ap)[0-9]-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=pat¦-eu1-7BAFB929-0a2c-fE9B-34D3-d9e36dd5cB21", "see pat¦-eu1-7BAFB929-0a2c-fE9B-34D3-d9e36dd5cB21 here"])
        .no(&["pat-eu1-…", "pat-eu1-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("hubspot-key", "a HubSpot key", &["hubspot"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["hubspot_api_token = \"b99¦b14Ba-bd29-eB3f-7dAA-Ebd4BFecAB15\"", "\"hubspot_api_token\": \"b99¦b14Ba-bd29-eB3f-7dAA-Ebd4BFecAB15\""])
        .no(&["hubspot_api_token = get_hubspot_api_token()", "the hubspot page says b99¦b14Ba-bd29-eB3f-7dAA-Ebd4BFecAB15"]),
    prefix("salesforce-token", "a Salesforce access token", &["00D"], r"00D[0-9A-Za-z]{12,15}![0-9A-Za-z._]{80,}")
        .entropy(36)
        .severity(Severity::Critical)
        .yes(&["key=00D¦5bQOZuqSU0wP!t1o5t0HCWbzQoHdICghpcBdvliVBunAJvbKLZMdPbPDhh6fBaekH6ns829KBKs8UsdneX3rrIaJfd1Kz", "see 00D¦5bQOZuqSU0wP!t1o5t0HCWbzQoHdICghpcBdvliVBunAJvbKLZMdPbPDhh6fBaekH6ns829KBKs8UsdneX3rrIaJfd1Kz here"])
        .no(&["00D…", "00Dxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("salesforce-secret", "a Salesforce consumer secret", &["salesforce", "sfdc"], r"(?:[0-9A-Z]{64}|[0-9]{19}|3MVG9[0-9A-Za-z_.]{70,})")
        .entropy(28)
        .yes(&["salesforce_api_token = \"771¦HQTWRU6J08EBVS5I1807HPC9OTCS0NHYGK4PEQWWXB9KM7VAGQ4LTX0DY72TC\"", "\"salesforce_api_token\": \"771¦HQTWRU6J08EBVS5I1807HPC9OTCS0NHYGK4PEQWWXB9KM7VAGQ4LTX0DY72TC\""])
        .no(&["salesforce_api_token = get_salesforce_api_token()", "the salesforce page says 771¦HQTWRU6J08EBVS5I1807HPC9OTCS0NHYGK4PEQWWXB9KM7VAGQ4LTX0DY72TC"]),
    near("pipedrive-token", "a Pipedrive token", &["pipedrive"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["pipedrive_api_token = \"181¦06c56fe05bdf79d4b63174a88d5ff97bc2bb2\"", "\"pipedrive_api_token\": \"181¦06c56fe05bdf79d4b63174a88d5ff97bc2bb2\""])
        .no(&["pipedrive_api_token = get_pipedrive_api_token()", "the pipedrive page says 181¦06c56fe05bdf79d4b63174a88d5ff97bc2bb2"]),
    near("zoho-secret", "a Zoho secret", &["zoho"], r"(?:1000\.[0-9a-f]{32}\.[0-9a-f]{32}|[0-9a-f]{42})")
        .entropy(28)
        .yes(&["zoho_api_token = \"778¦5da2f595c044486e5abaffc5c97be1958c20465\"", "\"zoho_api_token\": \"778¦5da2f595c044486e5abaffc5c97be1958c20465\""])
        .no(&["zoho_api_token = get_zoho_api_token()", "the zoho page says 778¦5da2f595c044486e5abaffc5c97be1958c20465"]),
    prefix("zoho-token", "a Zoho token", &["1000."], r"1000\.[0-9a-f]{32}\.[0-9a-f]{32}")
        .entropy(28)
        .yes(&["key=100¦0.8efa38680071654850c9fb16625d7c6a.2cfa622b6838046aa1153f84e3f3b0e3", "see 100¦0.8efa38680071654850c9fb16625d7c6a.2cfa622b6838046aa1153f84e3f3b0e3 here"])
        .no(&["1000.…", "1000.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("squarespace-token", "a Squarespace token", &["squarespace"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["squarespace_api_token = \"5bC¦ED167-CfEb-e23a-19D1-5AdCbe3cD8B5\"", "\"squarespace_api_token\": \"5bC¦ED167-CfEb-e23a-19D1-5AdCbe3cD8B5\""])
        .no(&["squarespace_api_token = get_squarespace_api_token()", "the squarespace page says 5bC¦ED167-CfEb-e23a-19D1-5AdCbe3cD8B5"]),
    near("webflow-token", "a Webflow token", &["webflow"], r"[0-9a-f]{64}")
        .entropy(28)
        .yes(&["webflow_api_token = \"d3b¦77d07f7ebaa56a993d2bb8f98ec43b181a32075fe6819f13bbb45256932bc\"", "\"webflow_api_token\": \"d3b¦77d07f7ebaa56a993d2bb8f98ec43b181a32075fe6819f13bbb45256932bc\""])
        .no(&["webflow_api_token = get_webflow_api_token()", "the webflow page says d3b¦77d07f7ebaa56a993d2bb8f98ec43b181a32075fe6819f13bbb45256932bc"]),
    near("wix-key", "a Wix key", &["wix_api"], r"IST\.[0-9A-Za-z_-]{20,}\.[0-9A-Za-z_-]{100,}")
        .entropy(38)
        .yes(&["wix_api_api_token = \"IST¦.vayuiF0ouAOaSjB8tngQ.Ag8kMRSv0vp3yteH9BA0ElhdWbEAFsx3ADqFxh75qWkpsMu4YofEFkpDfpoBtoh354BdZUw0TMVni7FxTIq16RPJsgFZjkfDTxLI\"", "\"wix_api_api_token\": \"IST¦.vayuiF0ouAOaSjB8tngQ.Ag8kMRSv0vp3yteH9BA0ElhdWbEAFsx3ADqFxh75qWkpsMu4YofEFkpDfpoBtoh354BdZUw0TMVni7FxTIq16RPJsgFZjkfDTxLI\""])
        .no(&["wix_api_api_token = get_wix_api_api_token()", "the wix_api page says IST¦.vayuiF0ouAOaSjB8tngQ.Ag8kMRSv0vp3yteH9BA0ElhdWbEAFsx3ADqFxh75qWkpsMu4YofEFkpDfpoBtoh354BdZUw0TMVni7FxTIq16RPJsgFZjkfDTxLI"]),
    near("strava-secret", "a Strava secret", &["strava"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["strava_api_token = \"812¦aa0ff00036a76f5338732bfca7486c83c8fd9\"", "\"strava_api_token\": \"812¦aa0ff00036a76f5338732bfca7486c83c8fd9\""])
        .no(&["strava_api_token = get_strava_api_token()", "the strava page says 812¦aa0ff00036a76f5338732bfca7486c83c8fd9"]),
    near("fitbit-secret", "a Fitbit secret", &["fitbit"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["fitbit_api_token = \"590¦b1121eb3bc032051307f4aef21ff1\"", "\"fitbit_api_token\": \"590¦b1121eb3bc032051307f4aef21ff1\""])
        .no(&["fitbit_api_token = get_fitbit_api_token()", "the fitbit page says 590¦b1121eb3bc032051307f4aef21ff1"]),
    near("evernote-token", "an Evernote token", &["evernote"], r"S=s[0-9]+:U=[0-9a-f]+:E=[0-9a-f]+:C=[0-9a-f]+:P=[0-9a-f]+:A=[0-9a-z-]+:V=[0-9]:H=[0-9a-f]{32}")
        .entropy(32)
        .window(320)
        .yes(&["evernote_api_token = \"S=s¦6:U=8:E=2:C=5:P=b:A=y:V=8:H=58cbf37f5c37ceb1e997ac60d8cd7f36\"", "\"evernote_api_token\": \"S=s¦6:U=8:E=2:C=5:P=b:A=y:V=8:H=58cbf37f5c37ceb1e997ac60d8cd7f36\""])
        .no(&["evernote_api_token = get_evernote_api_token()", "the evernote page says S=s¦6:U=8:E=2:C=5:P=b:A=y:V=8:H=58cbf37f5c37ceb1e997ac60d8cd7f36"]),
    near("docusign-secret", "a DocuSign secret", &["docusign"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["docusign_api_token = \"9d2¦B47e0-45F0-1FD7-D7bB-6DEDA1db60e3\"", "\"docusign_api_token\": \"9d2¦B47e0-45F0-1FD7-D7bB-6DEDA1db60e3\""])
        .no(&["docusign_api_token = get_docusign_api_token()", "the docusign page says 9d2¦B47e0-45F0-1FD7-D7bB-6DEDA1db60e3"]),
    near("calendly-token", "a Calendly token", &["calendly"], r"eyJ[0-9A-Za-z_-]{30,}\.eyJ[0-9A-Za-z_-]{60,}\.[0-9A-Za-z_-]{40,}")
        .entropy(40)
        .window(640)
        .yes(&["calendly_api_token = \"eyJ¦EHCWBkMW7WC9tCaASVXkowbwpHwPMr.eyJuL2AlnoB0nzaPylokXnPYdMhtpZ06Sp5YV17zqWUZ9cfAfJkA0y0WOXmGZqz.wUGPK8M6WXI5BLSYTiid7XmR5cQJkmOwq8hXWSFD\"", "\"calendly_api_token\": \"eyJ¦EHCWBkMW7WC9tCaASVXkowbwpHwPMr.eyJuL2AlnoB0nzaPylokXnPYdMhtpZ06Sp5YV17zqWUZ9cfAfJkA0y0WOXmGZqz.wUGPK8M6WXI5BLSYTiid7XmR5cQJkmOwq8hXWSFD\""])
        .no(&["calendly_api_token = get_calendly_api_token()", "the calendly page says eyJ¦EHCWBkMW7WC9tCaASVXkowbwpHwPMr.eyJuL2AlnoB0nzaPylokXnPYdMhtpZ06Sp5YV17zqWUZ9cfAfJkA0y0WOXmGZqz.wUGPK8M6WXI5BLSYTiid7XmR5cQJkmOwq8hXWSFD"]),
    near("todoist-token", "a Todoist token", &["todoist"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["todoist_api_token = \"d53¦4e6134ee632435ab564fcaad45070cbb8a7fa\"", "\"todoist_api_token\": \"d53¦4e6134ee632435ab564fcaad45070cbb8a7fa\""])
        .no(&["todoist_api_token = get_todoist_api_token()", "the todoist page says d53¦4e6134ee632435ab564fcaad45070cbb8a7fa"]),
    prefix("mapbox-token", "a Mapbox token", &["pk.", "sk.", "tk."], r"[pst]k\.(?:[0-9A-Za-z]{60,}|eyJ1[0-9A-Za-z_-]{40,})\.[0-9A-Za-z_-]{22}")
        .entropy(38)
        .severity(Severity::Medium)
        .yes(&["key=sk.¦SNu9aWcEuOEcByvE1hbbjKF5OUZ3gu88YzQCrXrDQJTdKoA9m7c5dEpwS8Ft.wespMmS9U1bhB3r9G5h2Ug", "see sk.¦SNu9aWcEuOEcByvE1hbbjKF5OUZ3gu88YzQCrXrDQJTdKoA9m7c5dEpwS8Ft.wespMmS9U1bhB3r9G5h2Ug here", "sk.¦eyJ1IjoiZ3JlZW4iLCJhIjoiY2tNNzhRdTFWb1E5cEx6MnhSIn0.vj7FAc9QeWJKY40uvSwMFL"])
        .no(&["sk.…", "sk.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("here-key", "a HERE Maps key", &["here_api", "hereapi", "here_app"], r"[0-9A-Za-z_-]{43}")
        .entropy(34)
        .yes(&["here_api_api_token = \"Rhw¦EB8eiQuUi3ez3yqQ6J75wjkJnvyOxRrh1cqx6LGT\"", "\"here_api_api_token\": \"Rhw¦EB8eiQuUi3ez3yqQ6J75wjkJnvyOxRrh1cqx6LGT\""])
        .no(&["here_api_api_token = get_here_api_api_token()", "the here_api page says Rhw¦EB8eiQuUi3ez3yqQ6J75wjkJnvyOxRrh1cqx6LGT"]),
    near("tomtom-key", "a TomTom key", &["tomtom"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .severity(Severity::Medium)
        .yes(&["tomtom_api_token = \"pgN¦0h2tnPwA6JS1HYrg14ascIHHZio0g\"", "\"tomtom_api_token\": \"pgN¦0h2tnPwA6JS1HYrg14ascIHHZio0g\""])
        .no(&["tomtom_api_token = get_tomtom_api_token()", "the tomtom page says pgN¦0h2tnPwA6JS1HYrg14ascIHHZio0g"]),
    near("maptiler-key", "a MapTiler key", &["maptiler"], r"[0-9A-Za-z]{20}")
        .entropy(30)
        .severity(Severity::Medium)
        .yes(&["maptiler_api_token = \"tnk¦kYKfbrvazao20Gtsi\"", "\"maptiler_api_token\": \"tnk¦kYKfbrvazao20Gtsi\""])
        .no(&["maptiler_api_token = get_maptiler_api_token()", "the maptiler page says tnk¦kYKfbrvazao20Gtsi"]),
    near("opencage-key", "an OpenCage key", &["opencage"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["opencage_api_token = \"2e8¦6e2fb71c0fb91fe487f0e989f7ab5\"", "\"opencage_api_token\": \"2e8¦6e2fb71c0fb91fe487f0e989f7ab5\""])
        .no(&["opencage_api_token = get_opencage_api_token()", "the opencage page says 2e8¦6e2fb71c0fb91fe487f0e989f7ab5"]),
    near("openweather-key", "an OpenWeather key", &["openweather", "owm_"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["openweather_api_token = \"f25¦626aea5f1ba978396a229587c1acb\"", "\"openweather_api_token\": \"f25¦626aea5f1ba978396a229587c1acb\""])
        .no(&["openweather_api_token = get_openweather_api_token()", "the openweather page says f25¦626aea5f1ba978396a229587c1acb"]),
    near("ipstack-key", "an ipstack key", &["ipstack", "ipinfo", "fixer_api", "currencylayer"], r"(?:[0-9a-f]{32}|[0-9a-f]{14})")
        .entropy(26)
        .severity(Severity::Medium)
        .yes(&["ipstack_api_token = \"45e¦c8d5487e357\"", "\"ipstack_api_token\": \"45e¦c8d5487e357\""])
        .no(&["ipstack_api_token = get_ipstack_api_token()", "the ipstack page says 45e¦c8d5487e357"]),
    prefix("arcgis-key", "an ArcGIS key", &["AAPK"], r"AAPK[0-9a-f]{32}[0-9A-Za-z_-]{60,}")
        .entropy(36)
        .severity(Severity::Medium)
        .yes(&["key=AAP¦K6fce6cea2fdee8fcb26b90b93817ab19RmrA22JaIGcQZTkEkAeY2tcGmrg8m69ug01mWiEWyjOPZkMQPjYYXffMCIlV", "see AAP¦K6fce6cea2fdee8fcb26b90b93817ab19RmrA22JaIGcQZTkEkAeY2tcGmrg8m69ug01mWiEWyjOPZkMQPjYYXffMCIlV here"])
        .no(&["AAPK…", "AAPKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("amadeus-secret", "an Amadeus secret", &["amadeus"], r"[0-9A-Za-z]{16}")
        .entropy(28)
        .yes(&["amadeus_api_token = \"3Op¦qiEE6KkdaMytb\"", "\"amadeus_api_token\": \"3Op¦qiEE6KkdaMytb\""])
        .no(&["amadeus_api_token = get_amadeus_api_token()", "the amadeus page says 3Op¦qiEE6KkdaMytb"]),
    near("rapidapi-key", "a RapidAPI key", &["rapidapi", "x-rapidapi-key", "mashape"], r"[0-9A-Za-z]{50}")
        .entropy(34)
        .yes(&["rapidapi_api_token = \"e4v¦q2brEegiknkPe9odfmxprc6O86uIjKzZg0zQ9tM4QdYRhsA\"", "\"rapidapi_api_token\": \"e4v¦q2brEegiknkPe9odfmxprc6O86uIjKzZg0zQ9tM4QdYRhsA\""])
        .no(&["rapidapi_api_token = get_rapidapi_api_token()", "the rapidapi page says e4v¦q2brEegiknkPe9odfmxprc6O86uIjKzZg0zQ9tM4QdYRhsA"]),
    near("shodan-key", "a Shodan key", &["shodan"], r"[0-9A-Za-z]{32}")
        .entropy(34)
        .yes(&["shodan_api_token = \"Dc3¦uPxCm3sbXAvHrC348typo6ADgm4Av\"", "\"shodan_api_token\": \"Dc3¦uPxCm3sbXAvHrC348typo6ADgm4Av\""])
        .no(&["shodan_api_token = get_shodan_api_token()", "the shodan page says Dc3¦uPxCm3sbXAvHrC348typo6ADgm4Av"]),
    near("virustotal-key", "a VirusTotal key", &["virustotal", "vt_api", "x-apikey"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&["virustotal_api_token = \"8de¦e8d1ea608ed0916c2cea33b6cc6184e7fd8422a385ced613748c185001e51\"", "\"virustotal_api_token\": \"8de¦e8d1ea608ed0916c2cea33b6cc6184e7fd8422a385ced613748c185001e51\""])
        .no(&["virustotal_api_token = get_virustotal_api_token()", "the virustotal page says 8de¦e8d1ea608ed0916c2cea33b6cc6184e7fd8422a385ced613748c185001e51"]),
    near("hunter-key", "a Hunter key", &["hunter_api", "hunterio"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["hunter_api_api_token = \"d4a¦5f47e8df7490f3667468474bbbf14e62a97c2\"", "\"hunter_api_api_token\": \"d4a¦5f47e8df7490f3667468474bbbf14e62a97c2\""])
        .no(&["hunter_api_api_token = get_hunter_api_api_token()", "the hunter_api page says d4a¦5f47e8df7490f3667468474bbbf14e62a97c2"]),
    near("clearbit-key", "a Clearbit key", &["clearbit"], r"sk_[0-9a-f]{32}")
        .entropy(28)
        .yes(&["clearbit_api_token = \"sk_¦ae1d369c88450712a2d26b9fe5573f29\"", "\"clearbit_api_token\": \"sk_¦ae1d369c88450712a2d26b9fe5573f29\""])
        .no(&["clearbit_api_token = get_clearbit_api_token()", "the clearbit page says sk_¦ae1d369c88450712a2d26b9fe5573f29"]),
    near("tines-key", "a Tines or Zapier hook key", &["zapier"], r"[0-9A-Za-z_-]{30,}")
        .entropy(34)
        .yes(&["zapier_api_token = \"MAf¦DrXmgpFEUzdD43V2rdxA4A2QFir\"", "\"zapier_api_token\": \"MAf¦DrXmgpFEUzdD43V2rdxA4A2QFir\""])
        .no(&["zapier_api_token = get_zapier_api_token()", "the zapier page says MAf¦DrXmgpFEUzdD43V2rdxA4A2QFir"]),
    inside("zapier-webhook", "a Zapier hook", &["hooks.zapier.com/"], r"hooks\.zapier\.com/(hooks/catch/[0-9]+/[0-9A-Za-z]{5,})")
        .entropy(26)
        .yes(&["key=hoo¦ks.zapier.com/hooks/catch/6/3fuEZ", "see hoo¦ks.zapier.com/hooks/catch/6/3fuEZ here"])
        .no(&["hooks.zapier.com/…", "hooks.zapier.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("ifttt-webhook", "an IFTTT webhook key", &["maker.ifttt.com/"], r"maker\.ifttt\.com/trigger/[0-9A-Za-z_-]+/with/key/([0-9A-Za-z_-]{20,})")
        .entropy(28)
        .yes(&["key=mak¦er.ifttt.com/trigger/x/with/key/sOG1TjzB13Cd02h23kZi", "see mak¦er.ifttt.com/trigger/x/with/key/sOG1TjzB13Cd02h23kZi here"])
        .no(&["maker.ifttt.com/…", "maker.ifttt.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("defined-networking-token", "a Defined Networking token", &["dnkey"], r"dnkey-[0-9A-Za-z_=-]{26}-[0-9A-Za-z_=-]{52}")
        .entropy(32)
        .yes(&["dnkey = \"dnk¦ey-XWkNahnrPb1gAGZfAcIVLKZfij-LApeNgEfxXW2vAEMXYKx16FJpzjEBDuXMLlgiPbzqHgvIte5xQkj\"", "\"dnkey\": \"dnk¦ey-XWkNahnrPb1gAGZfAcIVLKZfij-LApeNgEfxXW2vAEMXYKx16FJpzjEBDuXMLlgiPbzqHgvIte5xQkj\""])
        .no(&["dnkey = get_dnkey()", "the dnkey page says dnk¦ey-XWkNahnrPb1gAGZfAcIVLKZfij-LApeNgEfxXW2vAEMXYKx16FJpzjEBDuXMLlgiPbzqHgvIte5xQkj"]),
    prefix("sidekiq-secret", "a Sidekiq secret", &["bundle_enterprise__contribsys__com", "bundle_gems__contribsys__com"], r"(?i:bundle_(?:enterprise|gems)__contribsys__com)\W{1,5}([0-9a-f]{8}:[0-9a-f]{8})")
        .entropy(20)
        .any_case()
        .line()
        .yes(&["key=bun¦dle_enterprise__contribsys__com=899ef737:e2729853", "see bun¦dle_enterprise__contribsys__com=899ef737:e2729853 here"])
        .no(&["bundle_enterprise__contribsys__com…", "bundle_enterprise__contribsys__comxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
