//! Asia, from the Gulf to Japan.

use super::super::checks::{
    digit, digits, is_one_digit, is_yymmdd, is_yyyymmdd, last, luhn, number, verhoeff, weighted,
};
use super::{Need, Row};

pub(super) const ROWS: &[Row] = &[
    Row {
        kind: "in-aadhaar",
        countries: &["in"],
        name: "an Indian Aadhaar number",
        shapes: &["9999 9999 9999", "9999-9999-9999", "999999999999"],
        check: |bare| digit(bare, 0) > 1 && verhoeff(bare),
        need: Need::Word,
        words: &["aadhaar", "aadhar", "uid", "uidai", "आधार"],
        found: &["Aadhaar 2341 2341 2346", "aadhaar_no: 234123412346"],
        missed: &["Aadhaar 2341 2341 2347", "2341 2341 2346"],
    },
    Row {
        kind: "in-pan",
        countries: &["in"],
        name: "an Indian tax account number of a person",
        shapes: &["AAAAA9999A"],
        check: |bare| bare.get(3) == Some(&b'P') && number(bare, 5, 4) > 0,
        need: Need::Nothing,
        words: &["pan", "income", "tax"],
        found: &["PAN BNZPM2501F", "BNZPM2501F"],
        missed: &["BNZXM2501F", "BNZPM0000F", "XBNZPM2501F"],
    },
    Row {
        kind: "cn-resident-id",
        countries: &["cn"],
        name: "a Chinese resident identity number",
        shapes: &["99999999999999999X"],
        check: |bare| {
            let sum = weighted(
                bare.get(..17).unwrap_or_default(),
                &[7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2],
            );
            let check = usize::try_from(sum % 11).ok().and_then(|place| b"10X98765432".get(place));
            matches!(digit(bare, 0), 1..=8) && is_yyyymmdd(bare, 6) && check == bare.last()
        },
        need: Need::Nothing,
        words: &["身份证", "id", "identity"],
        found: &["11010519491231002X", "身份证号440524199001010018"],
        missed: &["110105194912310021", "11010519491331002X"],
    },
    Row {
        kind: "kr-rrn",
        countries: &["kr"],
        name: "a Korean resident registration number",
        shapes: &["999999-9999999"],
        // Since 2020 the last digits are random, so only date and century are looked at.
        check: |bare| is_yymmdd(bare, 0) && matches!(digit(bare, 6), 1..=8),
        need: Need::Nothing,
        words: &["주민등록번호", "rrn", "resident"],
        found: &["850730-1234567", "주민등록번호 001231-4123456"],
        missed: &["851330-1234567", "850730-9234567", "8507301234567"],
    },
    Row {
        kind: "jp-my-number",
        countries: &["jp"],
        name: "a Japanese individual number",
        shapes: &["999999999999", "9999 9999 9999", "9999-9999-9999"],
        check: |bare| {
            let rest = weighted(bare, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11;
            let check = if rest < 2 { 0 } else { 11 - rest };
            check == last(bare) && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["マイナンバー", "個人番号", "mynumber", "my"],
        found: &["マイナンバー 123456789018", "My Number: 1234 5678 9018"],
        missed: &["My Number: 1234 5678 9019", "123456789018"],
    },
    Row {
        kind: "tw-id",
        countries: &["tw"],
        name: "a Taiwanese identity number",
        shapes: &["A999999999"],
        check: is_taiwanese,
        need: Need::Word,
        words: &["身分證", "身份證", "統一編號", "taiwan", "id", "identity"],
        found: &["身分證字號 A123456789", "Taiwan ID: B142610160"],
        missed: &["身分證字號 A123456788", "token A123456789"],
    },
    Row {
        kind: "sg-nric",
        countries: &["sg"],
        name: "a Singaporean identity number",
        shapes: &["A9999999A"],
        check: is_nric,
        need: Need::Nothing,
        words: &["nric", "fin"],
        found: &["NRIC S1234567D", "T0123456G"],
        missed: &["S1234567E", "A1234567D"],
    },
    Row {
        kind: "hk-id",
        countries: &["hk"],
        name: "a Hong Kong identity number",
        shapes: &["A999999(X)", "AA999999(X)"],
        check: is_hong_kong,
        need: Need::Nothing,
        words: &["hkid", "身份證"],
        found: &["HKID A123456(3)", "G123456(A)"],
        missed: &["A123456(4)", "f123456(3)"],
    },
    Row {
        kind: "hk-id",
        countries: &["hk"],
        name: "a Hong Kong identity number",
        shapes: &["A999999X", "AA999999X"],
        check: is_hong_kong,
        need: Need::Word,
        words: &["hkid", "身份證", "hong"],
        found: &["HKID A1234563"],
        missed: &["A1234563", "HKID A1234564"],
    },
    Row {
        kind: "th-id",
        countries: &["th"],
        name: "a Thai citizen number",
        shapes: &["9-9999-99999-99-9", "9999999999999"],
        check: |bare| {
            let sum = weighted(bare, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
            (11 - sum % 11) % 10 == last(bare) && digit(bare, 0) > 0
        },
        need: Need::WordIfBare,
        words: &["บัตรประชาชน", "เลขประจำตัว", "thai", "citizen"],
        found: &["1-1017-00203-45-0", "Thai ID 1101700203450"],
        missed: &["1-1017-00203-45-2", "1101700203450"],
    },
    Row {
        kind: "id-nik",
        countries: &["id"],
        name: "an Indonesian identity number",
        shapes: &["9999999999999999"],
        check: |bare| {
            // Women have 40 added to the day.
            let day = number(bare, 6, 2) % 40;
            (1..=31).contains(&day) && (1..=12).contains(&number(bare, 8, 2)) && digit(bare, 0) > 0
        },
        need: Need::Word,
        words: &["nik", "ktp"],
        found: &["NIK 3171015708900001"],
        missed: &["3171015708900001", "NIK 3171015713900001"],
    },
    Row {
        kind: "my-nric",
        countries: &["my"],
        name: "a Malaysian identity number",
        shapes: &["999999-99-9999", "999999999999"],
        check: |bare| is_yymmdd(bare, 0) && (1..=99).contains(&number(bare, 6, 2)) && !is_one_digit(bare),
        need: Need::Word,
        words: &["nric", "mykad", "ic", "kad"],
        found: &["MyKad 850730-14-5678", "IC: 850730145678"],
        missed: &["850730-14-5678", "MyKad 851330-14-5678"],
    },
    Row {
        kind: "pk-cnic",
        countries: &["pk"],
        name: "a Pakistani identity card number",
        shapes: &["99999-9999999-9", "9999999999999"],
        check: |bare| matches!(digit(bare, 0), 1..=7) && !is_one_digit(bare),
        need: Need::WordIfBare,
        words: &["cnic", "nadra"],
        found: &["CNIC 35202-1234567-1", "61101-7654321-3"],
        missed: &["3520212345671", "95202-1234567-1"],
    },
    Row {
        kind: "ae-emirates-id",
        countries: &["ae"],
        name: "an Emirates identity number",
        shapes: &["999-9999-9999999-9", "999999999999999"],
        check: |bare| bare.starts_with(b"784") && (1900..=2035).contains(&number(bare, 3, 4)) && luhn(bare),
        need: Need::WordIfBare,
        words: &["emirates", "eid"],
        found: &["784-1979-1234567-1"],
        missed: &["784-1979-1234567-2", "785-1979-1234567-1"],
    },
    Row {
        kind: "sa-id",
        countries: &["sa"],
        name: "a Saudi identity number",
        shapes: &["9999999999"],
        check: |bare| matches!(digit(bare, 0), 1 | 2) && luhn(bare),
        need: Need::Word,
        words: &["iqama", "saudi", "الهوية", "absher"],
        found: &["Iqama 2000000006"],
        missed: &["Iqama 2000000008", "2000000006"],
    },
    Row {
        kind: "ir-national-code",
        countries: &["ir"],
        name: "an Iranian national code",
        shapes: &["9999999999"],
        check: |bare| {
            let rest = weighted(bare, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11;
            (if rest < 2 { rest } else { 11 - rest }) == last(bare) && !is_one_digit(bare)
        },
        need: Need::Word,
        words: &["melli", "کد", "ملی", "iranian"],
        found: &["کد ملی 0499370899"],
        missed: &["کد ملی 0499370898", "0499370899"],
    },
];

/// The letter stands for a town and counts as two digits.
fn is_taiwanese(bare: &[u8]) -> bool {
    let town = bare
        .first()
        .and_then(|letter| b"ABCDEFGHJKLMNPQRSTUVXYWZIO".iter().position(|other| other == letter));
    let Some(town) = town.and_then(|place| u32::try_from(place + 10).ok()) else { return false };
    let sum = town / 10 + town % 10 * 9 + weighted(bare, &[8, 7, 6, 5, 4, 3, 2, 1, 1]);
    matches!(digit(bare, 1), 1 | 2 | 8 | 9) && sum.is_multiple_of(10)
}

fn is_nric(bare: &[u8]) -> bool {
    let sum = weighted(bare, &[2, 7, 6, 5, 4, 3, 2]);
    let (add, letters): (u32, &[u8; 11]) = match bare.first() {
        Some(b'S') => (0, b"JZIHGFEDCBA"),
        Some(b'T') => (4, b"JZIHGFEDCBA"),
        Some(b'F') => (0, b"XWUTRQPNMLK"),
        Some(b'G') => (4, b"XWUTRQPNMLK"),
        Some(b'M') => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    let place = (sum + add) % 11;
    // The series M counts its letters from the other end.
    let place = if bare.first() == Some(&b'M') { 10 - place } else { place };
    usize::try_from(place).ok().and_then(|place| letters.get(place)) == bare.last()
}

/// A missing first letter counts as 36.
fn is_hong_kong(bare: &[u8]) -> bool {
    let Some((check, body)) = bare.split_last() else { return false };
    let value = |byte: &u8| match byte {
        b'0'..=b'9' => u32::from(byte - b'0'),
        _ => u32::from(byte.saturating_sub(b'A')) + 10,
    };
    let letters = body.len().saturating_sub(6);
    let head: u32 =
        body.iter().take(letters).rev().zip([8, 9]).map(|(byte, weight)| value(byte) * weight).sum();
    let head = if letters == 1 { head + 36 * 9 } else { head };
    let tail: u32 = digits(body.get(letters..).unwrap_or_default())
        .zip([7, 6, 5, 4, 3, 2])
        .map(|(digit, weight)| digit * weight)
        .sum();
    let check = if *check == b'A' { 10 } else { value(check) };
    check <= 10 && (head + tail + check).is_multiple_of(11)
}
