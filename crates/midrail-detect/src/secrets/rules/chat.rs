//! Chat, mail and phone: formats of their keys.

use midrail_core::Severity;

use super::{Name, Rule, Verify, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("slack-token", "a Slack bot or user token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxo-", "xoxc-", "xoxd-"], r"xox[abprsocd]-[0-9A-Za-z%+/=_-]{10,}")
        .entropy(20)
        .severity(Severity::Critical)
        .verify(Verify::Slack)
        .yes(&["key=xox¦b-294817263504-BoznaiJOls", "see xox¦b-294817263504-BoznaiJOls here"])
        .no(&["xoxb-…", "xoxb-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("slack-token", "a Slack configuration token", &["xoxe-", "xoxe."], r"xoxe(?:-[0-9]-[0-9A-Za-z]{40,}|\.xox[bp]-[0-9]-[0-9A-Za-z]{40,})")
        .entropy(25)
        .severity(Severity::Critical)
        .yes(&["key=xox¦e.xoxp-5-tcZHDsexodRvHnEPhusGRB5Jqip1lq6nL5QlB0J3", "see xox¦e.xoxp-5-tcZHDsexodRvHnEPhusGRB5Jqip1lq6nL5QlB0J3 here"])
        .no(&["xoxe.…", "xoxe.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("slack-app-token", "a Slack app token", &["xapp-"], r"xapp-[0-9]-[0-9A-Z]+-[0-9]+-[0-9a-z]{20,}")
        .entropy(28)
        .severity(Severity::Critical)
        .any_case()
        .yes(&["key=xap¦p-8-T-3-h3jymdsk7hvbhea01r9h", "see xap¦p-8-T-3-h3jymdsk7hvbhea01r9h here"])
        .no(&["xapp-…", "xapp-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("slack-webhook", "a Slack webhook address", &["hooks.slack.com/"], r"hooks\.slack\.com/((?:services|workflows|triggers)/[0-9A-Za-z+/]{40,80})")
        .entropy(30)
        .yes(&["key=hoo¦ks.slack.com/services/qdO8BlzmhORJRX5p1LofrlhjWQxIAC3ciZjr5J41", "see hoo¦ks.slack.com/services/qdO8BlzmhORJRX5p1LofrlhjWQxIAC3ciZjr5J41 here"])
        .no(&["hooks.slack.com/…", "hooks.slack.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("discord-webhook", "a Discord webhook address", &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/([0-9]{17,20}/[0-9A-Za-z_-]{60,72})")
        .lead(16)
        .entropy(35)
        .yes(&["key=dis¦cord.com/api/webhooks/23666231760432370/vZ3wjcq9Q5aVzINI2eFRkAza93467zYdFbEevWgaIjJBGBZ5cQxqZ039pZVS", "see dis¦cord.com/api/webhooks/23666231760432370/vZ3wjcq9Q5aVzINI2eFRkAza93467zYdFbEevWgaIjJBGBZ5cQxqZ039pZVS here"])
        .no(&["/api/webhooks/…", "/api/webhooks/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("discord-secret", "a Discord client secret", &["discord"], r"[0-9A-Za-z_=-]{32}")
        .entropy(25)
        .plain()
        .yes(&["discord_api_token = \"bU7¦AxgAyXYPIcTjw55LRpuooMeLIFhtv\"", "\"discord_api_token\": \"bU7¦AxgAyXYPIcTjw55LRpuooMeLIFhtv\""])
        .no(&["discord_api_token = get_discord_api_token()", "the discord page says bU7¦AxgAyXYPIcTjw55LRpuooMeLIFhtv"]),
    near("discord-token", "a Discord token", &["discord"], r"[0-9A-Za-z_-]{23,28}\.[0-9A-Za-z_-]{6,7}\.[0-9A-Za-z_-]{27,38}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["discord_api_token = \"kHI¦2jdRbQQg5MpT07XnreMc.R03IsB.dkRC47SlFYT8vWCYT9aNpccP1xe\"", "\"discord_api_token\": \"kHI¦2jdRbQQg5MpT07XnreMc.R03IsB.dkRC47SlFYT8vWCYT9aNpccP1xe\""])
        .no(&["discord_api_token = get_discord_api_token()", "the discord page says kHI¦2jdRbQQg5MpT07XnreMc.R03IsB.dkRC47SlFYT8vWCYT9aNpccP1xe"]),
    inside("discord-token", "a Discord token that a bot logs in with", &["login(", ".run("], r#"(?:login|run)\(["']([MNO][0-9A-Za-z_-]{23,27}\.[0-9A-Za-z_-]{6,7}\.[0-9A-Za-z_-]{27,38})["']"#)
        .line()
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["client.login(\"MTA¦u8jzPde0IgxLd6GncfBAe.pfJBd0.Kh8oOOL8dKLzdocJ2isAjIhKtJ0RlgLKOmxgJT\")", "bot.run('MTA¦u8jzPde0IgxLd6GncfBAe.pfJBd0.Kh8oOOL8dKLzdocJ2isAjIhKtJ0RlgLKOmxgJT')"])
        .no(&["client.login(\"user.name.password\")", "loop.run(\"Module.method.argument_of_the_call_that_is_long\")"]),
    near("discord-key", "a Discord application key", &["discord"], r"[0-9a-f]{64}")
        .entropy(30)
        .severity(Severity::Medium)
        .yes(&["discord_api_token = \"ccd¦6fbcfbc42dbc2f11f62ecc4230941b9a6b864bf84a5b9097b7909800b6f50\"", "\"discord_api_token\": \"ccd¦6fbcfbc42dbc2f11f62ecc4230941b9a6b864bf84a5b9097b7909800b6f50\""])
        .no(&["discord_api_token = get_discord_api_token()", "the discord page says ccd¦6fbcfbc42dbc2f11f62ecc4230941b9a6b864bf84a5b9097b7909800b6f50"]),
    near("discord-id", "a Discord client id", &["discord"], r"[0-9]{17,19}")
        .entropy(20)
        .severity(Severity::Low)
        .name(Name::Key)
        .yes(&["discord_api_token = \"400¦31132532973000\"", "\"discord_api_token\": \"400¦31132532973000\""])
        .no(&["discord_api_token = get_discord_api_token()", "the discord page says 400¦31132532973000"]),
    inside("teams-webhook", "a Microsoft Teams webhook address", &[".webhook.office.com/"], r"\.webhook\.office\.com/(webhookb2/[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}@[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}/IncomingWebhook/[0-9a-f]{32}/[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(28)
        .window(320)
        .yes(&["key=.we¦bhook.office.com/webhookb2/4DC9edB8-214c-dC89-F7A2-5f2f2c5DdC8f@6Af6bCBd-da37-C79c-FC0F-3dCBc0aF8D4E/IncomingWebhook/2f6ca9b6ace15d4a1ef7d497f9049a4c/faD29E38-2E8f-A69F-C80a-f8b40Dc7Dc2a", "see .we¦bhook.office.com/webhookb2/4DC9edB8-214c-dC89-F7A2-5f2f2c5DdC8f@6Af6bCBd-da37-C79c-FC0F-3dCBc0aF8D4E/IncomingWebhook/2f6ca9b6ace15d4a1ef7d497f9049a4c/faD29E38-2E8f-A69F-C80a-f8b40Dc7Dc2a here"])
        .no(&[".webhook.office.com/…", ".webhook.office.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("google-chat-webhook", "a Google Chat webhook address", &["chat.googleapis.com/v1/spaces/"], r"chat\.googleapis\.com/v1/spaces/([0-9A-Za-z_-]{8,}/messages\?key=[0-9A-Za-z_-]{30,}&token=[0-9A-Za-z_-]{30,}(?:%3D)?)")
        .entropy(30)
        .yes(&["key=cha¦t.googleapis.com/v1/spaces/AOy1k4Ne/messages?key=6lPDhtLwpOHUoJMpoK2OjYp2r6J6AP&token=R8KEF05bAys8iKADGG1dAkwUt2BM8f", "see cha¦t.googleapis.com/v1/spaces/AOy1k4Ne/messages?key=6lPDhtLwpOHUoJMpoK2OjYp2r6J6AP&token=R8KEF05bAys8iKADGG1dAkwUt2BM8f here"])
        .no(&["chat.googleapis.com/v1/spaces/…", "chat.googleapis.com/v1/spaces/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("telegram-token", "a Telegram bot token", &[":AA", ":AE", ":AF", ":AG", ":AH"], r"[0-9]{5,16}:A[0-9A-Za-z_-]{34}")
        .lead(16)
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=231¦19:AH23yrdUXosEnsuSV1rrHWBrzEaGWA0jnQp", "see 231¦19:AH23yrdUXosEnsuSV1rrHWBrzEaGWA0jnQp here"])
        .no(&[":AH…", ":AHxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("mattermost-token", "a Mattermost token", &["mattermost"], r"[0-9a-z]{26}")
        .entropy(30)
        .yes(&["mattermost_api_token = \"y7z¦q6qiywvltlkfx7pqz90gxob\"", "\"mattermost_api_token\": \"y7z¦q6qiywvltlkfx7pqz90gxob\""])
        .no(&["mattermost_api_token = get_mattermost_api_token()", "the mattermost page says y7z¦q6qiywvltlkfx7pqz90gxob"]),
    near("rocketchat-token", "a Rocket.Chat token", &["rocketchat", "rocket_chat", "x-auth-token"], r"[0-9A-Za-z_-]{43}")
        .entropy(32)
        .yes(&["rocketchat_api_token = \"oiG¦YtP9rT0Po42ozmfK3kxUEppV0smoaxW1Kx368q75\"", "\"rocketchat_api_token\": \"oiG¦YtP9rT0Po42ozmfK3kxUEppV0smoaxW1Kx368q75\""])
        .no(&["rocketchat_api_token = get_rocketchat_api_token()", "the rocketchat page says oiG¦YtP9rT0Po42ozmfK3kxUEppV0smoaxW1Kx368q75"]),
    near("zulip-key", "a Zulip API key", &["zulip"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["zulip_api_token = \"bQx¦LWxuiyECDhszXG6UHM69uW5pKh1Ce\"", "\"zulip_api_token\": \"bQx¦LWxuiyECDhszXG6UHM69uW5pKh1Ce\""])
        .no(&["zulip_api_token = get_zulip_api_token()", "the zulip page says bQx¦LWxuiyECDhszXG6UHM69uW5pKh1Ce"]),
    prefix("matrix-token", "a Matrix access token", &["syt_"], r"syt_[0-9A-Za-z+/]{4,}_[0-9A-Za-z]{20}_[0-9A-Za-z]{6}")
        .entropy(32)
        .yes(&["key=syt¦_zTGw_qUq1Qarbv6IjCaOquTKj_v8sipv", "see syt¦_zTGw_qUq1Qarbv6IjCaOquTKj_v8sipv here"])
        .no(&["syt_…", "syt_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("viber-token", "a Viber token", &["viber"], r"[0-9a-f]{16}-[0-9a-f]{16}-[0-9a-f]{16}")
        .entropy(28)
        .yes(&["viber_api_token = \"4e1¦e185e63f366d2-3846dbc31e252545-f45b6aa21bd10d62\"", "\"viber_api_token\": \"4e1¦e185e63f366d2-3846dbc31e252545-f45b6aa21bd10d62\""])
        .no(&["viber_api_token = get_viber_api_token()", "the viber page says 4e1¦e185e63f366d2-3846dbc31e252545-f45b6aa21bd10d62"]),
    near("zoom-secret", "a Zoom key or secret", &["zoom"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["zoom_api_token = \"79H¦s5HrJ1KfGyYZCLHF8JOtv7AkjFkgb\"", "\"zoom_api_token\": \"79H¦s5HrJ1KfGyYZCLHF8JOtv7AkjFkgb\""])
        .no(&["zoom_api_token = get_zoom_api_token()", "the zoom page says 79H¦s5HrJ1KfGyYZCLHF8JOtv7AkjFkgb"]),
    prefix("twilio-key", "a Twilio API key", &["SK0", "SK1", "SK2", "SK3", "SK4", "SK5", "SK6", "SK7", "SK8", "SK9", "SKa", "SKb", "SKc", "SKd", "SKe", "SKf"], r"SK[0-9a-f]{32}")
        .entropy(28)
        .verify(Verify::Digit)
        .yes(&["key=SK2¦0f88e363f2f0b4bdaa0fa5d8296df41", "see SK2¦0f88e363f2f0b4bdaa0fa5d8296df41 here"])
        .no(&["SK2…", "SK2xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("twilio-account", "a Twilio account id", &["AC0", "AC1", "AC2", "AC3", "AC4", "AC5", "AC6", "AC7", "AC8", "AC9", "ACa", "ACb", "ACc", "ACd", "ACe", "ACf"], r"AC[0-9a-f]{32}")
        .severity(Severity::Low)
        .plain()
        .yes(&["key=ACc¦5e2b334f2303a2c43c8da33ee2db49c", "see ACc¦5e2b334f2303a2c43c8da33ee2db49c here"])
        .no(&["ACc…"]),
    near("twilio-token", "a Twilio authentication token", &["twilio"], r"[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["twilio_api_token = \"1d6¦0d65c2769d1b232c1ec88010e0579\"", "\"twilio_api_token\": \"1d6¦0d65c2769d1b232c1ec88010e0579\""])
        .no(&["twilio_api_token = get_twilio_api_token()", "the twilio page says 1d6¦0d65c2769d1b232c1ec88010e0579"]),
    prefix("sendgrid-key", "a SendGrid key", &["SG."], r"SG\.[0-9A-Za-z_=.-]{66}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["key=SG.¦moHIT09qb2kFsauSbBYeIB8eia6G9ZREdrBceW0bwrMZBH8L4fqrl72u8v6qvQX7EU", "see SG.¦moHIT09qb2kFsauSbBYeIB8eia6G9ZREdrBceW0bwrMZBH8L4fqrl72u8v6qvQX7EU here"])
        .no(&["SG.…", "SG.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("mailgun-key", "a Mailgun key", &["key-"], r"key-[0-9a-f]{32}")
        .entropy(28)
        .yes(&["key=key¦-09e200feebee98949da4e9e2401c506d", "see key¦-09e200feebee98949da4e9e2401c506d here"])
        .no(&["key-…", "key-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("mailgun-public-key", "a Mailgun validation key", &["pubkey-"], r"pubkey-[0-9a-f]{32}")
        .entropy(28)
        .severity(Severity::Medium)
        .yes(&["key=pub¦key-f49c50f9528ee9547bf3a899482909ef", "see pub¦key-f49c50f9528ee9547bf3a899482909ef here"])
        .no(&["pubkey-…", "pubkey-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("mailgun-signing-key", "a Mailgun signing key", &["mailgun"], r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}")
        .entropy(25)
        .yes(&["mailgun_api_token = \"1e4¦0feff41fa912dad799a4ebca73e64-70191fed-b7f1b934\"", "\"mailgun_api_token\": \"1e4¦0feff41fa912dad799a4ebca73e64-70191fed-b7f1b934\""])
        .no(&["mailgun_api_token = get_mailgun_api_token()", "the mailgun page says 1e4¦0feff41fa912dad799a4ebca73e64-70191fed-b7f1b934"]),
    inside("mailchimp-key", "a Mailchimp key", &["-us1", "-us2", "-us3", "-us4", "-us5", "-us6", "-us7", "-us8", "-us9"], r"[0-9a-f]{32}-us[0-9]{1,2}")
        .lead(32)
        .entropy(28)
        .yes(&["key=56d¦d4216e8a5f8d95d7940f33d1d00d6-us6", "see 56d¦d4216e8a5f8d95d7940f33d1d00d6-us6 here"])
        .no(&["-us6…", "-us6xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("mandrill-key", "a Mandrill key", &["md-"], r"md-[0-9A-Za-z_-]{22}")
        .entropy(32)
        .verify(Verify::Digit)
        .yes(&["key=md-¦ZdSfcw8sThABQXePPI9UCL", "see md-¦ZdSfcw8sThABQXePPI9UCL here"])
        .no(&["md-…", "md-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("sendinblue-key", "a Brevo key", &["xkeysib-"], r"xkeysib-[0-9a-f]{64}-[0-9A-Za-z]{16}")
        .entropy(32)
        .yes(&["key=xke¦ysib-3fdb2b7adb3caa7a764b58476670a6d7709ed299c1dd592b0c7b1fefc80640e0-KpLICF6xLSy3ov3V", "see xke¦ysib-3fdb2b7adb3caa7a764b58476670a6d7709ed299c1dd592b0c7b1fefc80640e0-KpLICF6xLSy3ov3V here"])
        .no(&["xkeysib-…", "xkeysib-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("brevo-smtp-key", "a Brevo SMTP key", &["xsmtpsib-"], r"xsmtpsib-[0-9a-f]{64}-[0-9A-Za-z]{16}")
        .entropy(32)
        .yes(&["key=xsm¦tpsib-c4a546f376b7aacd27e17a46a9e91b04bf07fc22d79ffd290b9dfdc265f164cb-wrCQxuzbALgZH11T", "see xsm¦tpsib-c4a546f376b7aacd27e17a46a9e91b04bf07fc22d79ffd290b9dfdc265f164cb-wrCQxuzbALgZH11T here"])
        .no(&["xsmtpsib-…", "xsmtpsib-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("resend-key", "a Resend key", &["re_"], r"re_[0-9A-Za-z]{8}_[0-9A-Za-z]{24}")
        .entropy(32)
        .yes(&["key=re_¦FjSHHUfM_kwbm7U3hEj09wFgSBrZdSvfv", "see re_¦FjSHHUfM_kwbm7U3hEj09wFgSBrZdSvfv here"])
        .no(&["re_…", "re_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("postmark-token", "a Postmark server token", &["postmark"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["postmark_api_token = \"DbE¦Eb14d-Fdc3-C9b0-5dca-60ba1Bd64b8e\"", "\"postmark_api_token\": \"DbE¦Eb14d-Fdc3-C9b0-5dca-60ba1Bd64b8e\""])
        .no(&["postmark_api_token = get_postmark_api_token()", "the postmark page says DbE¦Eb14d-Fdc3-C9b0-5dca-60ba1Bd64b8e"]),
    near("mailjet-secret", "a Mailjet secret", &["mailjet"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["mailjet_api_token = \"4b8¦b917d26b0912e5e10a628e83394ef\"", "\"mailjet_api_token\": \"4b8¦b917d26b0912e5e10a628e83394ef\""])
        .no(&["mailjet_api_token = get_mailjet_api_token()", "the mailjet page says 4b8¦b917d26b0912e5e10a628e83394ef"]),
    near("sparkpost-key", "a SparkPost key", &["sparkpost"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["sparkpost_api_token = \"167¦5c9e57862540af42f437f989cf808140bd37d\"", "\"sparkpost_api_token\": \"167¦5c9e57862540af42f437f989cf808140bd37d\""])
        .no(&["sparkpost_api_token = get_sparkpost_api_token()", "the sparkpost page says 167¦5c9e57862540af42f437f989cf808140bd37d"]),
    prefix("mailersend-token", "a MailerSend token", &["mlsn."], r"mlsn\.[0-9a-f]{64}")
        .entropy(30)
        .yes(&["key=mls¦n.c64acf7e447fc1b033dd4c8d752556428f15f84fb0cd07495797935e7be52286", "see mls¦n.c64acf7e447fc1b033dd4c8d752556428f15f84fb0cd07495797935e7be52286 here"])
        .no(&["mlsn.…", "mlsn.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("klaviyo-key", "a Klaviyo private key", &["pk_"], r"pk_[0-9a-f]{34}")
        .entropy(28)
        .yes(&["key=pk_¦1c05bb3d3cd7d6ea446ba066453a037b48", "see pk_¦1c05bb3d3cd7d6ea446ba066453a037b48 here"])
        .no(&["pk_…", "pk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("courier-key", "a Courier authorization token", &["pk_prod_"], r"pk_prod_[0-9A-Z]{28}")
        .entropy(30)
        .yes(&["key=pk_¦prod_MBWS66ZETRQK6XHF1SJK7NTS6LRE", "see pk_¦prod_MBWS66ZETRQK6XHF1SJK7NTS6LRE here"])
        .no(&["pk_prod_…", "pk_prod_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("vonage-secret", "a Vonage or Nexmo secret", &["nexmo", "vonage"], r"[0-9A-Za-z]{16}")
        .entropy(28)
        .yes(&["nexmo_api_token = \"0ml¦bjv2JG5lHic9R\"", "\"nexmo_api_token\": \"0ml¦bjv2JG5lHic9R\""])
        .no(&["nexmo_api_token = get_nexmo_api_token()", "the nexmo page says 0ml¦bjv2JG5lHic9R"]),
    near("plivo-token", "a Plivo token", &["plivo"], r"[0-9A-Za-z]{40}")
        .entropy(30)
        .yes(&["plivo_api_token = \"Wrj¦rfiercmYyCQ1NkM0kWOmL5yNAzAPeWR3SL9jt\"", "\"plivo_api_token\": \"Wrj¦rfiercmYyCQ1NkM0kWOmL5yNAzAPeWR3SL9jt\""])
        .no(&["plivo_api_token = get_plivo_api_token()", "the plivo page says Wrj¦rfiercmYyCQ1NkM0kWOmL5yNAzAPeWR3SL9jt"]),
    near("messagebird-key", "a MessageBird key", &["messagebird", "message_bird", "message-bird"], r"(?:[0-9A-Za-z]{25}|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(26)
        .yes(&["messagebird_api_token = \"5vh¦cy8xNnePXPEmvgdi5H5kFK\"", "\"messagebird_api_token\": \"5vh¦cy8xNnePXPEmvgdi5H5kFK\""])
        .no(&["messagebird_api_token = get_messagebird_api_token()", "the messagebird page says 5vh¦cy8xNnePXPEmvgdi5H5kFK"]),
    prefix("telnyx-key", "a Telnyx key", &["KEY01"], r"KEY01[0-9A-Za-z]{30}_[0-9A-Za-z]{22}")
        .entropy(32)
        .yes(&["key=KEY¦01bwBWVbcVAtYBnTzGKTsKXGO0L93oEK_vAsocKHi9vV6SbeqP08Cb9", "see KEY¦01bwBWVbcVAtYBnTzGKTsKXGO0L93oEK_vAsocKHi9vV6SbeqP08Cb9 here"])
        .no(&["KEY01…", "KEY01xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("pushover-token", "a Pushover token", &["pushover"], r"[au][0-9A-Za-z]{29}")
        .entropy(30)
        .yes(&["pushover_api_token = \"ag4¦xGtm4qqETTYPugovseVk8oRMG7R\"", "\"pushover_api_token\": \"ag4¦xGtm4qqETTYPugovseVk8oRMG7R\""])
        .no(&["pushover_api_token = get_pushover_api_token()", "the pushover page says ag4¦xGtm4qqETTYPugovseVk8oRMG7R"]),
    near("onesignal-key", "a OneSignal key", &["onesignal"], r"(?:[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}|[0-9A-Za-z+/]{48})")
        .entropy(28)
        .yes(&["onesignal_api_token = \"b5c¦3A24E-A3fE-ceEB-42A2-9e379EEfdf28\"", "\"onesignal_api_token\": \"b5c¦3A24E-A3fE-ceEB-42A2-9e379EEfdf28\""])
        .no(&["onesignal_api_token = get_onesignal_api_token()", "the onesignal page says b5c¦3A24E-A3fE-ceEB-42A2-9e379EEfdf28"]),
    prefix("onesignal-key", "a OneSignal app key", &["os_v2_app_"], r"os_v2_app_[a-z2-7]{100,}")
        .entropy(32)
        .yes(&["key=os_¦v2_app_undpba3jduw4sm7ocfdzg3xzndulfi3ujtwpkomjz7qlgqozzo55ttbzwtxre5pauyy2kzxbod73xpow6pp5h3uu6liul7kf7y65", "see os_¦v2_app_undpba3jduw4sm7ocfdzg3xzndulfi3ujtwpkomjz7qlgqozzo55ttbzwtxre5pauyy2kzxbod73xpow6pp5h3uu6liul7kf7y65 here"])
        .no(&["os_v2_app_…", "os_v2_app_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("pubnub-key", "a PubNub secret or publish key", &["sec-c-", "pub-c-", "sub-c-"], r"(?:sec-c-[0-9A-Za-z+/]{48}|[ps]ub-c-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(28)
        .yes(&["key=sub¦-c-1ABFaa1b-909D-726E-D27C-bDbD2EdBB919", "see sub¦-c-1ABFaa1b-909D-726E-D27C-bDbD2EdBB919 here"])
        .no(&["sub-c-…", "sub-c-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("pusher-secret", "a Pusher secret", &["pusher"], r"[0-9a-f]{20}")
        .entropy(28)
        .yes(&["pusher_api_token = \"2ca¦69426f98db4e78f1b\"", "\"pusher_api_token\": \"2ca¦69426f98db4e78f1b\""])
        .no(&["pusher_api_token = get_pusher_api_token()", "the pusher page says 2ca¦69426f98db4e78f1b"]),
    near("ably-key", "an Ably key", &["ably"], r"[0-9A-Za-z_-]{6,7}\.[0-9A-Za-z_-]{6}:[0-9A-Za-z_-]{43}")
        .entropy(32)
        .yes(&["ably_api_token = \"uBU¦RHz.VH1Ugu:0bMMjExyuEpCjdRQniiYWP7jV9OEOhI9Br3izLPMekS\"", "\"ably_api_token\": \"uBU¦RHz.VH1Ugu:0bMMjExyuEpCjdRQniiYWP7jV9OEOhI9Br3izLPMekS\""])
        .no(&["ably_api_token = get_ably_api_token()", "the ably page says uBU¦RHz.VH1Ugu:0bMMjExyuEpCjdRQniiYWP7jV9OEOhI9Br3izLPMekS"]),
    prefix("intercom-token", "an Intercom token", &["dG9rO"], r"dG9rO[0-9A-Za-z+/]{40,}={0,2}")
        .entropy(35)
        .yes(&["key=dG9¦rOQIIkzSzrjuunZz1AXA3AE50oZvQAxlpB6WNUrTse", "see dG9¦rOQIIkzSzrjuunZz1AXA3AE50oZvQAxlpB6WNUrTse here"])
        .no(&["dG9rO…", "dG9rOxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("intercom-token", "an Intercom key", &["intercom"], r"[0-9A-Za-z_=-]{60}")
        .entropy(32)
        .yes(&["intercom_api_token = \"XiG¦7LvX5PTgRN17Ce26Fe1FMDgvBTbs6lI2ypYhGI8WvXGs4NGovSDqZmqET\"", "\"intercom_api_token\": \"XiG¦7LvX5PTgRN17Ce26Fe1FMDgvBTbs6lI2ypYhGI8WvXGs4NGovSDqZmqET\""])
        .no(&["intercom_api_token = get_intercom_api_token()", "the intercom page says XiG¦7LvX5PTgRN17Ce26Fe1FMDgvBTbs6lI2ypYhGI8WvXGs4NGovSDqZmqET"]),
    near("zendesk-secret", "a Zendesk secret", &["zendesk"], r"[0-9A-Za-z]{40}")
        .entropy(30)
        .yes(&["zendesk_api_token = \"MqP¦SBfcppgTcHzMLB4yFQOWH1tgDxQEfZfbrAGLS\"", "\"zendesk_api_token\": \"MqP¦SBfcppgTcHzMLB4yFQOWH1tgDxQEfZfbrAGLS\""])
        .no(&["zendesk_api_token = get_zendesk_api_token()", "the zendesk page says MqP¦SBfcppgTcHzMLB4yFQOWH1tgDxQEfZfbrAGLS"]),
    near("freshdesk-key", "a Freshdesk key", &["freshdesk", "freshservice"], r"[0-9A-Za-z]{20}")
        .entropy(30)
        .yes(&["freshdesk_api_token = \"Yij¦e9uH4HYFa5gI1ZpH1\"", "\"freshdesk_api_token\": \"Yij¦e9uH4HYFa5gI1ZpH1\""])
        .no(&["freshdesk_api_token = get_freshdesk_api_token()", "the freshdesk page says Yij¦e9uH4HYFa5gI1ZpH1"]),
    near("crisp-key", "a Crisp key", &["crisp"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&["crisp_api_token = \"2ab¦094220a1289dc254656a48ba9d71f2c39ce1b6d84bb5f8194e6911dca7dcc\"", "\"crisp_api_token\": \"2ab¦094220a1289dc254656a48ba9d71f2c39ce1b6d84bb5f8194e6911dca7dcc\""])
        .no(&["crisp_api_token = get_crisp_api_token()", "the crisp page says 2ab¦094220a1289dc254656a48ba9d71f2c39ce1b6d84bb5f8194e6911dca7dcc"]),
    near("drift-token", "a Drift token", &["drift"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["drift_api_token = \"TfL¦Yk0DrAgp927kqr7NdrFzPv2HPCh5K\"", "\"drift_api_token\": \"TfL¦Yk0DrAgp927kqr7NdrFzPv2HPCh5K\""])
        .no(&["drift_api_token = get_drift_api_token()", "the drift page says TfL¦Yk0DrAgp927kqr7NdrFzPv2HPCh5K"]),
    near("sendbird-token", "a Sendbird token", &["sendbird"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&["sendbird_api_token = \"d92¦5041d84bfbabfd85136cd5b636021ecf30789\"", "\"sendbird_api_token\": \"d92¦5041d84bfbabfd85136cd5b636021ecf30789\""])
        .no(&["sendbird_api_token = get_sendbird_api_token()", "the sendbird page says d92¦5041d84bfbabfd85136cd5b636021ecf30789"]),
    near("stream-secret", "a Stream chat secret", &["getstream", "stream_chat", "stream_api"], r"[0-9a-z]{60,72}")
        .entropy(32)
        .yes(&["getstream_api_token = \"l1p¦0e1efp2ttgf9ww0d6qyip6apjy8hd0kwoj3odxn3471uapj96fcw9yli0\"", "\"getstream_api_token\": \"l1p¦0e1efp2ttgf9ww0d6qyip6apjy8hd0kwoj3odxn3471uapj96fcw9yli0\""])
        .no(&["getstream_api_token = get_getstream_api_token()", "the getstream page says l1p¦0e1efp2ttgf9ww0d6qyip6apjy8hd0kwoj3odxn3471uapj96fcw9yli0"]),
    prefix("twitch-token", "a Twitch OAuth token", &["oauth:"], r"oauth:[0-9a-z]{30}")
        .entropy(30)
        .yes(&["key=oau¦th:wxi9nqhg5uv06keilpr3kd33i4homm", "see oau¦th:wxi9nqhg5uv06keilpr3kd33i4homm here"])
        .no(&["oauth:…", "oauth:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
