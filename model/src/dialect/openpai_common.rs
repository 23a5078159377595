//! What OpenPAI's three kinds of job files share.

use super::note::with_words;
use crate::{
    framework::FrameworkName,
    ids::{JobName, RoleName},
    located::{Kind, Scalar},
    words::Words,
};

/// Why the image of a file is kept and still not the last word.
pub(super) fn image_note(image: &str) -> Words {
    let preset = FrameworkName::of_image(image).text();
    let en = format!(
        "a cluster that runs no images runs the tasks with the machine's own programs: add `framework: {preset}` there for a Python environment"
    );
    let zh = format!("不能运行镜像的集群会使用机器自带的程序；需要 Python 环境时请加上 `framework: {preset}`");
    with_words("image", (en, zh))
}

/// OpenPAI took longer and odder names than we do. The name as it can stand here, and whether it had to be changed.
pub(super) fn job_name(name: &str) -> (String, bool) {
    fitting(name, |text| JobName::parse(text).is_ok())
}

/// The same for a role.
pub(super) fn role_name(name: &str) -> (String, bool) {
    fitting(name, |text| RoleName::parse(text).is_ok())
}

fn fitting(name: &str, fits: fn(&str) -> bool) -> (String, bool) {
    const CHARACTERS_MAX: usize = 64;
    if fits(name) {
        return (name.to_owned(), false);
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "-._~".contains(c) { c } else { '-' };
    let mut new: String = name.chars().take(CHARACTERS_MAX).map(allowed).collect();
    if !fits(&new) {
        new = format!("j{new}").chars().take(CHARACTERS_MAX).collect();
    }
    (new, true)
}

/// A number as JavaScript prints it, for that is what OpenPAI's server did with numbers: `1.0` is `1`, and `1e-5` is `0.00001`.
pub(super) fn js_number(written: &str) -> String {
    let scalar = Scalar { text: written.to_owned(), plain: true };
    let number = match scalar.kind() {
        Kind::Int(number) if number.unsigned_abs() < 1 << 53 => return number.to_string(),
        Kind::Int(number) => number as f64,
        Kind::Float(number) => number,
        Kind::Null | Kind::Bool(_) | Kind::Text => return written.to_owned(),
    };
    match number.abs() {
        _ if number.is_nan() => "NaN".into(),
        f64::INFINITY => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        0.0 => "0".into(),
        size if size >= 1e21 => format!("{number:e}").replace('e', "e+"),
        size if size < 1e-6 => format!("{number:e}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_javascript_prints_them() {
        for (written, printed) in [
            ("1.0", "1"),
            ("0.10", "0.1"),
            ("1e-5", "0.00001"),
            ("1e-7", "1e-7"),
            ("-2.50e-8", "-2.5e-8"),
            ("123456789012345678901", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("0x1F", "31"),
            ("-0.0", "0"),
            ("42", "42"),
            (".inf", "Infinity"),
            ("word", "word"),
        ] {
            assert_eq!(js_number(written), printed);
        }
    }

    #[test]
    fn a_name_that_fits_is_kept_and_any_other_is_made_to_fit() {
        for (name, new, changed) in [
            ("mnist", "mnist", false),
            ("ann~mnist_2.v1", "ann~mnist_2.v1", false),
            ("_hidden", "j_hidden", true),
            (".hidden", "j.hidden", true),
            ("my job/2", "my-job-2", true),
            ("数字", "j--", true),
            ("", "j", true),
        ] {
            assert_eq!(job_name(name), (new.to_owned(), changed), "{name}");
        }
        for long in ["a".repeat(300), "-".repeat(300)] {
            let (new, changed) = job_name(&long);
            assert!(changed && new.len() == 64 && JobName::parse(&new).is_ok(), "{new}");
        }
        assert_eq!(role_name("_main"), ("_main".to_owned(), false));
        assert_eq!(role_name("~main"), ("j~main".to_owned(), true));
    }

    #[test]
    fn the_note_on_an_image_offers_the_framework_its_name_speaks_of() {
        for (image, framework) in [
            ("openpai/pai.example.tensorflow:stable", "tensorflow"),
            ("registry.example.com:5000/ml/Keras.tensorflow", "keras"),
            ("pytorch/pytorch:1.4-cuda10.1", "pytorch"),
            ("ann/tf-gpu", "tensorflow"),
            ("example/jax:0.4", "jax"),
            ("ubuntu:16.04", "python"),
        ] {
            assert!(image_note(image).en.contains(&format!("`framework: {framework}`")), "{image}: {}", image_note(image));
        }
    }
}
