//! What is known of domains: which end as real ones do, and which are made up.

/// Endings of two letters that belong to a country.
const COUNTRIES: &str = "ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt \
    bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm \
    fo fr ga gb gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm \
    jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms \
    mt mu mv mw mx my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru \
    rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua \
    ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw";

/// Other endings that people have their mail under.
const OTHERS: &[&str] = &[
    "academy",
    "aero",
    "africa",
    "agency",
    "app",
    "army",
    "art",
    "asia",
    "associates",
    "bank",
    "berlin",
    "best",
    "bio",
    "biz",
    "blog",
    "build",
    "business",
    "care",
    "careers",
    "cat",
    "center",
    "church",
    "city",
    "clinic",
    "cloud",
    "club",
    "coach",
    "codes",
    "com",
    "community",
    "company",
    "construction",
    "consulting",
    "contractors",
    "coop",
    "cool",
    "country",
    "cpa",
    "dental",
    "design",
    "dev",
    "digital",
    "direct",
    "doctor",
    "edu",
    "education",
    "email",
    "energy",
    "engineer",
    "engineering",
    "enterprises",
    "estate",
    "events",
    "expert",
    "family",
    "farm",
    "finance",
    "financial",
    "fit",
    "foundation",
    "fun",
    "gallery",
    "games",
    "global",
    "gmbh",
    "gov",
    "group",
    "guru",
    "health",
    "help",
    "holdings",
    "hospital",
    "hotel",
    "house",
    "info",
    "ink",
    "institute",
    "insure",
    "int",
    "international",
    "jobs",
    "kiwi",
    "land",
    "law",
    "lawyer",
    "legal",
    "life",
    "limited",
    "link",
    "live",
    "llc",
    "london",
    "love",
    "ltd",
    "management",
    "market",
    "marketing",
    "media",
    "med",
    "mil",
    "mobi",
    "moda",
    "money",
    "museum",
    "name",
    "net",
    "network",
    "news",
    "ngo",
    "nyc",
    "one",
    "online",
    "org",
    "page",
    "paris",
    "partners",
    "photography",
    "photos",
    "plus",
    "post",
    "press",
    "pro",
    "productions",
    "properties",
    "realtor",
    "rocks",
    "sarl",
    "school",
    "science",
    "security",
    "services",
    "shop",
    "site",
    "social",
    "software",
    "solutions",
    "space",
    "store",
    "studio",
    "support",
    "swiss",
    "systems",
    "tax",
    "team",
    "tech",
    "technology",
    "tel",
    "tips",
    "today",
    "tokyo",
    "top",
    "tours",
    "training",
    "travel",
    "university",
    "vc",
    "vet",
    "vip",
    "watch",
    "website",
    "wien",
    "wiki",
    "work",
    "works",
    "world",
    "wtf",
    "xyz",
    "zone",
];

/// Domains that texts use where they mean none: the reserved ones, and those that everybody makes up.
const EXAMPLES: &[&str] = &[
    "abc.com",
    "acme.com",
    "acme.org",
    "bar.com",
    "baz.com",
    "company.com",
    "corp.com",
    "domain.com",
    "domain.net",
    "domain.org",
    "domain.tld",
    "email.com",
    "example.co",
    "example.com",
    "example.de",
    "example.edu",
    "example.io",
    "example.net",
    "example.org",
    "foo.bar",
    "foo.com",
    "host.com",
    "localhost.com",
    "mail.com",
    "mycompany.com",
    "mydomain.com",
    "mysite.com",
    "sample.com",
    "server.com",
    "site.com",
    "some.com",
    "somewhere.com",
    "test.com",
    "test.org",
    "website.com",
    "x.com",
    "xyz.com",
    "yourcompany.com",
    "yourdomain.com",
    "yourorg.com",
    "yoursite.com",
];

/// Names that stand for whoever reads the text.
const PLACEHOLDERS: &[&str] = &[
    "email",
    "firstname.lastname",
    "me",
    "my-email",
    "my.email",
    "name",
    "someone",
    "user",
    "user.name",
    "username",
    "you",
    "your",
    "your-email",
    "your-name",
    "your.email",
    "your.name",
    "your_email",
    "youremail",
    "yourname",
];

/// Names of offices and programs.
const ROLES: &[&str] = &[
    "abuse",
    "accounts",
    "admin",
    "administrator",
    "alerts",
    "billing",
    "bounce",
    "bounces",
    "careers",
    "cert",
    "compliance",
    "contact",
    "customercare",
    "customerservice",
    "dpo",
    "enquiries",
    "feedback",
    "finance",
    "hello",
    "help",
    "helpdesk",
    "hostmaster",
    "hr",
    "info",
    "inquiries",
    "jobs",
    "kontakt",
    "legal",
    "mail",
    "marketing",
    "media",
    "news",
    "newsletter",
    "notifications",
    "office",
    "orders",
    "postmaster",
    "press",
    "privacy",
    "procurement",
    "root",
    "sales",
    "security",
    "service",
    "services",
    "support",
    "team",
    "webmaster",
];

/// Whether a domain may end like this.
pub(super) fn is_top_level(top: &str) -> bool {
    match top.len() {
        2 => {
            let (countries, last) = COUNTRIES.as_bytes().as_chunks::<3>();
            let is_country = countries
                .binary_search_by(|[first, second, _]| [*first, *second][..].cmp(top.as_bytes()))
                .is_ok();
            is_country || last == top.as_bytes()
        }
        _ => OTHERS.contains(&top),
    }
}

/// Whether an address is made up, or one that no person reads.
pub(super) fn is_example(local: &str, domain: &str) -> bool {
    let base =
        domain.rmatch_indices('.').nth(1).map_or(domain, |(dot, _)| domain.get(dot + 1..).unwrap_or(domain));
    let is_silent = local.starts_with("noreply")
        || local.starts_with("no-reply")
        || local.starts_with("donotreply")
        || local.starts_with("do-not-reply")
        || domain.contains("noreply")
        || domain.ends_with("gserviceaccount.com");
    let (label, _) = base.split_once('.').unwrap_or((base, ""));
    let is_made_up = label.contains("example")
        || label.ends_with("domain")
        || label.starts_with("your")
        || matches!(label, "anywhere" | "home" | "myhost" | "nowhere" | "remotehost" | "whatever");
    is_made_up
        || EXAMPLES.contains(&base)
        || domain.starts_with("example.")
        || PLACEHOLDERS.contains(&local)
        || is_silent
}

/// Whether an address belongs to an office.
pub(super) fn is_role(local: &str) -> bool {
    ROLES.binary_search(&local).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted() {
        assert!(ROLES.is_sorted());
        assert!(EXAMPLES.is_sorted());
    }

    #[test]
    fn endings_of_files_are_no_domains() {
        for ending in ["png", "js", "tgz", "service", "route", "json"] {
            assert!(!is_top_level(ending), "{ending}");
        }
    }
}
