//! Any text in chunks of any size: the released text is the whole text, and its hits are those of the whole text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use midrail_scan::secrets;
use midrail_scan::secrets::stream::{SecretDetector, Stream};

fuzz_target!(|input: (&str, u8)| {
    let (text, size) = input;
    let mut stream = Stream::new(SecretDetector::default());
    let (mut whole, mut hits) = (String::new(), Vec::new());
    let characters: Vec<char> = text.chars().collect();
    for part in characters.chunks(usize::from(size).max(1)) {
        let released = stream.push(&part.iter().collect::<String>());
        whole.push_str(&released.text);
        hits.extend(released.hits);
    }
    let released = stream.finish();
    whole.push_str(&released.text);
    hits.extend(released.hits);
    assert_eq!(whole, text);
    assert_eq!(hits, secrets::scan(text));
});
