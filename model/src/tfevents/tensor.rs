//! A tensor that is one number, in whichever way it is written.

use super::proto::{Field, fields, varint};

/// What TensorFlow calls the types of numbers.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    F32,
    F64,
    F16,
    Bf16,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Truth,
}

fn kind(number: u64) -> Option<Kind> {
    Some(match number {
        1 => Kind::F32,
        2 => Kind::F64,
        3 => Kind::I32,
        4 => Kind::U8,
        5 => Kind::I16,
        6 => Kind::I8,
        9 => Kind::I64,
        10 => Kind::Truth,
        14 => Kind::Bf16,
        17 => Kind::U16,
        19 => Kind::F16,
        22 => Kind::U32,
        23 => Kind::U64,
        _ => return None,
    })
}

/// The one number of a tensor without dimensions, or whose dimensions are all 1.
pub fn scalar(tensor: &[u8]) -> Option<f64> {
    let (mut number, mut is_one, mut content, mut listed) = (0, true, None, None);
    for field in fields(tensor) {
        match field? {
            (1, Field::Number(value)) => number = value,
            (2, Field::Bytes(shape)) => is_one = fields(shape).all(|it| !matches!(it, Some((2, Field::Bytes(size))) if !is_single(size))),
            (4, Field::Bytes(bytes)) => content = Some(bytes).filter(|it| !it.is_empty()),
            (5..=7 | 10 | 11 | 13 | 16 | 17, value) => listed = listed.or(Some(value)),
            _ => {}
        }
    }
    let kind = kind(number).filter(|_| is_one)?;
    match (content, listed) {
        (Some(bytes), _) => from_content(kind, bytes),
        (None, Some(value)) => from_list(kind, value),
        // Zeros need not be written.
        (None, None) => Some(0.0),
    }
}

fn is_single(dimension: &[u8]) -> bool {
    super::proto::number(dimension, 1) == Some(1)
}

fn from_content(kind: Kind, bytes: &[u8]) -> Option<f64> {
    Some(match kind {
        Kind::F32 => f64::from(f32::from_le_bytes(bytes.try_into().ok()?)),
        Kind::F64 => f64::from_le_bytes(bytes.try_into().ok()?),
        Kind::F16 => half(u16::from_le_bytes(bytes.try_into().ok()?)),
        Kind::Bf16 => f64::from(f32::from_bits(u32::from(u16::from_le_bytes(bytes.try_into().ok()?)) << 16)),
        Kind::I8 => f64::from(i8::from_le_bytes(bytes.try_into().ok()?)),
        Kind::I16 => f64::from(i16::from_le_bytes(bytes.try_into().ok()?)),
        Kind::I32 => f64::from(i32::from_le_bytes(bytes.try_into().ok()?)),
        Kind::I64 => i64::from_le_bytes(bytes.try_into().ok()?) as f64,
        Kind::U8 | Kind::Truth => f64::from(u8::from_le_bytes(bytes.try_into().ok()?)),
        Kind::U16 => f64::from(u16::from_le_bytes(bytes.try_into().ok()?)),
        Kind::U32 => f64::from(u32::from_le_bytes(bytes.try_into().ok()?)),
        Kind::U64 => u64::from_le_bytes(bytes.try_into().ok()?) as f64,
    })
}

/// The first of a list, packed or not. TensorFlow repeats the last value of a list that is too short, so the first is all.
fn from_list(kind: Kind, field: Field<'_>) -> Option<f64> {
    let whole = |field: Field<'_>| match field {
        Field::Number(value) => Some(value),
        Field::Bytes(mut packed) => varint(&mut packed),
        Field::Eight(_) | Field::Four(_) => None,
    };
    Some(match kind {
        Kind::F32 => match field {
            Field::Four(bits) => f64::from(f32::from_bits(bits)),
            Field::Bytes(packed) => f64::from(f32::from_le_bytes(*packed.first_chunk()?)),
            Field::Number(_) | Field::Eight(_) => return None,
        },
        Kind::F64 => match field {
            Field::Eight(bits) => f64::from_bits(bits),
            Field::Bytes(packed) => f64::from_le_bytes(*packed.first_chunk()?),
            Field::Number(_) | Field::Four(_) => return None,
        },
        Kind::F16 => half(whole(field)? as u16),
        Kind::Bf16 => f64::from(f32::from_bits((whole(field)? as u32) << 16)),
        Kind::I8 | Kind::I16 | Kind::I32 => f64::from(whole(field)? as i32),
        Kind::I64 => whole(field)? as i64 as f64,
        Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 | Kind::Truth => whole(field)? as f64,
    })
}

/// A number of 16 bits: one for the sign, five for the exponent, ten for the fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_sixteen_bits_are_what_they_should_be() {
        let cases =
            [(0x0000, 0.0), (0x3c00, 1.0), (0xc000, -2.0), (0x3555, 0.333_251_953_125), (0x7bff, 65504.0), (0x0001, 2_f64.powi(-24))];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan() && half(0xfc00) == f64::NEG_INFINITY);
    }
}
