//! Which language is printed: as asked for, else that of the terminal.

use model::words::Lang;

#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct LangArgs {
    /// en or zh; if not given, as LANG says
    #[arg(long, value_parser = parse)]
    lang: Option<Lang>,
}

fn parse(text: &str) -> Result<Lang, String> {
    Lang::from_text(text).ok_or_else(|| "write en or zh".into())
}

impl LangArgs {
    pub fn lang(&self) -> Lang {
        self.lang.or_else(of_surroundings).unwrap_or_default()
    }
}

/// The first of these that is set decides, as everywhere.
fn of_surroundings() -> Option<Lang> {
    let set = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
    ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(set).and_then(|value| Lang::from_text(&value))
}

/// As it stands in a path.
pub fn spelled(lang: Lang) -> &'static str {
    match lang {
        Lang::En => "en",
        Lang::Zh => "zh",
    }
}
