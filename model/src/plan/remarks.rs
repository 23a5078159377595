//! What a person should know about a plan although nothing is wrong with it.

use super::{HouseRules, Plan};
use crate::{framework::FrameworkName, spec::harmless};

/// One sentence for each thing; none where all is as it was written.
pub fn remarks(plan: &Plan, house: &HouseRules) -> Vec<String> {
    if house.runs_images { Vec::new() } else { images_that_do_not_run(plan) }
}

/// One remark for each image, with all the roles that name it.
fn images_that_do_not_run(plan: &Plan) -> Vec<String> {
    let mut images: Vec<(&str, Vec<&str>)> = Vec::new();
    for role in &plan.roles {
        let Some(image) = role.image.as_deref() else { continue };
        match images.iter_mut().find(|(known, _)| *known == image) {
            Some((_, roles)) => roles.push(role.name.as_str()),
            None => images.push((image, vec![role.name.as_str()])),
        }
    }
    images.iter().map(|(image, roles)| instead_of(image, &roles.join(", "), plan)).collect()
}

fn instead_of(image: &str, roles: &str, plan: &Plan) -> String {
    let preset = FrameworkName::of_image(image).text();
    let image = harmless(image);
    match &plan.framework {
        Some(framework) => {
            format!("the image {image} of {roles} is not used: this cluster runs no images; the framework {framework} takes its place")
        }
        None => format!(
            "the image {image} of {roles} is not used: this cluster runs no images, so the tasks have this machine's own programs; \
             `framework: {preset}` gives them a Python environment (`--set framework={preset}`)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::from_text;

    fn said(head: &str, house: &HouseRules) -> String {
        let text = format!("name: a\n{head}roles: {{ps: {{command: x}}, w: {{command: x, image: 'me/pytorch:2'}}}}");
        remarks(&from_text(&text, house).unwrap().1, house).join("\n")
    }

    #[test]
    fn an_image_that_is_not_run_is_told_with_what_can_be_had_instead() {
        let none = HouseRules::default();
        insta::assert_snapshot!(said("image: tensorflow/tensorflow:2.9\n", &none), @"
        the image tensorflow/tensorflow:2.9 of ps is not used: this cluster runs no images, so the tasks have this machine's own programs; `framework: tensorflow` gives them a Python environment (`--set framework=tensorflow`)
        the image me/pytorch:2 of w is not used: this cluster runs no images, so the tasks have this machine's own programs; `framework: pytorch` gives them a Python environment (`--set framework=pytorch`)
        ");
        insta::assert_snapshot!(said("framework: pytorch@2.9\n", &none), @"the image me/pytorch:2 of w is not used: this cluster runs no images; the framework pytorch@2.9 takes its place");
        assert_eq!(said("image: x\n", &HouseRules { runs_images: true, ..none }), "");
    }
}
