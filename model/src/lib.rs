//! What Trainmaster's words mean. Everything here is a value or a pure function of values: no
//! input or output, no clock, no randomness, no logging, so every decision can be tested as text.

pub mod completion;
pub mod dialect;
pub mod framework;
pub mod gang;
pub mod ids;
pub mod job;
pub mod judge;
pub mod located;
pub mod logs;
pub mod order;
pub mod plan;
pub mod reconcile;
pub mod rendezvous;
pub mod resources;
pub mod retry;
pub mod schedule;
pub mod spec;
pub mod standing;
pub mod task;
pub mod template;
pub mod wire;
