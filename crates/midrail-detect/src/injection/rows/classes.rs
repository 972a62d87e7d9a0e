//! Sets of words that several rows share.

pub(in super::super) const CLASSES: &[(&str, &str)] = &[
    (
        "@names",
        "chatgpt openai openais gpt gpt4 gpt3 chatgtp claude gemini bard copilot llama bing chatbot llm agi ai al",
    ),
    (
        "@told",
        "@not users attackers attacker prevent prevents preventing stop stops makes making causes lets trick tricks \
         tricking detect detects detecting block blocks blocking attempts attempt tries asks",
    ),
    (
        "@filler",
        "all alll the your ur my any of these those every each me us please are a an and or full entire such that this \
         which other whatever our is to whole complete very exact own just also now given initial both what was were \
         have been it its ai in from everything only existing as ever with for at",
    ),
    (
        "@mention",
        "example examples eg ie like such attack attacks attacker attackers injection injections jailbreak jailbreaks \
         jailbreaking phrase phrases phrasing string strings payload payloads detect detects detected detection detector \
         assert asserts expect expects test tests testing fixture pattern patterns regex regexes rule flagged flag flags \
         blocks blocked called saying says said quote quoted means mean meaning term literal sample samples filter \
         filters matches match contains contain classifier classic canonical typical known scan scanner malicious \
         whispered shouted muttered replied cried laughed yelled growled sighed blocklist denylist blacklist banned \
         forbidden suspicious keywords signatures beispiel zum exemple ejemplo writing writes wrote typing typed types \
         sentence sentences satz wort block list grep rg ack ilike translate wording regexp redteam drill paper papers \
         article titled entitled talk chapter blog",
    ),
    (
        "@question",
        "how what whats why does is are should which when where who wie was warum weshalb bedeutet heisst comment \
         pourquoi quest qué cómo porque come perché como hoe waarom co dlaczego jak что как почему",
    ),
    (
        "@reports",
        "ask asks asked asking tell tells told telling order orders ordering instruct instructs make makes making \
         trick tricks tricked convince convinces convinced persuade persuades try tries tried trying attempt attempts \
         attempted force forces forced get gets getting got manipulate manipulates coax command commands",
    ),
    ("@condition", "@not if when whenever even any should no refuse unless that which"),
    ("@subject", "i ill id ive we he she they it who can could may might would cannot cant"),
    ("@negation", "@not refuse refuses avoid decline no nicht kein keine non ne pas nie не não geen niet"),
    ("@not", "not never dont doesnt didnt wont cannot cant shouldnt mustnt without nor isnt arent"),
    (
        "@ignore",
        "ignore ignoring disregard disregarding forget forgetting neglect overrule unfollow abandon ignorez",
    ),
    (
        "@cancel",
        "override overriding bypass bypassing discard dismiss nullify circumvent supersede violate invalidate revoke \
         disobey cancel suspend erase void",
    ),
    (
        "@undo",
        "override overriding bypass bypassing discard drop dismiss erase void nullify cancel suspend circumvent \
         supersede violate breach invalidate revoke scrap omit delete clear remove replace break disobey",
    ),
    (
        "@earlier",
        "previous prior earlier above preceding foregoing previously system developer aforementioned preset prevous \
         previus",
    ),
    // These words stand before everyday rules as well: the old rules of marketing.
    ("@prior", "@earlier existing former past original initial old current default"),
    (
        "@deed",
        "forward send email upload transfer wire push delete erase wipe disable skip bypass grant \
         approve exfiltrate leak ignore forget disregard override reveal execute",
    ),
    (
        "@goods",
        "email emails mail mails message messages conversation chat history file files folder contents funds money \
         account accounts password passwords credentials credential secrets secret token tokens key keys branch \
         repository repo database env request instructions prompt prompts approval permission permissions checks \
         instruction told",
    ),
    (
        "@orders",
        "instructions instruction directions direction directives directive rules prompts prompt guidelines guideline \
         commands orders guidance policies constraints programming training assignments context restrictions \
         instruccions intructions instrutions instuctions safeguards guardrails protocols parameters",
    ),
    (
        "@strict",
        "instructions instruction directives directive prompts prompt guidelines programming guardrails safeguards \
         intructions instuctions",
    ),
    (
        "@rules",
        "instructions instruction directives guidelines programming guardrails safeguards intructions instuctions",
    ),
    (
        "@show",
        "reveal show print repeat output display leak give tell share disclose expose dump recite write return \
         send provide state copy paste spill quote reproduce echo summarize summarise translate list describe read \
         type say",
    ),
    (
        "@reveal",
        "reveal show print repeat output display leak disclose expose dump recite spill reproduce echo",
    ),
    (
        "@hiddenword",
        "system initial hidden original secret internal developer confidential preprompt starting base",
    ),
    (
        "@prompt",
        "prompt prompts instructions instruction message directives configuration guidelines preprompt",
    ),
    (
        "@bot",
        "ai llm chatgpt gpt gpt4 gpt3 assistant chatbot model agent bot claude gemini bard copilot llama bing al agi",
    ),
    (
        "@limits",
        "restrictions restriction limitations limitation limits filters filter filtering censorship rules guidelines \
         ethics morals morality boundaries constraints policies policy safeguards guardrails restraints principles \
         laws regulations moderation confines bounds standards ethical moral inhibitions scruples protocols",
    ),
    (
        "@scruples",
        "restrictions filters ethics morals morality censorship moderation guardrails safeguards ethical moral \
         inhibitions scruples restraints guidelines",
    ),
    (
        "@unfiltered",
        "unfiltered uncensored unrestricted amoral unethical immoral unbound unhinged unconstrained \
         unmoderated nonmoral jailbroken unshackled limitless lawless",
    ),
    (
        "@pretend",
        "act pretend roleplay behave simulate emulate respond answer impersonate imagine become play embody \
         imitate acting pretending speak talk operate immerse",
    ),
    // What a model is told or taught; products have rules, filters and policies as well.
    ("@own", "guidelines programming guardrails directives safeguards ethics morals instructions"),
    (
        "@hazard",
        "napalm bomb bombs explosives meth methamphetamine ricin sarin poison malware ransomware keylogger heroin cocaine \
         anthrax thermite",
    ),
    (
        "@being",
        "ai llm chatgpt gpt gpt4 assistant chatbot model bot claude gemini copilot llama agi being entity mind \
         intelligence persona machine program oracle twin version",
    ),
    (
        "@private",
        "conversation history chat messages passwords password credentials credential secrets secret tokens token key keys \
         emails inbox contacts cookies cookie session environment env ssh prompt instructions context transcript \
         memory memories data details",
    ),
    // What has instructions without being told anything.
    (
        "@processor",
        "block blocks slot slots pipeline buffer opcode opcodes cpu register registers assembler compiler bytecode vm queue \
         loop decoder scheduler cache disassembly subroutine",
    ),
    // How a program is set up, where a sentence goes on about a prompt or instructions of its own.
    (
        "@setup",
        "in from via by using for per when if unless where pass set use add through at file flag option template variable \
         setting field value section key argument parameter on entirely once after before",
    ),
    // What stands before a feature that is described.
    (
        "@feature",
        "@told can may could lets let allows allow option flag feat fix docs chore refactor support supports ability how \
         plugins users",
    ),
    ("@machine", "ai llm llms language_model chatbot"),
    (
        "@reader",
        "agent agents assistant assistants model models reviewer reviewers tools bot bots summarizer summariser \
         summarizers systems readers crawlers",
    ),
    ("@duty", "must should shall please kindly will"),
    ("@user", "user users human humans owner operator customer anyone them him her person principal"),
    (
        "@tell",
        "tell inform mention alert notify reveal disclose say show warn report ask let indicate acknowledge",
    ),
];
