//! A checksum that the store compares with what came. It costs a twentieth of the hash that is signed otherwise, on both
//! sides, and tells as well whether a byte has changed by accident; against those who change it on purpose the line itself
//! is sealed. Not every store knows it: one that does says so when an upload begins.

use base64::{Engine, engine::general_purpose::STANDARD};
use md5::{Digest, Md5};
use reqwest::{Response, header::HeaderName};

use super::super::web;

const ALGORITHM: HeaderName = HeaderName::from_static("x-amz-checksum-algorithm");
const VALUE: HeaderName = HeaderName::from_static("x-amz-checksum-crc32");
const CRC32: &str = "CRC32";

/// As the header has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksum(pub String);

impl Checksum {
    pub fn of(bytes: &[u8]) -> Self {
        Self(STANDARD.encode(crc32fast::hash(bytes).to_be_bytes()))
    }

    pub fn header(&self) -> (HeaderName, String) {
        (VALUE, self.0.clone())
    }

    /// Whether the store has compared it; or else, whether it has what was sent by the MD5 that it answers.
    pub fn is_confirmed(&self, response: &Response, md5_there: Option<[u8; 16]>, sent: &[u8]) -> bool {
        match web::text(response.headers(), &VALUE) {
            Some(repeated) => repeated == self.0,
            None => md5_there.is_some_and(|md5| md5 == <[u8; 16]>::from(Md5::digest(sent))),
        }
    }

    /// Whether the store says that it has something else.
    pub fn is_denied(&self, response: &Response) -> bool {
        web::text(response.headers(), &VALUE).is_some_and(|repeated| repeated != self.0)
    }
}

/// What asks a store to compare checksums.
pub fn wish() -> (HeaderName, String) {
    (ALGORITHM, CRC32.into())
}

/// Whether a store answers that it will.
pub fn is_granted(response: &Response) -> bool {
    web::text(response.headers(), &ALGORITHM).is_some_and(|it| it.eq_ignore_ascii_case(CRC32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_the_one_that_everyone_knows() {
        // The check value of CRC-32: of the digits 1 to 9 it is CBF43926.
        assert_eq!(Checksum::of(b"123456789"), Checksum(STANDARD.encode([0xcb, 0xf4, 0x39, 0x26])));
    }
}
