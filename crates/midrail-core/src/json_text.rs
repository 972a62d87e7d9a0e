//! JSON texts of records and decisions. They are written for every event, so this writer is faster than the general one: names of
//! fields need no escapes, and texts are searched for them in blocks. The text is the same, byte for byte.

use std::borrow::Cow;
use std::fmt::{Display, Write};

use serde::ser::{self, Error as _, Impossible, Serialize};
use serde_json::Error;

/// A size that most texts fit into.
const CAPACITY: usize = 2_048;

/// The JSON text of a value, without whitespace. It fails only for maps whose keys are not texts.
pub fn to_json(value: &impl Serialize) -> Result<String, Error> {
    write_json(value, false)
}

/// The JSON text of an audit record: as [`to_json`], but values that have a shorter form for the log have that one.
pub fn to_compact_json(record: &impl Serialize) -> Result<String, Error> {
    write_json(record, true)
}

fn write_json(value: &impl Serialize, is_compact: bool) -> Result<String, Error> {
    let mut writer = Writer { sink: Text(String::with_capacity(CAPACITY)), is_compact };
    value.serialize(&mut writer)?;
    Ok(writer.sink.0)
}

/// How large a JSON value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JsonExtent {
    /// How deep its lists and objects are nested.
    pub depth: usize,
    /// The number of its values.
    pub values: usize,
}

/// Visits the texts that a value has in JSON, and the keys of its maps, each key before its value. A value comes with the name of
/// the member that it is, or that contains the list that it is in; a key with none. The names of fields of structs are not visited.
pub fn visit_texts(
    value: &impl Serialize,
    visit: &mut dyn FnMut(Option<&str>, &str),
) -> Result<JsonExtent, Error> {
    let (member, outer, extent) = Default::default();
    let sink = Visitor { visit, member, outer, extent };
    let mut writer = Writer { sink, is_compact: false };
    value.serialize(&mut writer)?;
    Ok(writer.sink.extent)
}

/// Receives the parts of a JSON text.
trait Sink {
    /// A bracket, comma or colon between values.
    fn separator(&mut self, mark: char);
    /// The name of a field of a struct, and whether it is the first.
    fn field(&mut self, name: &'static str, is_first: bool);
    /// A text: a value or a key.
    fn text(&mut self, text: &str, is_key: bool);
    /// The name of a variant, which needs no escapes.
    fn name(&mut self, name: &'static str);
    /// A value that is not a text, list or object.
    fn literal(&mut self, value: impl Display);
    /// A number.
    fn number(&mut self, value: u64);
    /// A list or an object starts.
    fn open(&mut self);
    /// A list or an object ends.
    fn close(&mut self);
}

/// Writes the text.
struct Text(String);

impl Sink for Text {
    #[inline]
    fn separator(&mut self, mark: char) {
        self.0.push(mark);
    }

    fn field(&mut self, name: &'static str, is_first: bool) {
        self.0.push_str(if is_first { "\"" } else { ",\"" });
        self.0.push_str(name);
        self.0.push_str("\":");
    }

    fn text(&mut self, text: &str, _: bool) {
        self.0.push('"');
        if is_clean(text.as_bytes()) {
            self.0.push_str(text);
            self.0.push('"');
            return;
        }
        let mut rest = text;
        loop {
            let clean = clean_length(rest.as_bytes());
            let (start, end) = rest.split_at_checked(clean).unwrap_or((rest, ""));
            self.0.push_str(start);
            let mut chars = end.chars();
            let Some(special) = chars.next() else { break };
            self.escape(special);
            rest = chars.as_str();
        }
        self.0.push('"');
    }

    fn name(&mut self, name: &'static str) {
        self.0.push('"');
        self.0.push_str(name);
        self.0.push('"');
    }

    fn literal(&mut self, value: impl Display) {
        // Writing to a text cannot fail.
        let _ = write!(self.0, "{value}");
    }

    fn number(&mut self, value: u64) {
        match u32::try_from(value).ok().and_then(|value| char::from_digit(value, 10)) {
            Some(digit) => self.0.push(digit),
            None => self.literal(value),
        }
    }

    fn open(&mut self) {}

    fn close(&mut self) {}
}

impl Text {
    fn escape(&mut self, c: char) {
        match c {
            '"' => self.0.push_str("\\\""),
            '\\' => self.0.push_str("\\\\"),
            '\n' => self.0.push_str("\\n"),
            '\r' => self.0.push_str("\\r"),
            '\t' => self.0.push_str("\\t"),
            '\u{8}' => self.0.push_str("\\b"),
            '\u{c}' => self.0.push_str("\\f"),
            c => self.literal(format_args!("\\u{:04x}", u32::from(c))),
        }
    }
}

/// Calls a function with each text, and measures the value.
struct Visitor<'v> {
    visit: &'v mut dyn FnMut(Option<&str>, &str),
    /// The name of the member whose value comes next.
    member: Cow<'static, str>,
    /// Those of the lists and objects around it.
    outer: Vec<Cow<'static, str>>,
    extent: JsonExtent,
}

impl Sink for Visitor<'_> {
    fn separator(&mut self, _: char) {}

    fn field(&mut self, name: &'static str, _: bool) {
        self.member = Cow::Borrowed(name);
    }

    fn text(&mut self, text: &str, is_key: bool) {
        if is_key {
            (self.visit)(None, text);
            self.member = Cow::Owned(text.to_owned());
        } else {
            (self.visit)(Some(&self.member), text);
            self.extent.values += 1;
        }
    }

    fn name(&mut self, name: &'static str) {
        self.text(name, false);
    }

    fn literal(&mut self, _: impl Display) {
        self.extent.values += 1;
    }

    fn number(&mut self, _: u64) {
        self.extent.values += 1;
    }

    fn open(&mut self) {
        self.extent.values += 1;
        self.outer.push(self.member.clone());
        self.extent.depth = self.extent.depth.max(self.outer.len());
    }

    fn close(&mut self) {
        self.member = self.outer.pop().unwrap_or_default();
    }
}

struct Writer<S> {
    sink: S,
    /// Whether values with a short and a readable form are written in the short one.
    is_compact: bool,
}

impl<S: Sink> Writer<S> {
    /// Starts an enum variant with content: `{"name":`.
    fn variant(&mut self, name: &'static str) {
        self.sink.open();
        self.sink.separator('{');
        self.sink.field(name, true);
    }
}

/// The number of bytes before the first that needs an escape.
fn clean_length(bytes: &[u8]) -> usize {
    // Large blocks are tested faster, small ones show where the byte is.
    let clean_blocks = bytes.as_chunks::<32>().0.iter().take_while(|block| is_clean_block(block)).count();
    let mut clean = 32 * clean_blocks;
    let (words, _) = bytes.get(clean..).unwrap_or_default().as_chunks::<8>();
    for word in words {
        let special = special_bytes(u64::from_le_bytes(*word));
        if special != 0 {
            return clean + usize::try_from(special.trailing_zeros() / 8).unwrap_or(0);
        }
        clean += 8;
    }
    let rest = bytes.get(clean..).unwrap_or_default();
    clean + rest.iter().position(|byte| is_special(*byte)).unwrap_or(rest.len())
}

/// Whether no byte of a text needs an escape, as in most texts.
fn is_clean(bytes: &[u8]) -> bool {
    let (blocks, rest) = bytes.as_chunks::<32>();
    let (words, _) = rest.as_chunks::<8>();
    let special = words.iter().fold(0, |found, word| found | special_bytes(u64::from_le_bytes(*word)));
    // The last bytes are tested together with those before them, if there are any.
    let has_special_end = match (bytes.last_chunk::<8>(), bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        (Some(word), ..) => special_bytes(u64::from_le_bytes(*word)) != 0,
        (None, Some(first), Some(last)) => {
            let both = (u64::from(u32::from_le_bytes(*first)) << 32) | u64::from(u32::from_le_bytes(*last));
            special_bytes(both) != 0
        }
        _ => bytes.iter().any(|byte| is_special(*byte)),
    };
    special == 0 && !has_special_end && blocks.iter().all(is_clean_block)
}

fn is_special(byte: u8) -> bool {
    byte < b' ' || byte == b'"' || byte == b'\\'
}

/// Whether no byte of a block needs an escape. Without an early end, the compiler tests all of them at once.
fn is_clean_block(block: &[u8; 32]) -> bool {
    !block.iter().fold(false, |found, byte| found | is_special(*byte))
}

/// Sets the highest bit of the first byte that needs an escape, and of no byte before it.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    // A subtraction from a byte that is too small sets its highest bit, and may borrow from the bytes after it.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    (below(word, b' ') | equal(b'"') | equal(b'\\')) & (ONES << 7)
}

/// The open list, map or struct.
struct Compound<'w, S: Sink> {
    writer: &'w mut Writer<S>,
    is_first: bool,
    /// What ends it.
    end: char,
    /// Whether it is the content of an enum variant.
    is_variant: bool,
}

impl<'w, S: Sink> Compound<'w, S> {
    fn open(writer: &'w mut Writer<S>, start: char, end: char) -> Self {
        writer.sink.open();
        writer.sink.separator(start);
        Compound { writer, is_first: true, end, is_variant: false }
    }

    fn open_variant(writer: &'w mut Writer<S>, name: &'static str, start: char, end: char) -> Self {
        writer.variant(name);
        Compound { is_variant: true, ..Compound::open(writer, start, end) }
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.writer.sink.separator(',');
        }
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.separate();
        value.serialize(&mut *self.writer)
    }

    fn field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
        self.writer.sink.field(name, std::mem::take(&mut self.is_first));
        value.serialize(&mut *self.writer)
    }

    fn close(self) -> Result<(), Error> {
        self.writer.sink.separator(self.end);
        self.writer.sink.close();
        if self.is_variant {
            self.writer.sink.separator('}');
            self.writer.sink.close();
        }
        Ok(())
    }
}

/// Methods that write a value as it is displayed.
macro_rules! displayed {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name(self, value: $kind) -> Result<(), Error> {
            self.sink.literal(value);
            Ok(())
        })*
    };
}

impl<'w, S: Sink> ser::Serializer for &'w mut Writer<S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Compound<'w, S>;
    type SerializeTuple = Compound<'w, S>;
    type SerializeTupleStruct = Compound<'w, S>;
    type SerializeTupleVariant = Compound<'w, S>;
    type SerializeMap = Compound<'w, S>;
    type SerializeStruct = Compound<'w, S>;
    type SerializeStructVariant = Compound<'w, S>;

    fn is_human_readable(&self) -> bool {
        !self.is_compact
    }

    displayed!(serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32);

    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.sink.literal(if value { "true" } else { "false" });
        Ok(())
    }

    fn serialize_u64(self, value: u64) -> Result<(), Error> {
        self.sink.number(value);
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        self.sink.literal(serde_json::to_string(&value)?);
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        self.sink.literal(serde_json::to_string(&value)?);
        Ok(())
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.sink.text(value, false);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.serialize_str(&value.to_string())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Error> {
        self.sink.literal("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.sink.name(variant);
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.variant(variant);
        value.serialize(&mut *self)?;
        self.sink.separator('}');
        self.sink.close();
        Ok(())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open(self, '[', ']'))
    }

    fn serialize_tuple(self, _: usize) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open(self, '[', ']'))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open(self, '[', ']'))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open_variant(self, variant, '[', ']'))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open(self, '{', '}'))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open(self, '{', '}'))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Compound<'w, S>, Error> {
        Ok(Compound::open_variant(self, variant, '{', '}'))
    }
}

/// Implements the lists of serde, which differ only in their names.
macro_rules! lists {
    ($($kind:ident: $method:ident),*) => {
        $(impl<S: Sink> ser::$kind for Compound<'_, S> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.item(value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

lists!(SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field);

/// Implements the structs of serde, which differ only in their names.
macro_rules! structs {
    ($($kind:ident),*) => {
        $(impl<S: Sink> ser::$kind for Compound<'_, S> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                self.field(name, value)
            }

            fn end(self) -> Result<(), Error> {
                self.close()
            }
        })*
    };
}

structs!(SerializeStruct, SerializeStructVariant);

impl<S: Sink> ser::SerializeMap for Compound<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.separate();
        key.serialize(Key(self.writer))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.writer.sink.separator(':');
        value.serialize(&mut *self.writer)
    }

    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

/// The key of a map, which must be a text or a number.
struct Key<'w, S>(&'w mut Writer<S>);

fn no_key<T>() -> Result<T, Error> {
    Err(Error::custom("key must be a string"))
}

/// Methods that write a number as a text.
macro_rules! numbers {
    ($($name:ident: $kind:ty),*) => {
        $(fn $name(self, value: $kind) -> Result<(), Error> {
            self.collect_str(&value)
        })*
    };
}

/// Methods for what cannot be a key.
macro_rules! no_keys {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(fn $name(self, $(_: $argument),*) -> Result<$result, Error> {
            no_key()
        })*
    };
}

impl<S: Sink> ser::Serializer for Key<'_, S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Impossible<(), Error>;
    type SerializeStruct = Impossible<(), Error>;
    type SerializeStructVariant = Impossible<(), Error>;

    numbers!(serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64);

    no_keys! {
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_map(Option<usize>) -> Self::SerializeMap;
        serialize_struct(&'static str, usize) -> Self::SerializeStruct;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.0.sink.text(value, true);
        Ok(())
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.serialize_str(&value.to_string())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        no_key()
    }
}

#[cfg(test)]
mod tests;
