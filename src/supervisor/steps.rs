//! How long each thing took that came before the child.

use std::cell::RefCell;

use model::step::{Step, StepKind};

use super::journal::now_ms;

#[derive(Default)]
pub struct Steps(RefCell<Vec<Step>>);

impl Steps {
    pub fn time<T>(&self, what: StepKind, work: impl FnOnce() -> T) -> T {
        let began_at_ms = now_ms();
        let done = work();
        let took_ms = now_ms().saturating_sub(began_at_ms);
        self.0.borrow_mut().push(Step { what, began_at_ms, took_ms });
        done
    }

    pub fn all(&self) -> Vec<Step> {
        self.0.borrow().clone()
    }
}
