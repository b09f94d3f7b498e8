//! JSON that people write and that we obey: an object, in which no key is there twice.
//!
//! Parsers keep one of two equal keys and lose the other. Where that is a list of denials, a guard is lost without a
//! word; so a second one is an error, with its line.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Any value; the error says line and column.
pub fn value(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Unique.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// An object.
pub(crate) fn object(text: &str) -> Result<Map<String, Value>, serde_json::Error> {
    match value(text)? {
        Value::Object(object) => Ok(object),
        // The parser's own words, for the same mistake.
        _ => serde_json::from_str(text),
    }
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Unique)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} is there twice")));
            }
            object.insert(key, entries.next_value_seed(Unique)?);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_second_key_is_an_error_with_its_line() {
        for (text, word) in [
            (
                "{\"permissions\":{\"deny\":[\"Bash\"]},\n\"permissions\":{}}",
                "\"permissions\" is there twice at line 2",
            ),
            ("{\"a\":[{\"b\":1,\"b\":2}]}", "\"b\" is there twice at line 1"),
            ("[]", "expected a map"),
            ("1", "expected a map"),
            ("{} {}", "trailing characters"),
            ("{", "EOF"),
        ] {
            let error = object(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(object(&deep).unwrap_err().to_string().contains("recursion"));
    }

    proptest::proptest! {
        #[test]
        fn everything_else_is_read_as_the_parser_reads_it(keys in proptest::collection::btree_set("[a-zé\"\\\\]{0,3}", 0..5), number: f64, whole: i64) {
            let object: Map<String, Value> = keys.into_iter().map(|key| (key, json!([number, whole, null, true, {"x": "y"}]))).collect();
            let text = Value::Object(object).to_string();
            proptest::prop_assert_eq!(value(&text).unwrap(), serde_json::from_str::<Value>(&text).unwrap());
        }
    }
}
