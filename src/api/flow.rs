//! How fast a reader takes what it is sent. A stream that never ends looks here before it makes more, so that a thousand readers who
//! have stopped reading cost a little each, and not what a connection may hold.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::Notify,
};

/// What a reader may have been sent and not taken.
const OWED_BYTES_MAX: u64 = 8 << 10;

/// What one connection has taken so far.
#[derive(Default)]
pub struct Flow {
    taken_bytes: AtomicU64,
    took: Notify,
}

/// A connection that counts what goes out.
pub struct Metered<T> {
    pub line: T,
    pub flow: Arc<Flow>,
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_read(context, buffer)
    }
}

impl<T: AsyncWrite + Unpin> Metered<T> {
    fn count(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(bytes)) = &written {
            self.flow.taken_bytes.fetch_add(*bytes as u64, Ordering::Release);
            self.flow.took.notify_waiters();
        }
        written
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.line).poll_write(context, bytes);
        self.count(written)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, context: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.line).poll_write_vectored(context, parts);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_shutdown(context)
    }
}

/// What a stream owes its reader.
pub struct Gate {
    flow: Arc<Flow>,
    owed_bytes: u64,
    seen_bytes: u64,
}

impl Gate {
    /// Without a connection, as in a test, nobody waits.
    pub fn new(flow: Option<Arc<Flow>>) -> Option<Self> {
        let flow = flow?;
        let seen_bytes = flow.taken_bytes.load(Ordering::Acquire);
        Some(Self { flow, owed_bytes: 0, seen_bytes })
    }

    pub fn sent(&mut self, bytes: usize) {
        self.owed_bytes += bytes as u64;
    }

    /// Waits until the next piece has room beside what the reader has not taken. What is not made yet is made once everything was taken.
    pub async fn room_for(&mut self, made_bytes: Option<usize>) {
        let most = OWED_BYTES_MAX.saturating_sub(made_bytes.map_or(OWED_BYTES_MAX, |it| it as u64));
        let flow = self.flow.clone();
        loop {
            let took = flow.took.notified();
            tokio::pin!(took);
            took.as_mut().enable();
            let taken = flow.taken_bytes.load(Ordering::Acquire);
            // Frames around what we send are taken too, so there is never less owed than nothing.
            self.owed_bytes = self.owed_bytes.saturating_sub(taken - self.seen_bytes);
            self.seen_bytes = taken;
            if self.owed_bytes <= most {
                return;
            }
            took.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn a_stream_waits_for_a_reader_who_does_not_read() {
        let (line, mut reader) = tokio::io::duplex(1 << 20);
        let flow = Arc::new(Flow::default());
        let mut metered = Metered { line, flow: flow.clone() };
        let mut gate = Gate::new(Some(flow)).unwrap();
        gate.sent(100);
        let soon = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, gate.room_for(Some(100))).await.is_ok(), "small pieces go together");
        assert!(tokio::time::timeout(soon, gate.room_for(Some(OWED_BYTES_MAX as usize))).await.is_err(), "large ones wait for each other");
        assert!(tokio::time::timeout(soon, gate.room_for(None)).await.is_err(), "nothing was taken");
        metered.write_all(&[0; 100]).await.unwrap();
        tokio::time::timeout(soon, gate.room_for(None)).await.unwrap();
        let mut bytes = [0; 100];
        reader.read_exact(&mut bytes).await.unwrap();
    }
}
