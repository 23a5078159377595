//! What is said to a person, in the languages they may read.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lang {
    #[default]
    En,
    Zh,
}

impl Lang {
    /// `zh`, `zh-CN`, `zh_CN.UTF-8` and their like are Chinese, `en…` is English. The language of the C locale is English.
    pub fn from_text(text: &str) -> Option<Self> {
        let first = text.split(['-', '_', '.', '@']).next().unwrap_or_default();
        match first.to_ascii_lowercase().as_str() {
            "zh" => Some(Lang::Zh),
            "en" | "c" | "posix" => Some(Lang::En),
            _ => None,
        }
    }

    /// The first language of an `Accept-Language` header that we have, whatever weights it gives: people who
    /// write weights write them in order.
    pub fn from_accepted(header: &str) -> Option<Self> {
        header.split(',').find_map(|one| Self::from_text(one.split(';').next().unwrap_or_default().trim()))
    }
}

/// The same thing said in every language. What was written down before there was a second one has only English.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    pub en: String,
    #[serde(default)]
    pub zh: String,
}

impl Words {
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Self {
        Self { en: en.into(), zh: zh.into() }
    }

    /// What a machine or a library said, which is quoted as it is.
    pub fn quoted(text: impl fmt::Display) -> Self {
        Self { en: text.to_string(), zh: format!("`{text}`") }
    }

    pub fn is_empty(&self) -> bool {
        self.en.is_empty()
    }

    pub fn say(&self, lang: Lang) -> &str {
        match lang {
            Lang::Zh if !self.zh.is_empty() => &self.zh,
            Lang::Zh | Lang::En => &self.en,
        }
    }

    /// Both languages through the same function.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Self { en: change(&self.en), zh: change(&self.zh) }
    }

    /// One clause after another: `a; b`, and `a；b`.
    pub fn then(&self, next: &Words) -> Self {
        match (self.is_empty(), next.is_empty()) {
            (true, _) => next.clone(),
            (_, true) => self.clone(),
            (false, false) => Words::new(format!("{}; {}", self.en, next.en), format!("{}；{}", self.say(Lang::Zh), next.say(Lang::Zh))),
        }
    }

    /// Who it is about, before what is said of it.
    pub fn of(&self, subject: &impl fmt::Display) -> Self {
        Words::from(subject.to_string()).joined(self)
    }

    /// The one and then the other, as one clause.
    pub fn joined(&self, next: &Words) -> Self {
        Words::new(format!("{} {}", self.en, next.en), format!("{} {}", self.say(Lang::Zh), next.say(Lang::Zh)))
    }
}

/// The two languages of a sentence that is the same every time.
pub type Said = (&'static str, &'static str);

/// What is said in both languages. A text in one of them is not, so whoever forgets the other is told by the compiler.
pub trait Bilingual {
    fn words(self) -> Words;
}

impl Bilingual for Words {
    fn words(self) -> Words {
        self
    }
}

impl Bilingual for &Words {
    fn words(self) -> Words {
        self.clone()
    }
}

impl<En: Into<String>, Zh: Into<String>> Bilingual for (En, Zh) {
    fn words(self) -> Words {
        Words::from(self)
    }
}

/// A sentence in both languages with the same values in it: English, Chinese, and what is to be put in.
#[macro_export]
macro_rules! said {
    ($en:literal, $zh:literal $(, $value:expr)* $(,)?) => {
        $crate::words::Words::new(std::fmt::format(format_args!($en $(, $value)*)), std::fmt::format(format_args!($zh $(, $value)*)))
    };
}

/// Makes an error of something that has `words`: programs and logs read the English.
#[macro_export]
macro_rules! speaks {
    ($($what:ty),+) => {$(
        impl std::fmt::Display for $what {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.words().en)
            }
        }

        impl std::error::Error for $what {}
    )+};
}

/// Chinese with a space wherever it touches a Latin letter, a digit or code.
fn spaced(zh: &str) -> String {
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    let is_latin = |c: char| c.is_ascii_alphanumeric() || c == '`';
    let mut new = String::with_capacity(zh.len());
    for c in zh.chars() {
        let touches = new.chars().next_back().is_some_and(|before| is_chinese(before) && is_latin(c) || is_latin(before) && is_chinese(c));
        new.extend(touches.then_some(' '));
        new.push(c);
    }
    new
}

/// That a value is of the wrong shape: what it must be, and what stands there.
pub(crate) fn wrong_shape(must_be: &Words, it: &Words) -> Words {
    let zh = format!("这里要写{}，现在是{}", must_be.say(Lang::Zh), it.say(Lang::Zh));
    Words::new(format!("must be {must_be}, not {it}"), spaced(&zh))
}

/// A list of names behind a few words.
pub(crate) fn listed((en, zh): Said, names: &[&str]) -> Words {
    Words::new(format!("{en} {}", names.join(", ")), format!("{zh} {}", names.join("、")))
}

/// What nobody has translated.
impl From<&str> for Words {
    fn from(en: &str) -> Self {
        Self::new(en, "")
    }
}

/// English, then Chinese.
impl<En: Into<String>, Zh: Into<String>> From<(En, Zh)> for Words {
    fn from((en, zh): (En, Zh)) -> Self {
        Self::new(en, zh)
    }
}

impl From<String> for Words {
    fn from(en: String) -> Self {
        Self::new(en, "")
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.en)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_the_names_that_machines_and_browsers_give_it() {
        for zh in ["zh", "zh-CN", "zh_CN.UTF-8", "ZH-hant-TW", "zh@pinyin"] {
            assert_eq!(Lang::from_text(zh), Some(Lang::Zh), "{zh}");
        }
        for en in ["en", "en_GB.UTF-8", "C", "C.UTF-8", "POSIX"] {
            assert_eq!(Lang::from_text(en), Some(Lang::En), "{en}");
        }
        assert_eq!(Lang::from_text("de_DE"), None);
        assert_eq!(Lang::from_accepted("de, zh-CN;q=0.8, en;q=0.5"), Some(Lang::Zh));
        assert_eq!(Lang::from_accepted("fr, *"), None);
    }

    #[test]
    fn what_has_no_chinese_is_said_in_english_and_clauses_keep_their_marks() {
        let old = Words::from("it waits");
        assert_eq!(old.say(Lang::Zh), "it waits");
        let both = Words::new("worker-0 failed", "worker-0 失败").then(&Words::new("no retries", "不重试"));
        assert_eq!((both.en.as_str(), both.zh.as_str()), ("worker-0 failed; no retries", "worker-0 失败；不重试"));
        assert_eq!(Words::default().then(&old), old);
    }

    #[test]
    fn latin_letters_stand_apart_from_chinese_ones() {
        let told = wrong_shape(&Words::new("true or false", "true 或 false"), &Words::new("the text `x`", "文本 `x`"));
        assert_eq!(told.zh, "这里要写 true 或 false，现在是文本 `x`");
    }
}
