//! The frameworks whose Python environment we can make, and what is put into each.

use std::{fmt, str::FromStr};

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

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a framework we know")]
pub struct UnknownFramework;

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
            ("tf-", FrameworkName::Tensorflow),
            ("pytorch", FrameworkName::Pytorch),
            ("torch", FrameworkName::Pytorch),
            ("jax", FrameworkName::Jax),
        ];
        let image = image.to_ascii_lowercase();
        SIGNS.into_iter().find(|(sign, _)| image.contains(sign)).map_or(FrameworkName::Python, |(_, name)| name)
    }
}

impl Framework {
    pub const PATTERN: &str = "^(tensorflow|keras|pytorch|jax|python)(@[0-9]+(\\.[0-9]+){0,3})?$";
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
    fn a_framework_is_a_name_and_perhaps_a_version() {
        for text in ["tensorflow", "keras@3", "pytorch@2.9.1", "jax", "python@3.12"] {
            assert_eq!(text.parse::<Framework>().unwrap().to_string(), text);
        }
        for text in ["", "caffe", "tensorflow@", "pytorch@2.x", "jax@1..2", "TensorFlow", "python@1.2.3.4.5"] {
            assert_eq!(text.parse::<Framework>(), Err(UnknownFramework), "{text}");
        }
    }
}
