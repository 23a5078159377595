//! Who we are for one server, and how nobody else comes to know it.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::code::git::origin;

/// For servers that look at a token alone, and still want a name beside it.
const USER_OF_A_TOKEN: &str = "token";
const HIDDEN: &str = "[hidden]";

#[derive(Clone)]
pub struct Credentials {
    user: String,
    password: String,
    /// Scheme, host and port. Nobody else is told.
    origin: String,
}

impl Credentials {
    pub fn new(user: Option<&str>, password: Option<&str>, url: &str) -> Option<Self> {
        if user.is_none() && password.is_none() {
            return None;
        }
        let user = user.unwrap_or(USER_OF_A_TOKEN).to_owned();
        Some(Self { user, password: password.unwrap_or_default().to_owned(), origin: origin(url).to_owned() })
    }

    pub fn are_for(&self, url: &str) -> bool {
        self.origin == origin(url)
    }

    pub fn user(&self) -> &str {
        &self.user
    }

    /// As a header and not through git's helpers, whose lines cannot carry a password with a line break in it.
    pub fn as_config(&self) -> String {
        format!("[http \"{}/\"]\nextraHeader = \"Authorization: Basic {}\"\n", self.origin, self.basic())
    }

    fn basic(&self) -> String {
        STANDARD.encode(format!("{}:{}", self.user, self.password))
    }

    /// Words of git's or a server's, in which none of this can be read any more.
    pub fn hide(&self, words: &str) -> String {
        let forms = [self.basic(), STANDARD.encode(&self.password), escaped(&self.password), self.password.clone()];
        let forms = forms.iter().map(|form| form.trim_end_matches('=')).filter(|form| !form.is_empty());
        forms.fold(words.to_owned(), |words, form| words.replace(form, HIDDEN))
    }
}

/// As it would stand in an address.
fn escaped(text: &str) -> String {
    let is_plain = |it: u8| it.is_ascii_alphanumeric() || b"-._~".contains(&it);
    text.bytes().map(|it| if is_plain(it) { char::from(it).to_string() } else { format!("%{it:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_of_any_letters_is_one_header_for_one_server() {
        let odd = Credentials::new(Some("ann"), Some("a,'\"@$\\\n%é"), "https://example.org:8443/team/a.git").unwrap();
        assert_eq!(odd.as_config(), "[http \"https://example.org:8443/\"]\nextraHeader = \"Authorization: Basic YW5uOmEsJyJAJFwKJcOp\"\n");
        assert!(odd.are_for("https://example.org:8443/other"));
        for other in
            ["https://example.org/team/a.git", "http://example.org:8443/a", "https://example.org:8443.evil.org/a", "https://evil.org/a"]
        {
            assert!(!odd.are_for(other), "{other}");
        }
        assert!(Credentials::new(None, None, "https://example.org/a").is_none());
        assert_eq!(Credentials::new(None, Some("t"), "https://example.org/a").unwrap().user(), "token");
    }

    #[test]
    fn no_form_of_a_password_is_left_in_what_others_say() {
        let credentials = Credentials::new(Some("ann"), Some("p@ss w"), "https://example.org/a").unwrap();
        let words = "p@ss w p%40ss%20w cEBzcyB3 YW5uOnBAc3Mgdw== rest";
        assert_eq!(credentials.hide(words), "[hidden] [hidden] [hidden] [hidden]== rest");
        let none = Credentials::new(Some("ann"), None, "https://example.org/a").unwrap();
        assert_eq!(none.hide("as it was"), "as it was");
    }
}
