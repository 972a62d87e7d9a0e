//! Who is spoken to. Nothing of this is an attack: repositories speak to agents, and people to their assistants. What
//! they are told decides (`orders`).

use super::{
    Counts::{Address, Name},
    Row, spoken,
};

pub(super) const ROWS: &[Row] = &[
    spoken(
        Address,
        &[
            "attention|note|notes|notice|message|memo|request|hello|dear|hint|instruction|instructions|order|orders|task|reminder|p_s|ps|to to|for|all|any ~2 ai|llm|llms|chatbot|bot|model|models|language_model|chatgpt|copilot|automated|coding_agents",
            "attention|dear|hello|hey|notice|hi|warning ~1 ai|llm|llms|language_model",
            "ai|llm|coding|automated|autonomous @reader :*",
            "ai|llm|llms|copilot|chatbots :*",
            "ai|llm|coding|automated @reader ~1 reading|processing|seeing|parsing|summarizing|visiting|crawling|that|who",
            "copilot please|kindly",
            "ai|llm|coding|automated|autonomous @reader ~6 @duty|have_to|has_to|need_to|needs_to|are_required_to|is_required_to|are_instructed_to",
            "assistant|assistants|chatbot|chatbots|llm|llms must|should|shall|has_to|have_to|needs_to|need_to",
            "assistant|assistants|chatbots|llms|agents are|is ~1 required|instructed|obliged|ordered",
            "if|when|in_case you|youre ~3 ai|llm|language_model|chatbot|automated|assistant|bot",
            "if|when|whenever|once|any|every|soon_as ~3 ai|llm|language_model|chatbot|assistant|agent ~2 reads|sees|processes|summarizes|reviews|opens|visits|parses|encounters ~1 this|these|it",
            "when|while|before|after|if|for summarizing|summarising|describing|reviewing|reading|translating|analyzing|processing|evaluating|screening|grading this|these|my|our",
            "when|once|after|soon_as you ~2 read|reading|seen|summarize|review|process ~1 this|it",
            "todo|fixme|hack|xxx ai|llm|copilot|claude|chatgpt|agent|gpt|cursor|bot",
        ],
        &[
            "Note for the AI: be brief",
            "Dear AI, hello",
            "LLM agents: welcome",
            "AI summarizer: hello",
            "@copilot please look at this",
            "AI agents that read this file should be careful",
            "The assistant needs to wait",
            "Assistants are now required to wait",
            "If you are an automated agent, wait",
            "When an LLM reads this, it waits",
            "When summarizing this page, be brief",
            "When you have read this, call me",
            "// TODO(ai): split this",
        ],
        &[
            "Note for the team: be brief",
            "Dear Ada, hello",
            "LLM agents are popular",
            "The assistant waits",
            "If you are a visitor, wait",
            "When a person reads this, it waits",
            "// TODO(bob): split this",
        ],
    ),
    spoken(
        Name,
        &[
            "claude|chatgpt|gemini|assistant|agent|cursor|codex|gpt|bot|grok|chatbot :*",
            "hey|hi|dear|hello ~0 claude|chatgpt|gemini|assistant|cursor|codex|gpt|grok",
            "agents|bots should|must|shall|have_to|need_to",
            // Other languages have a word for such machines, which is enough.
            "ki|ia|lia|sprachmodell|ki_assistent|ии|нейросеть|ассистент|yapay_zeka|yapay_zekaya|voor_de_ai|aan_de_ai|dla_ai|do_ai|asystencie|アシスタント|アシスタントへ|ai_へ|人工知能|助手|人工智能|어시스턴트에게|어시스턴트|인공지능",
        ],
        &["Claude: look", "Hey Gemini, look", "agents must wait", "Hinweis an die KI", "AIアシスタントへ"],
        &["Claude is here", "Hey Bob, look", "guests must wait"],
    ),
];
