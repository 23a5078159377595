//! What makes a sentence Chinese.

use model::words::Words;

/// What is in backticks is code or what a machine said, and stays as it is.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("·")
}

/// Three English words in a row are a sentence.
fn has_english(text: &str) -> bool {
    let is_word = |word: &str| word.len() > 1 && word.trim_end_matches(',').chars().all(|c| c.is_ascii_lowercase());
    let words: Vec<bool> = text.split_whitespace().map(is_word).collect();
    words.windows(3).any(|three| three.iter().all(|it| *it))
}

pub fn is_chinese(words: &Words) -> bool {
    let has_chinese = words.zh.contains(|c: char| ('\u{4e00}'..='\u{9fff}').contains(&c));
    has_chinese && !has_english(&without_code(&words.zh))
}
