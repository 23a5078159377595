//! The real binary, real processes, a fresh directory and port for every test.

mod api;
mod bad_input;
mod delete;
mod document;
mod explain;
mod far_away;
mod house;
mod local_engine;
mod local_nodes;
mod logs;
mod restart;
mod run;
mod stop;
mod supervisor;
mod tidy;
