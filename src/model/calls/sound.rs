//! Whether a text is JSON that any reader takes, without building what it says.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// True for the text of a JSON object all of whose texts and numbers can be read. Half a surrogate
/// pair or a number beyond all bounds is no error to who only skips it, and one to a server.
pub fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<Sound>(text).is_ok()
}

/// Any JSON value, read and forgotten.
struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Sound;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_unit<E: Error>(self) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Sound, A::Error> {
        while list.next_element::<Sound>()?.is_some() {}
        Ok(Sound)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sound, A::Error> {
        while map.next_entry::<Sound, Sound>()?.is_some() {}
        Ok(Sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_object_that_every_reader_takes() {
        for good in [
            "{}",
            " {\"a\": [1, -2.5, null, true, {\"b\": \"\\u00e9\"}]}\n",
        ] {
            assert!(is_object(good), "{good}");
        }
        for bad in [
            "",
            "[]",
            "\"{}\"",
            "{",
            "{} {}",
            "{\"a\": }",
            "{\"a\": \"\\ud800\"}",
            "{\"\\ud800\": 1}",
            "{\"a\": 1e999}",
            "{\"a\": 1,}",
        ] {
            assert!(!is_object(bad), "{bad}");
        }
        assert!(!is_object(&"{\"a\":".repeat(100_000)));
    }
}
