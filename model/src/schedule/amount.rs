//! Resources as short rows of numbers. Placing compares and subtracts them thousands of times a
//! turn, so the names of accelerator types become positions once, at the door.

use crate::resources::{ANY_ACCELERATOR, Resources, is_port};

/// CPU thousandths, bytes of memory, then how many devices of each of [`Kinds`].
pub(super) type Row = [u64];

pub(super) const CPUS: usize = 0;
pub(super) const MEMORY: usize = 1;
pub(super) const FIRST_DEVICE: usize = 2;

/// Every accelerator type that is spoken of, in order of name, and then every port.
pub(super) struct Kinds(Vec<String>);

/// What one task needs: named amounts, and `any` more devices of one single type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Need {
    pub named: Vec<u64>,
    pub any: u64,
    /// Behind the last device, where ports begin.
    devices_end: usize,
}

impl Kinds {
    pub fn of<'a>(all: impl Iterator<Item = &'a Resources>) -> Self {
        let mut kinds: Vec<String> = Vec::new();
        for name in all.flat_map(|resources| resources.accelerators.keys()).filter(|name| *name != ANY_ACCELERATOR) {
            let order = |it: &str| (is_port(it), it.to_owned());
            if let Err(at) = kinds.binary_search_by_key(&order(name), |it| order(it)) {
                kinds.insert(at, name.clone());
            }
        }
        Self(kinds)
    }

    pub fn names(&self) -> &[String] {
        &self.0
    }

    pub fn width(&self) -> usize {
        FIRST_DEVICE + self.0.len()
    }

    pub fn row(&self, resources: &Resources) -> Vec<u64> {
        let devices = self.0.iter().map(|kind| u64::from(resources.count(kind)));
        [resources.cpus_milli, resources.memory_bytes].into_iter().chain(devices).collect()
    }

    /// What a node has: every port once.
    pub fn capacity(&self, resources: &Resources) -> Vec<u64> {
        let mut row = self.row(resources);
        row[self.devices_end()..].fill(1);
        row
    }

    pub fn need(&self, resources: &Resources) -> Need {
        Need { named: self.row(resources), any: resources.count(ANY_ACCELERATOR).into(), devices_end: self.devices_end() }
    }

    fn devices_end(&self) -> usize {
        FIRST_DEVICE + self.0.iter().take_while(|kind| !is_port(kind)).count()
    }

    pub fn resources(&self, row: &Row) -> Resources {
        let counts = self.0.iter().zip(&row[FIRST_DEVICE..]).filter(|(_, count)| **count > 0);
        Resources {
            cpus_milli: row[CPUS],
            memory_bytes: row[MEMORY],
            accelerators: counts.map(|(kind, count)| (kind.clone(), u32::try_from(*count).unwrap_or(u32::MAX))).collect(),
        }
    }
}

pub(super) fn holds(have: &Row, want: &Row) -> bool {
    have.iter().zip(want).all(|(have, want)| have >= want)
}

pub(super) fn add(sum: &mut Row, more: &Row) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum = sum.saturating_add(*more));
}

/// What is not there is not taken: a node that shrank under its tasks has nothing free.
pub(super) fn take(sum: &mut Row, less: &Row) {
    sum.iter_mut().zip(less).for_each(|(sum, less)| *sum = sum.saturating_sub(*less));
}

pub(super) fn plus(row: &Row, more: &Row) -> Vec<u64> {
    row.iter().zip(more).map(|(row, more)| row.saturating_add(*more)).collect()
}

pub(super) fn minus(row: &Row, less: &Row) -> Vec<u64> {
    row.iter().zip(less).map(|(row, less)| row.saturating_sub(*less)).collect()
}

pub(super) fn lesser(one: &Row, other: &Row) -> Vec<u64> {
    one.iter().zip(other).map(|(one, other)| *one.min(other)).collect()
}

pub(super) fn times(row: &Row, count: u32) -> Vec<u64> {
    row.iter().map(|each| each.saturating_mul(count.into())).collect()
}

/// How many devices there are, of whatever type.
pub(super) fn devices(row: &Row) -> u64 {
    row[FIRST_DEVICE..].iter().sum()
}

impl Need {
    /// Where in the row the "any" devices would come from, if a task fits into `free` at all: the first type
    /// with enough left. Without such devices the answer means nothing but "it fits".
    pub fn fits(&self, free: &Row) -> Option<usize> {
        if !holds(free, &self.named) {
            return None;
        }
        let mut devices = FIRST_DEVICE..self.devices_end;
        if self.any == 0 { Some(CPUS) } else { devices.find(|at| free[*at] - self.named[*at] >= self.any) }
    }

    /// What a task is given, its "any" devices taken `from` there.
    pub fn given(&self, from: usize) -> Vec<u64> {
        let mut given = self.named.clone();
        given[from] += self.any;
        given
    }

    /// How many such tasks fit into `free`, if at most `most` are wanted.
    pub fn count(&self, free: &Row, most: u32) -> u32 {
        if self.any == 0 {
            let fitting = free.iter().zip(&self.named).filter(|(_, each)| **each > 0).map(|(have, each)| have / each).min();
            return fitting.map_or(most, |count| u32::try_from(count).unwrap_or(u32::MAX).min(most));
        }
        let mut left = free.to_vec();
        let next = |_: &u32| self.fits(&left).map(|from| take(&mut left, &self.given(from))).is_some();
        (0..most).take_while(next).count() as u32
    }

    /// The most of each resource that at most `most` such tasks could use of `free`, each counted by itself.
    pub fn most_used(&self, free: &Row, most: u32) -> Vec<u64> {
        let mut each = self.named.clone();
        each[FIRST_DEVICE..self.devices_end].iter_mut().for_each(|devices| *devices += self.any);
        times(&each, self.count(free, most))
    }
}
