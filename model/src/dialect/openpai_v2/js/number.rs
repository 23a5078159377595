//! Numbers as js-yaml 3.13 reads them and JavaScript prints them.

/// None if the text is no number there.
pub(in super::super) fn read(text: &str) -> Option<f64> {
    integer(text).or_else(|| float(text))
}

fn signed(text: &str) -> (f64, &str) {
    match text.strip_prefix('-') {
        Some(bare) => (-1.0, bare),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn integer(text: &str) -> Option<f64> {
    let (sign, bare) = signed(text);
    if bare == "0" {
        return Some(0.0);
    }
    let magnitude = match bare.strip_prefix('0') {
        Some(rest) => match rest.as_bytes().first()? {
            b'b' => in_base(&rest[1..], 2)?,
            b'x' => in_base(&rest[1..], 16)?,
            _ => in_base(rest, 8)?,
        },
        None if bare.starts_with('_') => return None,
        None => match bare.split_once(':') {
            Some((first, _)) => {
                digits(first, 10)?;
                base_60(bare, |part| digits(part, 10).map(|digits| parsed(&digits)))?
            }
            None => parsed(&digits(bare, 10)?),
        },
    };
    Some(sign * magnitude)
}

/// Digits of the base and `_` between them; at least one digit, and none of `_` at the end.
fn digits(text: &str, base: u32) -> Option<String> {
    let bare = text.replace('_', "");
    (!bare.is_empty() && !text.ends_with('_') && bare.chars().all(|c| c.is_digit(base))).then_some(bare)
}

fn in_base(text: &str, base: u32) -> Option<f64> {
    let digits = digits(text, base)?;
    let rounded_once = u128::from_str_radix(&digits, base).ok().map(|value| value as f64);
    let step = |sum: f64, c: char| sum * f64::from(base) + f64::from(c.to_digit(base).unwrap_or(0));
    Some(rounded_once.unwrap_or_else(|| digits.chars().fold(0.0, step)))
}

fn parsed(digits: &str) -> f64 {
    digits.parse().unwrap_or(f64::NAN)
}

/// `12:30` and `1:30:15.5`: all parts but the first are below 60.
fn base_60(text: &str, last: impl Fn(&str) -> Option<f64>) -> Option<f64> {
    let mut parts = text.split(':');
    let mut value = parsed(&parts.next()?.replace('_', ""));
    let parts: Vec<&str> = parts.collect();
    for (index, part) in parts.iter().enumerate() {
        let whole = part.split('.').next().unwrap_or_default();
        let below_60 =
            (1..=2).contains(&whole.len()) && digits(whole, 10).is_some_and(|it| it.len() == whole.len()) && parsed(whole) < 60.0;
        if !below_60 {
            return None;
        }
        value = value * 60.0 + if index + 1 == parts.len() { last(part)? } else { digits(part, 10).map(|it| parsed(&it))? };
    }
    Some(value)
}

fn float(text: &str) -> Option<f64> {
    if text.ends_with('_') {
        return None;
    }
    let (sign, bare) = signed(text);
    match bare {
        ".inf" | ".Inf" | ".INF" => return Some(sign * f64::INFINITY),
        ".nan" | ".NaN" | ".NAN" if bare.len() == text.len() => return Some(f64::NAN),
        _ => {}
    }
    if bare.contains(':') {
        return sexagesimal(bare).map(|value| sign * value);
    }
    let has_sign = bare.len() != text.len();
    let (mantissa, exponent) = match bare.find(['e', 'E']) {
        Some(at) => (&bare[..at], Some(&bare[at + 1..])),
        None => (bare, None),
    };
    let exponent_is_good = exponent.is_none_or(|it| digits(signed(it).1, 10).is_some_and(|bare| bare.len() == signed(it).1.len()));
    (exponent_is_good && is_mantissa(mantissa, has_sign)).then(|| sign * lenient(&bare.replace('_', "")))
}

/// `0`, `12_000`, `1.`, `1.5`, and without a sign also `.5`.
fn is_mantissa(text: &str, has_sign: bool) -> bool {
    let (whole, fraction) = match text.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (text, None),
    };
    let loose = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '_');
    match fraction {
        Some(fraction) if whole.is_empty() => !has_sign && !fraction.is_empty() && loose(fraction),
        _ => {
            let starts_well = whole == "0" || whole.starts_with(|c: char| matches!(c, '1'..='9'));
            starts_well && loose(whole) && fraction.is_none_or(loose)
        }
    }
}

fn sexagesimal(text: &str) -> Option<f64> {
    let (first, rest) = text.split_once(':')?;
    let last_part = rest.rsplit(':').next()?;
    let good_first = first.starts_with(|c: char| c.is_ascii_digit()) && first.chars().all(|c| c.is_ascii_digit() || c == '_');
    let good_fraction = last_part.split_once('.').is_some_and(|(_, it)| it.chars().all(|c| c.is_ascii_digit() || c == '_'));
    if !good_first || !good_fraction || rest.matches('.').count() != 1 {
        return None;
    }
    base_60(text, |part| Some(lenient(&part.replace('_', ""))))
}

/// As `parseFloat` does it: nothing but digits missing makes it no number at all.
fn lenient(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// `Number.prototype.toString`: the fewest digits that mean the same number, and an exponent only far from the point.
pub(in super::super) fn show(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    if value == 0.0 {
        return "0".into();
    }
    let sign = if value < 0.0 { "-" } else { "" };
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').expect("`{:e}` prints an exponent");
    let digits = mantissa.replace('.', "");
    let point = exponent.parse::<i32>().expect("an exponent is a whole number") + 1;
    format!("{sign}{}", placed(&digits, point))
}

/// Digits with the point after as many of them; before them all if it is not positive.
fn placed(digits: &str, point: i32) -> String {
    let count = digits.len() as i32;
    match point {
        1..=21 if count <= point => format!("{digits}{}", "0".repeat((point - count) as usize)),
        1..=21 => format!("{}.{}", &digits[..point as usize], &digits[point as usize..]),
        -5..=0 => format!("0.{}{digits}", "0".repeat(-point as usize)),
        _ => {
            let exponent = point - 1;
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            format!("{first}{dot}{rest}e{}{exponent}", if exponent > 0 { "+" } else { "" })
        }
    }
}
