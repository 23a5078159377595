//! The frameworks whose Python environment we can make, and what is put into each.

use std::{fmt, str::FromStr};

use crate::{said, speaks, words::Words};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FrameworkName {
    Tensorflow,
    Keras,
    Pytorch,
    Jax,
    Python,
}

/// `tensorflow`, or `pytorch@2.9`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Framework {
    pub name: FrameworkName,
    pub version: Option<String>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct UnknownFramework;

impl UnknownFramework {
    /// What is said of the text.
    pub fn words(&self) -> Words {
        said!("is not a framework we know", "不是认识的框架")
    }
}

speaks!(UnknownFramework);

impl FrameworkName {
    pub const ALL: [FrameworkName; 5] =
        [FrameworkName::Tensorflow, FrameworkName::Keras, FrameworkName::Pytorch, FrameworkName::Jax, FrameworkName::Python];

    pub fn text(self) -> &'static str {
        match self {
            FrameworkName::Tensorflow => "tensorflow",
            FrameworkName::Keras => "keras",
            FrameworkName::Pytorch => "pytorch",
            FrameworkName::Jax => "jax",
            FrameworkName::Python => "python",
        }
    }
}

impl FrameworkName {
    /// The framework that an image of that name most likely holds.
    pub fn of_image(image: &str) -> Self {
        const SIGNS: [(&str, FrameworkName); 7] = [
            ("keras", FrameworkName::Keras),
            ("tensorflow", FrameworkName::Tensorflow),
            ("tensorboard", FrameworkName::Tensorflow),
            ("horovod", FrameworkName::Tensorflow),
            ("torch", FrameworkName::Pytorch),
            ("jax", FrameworkName::Jax),
            ("tf", FrameworkName::Tensorflow),
        ];
        let image = image.to_ascii_lowercase();
        SIGNS.into_iter().find(|(sign, _)| image.contains(sign)).map_or(FrameworkName::Python, |(_, name)| name)
    }
}

/// What a Python environment is made from. The same values give the same environment, whichever
/// framework asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Environment {
    /// Who asks for it, in words.
    pub framework: String,
    /// As a requirements file has them, in PEP 440 and 508.
    pub requirements: Vec<String>,
    /// The version of Python; what the machine calls `python3` if none is named.
    pub interpreter: Option<String>,
}

impl Framework {
    pub const PATTERN: &str = "^(tensorflow|keras|pytorch|jax|python)(@[0-9]+(\\.[0-9]+){0,3})?$";

    /// Where devices were asked for, the builds that can use them are taken, which are larger by gigabytes.
    pub fn environment(&self, with_devices: bool) -> Environment {
        let interpreter = self.version.clone().filter(|_| self.name == FrameworkName::Python);
        Environment { framework: self.to_string(), requirements: self.requirements(with_devices), interpreter }
    }

    fn requirements(&self, with_devices: bool) -> Vec<String> {
        let version = self.version.as_deref();
        let mut packages = match self.name {
            FrameworkName::Tensorflow => tensorflow(version, version.is_none().then_some(KERAS), with_devices),
            FrameworkName::Keras => tensorflow(None, Some(version.unwrap_or(KERAS)), with_devices),
            FrameworkName::Pytorch => vec![pinned("torch", Some(version.unwrap_or(PYTORCH)))],
            FrameworkName::Jax => {
                let package = if with_devices { "jax[cuda12]" } else { "jax" };
                vec![pinned(package, Some(version.unwrap_or(JAX))), "jaxlib".into()]
            }
            FrameworkName::Python => return Vec::new(),
        };
        packages.extend(FOR_EVERYONE.map(String::from));
        packages
    }
}

/// Taken where no version is named, so that the same job file gives the same framework next year.
/// Known to work with Python 3.11.
const TENSORFLOW: &str = "2.21";
const KERAS: &str = "3.15";
const PYTORCH: &str = "2.9";
const JAX: &str = "0.10";
/// Hardly any training does without.
const FOR_EVERYONE: [&str; 2] = ["numpy", "scikit-learn"];

/// TensorFlow and Keras come together: each alone is of little use. Without a version both want the same,
/// and so share one environment. A named Keras chooses the TensorFlow that fits it, and the other way round.
fn tensorflow(version: Option<&str>, keras: Option<&str>, with_devices: bool) -> Vec<String> {
    let version = version.or((keras.is_none() || keras == Some(KERAS)).then_some(TENSORFLOW));
    let keras = keras.map(|version| pinned("keras", Some(version)));
    let builds = if with_devices {
        vec![pinned("tensorflow[and-cuda]", version)]
    } else {
        // The small build is made for one kind of machine only.
        let small = pinned("tensorflow-cpu", version) + "; platform_machine == 'x86_64'";
        vec![small, pinned("tensorflow", version) + "; platform_machine != 'x86_64'"]
    };
    builds.into_iter().chain(keras).chain(["tensorboard".to_owned()]).collect()
}

/// `2.9` means any 2.9; with three numbers it is that one.
fn pinned(package: &str, version: Option<&str>) -> String {
    match version {
        None => package.to_owned(),
        Some(version) if version.split('.').count() < 3 => format!("{package}=={version}.*"),
        Some(version) => format!("{package}=={version}"),
    }
}

impl FromStr for Framework {
    type Err = UnknownFramework;

    fn from_str(text: &str) -> Result<Self, UnknownFramework> {
        let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
        let name = FrameworkName::ALL.into_iter().find(|it| it.text() == name).ok_or(UnknownFramework)?;
        let number = |it: &str| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit());
        match version {
            Some(version) if version.split('.').count() > 4 || !version.split('.').all(number) => Err(UnknownFramework),
            version => Ok(Self { name, version: version.map(str::to_owned) }),
        }
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name.text())?;
        self.version.as_ref().map_or(Ok(()), |version| write!(f, "@{version}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_framework_says_what_goes_into_its_environment() {
        let line = |text: &str, with_devices| {
            let it = text.parse::<Framework>().unwrap().environment(with_devices);
            format!("{}: {} on {}\n", it.framework, it.requirements.join(", "), it.interpreter.as_deref().unwrap_or("python3"))
        };
        let asked = ["tensorflow", "keras", "tensorflow@2.16", "keras@3.9.1", "pytorch", "pytorch@2", "jax", "jax@0.4.38", "python@3.12"];
        let text: String = asked.iter().map(|it| line(it, false)).chain(["tensorflow", "jax"].map(|it| line(it, true))).collect();
        insta::assert_snapshot!(text, @"
        tensorflow: tensorflow-cpu==2.21.*; platform_machine == 'x86_64', tensorflow==2.21.*; platform_machine != 'x86_64', keras==3.15.*, tensorboard, numpy, scikit-learn on python3
        keras: tensorflow-cpu==2.21.*; platform_machine == 'x86_64', tensorflow==2.21.*; platform_machine != 'x86_64', keras==3.15.*, tensorboard, numpy, scikit-learn on python3
        tensorflow@2.16: tensorflow-cpu==2.16.*; platform_machine == 'x86_64', tensorflow==2.16.*; platform_machine != 'x86_64', tensorboard, numpy, scikit-learn on python3
        keras@3.9.1: tensorflow-cpu; platform_machine == 'x86_64', tensorflow; platform_machine != 'x86_64', keras==3.9.1, tensorboard, numpy, scikit-learn on python3
        pytorch: torch==2.9.*, numpy, scikit-learn on python3
        pytorch@2: torch==2.*, numpy, scikit-learn on python3
        jax: jax==0.10.*, jaxlib, numpy, scikit-learn on python3
        jax@0.4.38: jax==0.4.38, jaxlib, numpy, scikit-learn on python3
        python@3.12:  on 3.12
        tensorflow: tensorflow[and-cuda]==2.21.*, keras==3.15.*, tensorboard, numpy, scikit-learn on python3
        jax: jax[cuda12]==0.10.*, jaxlib, numpy, scikit-learn on python3
        ");
    }

    #[test]
    fn a_framework_is_a_name_and_perhaps_a_version() {
        for text in ["tensorflow", "keras@3", "pytorch@2.9.1", "jax", "python@3.12"] {
            assert_eq!(text.parse::<Framework>().unwrap().to_string(), text);
        }
        for text in ["", "caffe", "tensorflow@", "pytorch@2.x", "jax@1..2", "TensorFlow", "python@1.2.3.4.5"] {
            assert_eq!(text.parse::<Framework>(), Err(UnknownFramework), "{text}");
        }
    }
}
