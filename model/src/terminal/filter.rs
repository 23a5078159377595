//! For a terminal: what is no colour is shown instead of obeyed.

use std::fmt::Write;

use super::{
    Decoded, Decoder,
    escapes::{Escapes, Token},
};

/// Keeps half a character or half an escape until the rest of it comes.
#[derive(Default)]
pub struct Filter {
    decoder: Decoder,
    escapes: Escapes,
    coloured: bool,
}

impl Filter {
    pub fn feed(&mut self, bytes: &[u8]) -> String {
        let mut shown = String::with_capacity(bytes.len());
        let Self { decoder, escapes, coloured } = self;
        decoder.feed(bytes, |decoded| match decoded {
            Decoded::Text(text) => text.chars().for_each(|c| escapes.take(c, &mut |token| show(token, coloured, &mut shown))),
            Decoded::Bad(bytes) => {
                escapes.finish().into_iter().for_each(|token| show(token, coloured, &mut shown));
                show_bytes(bytes, &mut shown);
            }
        });
        shown
    }

    /// What is left when no more bytes come, and the terminal's own colours again.
    pub fn finish(&mut self) -> String {
        let mut shown = String::new();
        let token = self.escapes.finish();
        token.into_iter().for_each(|token| show(token, &mut self.coloured, &mut shown));
        show_bytes(&self.decoder.finish(), &mut shown);
        if std::mem::take(&mut self.coloured) {
            shown.push_str("\x1b[0m");
        }
        shown
    }
}

fn show(token: Token, coloured: &mut bool, shown: &mut String) {
    match token {
        Token::Plain(c @ ('\n' | '\t' | '\r')) => shown.push(c),
        Token::Plain(c) => show_char(c, shown),
        Token::Colour(params) => {
            *coloured = true;
            write!(shown, "\x1b[{params}m").expect("a string takes everything");
        }
        Token::Escape(text) | Token::Broken(text) => text.chars().for_each(|c| show_char(c, shown)),
    }
}

fn show_bytes(bytes: &[u8], shown: &mut String) {
    for byte in bytes {
        write!(shown, "<{byte:02x}>").expect("a string takes everything");
    }
}

/// Text of others inside a line of ours: no colours, no line breaks, nothing but text.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => shown.push(' '),
            other => show_char(other, &mut shown),
        }
    }
    shown
}

/// A control character as text, the way `cat -v` has it.
pub(super) fn show_char(c: char, shown: &mut String) {
    match c {
        '\0'..='\x1f' => shown.extend(['^', char::from(c as u8 + b'@')]),
        '\x7f' => shown.push_str("^?"),
        '\u{80}'..='\u{9f}' => write!(shown, "<{:02x}>", c as u32).expect("a string takes everything"),
        other => shown.push(other),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(bytes: &[u8]) -> String {
        let mut filter = Filter::default();
        filter.feed(bytes) + &filter.finish()
    }

    #[test]
    fn colours_pass_and_are_put_back_at_the_end() {
        assert_eq!(shown(b"\x1b[1;31mred\x1b[0m\n"), "\x1b[1;31mred\x1b[0m\n\x1b[0m");
        assert_eq!(shown(b"\x1b[38:5:200mpink\n"), "\x1b[38:5:200mpink\n\x1b[0m");
    }

    #[test]
    fn everything_else_is_shown_and_not_obeyed() {
        assert_eq!(shown(b"\x1b[2Jgone"), "^[[2Jgone");
        assert_eq!(shown(b"\x1b]0;title\x07"), "^[]0;title^G");
        assert_eq!(shown(b"a\x08b\x7f\0"), "a^Hb^?^@");
        assert_eq!(shown("c1 \u{9b}2J".as_bytes()), "c1 <9b>2J");
        assert_eq!(shown(b"raw \x9b \xff"), "raw <9b> <ff>");
        assert_eq!(shown(b"\x1b\x1b[0m"), "^[\x1b[0m\x1b[0m");
        assert_eq!(shown(b"\x1b[?25l"), "^[[?25l");
    }

    #[test]
    fn text_passes_as_it_is() {
        let text = "准确率 = 0.97\té\r\n100%|█████|\r";
        assert_eq!(shown(text.as_bytes()), text);
    }

    #[test]
    fn what_is_cut_off_at_the_end_is_shown() {
        assert_eq!(shown(b"half \xe5\x87"), "half <e5><87>");
        assert_eq!(shown(b"half \x1b[3"), "half ^[[3");
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut filter = Filter::default();
            let mut single: String = bytes.iter().map(|byte| filter.feed(&[*byte])).collect();
            single.push_str(&filter.finish());
            prop_assert_eq!(single, shown(&bytes));
        }

        #[test]
        fn no_control_but_colour_and_white_space_gets_through(bytes in "(\x1b|\\[|m|[0-9;]|\x07|\u{9b}|a|\n){0,60}") {
            let out = shown(bytes.as_bytes());
            for (place, c) in out.char_indices().filter(|(_, c)| c.is_control() && !"\n\t\r".contains(*c)) {
                prop_assert_eq!(c, '\x1b');
                let end = out[place..].find(|c: char| c.is_ascii_alphabetic()).map(|end| &out[place + end..place + end + 1]);
                prop_assert_eq!(end, Some("m"));
            }
        }
    }
}
