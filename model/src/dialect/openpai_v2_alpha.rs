use crate::{
    dialect::{Dialect, Notes, Source},
    located::Node,
    spec::{JobSpec, Problem},
};
pub(super) const DIALECT: Dialect = Dialect { name: "openpai_v2_alpha", title: "OpenPAI v2-alpha", recognises, read };
fn recognises(_: &Node) -> bool {
    false
}
fn read(_: &Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>> {
    Err(Vec::new())
}
