//! Memory for the parts of one upload, used again and again: new memory would have to be cleared for each of them.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

#[derive(Clone, Default)]
pub struct Buffers(Arc<Mutex<Vec<Vec<u8>>>>);

/// Goes back when nobody sends from it any more.
struct Lent {
    bytes: Vec<u8>,
    to: Buffers,
}

impl Buffers {
    /// So many bytes, filled by `fill`, whatever is in them before.
    pub fn filled<E>(&self, length: usize, fill: impl FnOnce(&mut [u8]) -> Result<(), E>) -> Result<Bytes, E> {
        let mut bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        bytes.resize(length, 0);
        fill(&mut bytes)?;
        Ok(Bytes::from_owner(Lent { bytes, to: self.clone() }))
    }
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.to.0.lock().unwrap_or_else(PoisonError::into_inner).push(std::mem::take(&mut self.bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_is_filled_anew() {
        let buffers = Buffers::default();
        let filled = |length, with: u8| {
            let fill = |bytes: &mut [u8]| -> Result<(), ()> {
                bytes.fill(with);
                Ok(())
            };
            buffers.filled(length, fill).unwrap()
        };
        let first = filled(8, 1);
        let (place, copy) = (first.as_ptr(), first.clone());
        drop(first);
        assert!(buffers.0.lock().unwrap().is_empty(), "somebody still reads it");
        drop(copy);
        let second = filled(4, 2);
        assert_eq!((second.as_ptr(), &second[..]), (place, &[2; 4][..]));
    }
}
