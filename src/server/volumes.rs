//! The volumes of the configuration, put where all others are.

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use model::volume::Volume;

use crate::{
    api::keeps_clear_of,
    config::VolumeConfig,
    control::now_ms,
    seal::Seal,
    store::{
        Store,
        volumes::{self, StoredVolume},
    },
};

pub async fn configure(store: &Store, seal: &Seal, data: &Path, wanted: &[VolumeConfig]) -> anyhow::Result<()> {
    let stored: Vec<StoredVolume> = wanted.iter().map(|it| stored(it, seal, data)).collect::<Result<_, _>>()?;
    if let Some(taken) = store.write(move |sql| volumes::configure(sql, &stored)).await? {
        bail!(
            "the configuration has a volume `{taken}`, and there is another of that name already; `trainmaster volumes remove` it, or rename one"
        );
    }
    Ok(())
}

fn stored(wanted: &VolumeConfig, seal: &Seal, data: &Path) -> anyhow::Result<StoredVolume> {
    if let Volume::Local { path } = &wanted.volume {
        keeps_clear_of(data, Path::new(path)).with_context(|| format!("volume {}", wanted.name))?;
    }
    let credentials = wanted.credentials().map_err(|why| anyhow!(why))?;
    let sealed = credentials.map(|keys| anyhow::Ok(seal.seal(&StoredVolume::seal_context(&wanted.name), &serde_json::to_vec(&keys)?)?));
    Ok(StoredVolume {
        name: wanted.name.clone(),
        volume: wanted.volume.clone(),
        owner: String::new(),
        shared: true,
        sealed: sealed.transpose()?,
        created_at_ms: now_ms(),
    })
}
