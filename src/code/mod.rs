//! Where code comes from, and what it needs around it to run.

pub mod python;
