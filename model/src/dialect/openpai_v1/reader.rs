//! Reading fields as OpenPAI's server did: `"4"` is as good as 4, and what is unknown is refused.

use std::ops::RangeInclusive;

use crate::{
    dialect::Notes,
    located::{Kind, Node, Place, Scalar, Value},
    said,
    spec::{Field, Keys, Problem, Walk, in_order, scalar, shown, whole_number},
    words::{Bilingual, Words},
};

pub(crate) const NOTHING: (&str, &str) = ("empty, which is the same as not written", "留空，等于没写");

/// What was read so far: what is wrong, and what became of the rest.
#[derive(Default)]
pub(crate) struct Reader {
    pub walk: Walk,
    pub notes: Notes,
}

impl Reader {
    pub fn done<T>(self, read: Option<T>) -> Result<(T, Notes), Vec<Problem>> {
        match read {
            Some(read) if self.walk.problems.is_empty() => Ok((read, self.notes)),
            Some(_) | None => Err(in_order(self.walk.problems)),
        }
    }

    pub fn kept(&mut self, field: &Field<'_>, becomes: impl Into<Words>) {
        self.notes.kept(field.path.clone(), field.node.place, becomes);
    }

    pub fn changed(&mut self, field: &Field<'_>, reason: impl Into<Words>) {
        self.notes.changed(field.path.clone(), field.node.place, reason);
    }

    pub fn ignored(&mut self, field: &Field<'_>, reason: impl Into<Words>) {
        self.notes.ignored(field.path.clone(), field.node.place, reason);
    }

    /// The value of a key, `null` included: for OpenPAI `null` is a value, and mostly a wrong one.
    pub fn field<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str) -> Option<Field<'a>> {
        self.walk.as_written(keys, key).map(|(field, _)| field)
    }

    /// Text that may be empty; an empty one is as good as none, and is noted as that.
    pub fn text_or_nothing<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str) -> Option<(Field<'a>, String)> {
        let field = self.field(keys, key)?;
        let text = self.walk.text(&field, ("write a text in quotes, or remove the key", "请写带引号的文本，或删掉这个键"))?;
        if text.is_empty() {
            self.kept(&field, NOTHING);
            return None;
        }
        Some((field, text))
    }

    /// The entries of a map whose keys a person chooses. An empty one is noted itself, for it has no entry to be noted.
    pub fn map<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Vec<(&'a str, Field<'a>, Place)> {
        let entries = self.walk.open_map(field, hint);
        if entries.is_empty() && matches!(field.node.value, Value::Map(_)) {
            self.kept(field, NOTHING);
        }
        entries
    }

    pub fn whole(&mut self, field: &Field<'_>, range: RangeInclusive<i64>) -> Option<i64> {
        let number = number(field.node).and_then(|number| i64::try_from(number).ok()).filter(|number| range.contains(number));
        if number.is_none() {
            let text = matches!(scalar(field.node), Some((_, Kind::Text)));
            let hint = if text {
                said!("write a number, without a unit", "请只写数字，不带单位")
            } else {
                said!("write a number such as {}", "请写一个数，如 {}", (*range.start()).max(1))
            };
            self.walk.wrong(field, in_words(&range), hint);
        }
        number
    }

    /// A name of letters, digits and `also`.
    pub fn name(&mut self, field: &Field<'_>, also: &str) -> Option<String> {
        let text = self.walk.text(field, ("write a name such as worker", "请写 worker 这样的名字"))?;
        let bad = text.chars().find(|c| !c.is_ascii_alphanumeric() && !also.contains(*c));
        if text.is_empty() || bad.is_some() {
            let signs: Vec<String> = also.chars().map(|c| format!("`{c}`")).collect();
            let what = if text.is_empty() {
                said!("is empty", "是空的")
            } else {
                said!("{} has {}", "{} 里有 {}", shown(&text), shown(&String::from_iter(bad)))
            };
            self.walk.tell(
                field,
                what,
                (format!("use letters, digits and {}", signs.join(", ")), format!("请用字母、数字和 {}", signs.join("、"))),
            );
            return None;
        }
        Some(text)
    }
}

/// Ends that only stand for the size of a number are of no use to people.
fn in_words(range: &RangeInclusive<i64>) -> Words {
    match (*range.start(), *range.end()) {
        (i64::MIN, _) => said!("a whole number", "整数"),
        (least, most) if most >= i64::from(u32::MAX) => said!("a whole number, {least} or more", "不小于 {least} 的整数"),
        (least, most) => said!("a whole number from {least} to {most}", "{least} 到 {most} 之间的整数"),
    }
}

/// A whole number, also one in quotes.
fn number(node: &Node) -> Option<i128> {
    let (scalar, kind) = scalar(node)?;
    match kind {
        Kind::Int(_) | Kind::Float(_) => whole_number(kind),
        Kind::Text => {
            let bare = Scalar { text: scalar.text.trim().to_owned(), plain: true };
            whole_number(bare.kind())
        }
        Kind::Null | Kind::Bool(_) => None,
    }
}
