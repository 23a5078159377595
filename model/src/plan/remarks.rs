//! What a person should know about a plan although nothing is wrong with it.

use std::collections::BTreeSet;

use super::{HouseRules, Plan, RolePlan};
use crate::{framework::FrameworkName, order::shell_line, spec::harmless, template, words::Words};

/// One sentence for each thing; none where all is as it was written.
pub fn remarks(plan: &Plan, house: &HouseRules) -> Vec<Words> {
    let images = if house.runs_images { Vec::new() } else { images_that_do_not_run(plan) };
    images.into_iter().chain(plan.roles.iter().flat_map(secret_arguments)).collect()
}

/// What a shell runs is given to it in a file; any other word of a command is seen by everyone.
fn secret_arguments(role: &RolePlan) -> Vec<Words> {
    let line = shell_line(&role.command);
    let words = role.command.iter().enumerate().filter(|(at, _)| Some(*at) != line).map(|(_, word)| word);
    let names: BTreeSet<&str> = words.flat_map(|word| template::secrets(word)).collect();
    let role = &role.name;
    let told = |name: &&str| {
        Words::new(
            format!(
                "the secret {name} is an argument of {role}, which everyone on the task's machine can read; a variable (`env`) or a file is not"
            ),
            format!("密钥 {name} 写成了 {role} 的命令参数，任务所在机器上的人都能看到；写成变量（`env`）或文件就不会"),
        )
    };
    names.iter().map(told).collect()
}

/// One remark for each image, with all the roles that name it.
fn images_that_do_not_run(plan: &Plan) -> Vec<Words> {
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

fn instead_of(image: &str, roles: &str, plan: &Plan) -> Words {
    let preset = FrameworkName::of_image(image).text();
    let image = harmless(image);
    match &plan.framework {
        Some(framework) => Words::new(
            format!("the image {image} of {roles} is not used: this cluster runs no images; the framework {framework} takes its place"),
            format!("{roles} 的镜像 {image} 不会使用：这个集群不运行镜像，改用框架 {framework}"),
        ),
        None => Words::new(
            format!(
                "the image {image} of {roles} is not used: this cluster runs no images, so the tasks have this machine's own programs; \
                 `framework: {preset}` gives them a Python environment (`--set framework={preset}`)"
            ),
            format!(
                "{roles} 的镜像 {image} 不会使用：这个集群不运行镜像，任务使用机器自带的程序；\
                 写上 `framework: {preset}` 就有 Python 环境（`--set framework={preset}`）"
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::from_text;

    fn said(head: &str, house: &HouseRules) -> String {
        let text = format!("name: a\n{head}roles: {{ps: {{command: x}}, w: {{command: x, image: 'me/pytorch:2'}}}}");
        in_english(&remarks(&from_text(&text, house).unwrap().1, house))
    }

    fn in_english(all: &[Words]) -> String {
        all.iter().map(Words::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_remark_is_made_in_chinese_too() {
        let house = HouseRules::default();
        let text = "name: a\nimage: me/pytorch:2\nroles: {w: {command: x}}";
        let all = remarks(&from_text(text, &house).unwrap().1, &house);
        insta::assert_snapshot!(all[0].zh, @"w 的镜像 me/pytorch:2 不会使用：这个集群不运行镜像，任务使用机器自带的程序；写上 `framework: pytorch` 就有 Python 环境（`--set framework=pytorch`）");
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

    #[test]
    fn a_secret_that_becomes_an_argument_is_told_of() {
        let house = HouseRules::default();
        let said = |command: &str| {
            let text = format!("name: a\nsecrets: {{key: x}}\nroles: {{w: {{command: {command}}}}}");
            in_english(&remarks(&from_text(&text, &house).unwrap().1, &house))
        };
        insta::assert_snapshot!(said("[train, '--key={{ secrets.key }}']"), @"the secret key is an argument of w, which everyone on the task's machine can read; a variable (`env`) or a file is not");
        assert_eq!(said("'train {{ secrets.key }}'"), "");
    }
}
