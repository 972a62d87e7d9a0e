//! Central, eastern and south-eastern Europe, and the states of the former Soviet Union.

use super::super::checks::{
    day_and_month, digit, is_ddmmyy, is_one_digit, is_yymmdd, last, mod_11_10, number, remainder, weighted,
};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "pl-pesel",
        countries: &["pl"],
        name: "a Polish identity number",
        shapes: &["99999999999"],
        check: |bare| {
            let sum = weighted(bare, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3]);
            day_and_month(number(bare, 4, 2), number(bare, 2, 2) % 20) && (10 - sum % 10) % 10 == last(bare)
        },
        need: Need::Word,
        words: &["pesel"],
        found: &["PESEL: 44051401359"],
        missed: &["PESEL: 44051401358", "44051401359"],
    },
    Row {
        kind: "pl-nip",
        countries: &["pl"],
        name: "a Polish tax number",
        shapes: &["9999999999", "999-999-99-99", "999-99-99-999"],
        check: |bare| weighted(bare, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == last(bare) && !is_one_digit(bare),
        need: Need::Word,
        words: &["nip"],
        found: &["NIP 526-104-08-28"],
        missed: &["NIP 526-104-08-29", "526-104-08-28"],
    },
    Row {
        kind: "cz-birth-number",
        countries: &["cz", "sk"],
        name: "a Czech or Slovak birth number",
        shapes: &["999999/9999", "9999999999"],
        check: |bare| {
            let month = number(bare, 2, 2) % 50;
            let month = if month > 20 { month - 20 } else { month };
            let is_old = remainder(bare.get(..9).unwrap_or_default(), 11) == 10 && last(bare) == 0;
            day_and_month(number(bare, 4, 2), month) && (remainder(bare, 11) == 0 || is_old)
        },
        need: Need::WordIfBare,
        words: &["rodné", "rodne", "číslo", "rč", "rc"],
        found: &["710319/2745", "rodné číslo 7103192745", "736028/5163"],
        missed: &["710319/2746", "7103192745", "719919/2745"],
    },
    Row {
        kind: "hu-taj",
        countries: &["hu"],
        name: "a Hungarian social security number",
        shapes: &["999 999 999", "999-999-999", "999999999"],
        check: |bare| weighted(bare, &[3, 7, 3, 7, 3, 7, 3, 7]) % 10 == last(bare) && !is_one_digit(bare),
        need: Need::Word,
        words: &["taj"],
        found: &["TAJ szám: 111 111 110"],
        missed: &["TAJ szám: 111 111 112", "111 111 110"],
    },
    Row {
        kind: "ro-cnp",
        countries: &["ro"],
        name: "a Romanian personal number",
        shapes: &["9999999999999"],
        check: |bare| {
            let rest = weighted(bare, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
            let check = if rest == 10 { 1 } else { rest };
            matches!(digit(bare, 0), 1..=9) && is_yymmdd(bare, 1) && check == last(bare)
        },
        // Thirteen digits may as well be a time in milliseconds.
        need: Need::Word,
        words: &["cnp"],
        found: &["CNP: 1800101221144"],
        missed: &["CNP: 1800101221145", "1800101221144"],
    },
    Row {
        kind: "bg-egn",
        countries: &["bg"],
        name: "a Bulgarian civil number",
        shapes: &["9999999999"],
        check: |bare| {
            let sum = weighted(bare, &[2, 4, 8, 5, 10, 9, 7, 3, 6]);
            day_and_month(number(bare, 4, 2), number(bare, 2, 2) % 20) && sum % 11 % 10 == last(bare)
        },
        need: Need::Word,
        words: &["egn", "егн", "ЕГН"],
        found: &["EGN 6101057509", "ЕГН: 7523169263"],
        missed: &["EGN 6101057508", "6101057509"],
    },
    Row {
        kind: "hr-oib",
        countries: &["hr"],
        name: "a Croatian identification number",
        shapes: &["99999999999"],
        check: mod_11_10,
        need: Need::Word,
        words: &["oib"],
        found: &["OIB 33392005961"],
        missed: &["OIB 33392005962", "33392005961"],
    },
    Row {
        kind: "si-emso",
        countries: &["si", "rs", "ba", "me", "mk"],
        name: "a citizen number of a state of former Yugoslavia",
        shapes: &["9999999999999"],
        check: |bare| {
            let rest = 11 - weighted(bare, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
            let check = if rest > 9 { 0 } else { rest };
            is_ddmmyy(bare, 0) && check == last(bare)
        },
        need: Need::Word,
        words: &["emšo", "emŠo", "emso", "jmbg", "jmb", "матични"],
        found: &["EMŠO 0101006500006", "JMBG: 0101006500006"],
        missed: &["EMŠO 0101006500007", "0101006500006"],
    },
    Row {
        kind: "ru-snils",
        countries: &["ru"],
        name: "a Russian pension insurance number",
        shapes: &["999-999-999 99", "999-999-999-99", "99999999999"],
        check: |bare| {
            let rest = weighted(bare, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101;
            rest % 100 == number(bare, 9, 2) && !is_one_digit(bare)
        },
        need: Need::WordIfBare,
        words: &["snils", "снилс", "СНИЛС"],
        found: &["СНИЛС 112-233-445 95", "112-233-445 95", "snils: 11223344595"],
        missed: &["112-233-445 96", "11223344595"],
    },
    Row {
        kind: "ru-inn",
        countries: &["ru"],
        name: "a Russian taxpayer number",
        shapes: &["999999999999"],
        check: |bare| {
            let first = weighted(bare, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
            let second = weighted(bare, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10;
            first == digit(bare, 10) && second == digit(bare, 11) && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["inn", "инн", "ИНН"],
        found: &["ИНН 500100732259"],
        missed: &["ИНН 500100732258", "500100732259"],
    },
    Row {
        kind: "kz-iin",
        countries: &["kz"],
        name: "a Kazakh identification number",
        shapes: &["999999999999"],
        check: |bare| {
            let first = weighted(bare, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]) % 11;
            let check =
                if first == 10 { weighted(bare, &[3, 4, 5, 6, 7, 8, 9, 10, 11, 1, 2]) % 11 } else { first };
            is_yymmdd(bare, 0) && matches!(digit(bare, 6), 1..=6) && check == last(bare)
        },
        need: Need::Word,
        words: &["iin", "иин", "ИИН"],
        found: &["ИИН 890105300014"],
        missed: &["ИИН 890105300015", "890105300014"],
    },
    Row {
        kind: "ua-rnokpp",
        countries: &["ua"],
        name: "a Ukrainian taxpayer number",
        shapes: &["9999999999"],
        check: |bare| {
            // The first weight is minus one: ten by eleven.
            let sum = weighted(bare, &[10, 5, 7, 9, 4, 6, 10, 5, 7]);
            sum % 11 % 10 == last(bare) && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["рнокпп", "іпн", "РНОКПП", "ІПН", "rnokpp"],
        found: &["РНОКПП 3175400019"],
        missed: &["РНОКПП 3175400018", "3175400019"],
    },
];
