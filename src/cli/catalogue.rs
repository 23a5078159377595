//! `trainmaster catalogue`: every cause of a failure that the server knows, and what to do about it.

use model::{
    diagnose::Catalogue,
    wire::CatalogueEntry,
    words::{Lang, Words},
};

use super::{
    context::Context,
    failure::{Exit, Failure},
    language::LangArgs,
    output,
    style::{self, paint},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct CatalogueArgs {
    /// Only those whose id or words have this in them
    pub text: Option<String>,
    #[command(flatten)]
    pub language: LangArgs,
}

pub async fn catalogue(context: &Context, args: &CatalogueArgs) -> Result<Exit, Failure> {
    let mut entries: Vec<CatalogueEntry> = context.get("/api/v1/catalogue").await?;
    if let Some(text) = &args.text {
        entries.retain(|entry| has(entry, &text.to_lowercase()));
    }
    if context.json {
        output::json(&entries)?;
        return Ok(Exit::Done);
    }
    let lang = args.language.lang();
    entries.iter().try_for_each(|entry| output::text(&entry_text(entry, lang)))?;
    Ok(Exit::Done)
}

fn has(entry: &CatalogueEntry, text: &str) -> bool {
    let words = [&entry.title, &entry.says, &entry.advice];
    entry.id.contains(text) || words.iter().any(|it| it.en.to_lowercase().contains(text) || it.zh.contains(text))
}

fn entry_text(entry: &CatalogueEntry, lang: Lang) -> String {
    let say = |words: &Words| plain(words.say(lang));
    let (id, title) = (paint(style::LOUD, &plain(&entry.id)), say(&entry.title));
    format!("{id}  {title}\n    {}\n    {}\n    {}\n", say(&entry.says), say(&entry.advice), say(&entry.retry.words()))
}

/// The pages of the guide that have them all, by their paths. The English one says everything in both languages.
pub fn pages() -> [(&'static str, String); 2] {
    [
        ("docs/endings.md", page(include_str!("catalogue/head.md"), &[Lang::En, Lang::Zh])),
        ("docs/zh-CN/endings.md", page(include_str!("catalogue/head.zh-CN.md"), &[Lang::Zh])),
    ]
}

fn page(head: &str, languages: &[Lang]) -> String {
    let mut page = head.to_owned();
    for entry in Catalogue::ours().entries() {
        let entry = entry.view();
        page.push_str(&format!("\n### `{}`\n", entry.id));
        for lang in languages {
            page.push_str(&paragraph(&entry, *lang));
        }
    }
    page
}

fn paragraph(entry: &CatalogueEntry, lang: Lang) -> String {
    let CatalogueEntry { title, says, advice, retry, .. } = entry;
    let retry = retry.words();
    match lang {
        Lang::En => format!("\n**{}** {}. *{}.* ({})\n", title.en, says.en, advice.en, retry.en),
        Lang::Zh => format!("\n**{}** {}。*{}。*（{}）\n", title.zh, says.zh, advice.zh, retry.zh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_has_every_cause_as_it_is() {
        for (path, page) in pages() {
            let place = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
            if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
                std::fs::write(&place, &page).unwrap();
            }
            let same = std::fs::read_to_string(&place).unwrap() == page;
            assert!(same, "{path} is not as the catalogue; UPDATE_SNAPSHOTS=1 cargo test --lib cli::catalogue");
        }
    }
}
