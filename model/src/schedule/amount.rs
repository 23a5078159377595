//! Resources as short rows of numbers. Placing compares and subtracts them thousands of times a
//! turn, so the names of accelerator types become positions once, at the door.

use crate::resources::{ANY_ACCELERATOR, Resources};

/// Every accelerator type that is spoken of, in order of name.
pub(super) struct Kinds(Vec<String>);

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Amount {
    pub cpus_milli: u64,
    pub memory_bytes: u64,
    /// How many of each of [`Kinds`].
    pub devices: Vec<u32>,
}

/// What one task needs: named amounts, and `any` more devices of one single type.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Need {
    pub named: Amount,
    pub any: u32,
}

impl Kinds {
    pub fn of<'a>(all: impl Iterator<Item = &'a Resources>) -> Self {
        let mut kinds: Vec<String> = Vec::new();
        for name in all.flat_map(|resources| resources.accelerators.keys()) {
            if let Err(at) = kinds.binary_search(name) {
                kinds.insert(at, name.clone());
            }
        }
        kinds.retain(|name| name != ANY_ACCELERATOR);
        Self(kinds)
    }

    pub fn amount(&self, resources: &Resources) -> Amount {
        let devices = self.0.iter().map(|kind| resources.count(kind)).collect();
        Amount { cpus_milli: resources.cpus_milli, memory_bytes: resources.memory_bytes, devices }
    }

    pub fn need(&self, resources: &Resources) -> Need {
        Need { named: self.amount(resources), any: resources.count(ANY_ACCELERATOR) }
    }

    pub fn resources(&self, amount: &Amount) -> Resources {
        let counts = self.0.iter().cloned().zip(amount.devices.iter().copied());
        Resources {
            cpus_milli: amount.cpus_milli,
            memory_bytes: amount.memory_bytes,
            accelerators: counts.filter(|(_, count)| *count > 0).collect(),
        }
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }
}

impl Amount {
    pub fn holds(&self, other: &Amount) -> bool {
        self.cpus_milli >= other.cpus_milli
            && self.memory_bytes >= other.memory_bytes
            && self.devices.iter().zip(&other.devices).all(|(have, want)| have >= want)
    }

    pub fn add(&mut self, other: &Amount) {
        self.combine(other, u64::saturating_add, u32::saturating_add);
    }

    /// What is not there is not taken: a node that shrank under its tasks has nothing free.
    pub fn take(&mut self, other: &Amount) {
        self.combine(other, u64::saturating_sub, u32::saturating_sub);
    }

    pub fn at_most(&mut self, other: &Amount) {
        self.combine(other, u64::min, u32::min);
    }

    fn combine(&mut self, other: &Amount, wide: fn(u64, u64) -> u64, narrow: fn(u32, u32) -> u32) {
        self.cpus_milli = wide(self.cpus_milli, other.cpus_milli);
        self.memory_bytes = wide(self.memory_bytes, other.memory_bytes);
        for (mine, theirs) in self.devices.iter_mut().zip(&other.devices) {
            *mine = narrow(*mine, *theirs);
        }
    }

    pub fn times(&self, count: u32) -> Amount {
        Amount {
            cpus_milli: self.cpus_milli.saturating_mul(count.into()),
            memory_bytes: self.memory_bytes.saturating_mul(count.into()),
            devices: self.devices.iter().map(|each| each.saturating_mul(count)).collect(),
        }
    }

    /// CPU, memory and each kind of device, one after the other.
    pub fn row(&self) -> impl Iterator<Item = u64> + '_ {
        [self.cpus_milli, self.memory_bytes].into_iter().chain(self.devices.iter().map(|count| u64::from(*count)))
    }
}

impl Need {
    /// What a task would be given of `free`, with "any" devices taken from the first type that has enough.
    pub fn picked(&self, free: &Amount) -> Option<Amount> {
        if !free.holds(&self.named) {
            return None;
        }
        let mut picked = self.named.clone();
        if self.any > 0 {
            let enough = |kind: &usize| free.devices[*kind] - picked.devices[*kind] >= self.any;
            let kind = (0..free.devices.len()).find(enough)?;
            picked.devices[kind] += self.any;
        }
        Some(picked)
    }

    /// How many such tasks fit into `free`, if at most `most` are wanted.
    pub fn count(&self, free: &Amount, most: u32) -> u32 {
        if self.any == 0 {
            let fitting = free.row().zip(self.named.row()).filter(|(_, each)| *each > 0).map(|(have, each)| have / each).min();
            return fitting.map_or(most, |count| u32::try_from(count).unwrap_or(u32::MAX).min(most));
        }
        let mut left = free.clone();
        (0..most).take_while(|_| self.picked(&left).inspect(|each| left.take(each)).is_some()).count() as u32
    }
}
