//! What a file of any name is called outside.
//!
//! Stores want text. A byte that is not part of any, and a control character, is written as `%` and two hexadecimal digits; so
//! is a `%` that is followed by two such digits, so that every name has one key and every key one name.

/// A path of bytes as a key.
pub fn key_of(path: &[u8]) -> String {
    let mut key = String::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        let valid = chunk.valid();
        for (at, c) in valid.char_indices() {
            let looks_escaped = || c == '%' && valid.as_bytes().get(at + 1..at + 3).is_some_and(|it| it.iter().all(u8::is_ascii_hexdigit));
            if c.is_ascii_control() || looks_escaped() {
                escape(&mut key, c as u8);
            } else {
                key.push(c);
            }
        }
        chunk.invalid().iter().for_each(|byte| escape(&mut key, *byte));
    }
    key
}

fn escape(key: &mut String, byte: u8) {
    key.push_str(&format!("%{byte:02X}"));
}

/// The path that has this key.
pub fn path_of(key: &str) -> Vec<u8> {
    let bytes = key.as_bytes();
    let (mut path, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let digits = key.get(at + 1..at + 3).filter(|it| it.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.filter(|_| bytes[at] == b'%').and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) => {
                path.push(byte);
                at += 3;
            }
            None => {
                path.push(bytes[at]);
                at += 1;
            }
        }
    }
    path
}

/// What a file of a place is called here. A key that we give to no path is a name that somebody else gave, and stays as it is: so
/// nothing becomes a `/` or a `..` that was none before.
pub fn name_of(key: &[u8]) -> Vec<u8> {
    let path = std::str::from_utf8(key).map(path_of).ok();
    path.filter(|path| key_of(path).as_bytes() == key && !path.contains(&0)).unwrap_or_else(|| key.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_one_key_and_every_key_one_name() {
        let named = |path: &[u8]| {
            let key = key_of(path);
            assert_eq!(path_of(&key), path, "{key}");
            key
        };
        assert_eq!(named(b"run/model-100%.bin"), "run/model-100%.bin");
        assert_eq!(named("检查点/a b".as_bytes()), "检查点/a b");
        assert_eq!(named(b"a%41"), "a%2541");
        assert_eq!(named(b"a\nb\x7f"), "a%0Ab%7F");
        assert_eq!(named(b"bad\xff\xfe%"), "bad%FF%FE%");
        assert_eq!(named(b"%\xff"), "%%FF");
        for byte in 1..=255u8 {
            for around in [&b"x"[..], b"%", b"%4", "é".as_bytes()] {
                let path = [around, &[byte], around].concat();
                assert_eq!(path_of(&key_of(&path)), path);
            }
        }
    }

    #[test]
    fn a_key_that_we_never_give_is_a_name_as_it_is() {
        for (key, name) in [("a%2541", "a%41"), ("new%0Aline", "new\nline"), ("d/100%", "d/100%")] {
            assert_eq!(name_of(key.as_bytes()), name.as_bytes());
        }
        assert_eq!((name_of(b"bad%FF"), name_of(b"bad\xff")), (b"bad\xff".to_vec(), b"bad\xff".to_vec()));
        for foreign in ["a%41", "%2Fetc%2Fcron.d%2Fx", "%2E%2E%2Fx", "d/%2e%2e/x", "%00", "bad%ff", "%2541%41"] {
            assert_eq!(name_of(foreign.as_bytes()), foreign.as_bytes(), "{foreign}");
        }
    }
}
