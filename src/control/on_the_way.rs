//! Runs on the way to their engine: they are placed, and somebody holds them who will start them. Until they have arrived, the engine
//! knows as little of them as of runs that nobody will ever start, so the loop concludes nothing from that and leaves them alone.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use model::ids::RunKey;

#[derive(Clone, Default)]
pub struct OnTheWay(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    /// How many lots have gone off; the number of the last.
    lots: u64,
    going: BTreeMap<u64, Arc<BTreeSet<RunKey>>>,
    /// Those that have arrived since somebody looks around. Nobody else has to know.
    arrived: Option<Vec<Arc<BTreeSet<RunKey>>>>,
}

/// Some that go together, until they have arrived or are given up.
pub struct Lot {
    runs: Arc<BTreeSet<RunKey>>,
    number: u64,
    way: OnTheWay,
}

/// A look around, which takes a while.
pub struct Look(OnTheWay);

impl OnTheWay {
    /// Before they are durable: whoever reads of them has to find them here.
    pub fn send(&self, runs: BTreeSet<RunKey>) -> Lot {
        let (runs, mut known) = (Arc::new(runs), self.known());
        known.lots += 1;
        let number = known.lots;
        known.going.insert(number, runs.clone());
        drop(known);
        Lot { runs, number, way: self.clone() }
    }

    /// Begun before anything is looked at. One at a time.
    pub fn look(&self) -> Look {
        self.known().arrived = Some(Vec::new());
        Look(self.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lot {
    pub fn runs(&self) -> &BTreeSet<RunKey> {
        &self.runs
    }
}

impl Drop for Lot {
    fn drop(&mut self) {
        let mut known = self.way.known();
        known.going.remove(&self.number);
        if let Some(arrived) = &mut known.arrived {
            arrived.push(self.runs.clone());
        }
    }
}

impl Look {
    /// All that were on the way at any moment of it.
    pub fn met(self) -> BTreeSet<RunKey> {
        let known = self.0.known();
        known.going.values().chain(known.arrived.iter().flatten()).flat_map(|lot| lot.iter().cloned()).collect()
    }
}

impl Drop for Look {
    fn drop(&mut self) {
        self.0.known().arrived = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::run_key;

    #[test]
    fn a_look_meets_who_arrives_meanwhile_and_nobody_who_had_arrived_before() {
        let (way, lot) = (OnTheWay::default(), |number| BTreeSet::from([run_key(number, "worker-0", 1)]));
        let before = way.send(lot(1));
        drop(before);
        let (meanwhile, after) = (way.send(lot(2)), way.send(lot(3)));
        let look = way.look();
        drop(meanwhile);
        drop(way.send(lot(4)));
        assert_eq!(look.met(), [lot(2), lot(3), lot(4)].into_iter().flatten().collect());
        drop(after);
        assert_eq!(way.look().met(), BTreeSet::new());
    }
}
