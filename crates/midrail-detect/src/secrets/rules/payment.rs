//! Payment, trade and banks: formats of their keys.

use midrail_core::Severity;

use super::{Rule, Verify, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("stripe-key", "a Stripe live key", &["sk_live_", "rk_live_", "sk_prod_", "rk_prod_"], r"[sr]k_(?:live|prod)_[0-9A-Za-z]{10,}")
        .entropy(20)
        .severity(Severity::Critical)
        .yes(&["key=sk_¦live_4V9oSCVKvv", "see sk_¦live_4V9oSCVKvv here"])
        .no(&["sk_live_…", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("stripe-test-key", "a Stripe test key", &["sk_test_", "rk_test_"], r"[sr]k_test_[0-9A-Za-z]{10,}")
        .entropy(20)
        .severity(Severity::Medium)
        .yes(&["key=sk_¦test_8Cw0oMhFKG", "see sk_¦test_8Cw0oMhFKG here"])
        .no(&["sk_test_…", "sk_test_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("stripe-webhook-secret", "a Stripe webhook secret", &["whsec_"], r"whsec_[0-9A-Za-z+/]{24,}={0,2}")
        .entropy(30)
        .yes(&["key=whs¦ec_CdUTj7pH5XTK7hTuYVufG9zx", "see whs¦ec_CdUTj7pH5XTK7hTuYVufG9zx here"])
        .no(&["whsec_…", "whsec_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("paypal-token", "a PayPal or Braintree access token", &["access_token$"], r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=acc¦ess_token$production$yx3f7xvg4vipdxo4$20a459361c6fa1ff5fbfe9f5eededc8d", "see acc¦ess_token$production$yx3f7xvg4vipdxo4$20a459361c6fa1ff5fbfe9f5eededc8d here"])
        .no(&["access_token$…", "access_token$xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("paypal-secret", "a PayPal client secret", &["paypal"], r"E[0-9A-Za-z_-]{79}")
        .entropy(38)
        .severity(Severity::Critical)
        .yes(&["paypal_api_token = \"ERa¦hOLAnRudBB5fvUA2orwx7cqu3505jrOuxvmDchQRnbOVzPlyhgifZfvH401uVBuQjXz4OYWJH4qEK\"", "\"paypal_api_token\": \"ERa¦hOLAnRudBB5fvUA2orwx7cqu3505jrOuxvmDchQRnbOVzPlyhgifZfvH401uVBuQjXz4OYWJH4qEK\""])
        .no(&["paypal_api_token = get_paypal_api_token()", "the paypal page says ERa¦hOLAnRudBB5fvUA2orwx7cqu3505jrOuxvmDchQRnbOVzPlyhgifZfvH401uVBuQjXz4OYWJH4qEK"]),
    prefix("square-token", "a Square access token", &["EAAA"], r"EAAA[0-9A-Za-z_-]{22,60}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=EAA¦ANA6A5AyNfT4GsP7JIEBJ9S", "see EAA¦ANA6A5AyNfT4GsP7JIEBJ9S here"])
        .no(&["EAAA…", "EAAAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("square-token", "a Square token", &["sq0atp-", "sq0csp-"], r"sq0(?:atp-[0-9A-Za-z_-]{22}|csp-[0-9A-Za-z_-]{43})")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=sq0¦csp-b2KW9L9PB4TquOOaxUOkXQ2wkxNv7EfUQxtdgsji4fo", "see sq0¦csp-b2KW9L9PB4TquOOaxUOkXQ2wkxNv7EfUQxtdgsji4fo here"])
        .no(&["sq0csp-…", "sq0csp-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("square-app-id", "a Square application id", &["sq0idp-"], r"sq0idp-[0-9A-Za-z_-]{22}")
        .entropy(28)
        .severity(Severity::Low)
        .yes(&["key=sq0¦idp-pjtBSnRepJ3glMuLzU3HPJ", "see sq0¦idp-pjtBSnRepJ3glMuLzU3HPJ here"])
        .no(&["sq0idp-…", "sq0idp-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("shopify-token", "a Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_", "shpua_", "shptka_"], r"shp(?:at|ca|pa|ss|ua|tka)_[0-9A-Fa-f]{32}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=shp¦tka_5aBca4CA639590d1Ed3b2Ae5f588D7Fc", "see shp¦tka_5aBca4CA639590d1Ed3b2Ae5f588D7Fc here"])
        .no(&["shptka_…", "shptka_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("adyen-key", "an Adyen API key", &["AQE"], r#"AQE[0-9A-Za-z]{20,}[+/=A-Za-z0-9]*-[+/=A-Za-z0-9]{20,}-[^\s"']{12,20}"#)
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["key=AQE¦fdytpDXQjnzpwpZcQSh6-Qbjkp1gs6o7vChO0EaYO-VACMMPKAAJHN", "see AQE¦fdytpDXQjnzpwpZcQSh6-Qbjkp1gs6o7vChO0EaYO-VACMMPKAAJHN here"])
        .no(&["AQE…", "AQExxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("razorpay-key", "a Razorpay key id", &["rzp_live_", "rzp_test_"], r"rzp_(?:live|test)_[0-9A-Za-z]{14}")
        .entropy(28)
        .yes(&["key=rzp¦_test_R6DNgZFmVrYAcv", "see rzp¦_test_R6DNgZFmVrYAcv here"])
        .no(&["rzp_test_…", "rzp_test_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("flutterwave-key", "a Flutterwave key", &["FLWSECK", "FLWPUBK"], r"FLW(?:SEC|PUB)K(?:_TEST)?-(?:[0-9A-Fa-f]{32}-X|[0-9A-Fa-f]{12})")
        .entropy(25)
        .any_case()
        .yes(&["key=FLW¦PUBK-bfeec5f2d8B7", "see FLW¦PUBK-bfeec5f2d8B7 here"])
        .no(&["FLWPUBK…", "FLWPUBKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("paystack-key", "a Paystack key", &["sk_live_", "sk_test_"], r"sk_(?:live|test)_[0-9a-f]{40}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=sk_¦live_1323b517fc0bf4a2b40c1a751d6371ce86ace470", "see sk_¦live_1323b517fc0bf4a2b40c1a751d6371ce86ace470 here"])
        .no(&["sk_live_…", "sk_live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("mollie-key", "a Mollie key", &["live_", "test_"], r"(?:live|test)_[0-9A-Za-z]{30}")
        .entropy(32)
        .verify(Verify::Digit)
        .yes(&["key=liv¦e_4plpAUo6PCf9Kx0YMOL0vaZbTQ73IN", "see liv¦e_4plpAUo6PCf9Kx0YMOL0vaZbTQ73IN here"])
        .no(&["live_…", "live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("gocardless-token", "a GoCardless token", &["live_", "sandbox_"], r"(?:live|sandbox)_[0-9A-Za-z_-]{40}")
        .entropy(34)
        .verify(Verify::Digit)
        .yes(&["key=san¦dbox_SWmnEdEFbH9HmwMp317uztczc9lwN2fMoM9Dgwhv", "see san¦dbox_SWmnEdEFbH9HmwMp317uztczc9lwN2fMoM9Dgwhv here"])
        .no(&["sandbox_…", "sandbox_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("plaid-token", "a Plaid access token", &["access-sandbox-", "access-development-", "access-production-"], r"access-(?:sandbox|development|production)-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&["key=acc¦ess-development-BfD24C6f-Eec0-8A6d-433E-aab72E5b7DB1", "see acc¦ess-development-BfD24C6f-Eec0-8A6d-433E-aab72E5b7DB1 here"])
        .no(&["access-development-…", "access-development-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("plaid-secret", "a Plaid secret", &["plaid"], r"(?:[0-9A-Za-z]{30}|[0-9A-Za-z]{24})")
        .entropy(30)
        .yes(&["plaid_api_token = \"UBk¦lTCZ0VmRZPoRDGDJ2VPPaMM4Nqw\"", "\"plaid_api_token\": \"UBk¦lTCZ0VmRZPoRDGDJ2VPPaMM4Nqw\""])
        .no(&["plaid_api_token = get_plaid_api_token()", "the plaid page says UBk¦lTCZ0VmRZPoRDGDJ2VPPaMM4Nqw"]),
    prefix("duffel-token", "a Duffel token", &["duffel_live_", "duffel_test_"], r"duffel_(?:live|test)_[0-9A-Za-z_=-]{43}")
        .entropy(32)
        .yes(&["key=duf¦fel_live_NG1lQxHk76wRctjJuOn4aIOOmseJF5a52pAbX0KNcNm", "see duf¦fel_live_NG1lQxHk76wRctjJuOn4aIOOmseJF5a52pAbX0KNcNm here"])
        .no(&["duffel_live_…", "duffel_live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("easypost-key", "an EasyPost key", &["EZAK", "EZTK"], r"EZ[AT]K[0-9A-Za-z]{54}")
        .entropy(32)
        .yes(&["key=EZA¦KUT8b83cx1NCRfyTHKf2uGWEi8o5PsvU8AetaBmA5OgolCTMJmqeLwc", "see EZA¦KUT8b83cx1NCRfyTHKf2uGWEi8o5PsvU8AetaBmA5OgolCTMJmqeLwc here"])
        .no(&["EZAK…", "EZAKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("shippo-token", "a Shippo token", &["shippo_live_", "shippo_test_"], r"shippo_(?:live|test)_[0-9A-Fa-f]{40}")
        .entropy(28)
        .yes(&["key=shi¦ppo_live_0E84fA1efB663aAFE5b858B11E97d3df488f2B03", "see shi¦ppo_live_0E84fA1efB663aAFE5b858B11E97d3df488f2B03 here"])
        .no(&["shippo_live_…", "shippo_live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("lob-key", "a Lob key", &["live_", "test_"], r"(?:live|test)_(?:pub_[0-9a-f]{31}|[0-9a-f]{35})")
        .entropy(28)
        .yes(&["key=liv¦e_2eefcb9dc6de8cafa541ff1f1b945bfe62f", "see liv¦e_2eefcb9dc6de8cafa541ff1f1b945bfe62f here"])
        .no(&["live_…", "live_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("checkout-key", "a Checkout.com key", &["sk_sbox_", "sk_"], r"sk_(?:sbox_)?[a-z0-9]{26}")
        .entropy(32)
        .verify(Verify::Digit)
        .yes(&["key=sk_¦tmslim90i2ee6z83zkbbl1vud2", "see sk_¦tmslim90i2ee6z83zkbbl1vud2 here"])
        .no(&["sk_…", "sk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("freemius-key", "a Freemius secret key", &["sk_"], r"sk_[0-9A-Za-z#&@*$%!?^~]{29}")
        .entropy(35)
        .verify(Verify::Symbol)
        .yes(&["key=sk_¦astm8#&TN6ZylOJHvxqCISEU41D8o", "see sk_¦astm8#&TN6ZylOJHvxqCISEU41D8o here"])
        .no(&["sk_…", "sk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("paddle-key", "a Paddle key", &["pdl_live_apikey_", "pdl_sdbx_apikey_"], r"pdl_(?:live|sdbx)_apikey_[a-z0-9]{26}_[0-9A-Za-z]{22}_[0-9A-Za-z]{3}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["key=pdl¦_sdbx_apikey_bgwmvvgxn4mgs2jdl4da7u3p3e_DjwkpqV6Kj12j0pm18oraN_n43", "see pdl¦_sdbx_apikey_bgwmvvgxn4mgs2jdl4da7u3p3e_DjwkpqV6Kj12j0pm18oraN_n43 here"])
        .no(&["pdl_sdbx_apikey_…", "pdl_sdbx_apikey_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("monzo-token", "a Monzo client secret", &["mnzconf.", "mnzpub."], r"mnz(?:conf|pub)\.[0-9A-Za-z+/]{60,}={0,2}")
        .entropy(32)
        .yes(&["key=mnz¦conf.Sv4LecsDazCn2xIMj4pVbHEKnj6vRyud733OMyed0hR1oURRGGRF7eiXAT7m", "see mnz¦conf.Sv4LecsDazCn2xIMj4pVbHEKnj6vRyud733OMyed0hR1oURRGGRF7eiXAT7m here"])
        .no(&["mnzconf.…", "mnzconf.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("coinbase-key", "a Coinbase key", &["coinbase"], r"[0-9A-Za-z_-]{64}")
        .entropy(32)
        .yes(&["coinbase_api_token = \"33J¦FcTdOvCfFFmXYUveRlh9v4POmPSJak63i9Pgg27CL24tQkKhaUMqG2mm3UZ0O\"", "\"coinbase_api_token\": \"33J¦FcTdOvCfFFmXYUveRlh9v4POmPSJak63i9Pgg27CL24tQkKhaUMqG2mm3UZ0O\""])
        .no(&["coinbase_api_token = get_coinbase_api_token()", "the coinbase page says 33J¦FcTdOvCfFFmXYUveRlh9v4POmPSJak63i9Pgg27CL24tQkKhaUMqG2mm3UZ0O"]),
    near("binance-key", "a Binance key", &["binance"], r"[0-9A-Za-z]{64}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["binance_api_token = \"3oA¦v0yO8ruw7XpjQc53df1b3vxoDQ56XnucPugxZuXlAON0xLT3dKDzLzcSvMSDq\"", "\"binance_api_token\": \"3oA¦v0yO8ruw7XpjQc53df1b3vxoDQ56XnucPugxZuXlAON0xLT3dKDzLzcSvMSDq\""])
        .no(&["binance_api_token = get_binance_api_token()", "the binance page says 3oA¦v0yO8ruw7XpjQc53df1b3vxoDQ56XnucPugxZuXlAON0xLT3dKDzLzcSvMSDq"]),
    near("kraken-key", "a Kraken key", &["kraken"], r"[0-9A-Za-z+/]{80,90}={0,2}")
        .entropy(38)
        .yes(&["kraken_api_token = \"eJi¦736A0KxBrBhjEG2ympBbejkrU1nyYawFPLqy8ouoVJBRH7REr0MYVvk8fYu9GdIhdl0ZXEES8qFqz\"", "\"kraken_api_token\": \"eJi¦736A0KxBrBhjEG2ympBbejkrU1nyYawFPLqy8ouoVJBRH7REr0MYVvk8fYu9GdIhdl0ZXEES8qFqz\""])
        .no(&["kraken_api_token = get_kraken_api_token()", "the kraken page says eJi¦736A0KxBrBhjEG2ympBbejkrU1nyYawFPLqy8ouoVJBRH7REr0MYVvk8fYu9GdIhdl0ZXEES8qFqz"]),
    near("kucoin-key", "a KuCoin key", &["kucoin"], r"(?:[0-9a-f]{24}|[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12})")
        .entropy(26)
        .yes(&["kucoin_api_token = \"8e0¦Cf4E9-CB0f-C546-1e1e-86bFFa9b18Ae\"", "\"kucoin_api_token\": \"8e0¦Cf4E9-CB0f-C546-1e1e-86bFFa9b18Ae\""])
        .no(&["kucoin_api_token = get_kucoin_api_token()", "the kucoin page says 8e0¦Cf4E9-CB0f-C546-1e1e-86bFFa9b18Ae"]),
    near("bittrex-key", "a Bittrex key", &["bittrex"], r"[0-9A-Za-z]{32}")
        .entropy(28)
        .yes(&["bittrex_api_token = \"sOc¦es6eKCrsdaICZw0VYbPXj2c7bkdtn\"", "\"bittrex_api_token\": \"sOc¦es6eKCrsdaICZw0VYbPXj2c7bkdtn\""])
        .no(&["bittrex_api_token = get_bittrex_api_token()", "the bittrex page says sOc¦es6eKCrsdaICZw0VYbPXj2c7bkdtn"]),
    near("bitfinex-key", "a Bitfinex key", &["bitfinex"], r"[0-9A-Za-z]{43}")
        .entropy(32)
        .yes(&["bitfinex_api_token = \"M8B¦qPJOyWCAQCLAyYGV01Uf2PW2PfQqhySwxpzsi2JC\"", "\"bitfinex_api_token\": \"M8B¦qPJOyWCAQCLAyYGV01Uf2PW2PfQqhySwxpzsi2JC\""])
        .no(&["bitfinex_api_token = get_bitfinex_api_token()", "the bitfinex page says M8B¦qPJOyWCAQCLAyYGV01Uf2PW2PfQqhySwxpzsi2JC"]),
    near("bybit-key", "a Bybit key", &["bybit"], r"[0-9A-Za-z]{18,36}")
        .entropy(30)
        .yes(&["bybit_api_token = \"xMD¦YEiY5kamTN0z5k0\"", "\"bybit_api_token\": \"xMD¦YEiY5kamTN0z5k0\""])
        .no(&["bybit_api_token = get_bybit_api_token()", "the bybit page says xMD¦YEiY5kamTN0z5k0"]),
    near("okx-key", "an OKX key", &["okx", "okex"], r"(?:[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}|[0-9A-Z]{32})")
        .entropy(28)
        .yes(&["okx_api_token = \"CWF¦CHNRGAKNAEH7TBV2EBH8105KNGAG6\"", "\"okx_api_token\": \"CWF¦CHNRGAKNAEH7TBV2EBH8105KNGAG6\""])
        .no(&["okx_api_token = get_okx_api_token()", "the okx page says CWF¦CHNRGAKNAEH7TBV2EBH8105KNGAG6"]),
    near("bitmex-key", "a BitMEX key", &["bitmex"], r"[0-9A-Za-z_-]{48}")
        .entropy(32)
        .yes(&["bitmex_api_token = \"Wye¦1eEUtz7GH2o0PGCMdsgQr32E4CjkMHjK7ZCbKhIfL6H2w\"", "\"bitmex_api_token\": \"Wye¦1eEUtz7GH2o0PGCMdsgQr32E4CjkMHjK7ZCbKhIfL6H2w\""])
        .no(&["bitmex_api_token = get_bitmex_api_token()", "the bitmex page says Wye¦1eEUtz7GH2o0PGCMdsgQr32E4CjkMHjK7ZCbKhIfL6H2w"]),
    near("gemini-exchange-key", "a Gemini exchange key", &["gemini_api_secret", "gemini_secret"], r"[0-9A-Za-z]{28}")
        .entropy(30)
        .yes(&["gemini_api_secret = \"rpt¦A0F2zPWUVKaDwtxhQkGprRItc\"", "\"gemini_api_secret\": \"rpt¦A0F2zPWUVKaDwtxhQkGprRItc\""])
        .no(&["gemini_api_secret = get_gemini_api_secret()", "the gemini_api_secret page says rpt¦A0F2zPWUVKaDwtxhQkGprRItc"]),
    prefix("gemini-exchange-key", "a Gemini exchange key", &["account-", "master-"], r"(?:account|master)-[0-9A-Za-z]{20}")
        .entropy(30)
        .severity(Severity::Medium)
        .verify(Verify::Digit)
        .yes(&["key=acc¦ount-9Y1ZUSXdqB8MEuU3UwX1", "see acc¦ount-9Y1ZUSXdqB8MEuU3UwX1 here"])
        .no(&["account-…", "account-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("finicity-secret", "a Finicity secret", &["finicity"], r"(?:[0-9a-f]{32}|[0-9A-Za-z]{20})")
        .entropy(28)
        .yes(&["finicity_api_token = \"4lH¦whurHWLAxA4y07bAz\"", "\"finicity_api_token\": \"4lH¦whurHWLAxA4y07bAz\""])
        .no(&["finicity_api_token = get_finicity_api_token()", "the finicity page says 4lH¦whurHWLAxA4y07bAz"]),
    near("quickbooks-secret", "a QuickBooks secret", &["quickbooks", "intuit"], r"[0-9A-Za-z]{40}")
        .entropy(32)
        .yes(&["quickbooks_api_token = \"i87¦54lzQqOwME9oNqC7ugOEKI8BRCLblZFqqagkh\"", "\"quickbooks_api_token\": \"i87¦54lzQqOwME9oNqC7ugOEKI8BRCLblZFqqagkh\""])
        .no(&["quickbooks_api_token = get_quickbooks_api_token()", "the quickbooks page says i87¦54lzQqOwME9oNqC7ugOEKI8BRCLblZFqqagkh"]),
    prefix("ebay-token", "an eBay token", &["v^1.1#"], r"v\^1\.1#[0-9A-Za-z+/=#^]{40,}")
        .entropy(32)
        .yes(&["key=v^1¦.1#f5rINrUtCIurTCbuOugitS6yfeIL7kTbviD7Mwrj", "see v^1¦.1#f5rINrUtCIurTCbuOugitS6yfeIL7kTbviD7Mwrj here"])
        .no(&["v^1.1#…", "v^1.1#xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("ebay-cert-id", "an eBay cert id", &["PRD-", "SBX-"], r"(?:PRD|SBX)-[0-9a-f]{12}-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}")
        .entropy(28)
        .yes(&["key=PRD¦-c2c97490d01f-ea51d665-83b5-ff59-06ae", "see PRD¦-c2c97490d01f-ea51d665-83b5-ff59-06ae here"])
        .no(&["PRD-…", "PRD-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("etsy-key", "an Etsy key", &["etsy"], r"[0-9A-Za-z]{24}")
        .entropy(28)
        .yes(&["etsy_api_token = \"vAM¦YISAorItuP90y7uW8jBMt\"", "\"etsy_api_token\": \"vAM¦YISAorItuP90y7uW8jBMt\""])
        .no(&["etsy_api_token = get_etsy_api_token()", "the etsy page says vAM¦YISAorItuP90y7uW8jBMt"]),
    near("alpaca-secret", "an Alpaca secret", &["alpaca", "apca"], r"[0-9A-Za-z]{40}")
        .entropy(32)
        .yes(&["alpaca_api_token = \"1Se¦IPmvLIbOYSKWKoLwedhD8MhY8hcAMiCcPiXTm\"", "\"alpaca_api_token\": \"1Se¦IPmvLIbOYSKWKoLwedhD8MhY8hcAMiCcPiXTm\""])
        .no(&["alpaca_api_token = get_alpaca_api_token()", "the alpaca page says 1Se¦IPmvLIbOYSKWKoLwedhD8MhY8hcAMiCcPiXTm"]),
    near("infura-key", "an Infura project key", &["infura"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&["infura_api_token = \"c02¦06a9b18f7bd955bb368253810640e\"", "\"infura_api_token\": \"c02¦06a9b18f7bd955bb368253810640e\""])
        .no(&["infura_api_token = get_infura_api_token()", "the infura page says c02¦06a9b18f7bd955bb368253810640e"]),
    inside("infura-key", "an Infura key in a URL", &["infura.io/v3/"], r"infura\.io/v3/([0-9a-f]{32})")
        .entropy(28)
        .yes(&["key=inf¦ura.io/v3/4d35319a474737ff5ec8d85b2c70ac8e", "see inf¦ura.io/v3/4d35319a474737ff5ec8d85b2c70ac8e here"])
        .no(&["infura.io/v3/…", "infura.io/v3/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("alchemy-key", "an Alchemy key in a URL", &["g.alchemy.com/v2/"], r"g\.alchemy\.com/v2/([0-9A-Za-z_-]{32})")
        .entropy(30)
        .yes(&["key=g.a¦lchemy.com/v2/bQDtSlLox4yMXazuImfVR9niAxkgAfAF", "see g.a¦lchemy.com/v2/bQDtSlLox4yMXazuImfVR9niAxkgAfAF here"])
        .no(&["g.alchemy.com/v2/…", "g.alchemy.com/v2/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("etherscan-key", "an Etherscan key", &["etherscan", "bscscan", "polygonscan"], r"[0-9A-Z]{34}")
        .entropy(32)
        .yes(&["etherscan_api_token = \"BD7¦XVVHTJU26OLUYPIGK12B4N08IE3F11D\"", "\"etherscan_api_token\": \"BD7¦XVVHTJU26OLUYPIGK12B4N08IE3F11D\""])
        .no(&["etherscan_api_token = get_etherscan_api_token()", "the etherscan page says BD7¦XVVHTJU26OLUYPIGK12B4N08IE3F11D"]),
    near("ethereum-private-key", "an Ethereum private key", &["private_key", "privatekey", "private-key", "wallet", "eth_key"], r"0x[0-9A-Fa-f]{64}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["private_key = \"0x0¦9f00A69869CDd8420AfB1Ce1221d04FF71e016c05dAb1Cecb0cf58A00cbc097\"", "\"private_key\": \"0x0¦9f00A69869CDd8420AfB1Ce1221d04FF71e016c05dAb1Cecb0cf58A00cbc097\""])
        .no(&["private_key = get_private_key()", "the private_key page says 0x0¦9f00A69869CDd8420AfB1Ce1221d04FF71e016c05dAb1Cecb0cf58A00cbc097"]),
    inside(
        "wallet-phrase",
        "the words that open a wallet",
        &["mnemonic", "seed phrase", "seed_phrase", "recovery phrase", "recovery_phrase"],
        r#"(?i:mnemonic|(?:seed|recovery)[ _]phrase)[A-Za-z_]{0,10}["']?[ \t]{0,2}[:=][ \t]{0,2}["']?((?:[a-z]{3,8} ){11,23}[a-z]{3,8})"#,
    )
    .line()
    .any_case()
    .verify(Verify::Phrase)
    .severity(Severity::Critical)
    .yes(&["MNEMONIC=\"orbit velvet¦ cactus humble ladder spice tunnel ocean frozen wagon mercy diesel\"", "seed phrase: orbit velvet¦ cactus humble ladder spice tunnel ocean frozen wagon mercy diesel"])
    .no(&[
        "mnemonic: test test test test test test test test test test test junk",
        "seed phrase: write down these twelve words and keep them where nobody will find them",
        "MNEMONIC=\"orbit velvet cactus\"",
    ]),
    prefix("bitcoin-extended-key", "an extended private key of a wallet", &["xprv", "yprv", "zprv", "tprv"], r"[xyzt]prv[0-9A-Za-z]{107,108}")
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["key=zpr¦vnYyfhoaS3kvfQ4GJTd6Pdi5uJeTJ5bggKey2Z1jwrlNc3xFnBJr2mVDwQBIg8SE3EZcBwpXi9R9XWBkrl0n8phgBDjMlLOcZpTKumVk3pxV", "see zpr¦vnYyfhoaS3kvfQ4GJTd6Pdi5uJeTJ5bggKey2Z1jwrlNc3xFnBJr2mVDwQBIg8SE3EZcBwpXi9R9XWBkrl0n8phgBDjMlLOcZpTKumVk3pxV here"])
        .no(&["zprv…", "zprvxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
