//! Clouds, hosting and networks: formats of their keys.

use midrail_core::Severity;

use super::{Name, Rule, Verify, inside, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("aws-access-key", "an AWS access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}")
        .entropy(20)
        .severity(Severity::Critical)
        .verify(Verify::Aws)
        .plain()
        .yes(&["key=ABI¦ADQSS96VX8EFVNDRE", "see ABI¦ADQSS96VX8EFVNDRE here"])
        .no(&[
            "ABIA…",
            "https://box.example/a?X-Amz-Credential=ABI¦ADQSS96VX8EFVNDRE%2F20260101%2Feu-west-1%2Fs3%2Faws4_request",
            "Authorization: AWS4-HMAC-SHA256 Credential=ABI¦ADQSS96VX8EFVNDRE/20260101/eu-west-1/s3/aws4_request",
        ]),
    prefix("aws-bedrock-key", "an Amazon Bedrock API key", &["ABSK"], r"ABSK[0-9A-Za-z+/]{109,}={0,2}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=ABS¦KirwqrzdVVtx7vJ1BI2MYpENIzZoPfEuMO7BrhEuBxgSQiL1jrWprkLo8FnJDWn7i0cSrLOEPA49MDc6QOyxHegWbvWsWp5I53mR9KORPR2mMN", "see ABS¦KirwqrzdVVtx7vJ1BI2MYpENIzZoPfEuMO7BrhEuBxgSQiL1jrWprkLo8FnJDWn7i0cSrLOEPA49MDc6QOyxHegWbvWsWp5I53mR9KORPR2mMN here"])
        .no(&["ABSK…", "ABSKxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("aws-bedrock-key", "a short-lived Amazon Bedrock API key", &["bedrock-api-key-"], r"bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t[0-9A-Za-z+/]{20,}={0,2}")
        .entropy(30)
        .yes(&["key=bed¦rock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29taqwBt3Z7DukTLnkOvTwK", "see bed¦rock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29taqwBt3Z7DukTLnkOvTwK here"])
        .no(&["bedrock-api-key-…", "bedrock-api-key-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("aws-secret-key", "an AWS secret access key", &["aws", "secret_access", "secretaccess", "secret-access", "awssecret"], r"[0-9A-Za-z+/]{40}")
        .entropy(38)
        .severity(Severity::Critical)
        .name(Name::Secret)
        .yes(&["aws_secret_key = \"fLc¦F0exESmrMtXJjPYN4fgD0AfQRewbgsKHj8Aga\"", "\"aws_secret_key\": \"fLc¦F0exESmrMtXJjPYN4fgD0AfQRewbgsKHj8Aga\""])
        .no(&["aws_secret_key = get_aws_secret_key()", "the aws page says fLc¦F0exESmrMtXJjPYN4fgD0AfQRewbgsKHj8Aga"]),
    near("aws-session-token", "an AWS session token", &["session_token", "sessiontoken", "security_token", "securitytoken"], r"[0-9A-Za-z+/]{100,}={0,2}")
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["session_token = \"77M¦bSG2rWxkoARxzJOYeV6NLH5aBdbnBfFuZJKzOddRTNQD72K4IodAozmBG6iciEPwCbcN71x2GQKZHAZZ5KGj9jnij0jgCe4ZN\"", "\"session_token\": \"77M¦bSG2rWxkoARxzJOYeV6NLH5aBdbnBfFuZJKzOddRTNQD72K4IodAozmBG6iciEPwCbcN71x2GQKZHAZZ5KGj9jnij0jgCe4ZN\""])
        .no(&["session_token = get_session_token()", "the session_token page says 77M¦bSG2rWxkoARxzJOYeV6NLH5aBdbnBfFuZJKzOddRTNQD72K4IodAozmBG6iciEPwCbcN71x2GQKZHAZZ5KGj9jnij0jgCe4ZN"]),
    prefix("aws-mws-key", "an Amazon MWS authentication token", &["amzn.mws."], r"amzn\.mws\.[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(25)
        .yes(&["key=amz¦n.mws.f2139579-582E-Fa7B-bcc8-A6F79aB5765F", "see amz¦n.mws.f2139579-582E-Fa7B-bcc8-A6F79aB5765F here"])
        .no(&["amzn.mws.…", "amzn.mws.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("aws-appsync-key", "an AWS AppSync API key", &["da2-"], r"da2-[0-9a-z]{26}")
        .entropy(30)
        .yes(&["key=da2¦-lomf6cgfw0rctojpftuobkojyc", "see da2¦-lomf6cgfw0rctojpftuobkojyc here"])
        .no(&["da2-…", "da2-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("amazon-oauth-secret", "an Amazon OAuth client secret", &["amzn1.oa2-cs.v1."], r"amzn1\.oa2-cs\.v1\.[0-9a-f]{64}")
        .entropy(30)
        .yes(&["key=amz¦n1.oa2-cs.v1.5518ba6833cd678370d6ad80a43e67749a4260a53e8df31395543d6e7263f322", "see amz¦n1.oa2-cs.v1.5518ba6833cd678370d6ad80a43e67749a4260a53e8df31395543d6e7263f322 here"])
        .no(&["amzn1.oa2-cs.v1.…", "amzn1.oa2-cs.v1.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("google-api-key", "a Google API key", &["AIza"], r"AIza[0-9A-Za-z_-]{35}")
        .entropy(32)
        .yes(&["key=AIz¦aRjwRQdutDBVtx8jWqPLsrNA2PL95gtZPWKV", "see AIz¦aRjwRQdutDBVtx8jWqPLsrNA2PL95gtZPWKV here"])
        .no(&["AIza…", "AIzaxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("google-oauth-secret", "a Google OAuth client secret", &["GOCSPX-"], r"GOCSPX-[0-9A-Za-z_-]{28}")
        .entropy(30)
        .yes(&["key=GOC¦SPX-1FSA80y2kyoKU5ejgaw1f7XuBX1b", "see GOC¦SPX-1FSA80y2kyoKU5ejgaw1f7XuBX1b here"])
        .no(&["GOCSPX-…", "GOCSPX-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("google-oauth-token", "a Google OAuth access token", &["ya29."], r"ya29\.[0-9A-Za-z_-]{20,}")
        .entropy(32)
        .yes(&["key=ya2¦9.mSc0KgftRIfPY53l1X9T", "see ya2¦9.mSc0KgftRIfPY53l1X9T here"])
        .no(&["ya29.…", "ya29.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("google-refresh-token", "a Google OAuth refresh token", &["1//0"], r"1//0[0-9A-Za-z_-]{40,}")
        .entropy(35)
        .yes(&["key=1//¦0ImRQQfrkk38JZVYglvN2gST27DUvwwcy7M936AQg", "see 1//¦0ImRQQfrkk38JZVYglvN2gST27DUvwwcy7M936AQg here"])
        .no(&["1//0…", "1//0xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("gcp-service-key-id", "the id of a Google service account key", &["private_key_id"], r"[0-9a-f]{40}")
        .entropy(30)
        .severity(Severity::Medium)
        .yes(&["private_key_id = \"232¦e025e7e42fcb4fe34b4187650961699bce21e\"", "\"private_key_id\": \"232¦e025e7e42fcb4fe34b4187650961699bce21e\""])
        .no(&["private_key_id = get_private_key_id()", "the private_key_id page says 232¦e025e7e42fcb4fe34b4187650961699bce21e"]),
    near("azure-storage-key", "an Azure storage account key", &["accountkey", "account_key", "storage_key", "storagekey", "azure"], r"[0-9A-Za-z+/]{86}==")
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["accountkey = \"JRe¦W4zt0UqIwBTahGJrAUkpKSQTA8cRnFapBvcUwVvx31pPOOwQtMtkO0rnwFBaMKhotlYqA7bGd8ndrDAnfcE==\"", "\"accountkey\": \"JRe¦W4zt0UqIwBTahGJrAUkpKSQTA8cRnFapBvcUwVvx31pPOOwQtMtkO0rnwFBaMKhotlYqA7bGd8ndrDAnfcE==\""])
        .no(&["accountkey = get_accountkey()", "the accountkey page says JRe¦W4zt0UqIwBTahGJrAUkpKSQTA8cRnFapBvcUwVvx31pPOOwQtMtkO0rnwFBaMKhotlYqA7bGd8ndrDAnfcE=="]),
    near("azure-shared-access-key", "an Azure shared access key", &["sharedaccesskey", "shared_access_key"], r"[0-9A-Za-z+/]{43}=")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["sharedaccesskey = \"dWq¦ug1OmMlvBscXu2obzsVim8AE9U3GwyQrU6FhF4QT=\"", "\"sharedaccesskey\": \"dWq¦ug1OmMlvBscXu2obzsVim8AE9U3GwyQrU6FhF4QT=\""])
        .no(&["sharedaccesskey = get_sharedaccesskey()", "the sharedaccesskey page says dWq¦ug1OmMlvBscXu2obzsVim8AE9U3GwyQrU6FhF4QT="]),
    inside("azure-ad-secret", "a Microsoft Entra client secret", &["0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~"], r"[0-9A-Za-z_~.]{3}[0-9]Q~[0-9A-Za-z_~.-]{31,34}")
        .lead(4)
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=7NO¦2Q~v3VImLDJk1JdOTNngHk5RpGD40pAhKa", "see 7NO¦2Q~v3VImLDJk1JdOTNngHk5RpGD40pAhKa here"])
        .no(&["2Q~…", "2Q~xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-sas-signature", "the signature of an Azure shared access URL", &["&sig=", "?sig="], r"[?&]sig=([0-9A-Za-z%+/]{43,}(?:=|%3[Dd]))")
        .entropy(35)
        .yes(&["key=?si¦g=pvmvlDm44B9CZ45rXwxH437niMQ9ynPNMSZQgRcqkmf%3D", "see ?si¦g=pvmvlDm44B9CZ45rXwxH437niMQ9ynPNMSZQgRcqkmf%3D here"])
        .no(&["?sig=…", "?sig=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("azure-devops-token", "an Azure DevOps personal access token", &["azure", "devops", "ado_", "vsts", "azdo", "system_accesstoken"], r"[a-z2-7]{52}")
        .entropy(35)
        .yes(&["azure_api_token = \"x4a¦y5r4bracn66xztl5qth4jgwpwunugbqxnrzk6iyrv74sv7f5e\"", "\"azure_api_token\": \"x4a¦y5r4bracn66xztl5qth4jgwpwunugbqxnrzk6iyrv74sv7f5e\""])
        .no(&["azure_api_token = get_azure_api_token()", "the azure page says x4a¦y5r4bracn66xztl5qth4jgwpwunugbqxnrzk6iyrv74sv7f5e"]),
    inside("azure-devops-token", "an Azure DevOps personal access token", &["AZDO"], r"[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4}")
        .lead(76)
        .entropy(35)
        .yes(&["key=71M¦pzcQ06VzpMwVuLXALK3blDpRRAPAAArCh7GDvkAAAgyKKXzPrOQCiJdpdmzQfQgEPEzWSTkCwAZDOSQN8", "see 71M¦pzcQ06VzpMwVuLXALK3blDpRRAPAAArCh7GDvkAAAgyKKXzPrOQCiJdpdmzQfQgEPEzWSTkCwAZDOSQN8 here"])
        .no(&["AZDO…", "AZDOxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-function-key", "an Azure function key", &["AzFu"], r"[0-9A-Za-z_-]{44}AzFu[0-9A-Za-z_-]{4,6}==")
        .lead(44)
        .entropy(35)
        .yes(&["key=B5H¦ZTuuGS0DJX2rlcDsYVZvFhgwZtvBW3L2lYywY2NGdAzFuNq2A==", "see B5H¦ZTuuGS0DJX2rlcDsYVZvFhgwZtvBW3L2lYywY2NGdAzFuNq2A== here"])
        .no(&["AzFu…", "AzFuxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-storage-key", "an Azure storage account key", &["+ASt"], r"[0-9A-Za-z+/]{76}\+ASt[0-9A-Za-z+/]{6}==")
        .lead(76)
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["key=FFS¦EAJwYXLimgpoJ9SmEc5abhBw49cdqPPS9lrajT6rJdfYe5R5JI7Qlnf38cJZDRSH95u4xg7QP+AStYdfmgN==", "see FFS¦EAJwYXLimgpoJ9SmEc5abhBw49cdqPPS9lrajT6rJdfYe5R5JI7Qlnf38cJZDRSH95u4xg7QP+AStYdfmgN== here"])
        .no(&["+ASt…", "+AStxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-cosmos-key", "an Azure Cosmos DB key", &["ACDb"], r"[0-9A-Za-z+/]{76}ACDb[0-9A-Za-z+/]{6}==")
        .lead(76)
        .entropy(40)
        .severity(Severity::Critical)
        .yes(&["key=fi8¦FfCpCP6WmuEW9bbdQOjgGzVZZ9um8ICfuEYVzCMNoYD0nYNyXGfBo7Pht91dm82TX3c0pZxqoACDbOq0f4N==", "see fi8¦FfCpCP6WmuEW9bbdQOjgGzVZZ9um8ICfuEYVzCMNoYD0nYNyXGfBo7Pht91dm82TX3c0pZxqoACDbOq0f4N== here"])
        .no(&["ACDb…", "ACDbxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-search-key", "an Azure AI Search key", &["AzSe"], r"[0-9A-Za-z]{42}AzSe[0-9A-Za-z]{6}")
        .lead(42)
        .entropy(35)
        .yes(&["key=Fdu¦ZCbOnzqEYmXiQ8cVmA4odeOV9qt7xW7pyl4fanjAzSevQq0Qy", "see Fdu¦ZCbOnzqEYmXiQ8cVmA4odeOV9qt7xW7pyl4fanjAzSevQq0Qy here"])
        .no(&["AzSe…", "AzSexxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("azure-registry-key", "an Azure container registry key", &["+ACR"], r"[0-9A-Za-z+/]{42}\+ACR[0-9A-Za-z+/]{6}")
        .lead(42)
        .entropy(35)
        .yes(&["key=R6j¦U1mJdkGTubNiUg2zUgKpHNgjdYCy2zqErSeHSqu+ACR91CQcC", "see R6j¦U1mJdkGTubNiUg2zUgKpHNgjdYCy2zqErSeHSqu+ACR91CQcC here"])
        .no(&["+ACR…", "+ACRxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("azure-cognitive-key", "an Azure AI services key", &["ocp-apim-subscription-key", "azure_openai", "cognitive", "azure_speech", "azureopenai", "azure"], r"[0-9a-f]{32}")
        .entropy(30)
        .yes(&["ocp-apim-subscription-key = \"fd8¦ad4581e48c009c4a220c3199f02a8\"", "\"ocp-apim-subscription-key\": \"fd8¦ad4581e48c009c4a220c3199f02a8\""])
        .no(&["ocp-apim-subscription-key = get_ocp_apim_subscription_key()", "the ocp-apim-subscription-key page says fd8¦ad4581e48c009c4a220c3199f02a8"]),
    prefix("alibaba-access-key", "an Alibaba Cloud access key id", &["LTAI"], r"LTAI[0-9A-Za-z]{12,20}")
        .entropy(28)
        .yes(&["key=LTA¦Iqk8vZDBaN9Zy", "see LTA¦Iqk8vZDBaN9Zy here"])
        .no(&["LTAI…", "LTAIxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("alibaba-secret-key", "an Alibaba Cloud secret key", &["alibaba", "aliyun"], r"[0-9A-Za-z]{30}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["alibaba_api_token = \"G8D¦btoJhFUJTxz5EFy03Aq2R47Vh2v\"", "\"alibaba_api_token\": \"G8D¦btoJhFUJTxz5EFy03Aq2R47Vh2v\""])
        .no(&["alibaba_api_token = get_alibaba_api_token()", "the alibaba page says G8D¦btoJhFUJTxz5EFy03Aq2R47Vh2v"]),
    prefix("tencent-secret-id", "a Tencent Cloud secret id", &["AKID"], r"AKID[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["key=AKI¦DpxSUjaLDxdqkw7XMb2ObIVRVy9nPIyzX", "see AKI¦DpxSUjaLDxdqkw7XMb2ObIVRVy9nPIyzX here"])
        .no(&["AKID…", "AKIDxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("tencent-secret-key", "a Tencent Cloud secret key", &["tencent", "qcloud"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["tencent_api_token = \"UnJ¦XQOmkmqjQVChgR3SCCp3fFDStbSq3\"", "\"tencent_api_token\": \"UnJ¦XQOmkmqjQVChgR3SCCp3fFDStbSq3\""])
        .no(&["tencent_api_token = get_tencent_api_token()", "the tencent page says UnJ¦XQOmkmqjQVChgR3SCCp3fFDStbSq3"]),
    near("huawei-secret-key", "a Huawei Cloud secret key", &["huawei", "hwcloud", "hwclouds"], r"[0-9A-Za-z]{40}")
        .entropy(32)
        .yes(&["huawei_api_token = \"lIO¦YBke01UD9hu8lGurhsoRL2a9KkStgvfCfMVfN\"", "\"huawei_api_token\": \"lIO¦YBke01UD9hu8lGurhsoRL2a9KkStgvfCfMVfN\""])
        .no(&["huawei_api_token = get_huawei_api_token()", "the huawei page says lIO¦YBke01UD9hu8lGurhsoRL2a9KkStgvfCfMVfN"]),
    near("baidu-secret-key", "a Baidu Cloud key", &["baidu", "bce_"], r"[0-9a-f]{32}")
        .entropy(30)
        .yes(&["baidu_api_token = \"a32¦af53add18f1c33ad6c0617aa158ad\"", "\"baidu_api_token\": \"a32¦af53add18f1c33ad6c0617aa158ad\""])
        .no(&["baidu_api_token = get_baidu_api_token()", "the baidu page says a32¦af53add18f1c33ad6c0617aa158ad"]),
    prefix("digitalocean-token", "a DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{64}")
        .entropy(30)
        .yes(&["key=doo¦_v1_d6528390c70273d5d5961f9f9ada4cc39ffac97e184ba55bc452c99dea445b4f", "see doo¦_v1_d6528390c70273d5d5961f9f9ada4cc39ffac97e184ba55bc452c99dea445b4f here"])
        .no(&["doo_v1_…", "doo_v1_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("digitalocean-spaces-key", "a DigitalOcean Spaces secret", &["spaces_secret", "spacessecret", "spaces_access"], r"[0-9A-Za-z+/]{43}")
        .entropy(35)
        .yes(&["spaces_secret = \"j60¦ELTzvtPLIF5W5wxT1klzwJbLmdvwcJdYmASfmXGN\"", "\"spaces_secret\": \"j60¦ELTzvtPLIF5W5wxT1klzwJbLmdvwcJdYmASfmXGN\""])
        .no(&["spaces_secret = get_spaces_secret()", "the spaces_secret page says j60¦ELTzvtPLIF5W5wxT1klzwJbLmdvwcJdYmASfmXGN"]),
    prefix("heroku-key", "a Heroku platform key", &["HRKU-"], r"HRKU-[0-9A-Za-z_-]{36,}")
        .entropy(30)
        .yes(&["key=HRK¦U-i8yj1mxREKHh2T0vBaUDh3lWhQv7VW50SYIE", "see HRK¦U-i8yj1mxREKHh2T0vBaUDh3lWhQv7VW50SYIE here"])
        .no(&["HRKU-…", "HRKU-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("heroku-key", "a Heroku API key", &["heroku"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["heroku_api_token = \"7fa¦6D7b6-FC7B-1f2f-5d8B-D2D997dfb025\"", "\"heroku_api_token\": \"7fa¦6D7b6-FC7B-1f2f-5d8B-D2D997dfb025\""])
        .no(&["heroku_api_token = get_heroku_api_token()", "the heroku page says 7fa¦6D7b6-FC7B-1f2f-5d8B-D2D997dfb025"]),
    prefix("linode-token", "a Linode token", &["lin_pat_"], r"lin_pat_[0-9a-f]{64}")
        .entropy(30)
        .yes(&["key=lin¦_pat_f3a71c53b1b28c2b3a3312cda21d48c030a7f178d66bc6539e2085771ee3cf20", "see lin¦_pat_f3a71c53b1b28c2b3a3312cda21d48c030a7f178d66bc6539e2085771ee3cf20 here"])
        .no(&["lin_pat_…", "lin_pat_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("linode-token", "a Linode token", &["linode"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&["linode_api_token = \"45e¦8f61aa9bd55a360a09ff6ce52716102bd99b0f962ce189298151d8c91688a\"", "\"linode_api_token\": \"45e¦8f61aa9bd55a360a09ff6ce52716102bd99b0f962ce189298151d8c91688a\""])
        .no(&["linode_api_token = get_linode_api_token()", "the linode page says 45e¦8f61aa9bd55a360a09ff6ce52716102bd99b0f962ce189298151d8c91688a"]),
    near("vultr-key", "a Vultr API key", &["vultr"], r"[A-Z0-9]{36}")
        .entropy(30)
        .yes(&["vultr_api_token = \"0QM¦GZRPINI7BL36ZCBH65O7KFAAOB5F8ROS0\"", "\"vultr_api_token\": \"0QM¦GZRPINI7BL36ZCBH65O7KFAAOB5F8ROS0\""])
        .no(&["vultr_api_token = get_vultr_api_token()", "the vultr page says 0QM¦GZRPINI7BL36ZCBH65O7KFAAOB5F8ROS0"]),
    near("hetzner-token", "a Hetzner Cloud token", &["hetzner", "hcloud"], r"[0-9A-Za-z]{64}")
        .entropy(35)
        .yes(&["hetzner_api_token = \"j0D¦V3WjGqUa3TWTvROAhMA2lnsDKvHcexfaBBTaOsPkoFCAkAqcUkd3gDLYubIzP\"", "\"hetzner_api_token\": \"j0D¦V3WjGqUa3TWTvROAhMA2lnsDKvHcexfaBBTaOsPkoFCAkAqcUkd3gDLYubIzP\""])
        .no(&["hetzner_api_token = get_hetzner_api_token()", "the hetzner page says j0D¦V3WjGqUa3TWTvROAhMA2lnsDKvHcexfaBBTaOsPkoFCAkAqcUkd3gDLYubIzP"]),
    near("scaleway-secret", "a Scaleway secret key", &["scaleway", "scw_secret", "scw-secret"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["scaleway_api_token = \"D29¦e955d-cb3D-dff9-5BB4-A55DBbedfb2C\"", "\"scaleway_api_token\": \"D29¦e955d-cb3D-dff9-5BB4-A55DBbedfb2C\""])
        .no(&["scaleway_api_token = get_scaleway_api_token()", "the scaleway page says D29¦e955d-cb3D-dff9-5BB4-A55DBbedfb2C"]),
    prefix("scaleway-access-key", "a Scaleway access key", &["SCW"], r"SCW[A-Z0-9]{17}")
        .entropy(32)
        .severity(Severity::Medium)
        .yes(&["key=SCW¦2POUEAPI4M9OZA528", "see SCW¦2POUEAPI4M9OZA528 here"])
        .no(&["SCW…", "SCWxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("ovh-secret", "an OVH application secret", &["ovh"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["ovh_api_token = \"7OJ¦3YGQe86g5WIdRDZtcsiX3Ygb6fjnK\"", "\"ovh_api_token\": \"7OJ¦3YGQe86g5WIdRDZtcsiX3Ygb6fjnK\""])
        .no(&["ovh_api_token = get_ovh_api_token()", "the ovh page says 7OJ¦3YGQe86g5WIdRDZtcsiX3Ygb6fjnK"]),
    near("cloudflare-token", "a Cloudflare API token", &["cloudflare", "cf_api", "cf_token", "cf-api", "cfapi"], r"[0-9A-Za-z_-]{40}")
        .entropy(32)
        .yes(&["cloudflare_api_token = \"kJF¦77GslerlXXqE1zezBm5XJ6lhbHMUZmT8F4ffM\"", "\"cloudflare_api_token\": \"kJF¦77GslerlXXqE1zezBm5XJ6lhbHMUZmT8F4ffM\""])
        .no(&["cloudflare_api_token = get_cloudflare_api_token()", "the cloudflare page says kJF¦77GslerlXXqE1zezBm5XJ6lhbHMUZmT8F4ffM"]),
    near("cloudflare-global-key", "a Cloudflare global API key", &["cloudflare", "cf_api", "x-auth-key", "cf_global"], r"[0-9a-f]{37}")
        .entropy(28)
        .yes(&["cloudflare_api_token = \"717¦b70ba2970fe4bd665ff7956648aaed7d96\"", "\"cloudflare_api_token\": \"717¦b70ba2970fe4bd665ff7956648aaed7d96\""])
        .no(&["cloudflare_api_token = get_cloudflare_api_token()", "the cloudflare page says 717¦b70ba2970fe4bd665ff7956648aaed7d96"]),
    prefix("cloudflare-origin-key", "a Cloudflare origin CA key", &["v1.0-"], r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}")
        .entropy(30)
        .yes(&["key=v1.¦0-78017ab4e2e7197946cffef5-c375af63bcd301a7fa333fc187e000eb3f9b6c30ad3d035052903874cc7caf87b09a66efd0d430f23bc3170893f845137275b1628b613f0aeefb9bce758d2a9e93d30f476d80fe510f", "see v1.¦0-78017ab4e2e7197946cffef5-c375af63bcd301a7fa333fc187e000eb3f9b6c30ad3d035052903874cc7caf87b09a66efd0d430f23bc3170893f845137275b1628b613f0aeefb9bce758d2a9e93d30f476d80fe510f here"])
        .no(&["v1.0-…", "v1.0-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("cloudflare-token", "a Cloudflare API token", &["cfut_", "cfat_", "cfk_"], r"cf(?:ut|at|k)_[0-9A-Za-z_-]{40,}")
        .entropy(32)
        .yes(&["key=cfu¦t_iUI1Km4rRRL1N0yR1WTTlF11YARc1a2JHODg3B1y", "see cfu¦t_iUI1Km4rRRL1N0yR1WTTlF11YARc1a2JHODg3B1y here"])
        .no(&["cfut_…", "cfut_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("fastly-token", "a Fastly API token", &["fastly"], r"[0-9A-Za-z_=-]{32}")
        .entropy(32)
        .yes(&["fastly_api_token = \"n2k¦XIWfzhMh6nUP8fWoPfJXpjVOKFdnf\"", "\"fastly_api_token\": \"n2k¦XIWfzhMh6nUP8fWoPfJXpjVOKFdnf\""])
        .no(&["fastly_api_token = get_fastly_api_token()", "the fastly page says n2k¦XIWfzhMh6nUP8fWoPfJXpjVOKFdnf"]),
    near("akamai-secret", "an Akamai client secret", &["akamai", "edgegrid"], r"[0-9A-Za-z+/]{43}=")
        .entropy(35)
        .yes(&["akamai_api_token = \"07a¦uXUf5ijCDqUGcdWk7GnO5MKHBKWzyHFm2NkE4nSA=\"", "\"akamai_api_token\": \"07a¦uXUf5ijCDqUGcdWk7GnO5MKHBKWzyHFm2NkE4nSA=\""])
        .no(&["akamai_api_token = get_akamai_api_token()", "the akamai page says 07a¦uXUf5ijCDqUGcdWk7GnO5MKHBKWzyHFm2NkE4nSA="]),
    prefix("akamai-token", "an Akamai access token", &["akab-", "akaa-"], r"aka[ab]-[0-9a-z]{16}-[0-9a-z]{16}")
        .entropy(30)
        .yes(&["key=aka¦b-ekwe98wvw1d9thfq-c7qyan8ugkms41j4", "see aka¦b-ekwe98wvw1d9thfq-c7qyan8ugkms41j4 here"])
        .no(&["akab-…", "akab-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("bunny-key", "a bunny.net API key", &["bunny"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}[0-9A-Fa-f]{36}")
        .entropy(28)
        .yes(&["bunny_api_token = \"DBA¦660ea-7B83-794a-CFec-23DE8Fa2dcefa32dbB1e5F82cd70dDa98882e3a494C5d47E\"", "\"bunny_api_token\": \"DBA¦660ea-7B83-794a-CFec-23DE8Fa2dcefa32dbB1e5F82cd70dDa98882e3a494C5d47E\""])
        .no(&["bunny_api_token = get_bunny_api_token()", "the bunny page says DBA¦660ea-7B83-794a-CFec-23DE8Fa2dcefa32dbB1e5F82cd70dDa98882e3a494C5d47E"]),
    prefix("fly-token", "a Fly.io token", &["fm1r_", "fm2_", "fo1_"], r"(?:FlyV1 )?f(?:m1r|m2|o1)_[0-9A-Za-z+/_-]{40,}={0,2}")
        .entropy(35)
        .yes(&["key=fm1¦r_GZYB0lWY806czAeHEpAOsxHdKyTI2XuoP86axXI4", "see fm1¦r_GZYB0lWY806czAeHEpAOsxHdKyTI2XuoP86axXI4 here"])
        .no(&["fm1r_…", "fm1r_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("render-key", "a Render API key", &["rnd_"], r"rnd_[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["key=rnd¦_QdY7FboGYjvVwtIzgstzEHkTAajv2z0G", "see rnd¦_QdY7FboGYjvVwtIzgstzEHkTAajv2z0G here"])
        .no(&["rnd_…", "rnd_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("railway-token", "a Railway token", &["railway"], r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
        .entropy(28)
        .yes(&["railway_api_token = \"7fC¦a22d3-428a-F30B-0C2B-D1B24BBaF5EE\"", "\"railway_api_token\": \"7fC¦a22d3-428a-F30B-0C2B-D1B24BBaF5EE\""])
        .no(&["railway_api_token = get_railway_api_token()", "the railway page says 7fC¦a22d3-428a-F30B-0C2B-D1B24BBaF5EE"]),
    near("vercel-token", "a Vercel token", &["vercel"], r"[0-9A-Za-z]{24}")
        .entropy(32)
        .yes(&["vercel_api_token = \"rJN¦HROenbpH8qrWyObOM4dYD\"", "\"vercel_api_token\": \"rJN¦HROenbpH8qrWyObOM4dYD\""])
        .no(&["vercel_api_token = get_vercel_api_token()", "the vercel page says rJN¦HROenbpH8qrWyObOM4dYD"]),
    prefix("vercel-token", "a Vercel token", &["vercel_blob_rw_", "vcp_", "vci_", "vck_"], r"(?:vercel_blob_rw_|vc[pick]_)[0-9A-Za-z]{16,}_?[0-9A-Za-z]{8,}")
        .entropy(32)
        .yes(&["key=vci¦_bCqom9DV9TbT6CioxsIG3III", "see vci¦_bCqom9DV9TbT6CioxsIG3III here"])
        .no(&["vci_…", "vci_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("netlify-token", "a Netlify access token", &["netlify"], r"[0-9A-Za-z_=-]{40,46}")
        .entropy(32)
        .yes(&["netlify_api_token = \"E9x¦JgOiLgQnGlxOB8MUxSbtruCTzufEg5GL35Y1U\"", "\"netlify_api_token\": \"E9x¦JgOiLgQnGlxOB8MUxSbtruCTzufEg5GL35Y1U\""])
        .no(&["netlify_api_token = get_netlify_api_token()", "the netlify page says E9x¦JgOiLgQnGlxOB8MUxSbtruCTzufEg5GL35Y1U"]),
    prefix("netlify-token", "a Netlify access token", &["nfp_"], r"nfp_[0-9A-Za-z]{36}")
        .entropy(32)
        .yes(&["key=nfp¦_g4KuwodZtxXyXN4UrTHj0Lx8VLRdW9zER3Zd", "see nfp¦_g4KuwodZtxXyXN4UrTHj0Lx8VLRdW9zER3Zd here"])
        .no(&["nfp_…", "nfp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("scalingo-token", "a Scalingo token", &["tk-us-"], r"tk-us-[0-9A-Za-z_-]{48}")
        .entropy(32)
        .yes(&["key=tk-¦us-giyejXrJZlBjv3CGV85SVk9fyTDpqw09dEFUgwOQhuYhr8Tk", "see tk-¦us-giyejXrJZlBjv3CGV85SVk9fyTDpqw09dEFUgwOQhuYhr8Tk here"])
        .no(&["tk-us-…", "tk-us-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("openshift-token", "an OpenShift user token", &["sha256~"], r"sha256~[0-9A-Za-z_-]{43}")
        .entropy(32)
        .yes(&["key=sha¦256~khwsWZNsINJEdh8WaNUpl3mywmjcywOtdUhK4Pr9HCw", "see sha¦256~khwsWZNsINJEdh8WaNUpl3mywmjcywOtdUhK4Pr9HCw here"])
        .no(&["sha256~…", "sha256~xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("yandex-cloud-key", "a Yandex Cloud API key", &["AQVN"], r"AQVN[0-9A-Za-z_-]{35,38}")
        .entropy(32)
        .yes(&["key=AQV¦Nz2Yev51w9kGvNfcZp6Y567zuT9iSMMbJdLe", "see AQV¦Nz2Yev51w9kGvNfcZp6Y567zuT9iSMMbJdLe here"])
        .no(&["AQVN…", "AQVNxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("yandex-cloud-token", "a Yandex Cloud IAM token", &["t1."], r"t1\.[0-9A-Za-z_-]+={0,2}\.[0-9A-Za-z_-]{60,}={0,2}")
        .entropy(35)
        .yes(&["key=t1.¦v.UamXAK6kewaoBpM2wKz5WbwHuC7px1GYPcT0aqOQfz3nDtRBjQShdxMA4EH1", "see t1.¦v.UamXAK6kewaoBpM2wKz5WbwHuC7px1GYPcT0aqOQfz3nDtRBjQShdxMA4EH1 here"])
        .no(&["t1.…", "t1.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("yandex-aws-key", "a Yandex Cloud static key", &["yandex"], r"YC[0-9A-Za-z_-]{38}")
        .entropy(32)
        .yes(&["yandex_api_token = \"YC7¦ilBw43i1QHZ7N1rdJnnKYyQVJczaibUwmrmZ4\"", "\"yandex_api_token\": \"YC7¦ilBw43i1QHZ7N1rdJnnKYyQVJczaibUwmrmZ4\""])
        .no(&["yandex_api_token = get_yandex_api_token()", "the yandex page says YC7¦ilBw43i1QHZ7N1rdJnnKYyQVJczaibUwmrmZ4"]),
    near("ibm-cloud-key", "an IBM Cloud API key", &["ibm", "ibmcloud", "bluemix", "cloud_iam", "cloud-iam", "iam_api", "iam-api"], r"[0-9A-Za-z_-]{44}")
        .entropy(25)
        .plain()
        .yes(&["ibm_api_token = \"ufG¦25ErsHs9z3DnAl1G3zSdmKpR22EnWWSk5tW1DhQkf\"", "\"ibm_api_token\": \"ufG¦25ErsHs9z3DnAl1G3zSdmKpR22EnWWSk5tW1DhQkf\""])
        .no(&["ibm_api_token = get_ibm_api_token()", "the ibm page says ufG¦25ErsHs9z3DnAl1G3zSdmKpR22EnWWSk5tW1DhQkf"]),
    near("ibm-cos-secret", "an IBM Cloud Object Storage HMAC secret", &["cos", "ibm", "secret_access", "secret-access", "secretaccess", "aws"], r"[0-9a-f]{48}")
        .entropy(25)
        .plain()
        .yes(&["cos_api_token = \"dc2¦c470e8a029970a26860e84f8ad4c5bd115264222897b4\"", "\"cos_api_token\": \"dc2¦c470e8a029970a26860e84f8ad4c5bd115264222897b4\""])
        .no(&["cos_api_token = get_cos_api_token()", "the cos page says dc2¦c470e8a029970a26860e84f8ad4c5bd115264222897b4"]),
    near("softlayer-key", "a SoftLayer API key", &["softlayer", "sl_api", "sl-api", "slapi"], r"[0-9a-f]{64}")
        .entropy(20)
        .plain()
        .yes(&["softlayer_api_token = \"fe7¦e228e22561810cfb96ed88433eef18c0e1b15af7f13e4acb9a43607349641\"", "\"softlayer_api_token\": \"fe7¦e228e22561810cfb96ed88433eef18c0e1b15af7f13e4acb9a43607349641\""])
        .no(&["softlayer_api_token = get_softlayer_api_token()", "the softlayer page says fe7¦e228e22561810cfb96ed88433eef18c0e1b15af7f13e4acb9a43607349641"]),
    inside("softlayer-key", "a SoftLayer API key in a URL", &["softlayer.com/"], r"softlayer\.com/soap/v3(?:\.1)?/([0-9a-z]{64})")
        .entropy(20)
        .yes(&["key=sof¦tlayer.com/soap/v3/mz564ypnf0l4djyfebryaksrl1wg9pbxjqskvl3w5in3e5ijzoyd3zvztdrt941e", "see sof¦tlayer.com/soap/v3/mz564ypnf0l4djyfebryaksrl1wg9pbxjqskvl3w5in3e5ijzoyd3zvztdrt941e here"])
        .no(&["softlayer.com/…", "softlayer.com/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("pulumi-token", "a Pulumi access token", &["pul-"], r"pul-[0-9a-f]{40}")
        .entropy(28)
        .yes(&["key=pul¦-45a56fa4b80c61ab0574ba22af6f8bd103c73ab8", "see pul¦-45a56fa4b80c61ab0574ba22af6f8bd103c73ab8 here"])
        .no(&["pul-…", "pul-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    inside("terraform-token", "a Terraform Cloud token", &[".atlasv1."], r"[0-9A-Za-z]{14}\.atlasv1\.[0-9A-Za-z_=-]{60,70}")
        .lead(14)
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["key=e9J¦6DnLrpO3qvq.atlasv1.PSVxbA7JTUfbbt3OtBz5GzWB8pyL87PnMNWi0x5kO6WMwU52T56vZbb30r46", "see e9J¦6DnLrpO3qvq.atlasv1.PSVxbA7JTUfbbt3OtBz5GzWB8pyL87PnMNWi0x5kO6WMwU52T56vZbb30r46 here"])
        .no(&[".atlasv1.…", ".atlasv1.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("vault-token", "a HashiCorp Vault token", &["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[0-9A-Za-z_-]{24,}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["key=hvr¦.aDoFogCdbN2IA7inUs2nR4eP", "see hvr¦.aDoFogCdbN2IA7inUs2nR4eP here"])
        .no(&["hvr.…", "hvr.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("vault-token", "a HashiCorp Vault token", &["vault"], r"s\.[0-9A-Za-z]{24}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["vault_api_token = \"s.2¦YwDPhdEnqdSgnXPQybxfiDb\"", "\"vault_api_token\": \"s.2¦YwDPhdEnqdSgnXPQybxfiDb\""])
        .no(&["vault_api_token = get_vault_api_token()", "the vault page says s.2¦YwDPhdEnqdSgnXPQybxfiDb"]),
    near("vault-unseal-key", "a Vault unseal key", &["unseal key", "unseal_key", "unseal-key"], r"[0-9A-Za-z+/]{43,44}=?")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["unseal key = \"gww¦PpbXH6AMGPcbF2GfxTcBIVqDvNZQFHecW64KvOlr\"", "\"unseal key\": \"gww¦PpbXH6AMGPcbF2GfxTcBIVqDvNZQFHecW64KvOlr\""])
        .no(&["unseal key = get_unseal_key()", "the unseal key page says gww¦PpbXH6AMGPcbF2GfxTcBIVqDvNZQFHecW64KvOlr"]),
    prefix("doppler-token", "a Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.scim.", "dp.audit.", "dp.sa."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[0-9A-Za-z]{40,44}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&["key=dp.¦st.vCeDerEOTRsNvWoExSdyd9GpGbWZ8QNQ82Eivfx2", "see dp.¦st.vCeDerEOTRsNvWoExSdyd9GpGbWZ8QNQ82Eivfx2 here"])
        .no(&["dp.st.…", "dp.st.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("infracost-key", "an Infracost API key", &["ico-"], r"ico-[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&["key=ico¦-pwaz8YgJZQpdbpe8q7cAimBAZb1CLVWt", "see ico¦-pwaz8YgJZQpdbpe8q7cAimBAZb1CLVWt here"])
        .no(&["ico-…", "ico-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("onepassword-token", "a 1Password service account token", &["ops_eyJ"], r"ops_eyJ[0-9A-Za-z+/]{240,}={0,3}")
        .entropy(40)
        .severity(Severity::Critical)
        .window(512)
        .yes(&["key=ops¦_eyJyryPHtAXnIj20zbcEcCmppcSumIbtiLUSUwfvlTFr2xnwXWqfJLEIZq9bGMKZ6Tp9cC69x9OLzsVj1bWJbEMGRY4IlxnavaHhH0GwJJANxvtiYd65580C5k140kgPMePmzBqhyFKpas0HqJSEcZ9sHbHNcxTtfIBMkMlpiwKIi1Y3aiuZ4wtrz60nw6XO6qcatROP1unzkOxvWR6GW5nA3BEjN1CZ0xz0WCEuqNZEJFa99K3", "see ops¦_eyJyryPHtAXnIj20zbcEcCmppcSumIbtiLUSUwfvlTFr2xnwXWqfJLEIZq9bGMKZ6Tp9cC69x9OLzsVj1bWJbEMGRY4IlxnavaHhH0GwJJANxvtiYd65580C5k140kgPMePmzBqhyFKpas0HqJSEcZ9sHbHNcxTtfIBMkMlpiwKIi1Y3aiuZ4wtrz60nw6XO6qcatROP1unzkOxvWR6GW5nA3BEjN1CZ0xz0WCEuqNZEJFa99K3 here"])
        .no(&["ops_eyJ…", "ops_eyJxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("onepassword-secret-key", "a 1Password account secret key", &["A3-"], r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["key=A3-¦J4H8M9-64HKBJ-N15JK-QNPPF-ATIJY-MBDI2", "see A3-¦J4H8M9-64HKBJ-N15JK-QNPPF-ATIJY-MBDI2 here"])
        .no(&["A3-…", "A3-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("age-secret-key", "an age secret key", &["AGE-SECRET-KEY-1"], r"AGE-SECRET-KEY-1[0-9A-Z]{58}")
        .severity(Severity::Critical)
        .plain()
        .yes(&["key=AGE¦-SECRET-KEY-1W1MJ63YVMMT3ZYEFEK7DP0R0TUSPL1EWM9PTN7IGWMK9LPGTV2TTG8581G", "see AGE¦-SECRET-KEY-1W1MJ63YVMMT3ZYEFEK7DP0R0TUSPL1EWM9PTN7IGWMK9LPGTV2TTG8581G here"])
        .no(&["AGE-SECRET-KEY-1…"]),
    prefix("tailscale-key", "a Tailscale key", &["tskey-"], r"tskey-[a-z]+-[0-9A-Za-z]{10,}-[0-9A-Za-z]{20,}")
        .entropy(30)
        .severity(Severity::Critical)
        .yes(&["key=tsk¦ey-r-Ag8UhuMhDU-mHQzLFQbfC48yCVGrKDb", "see tsk¦ey-r-Ag8UhuMhDU-mHQzLFQbfC48yCVGrKDb here"])
        .no(&["tskey-…", "tskey-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("ngrok-token", "an ngrok token", &["ngrok"], r"[0-9A-Za-z]{20,27}_[0-9A-Za-z]{20,22}")
        .entropy(35)
        .yes(&["ngrok_api_token = \"w7P¦Ph5rMjuQpyR1uwDJQ_uQ5lWOASCJ1PeUbsKVjU\"", "\"ngrok_api_token\": \"w7P¦Ph5rMjuQpyR1uwDJQ_uQ5lWOASCJ1PeUbsKVjU\""])
        .no(&["ngrok_api_token = get_ngrok_api_token()", "the ngrok page says w7P¦Ph5rMjuQpyR1uwDJQ_uQ5lWOASCJ1PeUbsKVjU"]),
    inside("ngrok-token", "an ngrok token that is set up", &["authtoken"], r"authtoken[ \t]+([0-9A-Za-z]{20,30}_[0-9A-Za-z]{18,24})")
        .line()
        .entropy(35)
        .yes(&["ngrok config add-authtoken 63F¦fkCzJr4i0B3JrTAwR4y9ojfl_joQoaF1LlqsajAIxNKu8", "ngrok authtoken 63F¦fkCzJr4i0B3JrTAwR4y9ojfl_joQoaF1LlqsajAIxNKu8"])
        .no(&["ngrok config add-authtoken $NGROK_TOKEN", "authtoken name_of_the_token_that_was_given"]),
    prefix("harness-key", "a Harness key", &["pat.", "sat."], r"[ps]at\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}")
        .entropy(35)
        .yes(&["key=sat¦.cDoxNXpGFAf8duDckpehSe.aJ9hfdrSLiXdNnZYuM4vNzfN.v4gnx9VYiyr3YJ4YJNVk", "see sat¦.cDoxNXpGFAf8duDckpehSe.aJ9hfdrSLiXdNnZYuM4vNzfN.v4gnx9VYiyr3YJ4YJNVk here"])
        .no(&["sat.…", "sat.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("rancher-token", "a Rancher API token", &["token-"], r"token-[a-z0-9]{5}:[a-z0-9]{54}")
        .entropy(35)
        .severity(Severity::Critical)
        .yes(&["key=tok¦en-szxap:5drx1618gp3ri1sdk32clxb4k0onnbtmw4a7tschzuwhujr9m93559", "see tok¦en-szxap:5drx1618gp3ri1sdk32clxb4k0onnbtmw4a7tschzuwhujr9m93559 here"])
        .no(&["token-…", "token-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("authress-key", "an Authress access key", &["sc_", "ext_", "scauth_", "authress_"], r"(?:sc|ext|scauth|authress)_[0-9a-z]{5,30}\.[0-9a-z]{4,6}\.acc[_-][0-9a-z-]{10,32}\.[0-9A-Za-z+/_=-]{30,120}")
        .entropy(35)
        .yes(&["key=ext¦_cfss7.eo26.acc_81axtgij34.OpDQqlMYn2NPMQLem9KWQ9ciS714mL", "see ext¦_cfss7.eo26.acc_81axtgij34.OpDQqlMYn2NPMQLem9KWQ9ciS714mL here"])
        .no(&["ext_…", "ext_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
