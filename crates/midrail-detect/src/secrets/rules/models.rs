//! Makers and hosts of language models: formats of their keys.

use midrail_core::Severity;

use super::{Rule, Verify, near, prefix};

/// One row a format.
pub(super) const RULES: &[Rule] = &[
    prefix("anthropic-key", "an Anthropic key", &["sk-ant-"], r"sk-ant-[0-9A-Za-z_-]{20,}")
        .entropy(20)
        .severity(Severity::Critical)
        .yes(&["key=sk-¦ant-PEbc9b9SToQl95MSefcL", "see sk-¦ant-PEbc9b9SToQl95MSefcL here"])
        .no(&["sk-ant-…", "sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("openai-key", "an OpenAI key", &["sk-"], r"sk-[0-9A-Za-z_-]{20,}")
        .plain()
        .severity(Severity::Critical)
        .verify(Verify::OpenAi)
        .yes(&["key=sk-¦6uWPiUrd9jVHKjnVdi87", "see sk-¦6uWPiUrd9jVHKjnVdi87 here"])
        .no(&["sk-…", "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("openrouter-key", "an OpenRouter key", &["sk-or-"], r"sk-or-(?:v1-)?[0-9a-f]{40,}")
        .entropy(28)
        .severity(Severity::Critical)
        .yes(&[
            "key=sk-¦or-df793d3191e86eb62caff0e053216fb7e2a81b01",
            "see sk-¦or-df793d3191e86eb62caff0e053216fb7e2a81b01 here",
        ])
        .no(&["sk-or-…", "sk-or-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix(
        "langfuse-key",
        "a Langfuse key",
        &["sk-lf-", "pk-lf-"],
        r"[sp]k-lf-[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    )
    .entropy(28)
    .yes(&[
        "key=pk-¦lf-aA461fe2-56bE-C075-22E2-1Ba89a7a18fc",
        "see pk-¦lf-aA461fe2-56bE-C075-22E2-1Ba89a7a18fc here",
    ])
    .no(&["pk-lf-…", "pk-lf-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix(
        "huggingface-token",
        "a Hugging Face token",
        &["hf_", "api_org_"],
        r"(?:hf_|api_org_)[0-9A-Za-z]{34,}",
    )
    .entropy(33)
    .severity(Severity::Critical)
    .verify(Verify::NotWords)
    .yes(&["key=hf_¦my4HCaFSf6pqyFnDCyhOuU8pqjohfCiFLB", "see hf_¦my4HCaFSf6pqyFnDCyhOuU8pqjohfCiFLB here"])
    .no(&["hf_…", "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("replicate-token", "a Replicate token", &["r8_"], r"r8_[0-9A-Za-z]{37}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&[
            "key=r8_¦sRGnAXgBJHt6CASnBZtMX9dUfDCiFfLmkNX7Y",
            "see r8_¦sRGnAXgBJHt6CASnBZtMX9dUfDCiFfLmkNX7Y here",
        ])
        .no(&["r8_…", "r8_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("groq-key", "a Groq key", &["gsk_"], r"gsk_[0-9A-Za-z]{52}")
        .entropy(34)
        .severity(Severity::Critical)
        .yes(&[
            "key=gsk¦_JEpr5StfMTQtKwywQoQ1mBcJUiM1upMBKWdBwOCmgi1V41262NhT",
            "see gsk¦_JEpr5StfMTQtKwywQoQ1mBcJUiM1upMBKWdBwOCmgi1V41262NhT here",
        ])
        .no(&["gsk_…", "gsk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("xai-key", "an xAI key", &["xai-"], r"xai-[0-9A-Za-z]{80}")
        .entropy(36)
        .severity(Severity::Critical)
        .yes(&[
            "key=xai¦-wKPnCfV4ZtYE7q408dkJMmKgjPR71vpgj2iSP0Kbipxu7Gw37sjxx26tfwQ2U3V5aYWp2LsvQCv3RXT7",
            "see xai¦-wKPnCfV4ZtYE7q408dkJMmKgjPR71vpgj2iSP0Kbipxu7Gw37sjxx26tfwQ2U3V5aYWp2LsvQCv3RXT7 here",
        ])
        .no(&["xai-…", "xai-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("perplexity-key", "a Perplexity key", &["pplx-"], r"pplx-[0-9A-Za-z]{48,}")
        .entropy(32)
        .severity(Severity::Critical)
        .yes(&[
            "key=ppl¦x-iZQULHMvtQYRaHIfoGPnYyqGSVddqYeJ4PW16KTI5ddVzg0E",
            "see ppl¦x-iZQULHMvtQYRaHIfoGPnYyqGSVddqYeJ4PW16KTI5ddVzg0E here",
        ])
        .no(&["pplx-…", "pplx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("cohere-key", "a Cohere key", &["cohere", "co_api"], r"[0-9A-Za-z]{40}")
        .entropy(34)
        .yes(&[
            "cohere_api_token = \"Xyb¦Z5U0RO5VoLqCmN3XzGFX2IYYXInTtWyZIDclT\"",
            "\"cohere_api_token\": \"Xyb¦Z5U0RO5VoLqCmN3XzGFX2IYYXInTtWyZIDclT\"",
        ])
        .no(&[
            "cohere_api_token = get_cohere_api_token()",
            "the cohere page says Xyb¦Z5U0RO5VoLqCmN3XzGFX2IYYXInTtWyZIDclT",
        ]),
    near("mistral-key", "a Mistral key", &["mistral"], r"[0-9A-Za-z]{32}")
        .entropy(34)
        .yes(&[
            "mistral_api_token = \"AyS¦rCxhgD2marp1vBP26AwhJCbKUBsSp\"",
            "\"mistral_api_token\": \"AyS¦rCxhgD2marp1vBP26AwhJCbKUBsSp\"",
        ])
        .no(&[
            "mistral_api_token = get_mistral_api_token()",
            "the mistral page says AyS¦rCxhgD2marp1vBP26AwhJCbKUBsSp",
        ]),
    near("together-key", "a Together AI key", &["together"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&[
            "together_api_token = \"f26¦430a12769aab26f162edfc850ff8a0356f61c3d077fe200aaaf7188643ad9\"",
            "\"together_api_token\": \"f26¦430a12769aab26f162edfc850ff8a0356f61c3d077fe200aaaf7188643ad9\"",
        ])
        .no(&[
            "together_api_token = get_together_api_token()",
            "the together page says f26¦430a12769aab26f162edfc850ff8a0356f61c3d077fe200aaaf7188643ad9",
        ]),
    near("deepseek-key", "a DeepSeek key", &["deepseek"], r"sk-[0-9a-f]{32}")
        .entropy(28)
        .yes(&[
            "deepseek_api_token = \"sk-¦3dafe55d7c09027f15fb6456704251e2\"",
            "\"deepseek_api_token\": \"sk-¦3dafe55d7c09027f15fb6456704251e2\"",
        ])
        .no(&[
            "deepseek_api_token = get_deepseek_api_token()",
            "the deepseek page says sk-¦3dafe55d7c09027f15fb6456704251e2",
        ]),
    prefix("fireworks-key", "a Fireworks AI key", &["fw_"], r"fw_[0-9A-Za-z]{22,24}")
        .entropy(32)
        .verify(Verify::Digit)
        .yes(&["key=fw_¦w6et0LI1qZ2hreNIVn6dmo", "see fw_¦w6et0LI1qZ2hreNIVn6dmo here"])
        .no(&["fw_…", "fw_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("nvidia-key", "an NVIDIA key", &["nvapi-"], r"nvapi-[0-9A-Za-z_-]{60,}")
        .entropy(34)
        .severity(Severity::Critical)
        .yes(&[
            "key=nva¦pi-794oo7D7vYJeCueKSfS5bKNabjsx7qrH1m2S9iMPPdXWFB1ErGD4dBP6JWGV",
            "see nva¦pi-794oo7D7vYJeCueKSfS5bKNabjsx7qrH1m2S9iMPPdXWFB1ErGD4dBP6JWGV here",
        ])
        .no(&["nvapi-…", "nvapi-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("cerebras-key", "a Cerebras key", &["csk-"], r"csk-[0-9A-Za-z]{48}")
        .entropy(34)
        .yes(&[
            "key=csk¦-J9ArFb033rXBzOLIiBYyxVv8csqTxd11dhjzGDzaQtKsSKBk",
            "see csk¦-J9ArFb033rXBzOLIiBYyxVv8csqTxd11dhjzGDzaQtKsSKBk here",
        ])
        .no(&["csk-…", "csk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("pinecone-key", "a Pinecone key", &["pcsk_"], r"pcsk_[0-9A-Za-z]{5,6}_[0-9A-Za-z]{60,}")
        .entropy(34)
        .yes(&[
            "key=pcs¦k_7Denu_aYzjvNz8zBW6aC51xHcPMaxBCYNSbEI4YmKhwCpWEahqT6c948p95Dh84sz2",
            "see pcs¦k_7Denu_aYzjvNz8zBW6aC51xHcPMaxBCYNSbEI4YmKhwCpWEahqT6c948p95Dh84sz2 here",
        ])
        .no(&["pcsk_…", "pcsk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near(
        "pinecone-key",
        "a Pinecone key",
        &["pinecone"],
        r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    )
    .entropy(28)
    .yes(&[
        "pinecone_api_token = \"DEb¦E27F0-cAEF-de02-dEe9-06faAD78Af5c\"",
        "\"pinecone_api_token\": \"DEb¦E27F0-cAEF-de02-dEe9-06faAD78Af5c\"",
    ])
    .no(&[
        "pinecone_api_token = get_pinecone_api_token()",
        "the pinecone page says DEb¦E27F0-cAEF-de02-dEe9-06faAD78Af5c",
    ]),
    prefix("tavily-key", "a Tavily key", &["tvly-"], r"tvly-(?:dev-|prod-)?[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&[
            "key=tvl¦y-j39PNZEBGTPQxRiNm03nW0abIxJsYYFy",
            "see tvl¦y-j39PNZEBGTPQxRiNm03nW0abIxJsYYFy here",
        ])
        .no(&["tvly-…", "tvly-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("firecrawl-key", "a Firecrawl key", &["fc-"], r"fc-[0-9a-f]{32}")
        .entropy(28)
        .yes(&["key=fc-¦0e37af60ec83a59e4e7f2c6977b12716", "see fc-¦0e37af60ec83a59e4e7f2c6977b12716 here"])
        .no(&["fc-…", "fc-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("e2b-key", "an E2B key", &["e2b_"], r"e2b_[0-9a-f]{40}")
        .entropy(28)
        .yes(&[
            "key=e2b¦_3a544b587c52a6aac998558558e2e6c250be473d",
            "see e2b¦_3a544b587c52a6aac998558558e2e6c250be473d here",
        ])
        .no(&["e2b_…", "e2b_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix(
        "langsmith-key",
        "a LangSmith key",
        &["lsv2_pt_", "lsv2_sk_", "ls__"],
        r"(?:lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|ls__[0-9a-f]{32})",
    )
    .entropy(28)
    .yes(&[
        "key=lsv¦2_sk_d87d4a7f4a5d2122eb6185d188ea9b03_0d46dcf7fb",
        "see lsv¦2_sk_d87d4a7f4a5d2122eb6185d188ea9b03_0d46dcf7fb here",
    ])
    .no(&["lsv2_sk_…", "lsv2_sk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("wandb-key", "a Weights & Biases key", &["wandb_v1_"], r"wandb_v1_[0-9A-Za-z_-]{60,}")
        .entropy(34)
        .yes(&[
            "key=wan¦db_v1_NQohpGrPnEJb6Qt6xk5abJ7xT9MFlBeE5BkvSzy3i7en4jjO9xEibaPn7uA4",
            "see wan¦db_v1_NQohpGrPnEJb6Qt6xk5abJ7xT9MFlBeE5BkvSzy3i7en4jjO9xEibaPn7uA4 here",
        ])
        .no(&["wandb_v1_…", "wandb_v1_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("wandb-key", "a Weights & Biases key", &["wandb"], r"[0-9a-f]{40}")
        .entropy(30)
        .yes(&[
            "wandb_api_token = \"080¦c98d924984683b2733052d741147df092dc9e\"",
            "\"wandb_api_token\": \"080¦c98d924984683b2733052d741147df092dc9e\"",
        ])
        .no(&[
            "wandb_api_token = get_wandb_api_token()",
            "the wandb page says 080¦c98d924984683b2733052d741147df092dc9e",
        ]),
    near("comet-key", "a Comet ML key", &["comet"], r"[0-9A-Za-z]{25}")
        .entropy(30)
        .yes(&[
            "comet_api_token = \"4kk¦HJfCg8JQQoh7qiYcW6zPM3\"",
            "\"comet_api_token\": \"4kk¦HJfCg8JQQoh7qiYcW6zPM3\"",
        ])
        .no(&["comet_api_token = get_comet_api_token()", "the comet page says 4kk¦HJfCg8JQQoh7qiYcW6zPM3"]),
    prefix("elevenlabs-key", "an ElevenLabs key", &["sk_"], r"sk_[0-9a-f]{48}")
        .entropy(30)
        .yes(&[
            "key=sk_¦dd9631fad8e51946d169f59c36eba75b7b194a1db97d5fd4",
            "see sk_¦dd9631fad8e51946d169f59c36eba75b7b194a1db97d5fd4 here",
        ])
        .no(&["sk_…", "sk_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("assemblyai-key", "an AssemblyAI key", &["assemblyai", "assembly_ai"], r"[0-9a-f]{32}")
        .entropy(28)
        .yes(&[
            "assemblyai_api_token = \"939¦94bcd0a7800ea75e3348f95267a73\"",
            "\"assemblyai_api_token\": \"939¦94bcd0a7800ea75e3348f95267a73\"",
        ])
        .no(&[
            "assemblyai_api_token = get_assemblyai_api_token()",
            "the assemblyai page says 939¦94bcd0a7800ea75e3348f95267a73",
        ]),
    near("deepgram-key", "a Deepgram key", &["deepgram"], r"[0-9a-f]{40}")
        .entropy(28)
        .yes(&[
            "deepgram_api_token = \"3a2¦e06fe24a044547e931b97aa00404c74080f03\"",
            "\"deepgram_api_token\": \"3a2¦e06fe24a044547e931b97aa00404c74080f03\"",
        ])
        .no(&[
            "deepgram_api_token = get_deepgram_api_token()",
            "the deepgram page says 3a2¦e06fe24a044547e931b97aa00404c74080f03",
        ]),
    near("stability-key", "a Stability AI key", &["stability"], r"sk-[0-9A-Za-z]{48}")
        .entropy(34)
        .yes(&[
            "stability_api_token = \"sk-¦LA6tGAjQpGYN7tdIT4i6uGDhNhkwbiAaLenV9nN33X9hUlYt\"",
            "\"stability_api_token\": \"sk-¦LA6tGAjQpGYN7tdIT4i6uGDhNhkwbiAaLenV9nN33X9hUlYt\"",
        ])
        .no(&[
            "stability_api_token = get_stability_api_token()",
            "the stability page says sk-¦LA6tGAjQpGYN7tdIT4i6uGDhNhkwbiAaLenV9nN33X9hUlYt",
        ]),
    near(
        "deepl-key",
        "a DeepL key",
        &["deepl"],
        r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?::fx)?",
    )
    .entropy(28)
    .yes(&[
        "deepl_api_token = \"2f5¦de8e0-Fba7-C768-8105-1dCFE820aaaA\"",
        "\"deepl_api_token\": \"2f5¦de8e0-Fba7-C768-8105-1dCFE820aaaA\"",
    ])
    .no(&[
        "deepl_api_token = get_deepl_api_token()",
        "the deepl page says 2f5¦de8e0-Fba7-C768-8105-1dCFE820aaaA",
    ]),
    prefix("voyage-key", "a Voyage AI key", &["pa-"], r"pa-[0-9A-Za-z_-]{43}")
        .entropy(36)
        .verify(Verify::Digit)
        .yes(&[
            "key=pa-¦xvarvwn4p1cNtWX7uJzAcg6fBNcaxGuBg5lhPJbNNpI",
            "see pa-¦xvarvwn4p1cNtWX7uJzAcg6fBNcaxGuBg5lhPJbNNpI here",
        ])
        .no(&["pa-…", "pa-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("jina-key", "a Jina AI key", &["jina_"], r"jina_[0-9a-f]{32}[0-9A-Za-z_-]{28}")
        .entropy(34)
        .yes(&[
            "key=jin¦a_5b744c7fd9d36a01ea6d389d7f99453efJvBfCkzKNW1q7yvePvqUTpxbD66",
            "see jin¦a_5b744c7fd9d36a01ea6d389d7f99453efJvBfCkzKNW1q7yvePvqUTpxbD66 here",
        ])
        .no(&["jina_…", "jina_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    near("ai21-key", "an AI21 key", &["ai21"], r"[0-9A-Za-z]{32}")
        .entropy(32)
        .yes(&[
            "ai21_api_token = \"xvr¦NsHBPy2z4dnPTNhEhHSVmPhRKif00\"",
            "\"ai21_api_token\": \"xvr¦NsHBPy2z4dnPTNhEhHSVmPhRKif00\"",
        ])
        .no(&[
            "ai21_api_token = get_ai21_api_token()",
            "the ai21 page says xvr¦NsHBPy2z4dnPTNhEhHSVmPhRKif00",
        ]),
    near("privateai-key", "a Private AI key", &["privateai", "private_ai"], r"[0-9a-z]{32}")
        .entropy(30)
        .yes(&[
            "privateai_api_token = \"mgb¦1jo218sbhxgooz29tr9l51a27lny3\"",
            "\"privateai_api_token\": \"mgb¦1jo218sbhxgooz29tr9l51a27lny3\"",
        ])
        .no(&[
            "privateai_api_token = get_privateai_api_token()",
            "the privateai page says mgb¦1jo218sbhxgooz29tr9l51a27lny3",
        ]),
    near("serpapi-key", "a SerpApi key", &["serpapi", "serp_api"], r"[0-9a-f]{64}")
        .entropy(30)
        .yes(&[
            "serpapi_api_token = \"521¦29d8b2f76491421d94dbceeac702dd96df5cfc9c9e6ce308920b3a4a810be\"",
            "\"serpapi_api_token\": \"521¦29d8b2f76491421d94dbceeac702dd96df5cfc9c9e6ce308920b3a4a810be\"",
        ])
        .no(&[
            "serpapi_api_token = get_serpapi_api_token()",
            "the serpapi page says 521¦29d8b2f76491421d94dbceeac702dd96df5cfc9c9e6ce308920b3a4a810be",
        ]),
    near("brave-search-key", "a Brave Search key", &["brave"], r"BSA[0-9A-Za-z_-]{28}")
        .entropy(32)
        .yes(&[
            "brave_api_token = \"BSA¦FuEXnZ60AuTEMtkUm4yoeWKNYLJX\"",
            "\"brave_api_token\": \"BSA¦FuEXnZ60AuTEMtkUm4yoeWKNYLJX\"",
        ])
        .no(&[
            "brave_api_token = get_brave_api_token()",
            "the brave page says BSA¦FuEXnZ60AuTEMtkUm4yoeWKNYLJX",
        ]),
    near(
        "exa-key",
        "an Exa key",
        &["exa_api", "exa-api"],
        r"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}",
    )
    .entropy(28)
    .yes(&[
        "exa_api_api_token = \"e52¦Aad61-c3aE-8aEc-aFc3-E7E640f2893F\"",
        "\"exa_api_api_token\": \"e52¦Aad61-c3aE-8aEc-aFc3-E7E640f2893F\"",
    ])
    .no(&[
        "exa_api_api_token = get_exa_api_api_token()",
        "the exa_api page says e52¦Aad61-c3aE-8aEc-aFc3-E7E640f2893F",
    ]),
    prefix("modal-token", "a Modal token", &["ak-", "as-"], r"a[ks]-[0-9A-Za-z]{22}")
        .entropy(34)
        .verify(Verify::Digit)
        .beside("odal")
        .yes(&["xodal_key = as-¦vfKpVza7yuXyYBMS6oHHQs"])
        .no(&["as-…", "as-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("runpod-key", "a RunPod key", &["rpa_"], r"rpa_[0-9A-Za-z]{40,}")
        .entropy(34)
        .yes(&[
            "key=rpa¦_vpiJG3sO6ZPhkJ1V4HcLCd3ve7b14iHffFVF5aKI",
            "see rpa¦_vpiJG3sO6ZPhkJ1V4HcLCd3ve7b14iHffFVF5aKI here",
        ])
        .no(&["rpa_…", "rpa_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
    prefix("dify-key", "a Dify app key", &["app-"], r"app-[0-9A-Za-z]{24}")
        .entropy(34)
        .verify(Verify::Digit)
        .beside("ify")
        .yes(&["xify_key = app¦-Pz5XeLT4UtouMycJ4fmSiIre"])
        .no(&["app-…", "app-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]),
];
