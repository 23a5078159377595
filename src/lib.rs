//! The program: server, command line and supervisor in one binary. `ARCHITECTURE.md` is the map.

pub mod api;
pub mod cli;
pub mod client;
pub mod code;
pub mod config;
pub mod control;
pub mod crash;
pub mod engine;
pub mod error;
pub mod identity;
pub mod meter;
pub mod metrics;
pub mod porter;
pub mod run_token;
pub mod rundir;
pub mod seal;
pub mod server;
pub mod store;
pub mod supervisor;
pub mod usage;
pub mod volumes;
