//! A training that begins again from a checkpoint writes some steps a second time. Which of the old points are then void is
//! decided as TensorBoard decides it.

use serde::{Deserialize, Serialize};

use super::{Event, What, version};

/// What the files of one directory have said so far, in their order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Restarts {
    version: Option<f64>,
    last_step: i64,
}

/// Points at or after a step that are void.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Void {
    /// Of every tag of the directory.
    All { from_step: i64 },
    /// Of the tags of this event.
    OfTheseTags { from_step: i64 },
}

/// From this version on a program says when it begins.
const SAYS_WHEN_IT_STARTS: f64 = 2.0;

impl Default for Restarts {
    fn default() -> Self {
        Self { version: None, last_step: -1 }
    }
}

impl Restarts {
    pub fn take(&mut self, event: &Event<'_>) -> Option<Void> {
        let says = self.version.is_some_and(|version| version >= SAYS_WHEN_IT_STARTS);
        match &event.what {
            What::FileVersion(text) => {
                self.version = version(text).or(self.version);
                None
            }
            What::Start if says => Some(Void::All { from_step: event.step }),
            What::Summary(_) => {
                let is_back = event.step < self.last_step;
                self.last_step = event.step;
                (is_back && !says).then_some(Void::OfTheseTags { from_step: event.step })
            }
            What::Start | What::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfevents::Summary;

    fn void(version: &'static str, events: &[(i64, char)]) -> Vec<Option<Void>> {
        let mut restarts = Restarts::default();
        restarts.take(&Event { what: What::FileVersion(version), ..Event::default() });
        let event = |(step, what): &(i64, char)| Event {
            step: *step,
            wall_time: 0.0,
            what: if *what == 's' { What::Start } else { What::Summary(Summary(&[])) },
        };
        events.iter().map(|it| restarts.take(&event(it))).collect()
    }

    #[test]
    fn a_start_voids_everything_from_its_step_on() {
        assert_eq!(void("brain.Event:2", &[(9, 'v'), (5, 's'), (5, 'v'), (3, 'v')]), [None, Some(Void::All { from_step: 5 }), None, None]);
    }

    #[test]
    fn before_there_were_starts_a_step_back_voided_the_tags_of_its_event() {
        assert_eq!(
            void("brain.Event:1", &[(9, 'v'), (5, 's'), (5, 'v'), (6, 'v')]),
            [None, None, Some(Void::OfTheseTags { from_step: 5 }), None]
        );
    }
}
