//! One line as a terminal would leave it: what a progress bar wrote last over what it wrote before.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    Decoded, Decoder,
    escapes::{Escapes, Token},
    filter::show_char,
};

/// More is not shown of one line.
const CHARS_MAX: usize = 4096;
const STYLES_MAX: usize = 256;
const STYLE_CHARS_MAX: usize = 64;

/// From this character on the text has this colour; empty for the usual one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Colour {
    /// Counted in characters, not bytes.
    pub at: u32,
    /// As between `ESC [` and `m`, such as `1;31`.
    pub sgr: String,
}

/// A line fit for display.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    pub text: String,
    pub colours: Vec<Colour>,
    /// How much of it did not fit.
    pub cut_bytes: u64,
}

/// Takes the bytes of a line as they come, in little memory however many they are.
#[derive(Clone, Debug)]
pub struct Line {
    decoder: Decoder,
    escapes: Escapes,
    cells: Vec<(char, u8)>,
    /// Where the next character goes.
    at: usize,
    styles: Vec<String>,
    style: u8,
    beyond_bytes: u64,
    beyond_bytes_most: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            decoder: Decoder::default(),
            escapes: Escapes::default(),
            cells: Vec::new(),
            at: 0,
            styles: vec![String::new()],
            style: 0,
            beyond_bytes: 0,
            beyond_bytes_most: 0,
        }
    }
}

impl Line {
    pub fn feed(&mut self, bytes: &[u8]) {
        let (mut decoder, mut escapes) = (std::mem::take(&mut self.decoder), std::mem::take(&mut self.escapes));
        decoder.feed(bytes, |decoded| match decoded {
            Decoded::Text(text) => text.chars().for_each(|c| escapes.take(c, &mut |token| self.take(token))),
            Decoded::Bad(bytes) => {
                escapes.finish().into_iter().for_each(|token| self.take(token));
                bytes.iter().for_each(|_| self.put(char::REPLACEMENT_CHARACTER));
            }
        });
        (self.decoder, self.escapes) = (decoder, escapes);
    }

    pub fn shown(mut self) -> Shown {
        if let Some(token) = self.escapes.finish() {
            self.take(token);
        }
        self.decoder.finish().iter().for_each(|_| self.put(char::REPLACEMENT_CHARACTER));
        let (mut text, mut colours, mut last) = (String::with_capacity(self.cells.len()), Vec::new(), 0);
        for (at, (c, style)) in self.cells.iter().enumerate() {
            if *style != last {
                colours.push(Colour { at: at as u32, sgr: self.styles[*style as usize].clone() });
                last = *style;
            }
            text.push(*c);
        }
        Shown { text, colours, cut_bytes: self.beyond_bytes_most }
    }

    /// A line that is nothing but text is shown as it is; most are.
    pub fn of(bytes: &[u8]) -> Shown {
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let is_text = |byte: &u8| (*byte >= b' ' && *byte != 0x7f) || *byte == b'\t';
        if bytes.len() <= CHARS_MAX
            && bytes.iter().all(is_text)
            && let Ok(text) = std::str::from_utf8(bytes)
            && !text.contains(is_c1)
        {
            return Shown { text: text.to_owned(), ..Shown::default() };
        }
        let mut line = Self::default();
        line.feed(bytes);
        line.shown()
    }

    fn take(&mut self, token: Token) {
        match token {
            Token::Plain('\r') => self.return_to_start(),
            Token::Plain('\x08') => self.at = self.at.saturating_sub(1),
            Token::Plain('\t') => self.put('\t'),
            Token::Plain(c) if c.is_control() => self.put_shown(c),
            Token::Plain(c) => self.put(c),
            Token::Colour(params) => self.paint(&params),
            Token::Escape(text) => self.erase(&text),
            Token::Broken(text) => text.chars().for_each(|c| self.put_shown(c)),
        }
    }

    fn return_to_start(&mut self) {
        self.at = 0;
        self.beyond_bytes = 0;
    }

    fn put_shown(&mut self, c: char) {
        let mut shown = String::new();
        show_char(c, &mut shown);
        shown.chars().for_each(|c| self.put(c));
    }

    fn put(&mut self, c: char) {
        if self.at >= CHARS_MAX {
            self.beyond_bytes += c.len_utf8() as u64;
            self.beyond_bytes_most = self.beyond_bytes_most.max(self.beyond_bytes);
            return;
        }
        if self.at < self.cells.len() {
            self.cells[self.at] = (c, self.style);
        } else {
            self.cells.push((c, self.style));
        }
        self.at += 1;
    }

    /// Bars erase what is left of a longer frame. Other movements have no meaning within one line.
    fn erase(&mut self, escape: &str) {
        match escape {
            "\x1b[K" | "\x1b[0K" => self.cells.truncate(self.at),
            "\x1b[2K" => {
                let at = self.at.min(self.cells.len());
                self.cells.truncate(at);
                self.cells.fill((' ', 0));
            }
            _ => return,
        }
        self.beyond_bytes_most = 0;
    }

    fn paint(&mut self, params: &str) {
        let rest = after_reset(params);
        let before = if rest.len() < params.len() || params.is_empty() { "" } else { &self.styles[self.style as usize] };
        let style = match (before, rest) {
            (before, rest) if rest.is_empty() || before.ends_with(rest) => before.to_owned(),
            (before, rest) if before.is_empty() || before.len() + rest.len() >= STYLE_CHARS_MAX => rest.to_owned(),
            (before, rest) => format!("{before};{rest}"),
        };
        self.style = match self.styles.iter().position(|known| *known == style) {
            Some(known) => known as u8,
            None if self.styles.len() < STYLES_MAX => {
                self.styles.push(style);
                (self.styles.len() - 1) as u8
            }
            None => 0,
        };
    }
}

fn is_c1(c: char) -> bool {
    ('\u{80}'..='\u{9f}').contains(&c)
}

/// What follows the last `0`, which takes everything back. The numbers of a colour are none of those.
fn after_reset(params: &str) -> &str {
    let (mut from, mut at, mut skip, mut is_kind) = (0, 0, 0, false);
    for part in params.split(';') {
        let next = at + part.len() + 1;
        match part {
            _ if is_kind => (skip, is_kind) = (if part == "2" { 3 } else { 1 }, false),
            _ if skip > 0 => skip -= 1,
            "38" | "48" | "58" => is_kind = true,
            "" | "0" | "00" => from = next.min(params.len()),
            _ => {}
        }
        at = next;
    }
    &params[from..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(bytes: &[u8]) -> String {
        Line::of(bytes).text
    }

    /// `<1;31>red<>`.
    fn coloured(bytes: &[u8]) -> String {
        let shown = Line::of(bytes);
        let mut colours = shown.colours.iter().peekable();
        let mut out = String::new();
        for (at, c) in shown.text.chars().enumerate() {
            if let Some(colour) = colours.next_if(|colour| colour.at as usize == at) {
                out.push_str(&format!("<{}>", colour.sgr));
            }
            out.push(c);
        }
        out
    }

    #[test]
    fn the_last_frame_of_a_bar_is_what_is_left() {
        assert_eq!(text(b"10%\r20%\r30%"), "30%");
        assert_eq!(text(b"10% slow\r20%"), "20% slow");
        assert_eq!(text(b"10% slow\r\x1b[K20%"), "20%");
        assert_eq!(text(b"10% slow\r20%\x1b[K"), "20%");
        assert_eq!(text(b"loading |\x08/\x08-"), "loading -");
        assert_eq!(text(b"dos\r"), "dos");
        assert_eq!(text("  0%|          |\r 50%|█████     |".as_bytes()), " 50%|█████     |");
    }

    #[test]
    fn colours_are_kept_beside_the_text() {
        assert_eq!(coloured(b"\x1b[1mbold\x1b[31mred\x1b[0mplain"), "<1>bold<1;31>red<>plain");
        assert_eq!(coloured(b"\x1b[38;5;0mblack\x1b[mx"), "<38;5;0>black<>x");
        assert_eq!(coloured(b"\x1b[31ma\x1b[0;32mb"), "<31>a<32>b");
        assert_eq!(coloured(b"\x1b[31mred\rx"), "<31>xed");
    }

    #[test]
    fn everything_else_is_harmless() {
        assert_eq!(text(b"\x1b[2J\x1b[1;1Hgone\x1b[?25l"), "gone");
        assert_eq!(text(b"\x1b]0;title\x07x"), "x");
        assert_eq!(text(b"bell\x07 nul\0 esc\x1b"), "bell^G nul^@ esc^[");
        assert_eq!(text(b"bad \xff\xe5\x87"), "bad \u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(text("c1 \u{9b}2J".as_bytes()), "c1 <9b>2J");
    }

    #[test]
    fn a_long_line_is_cut_and_says_how_much_is_missing() {
        let shown = Line::of(&vec![b'x'; CHARS_MAX + 10]);
        assert_eq!((shown.text.len(), shown.cut_bytes), (CHARS_MAX, 10));
    }

    #[test]
    fn a_million_frames_take_no_more_room_than_one() {
        let mut line = Line::default();
        for step in 0..1_000_000u32 {
            line.feed(format!("\r{step} of a million \x1b[3{}m|\x1b[0m", step % 8).as_bytes());
        }
        assert!(line.cells.capacity() < 64 && line.styles.len() <= 9);
        assert_eq!(line.shown().text, "999999 of a million |");
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut line = Line::default();
            bytes.iter().for_each(|byte| line.feed(&[*byte]));
            let mut whole = Line::default();
            whole.feed(&bytes);
            prop_assert_eq!(line.shown(), whole.shown());
        }

        #[test]
        fn nothing_shown_is_a_control(bytes in "(\x1b|\\[|\\]|m|K|[0-9;]|\x07|\r|\x08|\u{9b}|a|\u{fffd}){0,60}") {
            prop_assert!(!text(bytes.as_bytes()).chars().any(|c| c.is_control()));
        }
    }
}
