//! Messages: structs whose known fields are typed and whose unknown fields are kept.
//!
//! Agents and clients of other versions send fields that this version does not know, and known fields with values of
//! another type. Both are kept in `extra` and written back as they came, so a message that passes through loses
//! nothing. A known field that is absent or of another type reads as its default; the reader decides what that means.
//!
//! `#[serde(flatten)]` is deliberately absent: it copies every message once more, and one field of another type would
//! make the whole message unreadable.

use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Fields by name, in the order in which they came.
pub type Extra = Map<String, Value>;

/// A word of the protocol whose list is open: we write the ones we know, and newer versions may send others.
pub type Word = Cow<'static, str>;

/// The value of a message's field.
pub trait Field: Sized + Default + Serialize {
    /// Whether `null` is a value of its own, apart from an absent field.
    const NULL_IS_A_VALUE: bool = false;

    /// Gives the value back where it is of another type.
    fn read(value: Value) -> Result<Self, Value>;

    /// Whether an optional field is left out.
    fn is_absent(&self) -> bool {
        false
    }
}

/// What can be read from a whole object.
pub trait FromMap {
    fn from_map(map: Extra) -> Self;
}

impl FromMap for Extra {
    fn from_map(map: Extra) -> Self {
        map
    }
}

impl<T: FromMap> FromMap for Box<T> {
    fn from_map(map: Extra) -> Self {
        Self::new(T::from_map(map))
    }
}

impl Field for Value {
    fn read(value: Value) -> Result<Self, Value> {
        Ok(value)
    }
}

impl Field for Extra {
    fn read(value: Value) -> Result<Self, Value> {
        match value {
            Value::Object(map) => Ok(map),
            other => Err(other),
        }
    }
}

impl Field for String {
    fn read(value: Value) -> Result<Self, Value> {
        match value {
            Value::String(text) => Ok(text),
            other => Err(other),
        }
    }
}

impl Field for Word {
    fn read(value: Value) -> Result<Self, Value> {
        String::read(value).map(Cow::Owned)
    }
}

impl Field for bool {
    fn read(value: Value) -> Result<Self, Value> {
        value.as_bool().ok_or(value)
    }
}

impl Field for f64 {
    fn read(value: Value) -> Result<Self, Value> {
        value.as_f64().ok_or(value)
    }
}

macro_rules! whole_number {
    ($($number:ty),*) => {$(
        impl Field for $number {
            fn read(value: Value) -> Result<Self, Value> {
                let number = value.as_i64().and_then(|number| number.try_into().ok());
                number.or_else(|| value.as_u64()?.try_into().ok()).ok_or(value)
            }
        }
    )*};
}

whole_number!(u64, u32, u16, i32);

impl<T: Field> Field for Option<T> {
    const NULL_IS_A_VALUE: bool = true;

    fn read(value: Value) -> Result<Self, Value> {
        if value.is_null() && !T::NULL_IS_A_VALUE {
            return Ok(None);
        }
        T::read(value).map(Some)
    }

    fn is_absent(&self) -> bool {
        self.is_none()
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(value: Value) -> Result<Self, Value> {
        let Value::Array(items) = &value else { return Err(value) };
        // All of a list or nothing: half a list would say something else.
        let read: Option<Self> = items.iter().map(|item| T::read(item.clone()).ok()).collect();
        read.ok_or(value)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(value: Value) -> Result<Self, Value> {
        let Value::Object(map) = &value else { return Err(value) };
        let read: Option<Self> =
            map.iter().map(|(key, item)| Some((key.clone(), T::read(item.clone()).ok()?))).collect();
        read.ok_or(value)
    }

    fn is_absent(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Field> Field for Box<T> {
    fn read(value: Value) -> Result<Self, Value> {
        T::read(value).map(Self::new)
    }
}

/// Whether a known field is written: not where it is optional and absent, and not where `extra` has it as it came.
pub(crate) fn is_written<T: Field>(field: &T, key: &str, optional: bool, extra: &Extra) -> bool {
    !(optional && field.is_absent()) && (extra.is_empty() || !extra.contains_key(key))
}

/// A message: `field: Type = "name on the wire"`, followed by `optional` where an empty value is left out.
macro_rules! message {
    (@is_optional) => { false };
    (@is_optional optional) => { true };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$doc:meta])* $field:ident : $ty:ty = $key:literal $($rule:ident)? ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $name {
            $( $(#[$doc])* pub $field: $ty, )+
            /// Fields of other versions, and known fields with values of another type.
            pub extra: $crate::Extra,
        }

        impl $crate::message::FromMap for $name {
            fn from_map(map: $crate::Extra) -> Self {
                let mut read = Self::default();
                for (key, value) in map {
                    let unread = match key.as_str() {
                        $( $key => $crate::message::Field::read(value).map(|value| read.$field = value), )+
                        _ => Err(value),
                    };
                    if let Err(value) = unread {
                        read.extra.insert(key, value);
                    }
                }
                read
            }
        }

        impl $crate::message::Field for $name {
            fn read(value: serde_json::Value) -> Result<Self, serde_json::Value> {
                $crate::Extra::read(value).map(<Self as $crate::message::FromMap>::from_map)
            }
        }

        #[cfg(test)]
        impl $crate::arbitrary::Arbitrary for $name {
            fn arbitrary(source: &mut $crate::arbitrary::Source) -> Self {
                use $crate::arbitrary::Arbitrary as A;
                Self { $( $field: A::arbitrary(source), )+ extra: A::arbitrary(source) }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = to.serialize_map(None)?;
                $(
                    let optional = $crate::message::message!(@is_optional $($rule)?);
                    if $crate::message::is_written(&self.$field, $key, optional, &self.extra) {
                        map.serialize_entry($key, &self.$field)?;
                    }
                )+
                for (key, value) in &self.extra {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::Extra::deserialize(from).map(<Self as $crate::message::FromMap>::from_map)
            }
        }
    };
}

/// An enum of messages that one field tells apart. A name of another version is `Unknown`, and kept whole.
macro_rules! tagged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident by $tag:literal {
            $( $(#[$doc:meta])* $variant:ident($ty:ty) = $value:literal ),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[serde(tag = $tag)]
        pub enum $name {
            $( $(#[$doc])* #[serde(rename = $value)] $variant($ty), )+
            /// From another version; kept as it came.
            #[serde(untagged)]
            Unknown(serde_json::Value),
        }

        impl $name {
            /// The names that this version knows.
            pub const NAMES: &'static [&'static str] = &[$($value),+];

            pub fn name(&self) -> &str {
                match self {
                    $( Self::$variant(_) => $value, )+
                    Self::Unknown(value) => value[$tag].as_str().unwrap_or_default(),
                }
            }

            pub fn from_value(value: serde_json::Value) -> Self {
                match value {
                    serde_json::Value::Object(map) => <Self as $crate::message::FromMap>::from_map(map),
                    other => Self::Unknown(other),
                }
            }
        }

        impl $crate::message::FromMap for $name {
            fn from_map(mut map: $crate::Extra) -> Self {
                match map.get($tag).and_then(serde_json::Value::as_str) {
                    $(
                        Some($value) => {
                            map.shift_remove($tag);
                            Self::$variant(<$ty as $crate::message::FromMap>::from_map(map))
                        }
                    )+
                    _ => Self::Unknown(serde_json::Value::Object(map)),
                }
            }
        }

        impl $crate::message::Field for $name {
            fn read(value: serde_json::Value) -> Result<Self, serde_json::Value> {
                Ok(Self::from_value(value))
            }
        }

        #[cfg(test)]
        impl $crate::arbitrary::Arbitrary for $name {
            fn arbitrary(source: &mut $crate::arbitrary::Source) -> Self {
                let at = source.below(Self::NAMES.len() + 1);
                match Self::NAMES.get(at) {
                    $( Some(&$value) => Self::$variant($crate::arbitrary::Arbitrary::arbitrary(source)), )+
                    _ => Self::Unknown($crate::arbitrary::unknown($tag, source)),
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::Unknown(serde_json::Value::Null)
            }
        }

        impl From<serde_json::Value> for $name {
            fn from(value: serde_json::Value) -> Self {
                Self::from_value(value)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                serde_json::Value::deserialize(from).map(Self::from_value)
            }
        }
    };
}

pub(crate) use {message, tagged};
