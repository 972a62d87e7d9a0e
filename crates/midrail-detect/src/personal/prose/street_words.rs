//! The words of postal addresses, in many languages. Lists that are searched by halves are sorted; a test sees to it.

use super::word_list::{EndingList, WordList};

/// Words that end a street's name in English: `12 Main Street`.
pub(super) static LAST: WordList = WordList::new(&[
    "alley",
    "ave",
    "avenue",
    "blvd",
    "boulevard",
    "cl",
    "cres",
    "crescent",
    "expressway",
    "expwy",
    "freeway",
    "highway",
    "hwy",
    "lane",
    "ln",
    "mews",
    "parkway",
    "pkwy",
    "rd",
    "road",
    "st",
    "str",
    "street",
    "terrace",
    "turnpike",
]);

/// Words that do so too, but mean much else: the address must end, or go on as one.
pub(super) static LAST_WEAK: WordList = WordList::new(&[
    "cir", "circle", "close", "court", "ct", "dr", "drive", "gardens", "grove", "heights", "hill", "loop",
    "path", "pike", "pl", "place", "plaza", "point", "ridge", "row", "run", "sq", "square", "ter", "trail",
    "trl", "walk", "way",
]);

/// Words that start a street's name: `12 rue de la Paix`, `Via Roma 5`.
pub(super) static FIRST: WordList = WordList::new(&[
    "al",
    "aleja",
    "allée",
    "av",
    "avda",
    "ave",
    "avenida",
    "avenue",
    "boulevard",
    "bulevar",
    "bulevardul",
    "c/",
    "calle",
    "camino",
    "carrer",
    "carretera",
    "chaussée",
    "chemin",
    "corso",
    "impasse",
    "jalan",
    "jl",
    "largo",
    "lungomare",
    "náměstí",
    "os",
    "paseo",
    "passage",
    "piazza",
    "piazzale",
    "plac",
    "place",
    "plaza",
    "plaça",
    "praça",
    "quai",
    "ronda",
    "route",
    "rua",
    "rue",
    "square",
    "str",
    "strada",
    "travessa",
    "ul",
    "ulica",
    "ulice",
    "via",
    "viale",
    "vicolo",
    "šetalište",
    "ул",
    "улица",
]);

/// Of these, those that stand between a number and a name: `12 rue …`.
pub(super) static AFTER_NUMBER: WordList = WordList::new(&[
    "allée",
    "av",
    "avenue",
    "bd",
    "bis",
    "boulevard",
    "calle",
    "chaussée",
    "chemin",
    "cours",
    "impasse",
    "passage",
    "place",
    "quai",
    "route",
    "rua",
    "rue",
    "ruelle",
    "square",
    "ter",
    "via",
]);

/// Endings of one-word streets: `Hauptstraße 5`, `Kungsgatan 12`.
pub(super) static ENDINGS: EndingList = EndingList::new(&[
    "straße", "strasse", "str", "gasse", "weg", "platz", "allee", "ufer", "damm", "chaussee", "steig",
    "graben", "markt", "gatan", "gata", "vägen", "gränd", "torget", "vegen", "veien", "gaten", "gade", "vej",
    "vænget", "stræde", "allé", "katu", "tie", "kuja", "polku", "raitti", "laan", "straat", "plein",
    "gracht", "kade", "dreef", "singel", "steenweg", "utca", "sokak", "caddesi", "iela", "gatvė", "vegur",
]);

/// Words of their own that stand between a name and a number: `Kossuth utca 12`.
pub(super) static BETWEEN: WordList = WordList::new(&[
    "allee", "cad", "caddesi", "cesta", "chome", "dori", "gade", "gata", "gatvė", "gränd", "iela", "krt",
    "körút", "mnt", "platz", "pst", "road", "sok", "sokak", "str", "strasse", "straße", "street", "sétány",
    "tee", "tere", "trg", "tänav", "tér", "u", "ulica", "utca", "utcája", "vej", "väg", "weg", "út", "útja",
]);

/// Words before a number that lead to a letter box.
pub(super) static BOXES: WordList =
    WordList::new(&["apartado", "box", "boîte", "casilla", "postboks", "postbus", "postfach"]);

/// Words before a post code.
pub(super) const CODE_WORDS: &[&str] = &[
    "zip",
    "zipcode",
    "postcode",
    "postalcode",
    "postal",
    "plz",
    "postleitzahl",
    "cap",
    "cep",
    "codigopostal",
    "pincode",
];

/// How these words end.
pub(super) const CODE_ENDINGS: &[&[u8]] = &[b"cap", b"cep", b"ode", b"plz", b"tal", b"ahl", b"zip"];

/// Words before the number of a flat.
pub(super) static UNITS: WordList = WordList::new(&[
    "apartment",
    "appt",
    "apt",
    "bldg",
    "building",
    "bureau",
    "etage",
    "fl",
    "flat",
    "floor",
    "piso",
    "rm",
    "room",
    "ste",
    "stiege",
    "suite",
    "top",
    "tür",
    "unit",
    "wohnung",
]);

/// Words before an address, which do for a street without a word of its own: `lives at 172 Lindenhof 7`.
pub(super) static HOME_WORDS: WordList = WordList::new(&[
    "address",
    "adres",
    "adresa",
    "adresse",
    "anschrift",
    "dirección",
    "domicilio",
    "endereço",
    "habite",
    "indirizzo",
    "live",
    "lives",
    "living",
    "osoite",
    "reside",
    "resides",
    "residing",
    "residence",
    "wohnhaft",
    "wohnt",
    "woont",
]);
