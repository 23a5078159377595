//! Whether a volume does what jobs will ask of it.

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt};

use super::{Store, Trouble, VolumeError};

/// One thing that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// `list`, `write`, `read` or `remove`.
    pub what: &'static str,
    pub result: Result<(), VolumeError>,
}

const CONTENT: &[u8] = b"trainmaster was here, and takes this away again\n";

pub async fn test(store: &Store) -> Vec<Check> {
    let mut checks = vec![Check { what: "list", result: store.browse("").next().await.transpose().map(|_| ()) }];
    if !store.is_writable() {
        return checks;
    }
    let path = format!(".trainmaster-test-{:08x}", getrandom::u32().unwrap_or(0));
    let write = store.put_bytes(&path, Bytes::from_static(CONTENT)).await.map(|_| ());
    let written = write.is_ok();
    checks.push(Check { what: "write", result: write });
    if written {
        checks.push(Check { what: "read", result: reads_back(store, &path).await });
        checks.push(Check { what: "remove", result: store.remove(&path).await });
    }
    checks
}

async fn reads_back(store: &Store, path: &str) -> Result<(), VolumeError> {
    let (_, body) = store.read(path, 0).await?;
    let bytes: Vec<Bytes> = body.try_collect().await?;
    if bytes.concat() == CONTENT {
        Ok(())
    } else {
        Err(Trouble::never(("what was written comes back otherwise", "读回来的内容与写入的不同")).at(store.at(path)))
    }
}
