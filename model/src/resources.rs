//! What a task needs and a node has, counted in whole units so that sums are exact.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// An amount of everything that is counted out to tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub cpus_milli: u64,
    pub memory_bytes: u64,
    /// Accelerator type (`A100`, `Ascend910`, …) to how many.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub accelerators: BTreeMap<String, u32>,
}

/// The type of accelerator that stands for "whichever there is".
pub const ANY_ACCELERATOR: &str = "any";

impl Resources {
    /// Whether `need` fits into this. [`ANY_ACCELERATOR`] in `need` may be met by one single type.
    pub fn holds(&self, need: &Resources) -> bool {
        self.pick_types(need).is_some_and(|need| {
            self.cpus_milli >= need.cpus_milli
                && self.memory_bytes >= need.memory_bytes
                && need.accelerators.iter().all(|(kind, count)| self.count(kind) >= *count)
        })
    }

    pub fn count(&self, kind: &str) -> u32 {
        self.accelerators.get(kind).copied().unwrap_or(0)
    }

    /// Replaces [`ANY_ACCELERATOR`] by the first type here with enough left after the named ones.
    pub fn pick_types(&self, need: &Resources) -> Option<Resources> {
        let Some(wanted) = need.accelerators.get(ANY_ACCELERATOR).copied() else { return Some(need.clone()) };
        let named = |kind: &str| need.accelerators.get(kind).copied().unwrap_or(0);
        let (kind, _) = self.accelerators.iter().find(|(kind, have)| **have >= wanted + named(kind))?;
        let mut picked = need.clone();
        picked.accelerators.remove(ANY_ACCELERATOR);
        *picked.accelerators.entry(kind.clone()).or_default() += wanted;
        Some(picked)
    }

    pub fn add(&mut self, other: &Resources) {
        self.cpus_milli += other.cpus_milli;
        self.memory_bytes += other.memory_bytes;
        for (kind, count) in &other.accelerators {
            *self.accelerators.entry(kind.clone()).or_default() += count;
        }
    }

    /// Takes `other` away. What is not there is not taken: a node that shrank under its tasks has
    /// nothing free, not less than nothing.
    pub fn take(&mut self, other: &Resources) {
        self.cpus_milli = self.cpus_milli.saturating_sub(other.cpus_milli);
        self.memory_bytes = self.memory_bytes.saturating_sub(other.memory_bytes);
        for (kind, count) in &other.accelerators {
            if let Some(have) = self.accelerators.get_mut(kind) {
                *have = have.saturating_sub(*count);
            }
        }
    }
}

/// A port that must be that one is something a node has once, so it is counted like a device. No type of device has a
/// name with a space in it.
const PORT: &str = "port ";

pub fn port_kind(port: u16) -> String {
    format!("{PORT}{port}")
}

pub fn is_port(kind: &str) -> bool {
    kind.starts_with(PORT)
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} CPU, {}", Cpus(self.cpus_milli), Bytes(self.memory_bytes))?;
        for (kind, count) in &self.accelerators {
            write!(f, ", {count} × {kind}")?;
        }
        Ok(())
    }
}

/// CPUs as a person writes them: `2`, `0.5`.
#[derive(Clone, Copy)]
pub struct Cpus(pub u64);

impl Cpus {
    /// To the nearest thousandth.
    pub fn from_number(cpus: f64) -> Self {
        Self((cpus * 1000.0).round() as u64)
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_multiple_of(1000) { write!(f, "{}", self.0 / 1000) } else { write!(f, "{}", self.0 as f64 / 1000.0) }
    }
}

/// Bytes as a person writes them: `512MiB`, `1.5GiB`, `100B`.
#[derive(Clone, Copy)]
pub struct Bytes(pub u64);

const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", GIB), ("MiB", MIB), ("KiB", 1 << 10)];

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((unit, size)) = UNITS.iter().find(|(_, size)| self.0 >= *size) else { return write!(f, "{}B", self.0) };
        if self.0.is_multiple_of(*size) {
            write!(f, "{}{unit}", self.0 / size)
        } else {
            write!(f, "{:.1}{unit}", self.0 as f64 / *size as f64)
        }
    }
}

/// `1281167` as `1,281,167`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let starts_group = |index: usize| index > 0 && (digits.len() - index).is_multiple_of(3);
    digits.chars().enumerate().flat_map(|(index, digit)| starts_group(index).then_some(',').into_iter().chain([digit])).collect()
}

/// Reads `4GiB`, `512MiB`, `1.5g`, `100MB`, `1048576`. Decimal units are powers of 1000, and a bare
/// letter is the binary unit, as in Docker.
pub fn parse_bytes(text: &str) -> Option<u64> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit: u64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "ki" | "kib" => 1 << 10,
        "m" | "mi" | "mib" => MIB,
        "g" | "gi" | "gib" => GIB,
        "t" | "ti" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    let bytes = number.parse::<f64>().ok()? * unit as f64;
    (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
}

/// Reads `90s`, `15m`, `12h`, `7d`, `1h30m`; a bare number is seconds. Answers milliseconds.
pub fn parse_duration_ms(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    if let Ok(seconds) = rest.parse::<u64>() {
        return seconds.checked_mul(1000);
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit: u64 = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        rest = &rest[letters..];
        total = total.checked_add(number.checked_mul(unit)?)?;
    }
    (!text.trim().is_empty()).then_some(total)
}

/// A duration as a person reads it: `250ms`, `1.5s`, `2m 5s`, `1h 30m`, `3d 2h`.
pub fn show_duration_ms(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1000, ms / 60_000, ms / 3_600_000);
    let two = |big: u64, big_unit, small: u64, small_unit| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit} {small}{small_unit}") }
    };
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..60_000 if ms.is_multiple_of(1000) => format!("{seconds}s"),
        1_000..60_000 => format!("{:.1}s", ms as f64 / 1000.0),
        60_000..3_600_000 => two(minutes, "m", seconds % 60, "s"),
        3_600_000..86_400_000 => two(hours, "h", minutes % 60, "m"),
        _ => two(hours / 24, "d", hours % 24, "h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(cpus: u64, memory_mib: u64, accelerators: &[(&str, u32)]) -> Resources {
        Resources {
            cpus_milli: cpus * 1000,
            memory_bytes: memory_mib * MIB,
            accelerators: accelerators.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
        }
    }

    #[test]
    fn any_accelerator_is_met_by_one_type_and_never_by_a_mix() {
        let node = amount(8, 1024, &[("A100", 2), ("T4", 3)]);
        assert!(node.holds(&amount(1, 1, &[(ANY_ACCELERATOR, 3)])));
        assert!(!node.holds(&amount(1, 1, &[(ANY_ACCELERATOR, 4)])));
        assert!(!node.holds(&amount(1, 1, &[("A100", 2), ("T4", 1), (ANY_ACCELERATOR, 3)])));
        assert!(!node.holds(&amount(9, 1, &[])));
    }

    #[test]
    fn what_is_added_can_be_taken_again() {
        let (mut sum, part) = (amount(4, 100, &[("A100", 1)]), amount(1, 40, &[("A100", 1)]));
        let before = sum.clone();
        sum.add(&part);
        sum.take(&part);
        assert_eq!(sum, before);
    }

    #[test]
    fn numbers_have_their_commas() {
        assert_eq!([0, 999, 1_000, 1_281_167].map(grouped).join(" "), "0 999 1,000 1,281,167");
    }

    #[test]
    fn sizes_are_read_as_people_write_them() {
        let read = |text| parse_bytes(text).map(|bytes| Bytes(bytes).to_string());
        for (text, shown) in [("4GiB", "4GiB"), ("1.5g", "1.5GiB"), ("100MB", "95.4MiB"), ("64m", "64MiB"), ("0", "0B"), ("1 GiB", "1GiB")]
        {
            assert_eq!(read(text).as_deref(), Some(shown), "{text}");
        }
        for wrong in ["", "GiB", "-1", "1e400", "4 potatoes", "99999999999TiB", "1.2.3G", "NaN"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_are_read_and_shown_as_people_write_them() {
        for (text, ms, shown) in [
            ("90", 90_000, "1m 30s"),
            ("250ms", 250, "250ms"),
            ("1500ms", 1_500, "1.5s"),
            ("15m", 900_000, "15m"),
            ("1h30m", 5_400_000, "1h 30m"),
            ("7d", 604_800_000, "7d"),
        ] {
            assert_eq!(parse_duration_ms(text), Some(ms), "{text}");
            assert_eq!(show_duration_ms(ms), shown);
        }
        for wrong in ["", "soon", "1x", "h", "-5s", "99999999999999999999s", "1h 30m", "18446744073709551615d"] {
            assert_eq!(parse_duration_ms(wrong), None, "{wrong}");
        }
    }
}
