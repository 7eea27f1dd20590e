//! Numbers.

use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};

use serde_json::Value;

use super::out_of_range;
use crate::schema::bounds::{Bounds, Num};
use crate::schema::cursor::Cursor;
use crate::schema::input::ToolInput;
use crate::schema::node::{Kind, Node};
use crate::tool::Reject;

macro_rules! integers {
    ($($t:ty: $min:expr, $max:expr;)*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &Node::bounded(Kind::Integer, Bounds::integers($min, $max));

            #[inline]
            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let start = cursor.position();
                let value = match cursor.short_integer() {
                    Some(value) => Self::try_from(value).ok(),
                    None => match cursor.integer()? {
                        (false, size) => Self::try_from(size).ok(),
                        (true, size) => negated(size).and_then(|value| Self::try_from(value).ok()),
                    },
                };
                value.ok_or_else(|| out_of_range(cursor, start))
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                // What is beyond an `i128` is beyond every bound that can be written, but for "at least".
                bounds.allows_int(i128::try_from(*self).unwrap_or(i128::MAX))
            }

            fn to_json(&self) -> Option<Value> {
                serde_json::to_value(self).ok()
            }
        }
    )*};
}

fn negated(size: u128) -> Option<i128> {
    0_i128.checked_sub_unsigned(size)
}

// Bounds beyond 2^53 are for claw alone: the schema that providers get leaves them out.
integers! {
    i8: Some(-0x80), Some(0x7f);
    i16: Some(-0x8000), Some(0x7fff);
    i32: Some(-0x8000_0000), Some(0x7fff_ffff);
    i64: Some(i64::MIN as i128), Some(i64::MAX as i128);
    i128: Some(i128::MIN), Some(i128::MAX);
    isize: Some(isize::MIN as i128), Some(isize::MAX as i128);
    u8: Some(0), Some(0xff);
    u16: Some(0), Some(0xffff);
    u32: Some(0), Some(0xffff_ffff);
    u64: Some(0), Some(u64::MAX as i128);
    // Integers have at most 128 bits anyway.
    u128: Some(0), None;
    usize: Some(0), Some(usize::MAX as i128);
}

macro_rules! non_zero {
    ($($t:ty: $int:ty, $node:expr;)*) => {$(
        impl ToolInput for $t {
            const NODE: &'static Node = &$node;

            fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
                let start = cursor.position();
                Self::new(<$int>::read(cursor)?).ok_or_else(|| out_of_range(cursor, start))
            }

            fn fits(&self, bounds: &Bounds) -> bool {
                self.get().fits(bounds)
            }

            fn to_json(&self) -> Option<Value> {
                self.get().to_json()
            }
        }
    )*};
}

const fn positive(max: Option<i128>) -> Node {
    Node::bounded(Kind::Integer, Bounds::integers(Some(1), max))
}

const fn negative(min: i128) -> Node {
    Node::bounded(Kind::Integer, Bounds::integers(Some(min), Some(-1)))
}

macro_rules! both_sides {
    ($int:ty) => {
        Node::new(Kind::Union(
            &const {
                [
                    positive(Some(<$int>::MAX as i128)),
                    negative(<$int>::MIN as i128),
                ]
            },
        ))
    };
}

non_zero! {
    NonZeroU8: u8, positive(Some(0xff));
    NonZeroU16: u16, positive(Some(0xffff));
    NonZeroU32: u32, positive(Some(0xffff_ffff));
    NonZeroU64: u64, positive(Some(u64::MAX as i128));
    NonZeroU128: u128, positive(None);
    NonZeroUsize: usize, positive(Some(usize::MAX as i128));
    NonZeroI8: i8, both_sides!(i8);
    NonZeroI16: i16, both_sides!(i16);
    NonZeroI32: i32, both_sides!(i32);
    NonZeroI64: i64, both_sides!(i64);
    NonZeroI128: i128, both_sides!(i128);
    NonZeroIsize: isize, both_sides!(isize);
}

impl ToolInput for f64 {
    const NODE: &'static Node = &Node::new(Kind::Number);

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        cursor.float()
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_float(*self)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}

impl ToolInput for f32 {
    const NODE: &'static Node = &Node::bounded(
        Kind::Number,
        Bounds {
            min: Some(Num::Float(Self::MIN as f64)),
            max: Some(Num::Float(Self::MAX as f64)),
            ..Bounds::NONE
        },
    );

    fn read(cursor: &mut Cursor<'_>) -> Result<Self, Reject> {
        let start = cursor.position();
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the nearest `f32` is meant"
        )]
        let value = cursor.float()? as Self;
        if value.is_finite() {
            Ok(value)
        } else {
            Err(out_of_range(cursor, start))
        }
    }

    fn fits(&self, bounds: &Bounds) -> bool {
        bounds.allows_float(f64::from(*self))
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(*self))
    }
}
