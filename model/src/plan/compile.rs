//! stub
pub fn compile(_spec: &crate::spec::JobSpec, _house: &super::HouseRules) -> Result<super::Plan, Vec<crate::spec::Problem>> {
    Err(vec![])
}
