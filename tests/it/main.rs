//! The real binary, real processes, a fresh directory and port for every test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic where it stands")]

mod api;
mod bad_input;
mod clients;
mod clock;
mod crash_bench;
mod crash_points;
mod database;
mod delete;
mod disk;
mod document;
mod endings;
mod environments;
mod escape;
mod explain;
mod far_away;
mod fate;
mod gang;
mod house;
mod job_files;
mod local_engine;
mod local_nodes;
mod logs;
mod mpi;
mod openpai;
mod place;
mod poison;
mod ports;
mod reach;
mod relay;
mod rendezvous;
mod restart;
mod run;
mod stop;
mod strangers;
mod supervisor;
mod tcp_only;
mod tidy;
mod training;
