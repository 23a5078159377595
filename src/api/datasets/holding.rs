//! What a place holds that somebody wants to make a version of a dataset.

use std::path::Path;

use model::{dataset::Held, location::Location, said, words::Words};

use super::super::{App, volumes};
use crate::{
    error::Error,
    store::{
        tokens::{Holder, Role},
        volumes::StoredVolume,
    },
    volumes::{
        Store,
        held::{NotHeld, held},
    },
};

/// Looks through the place. A volume has to be the caller's to use, and a directory of the machine an administrator's. That takes
/// minutes, so the volume that it is in is answered too: whoever writes down what it holds sees whether it is still there.
pub async fn holding(app: &App, holder: &Holder, at: &Location) -> Result<(Held, Option<StoredVolume>), Error> {
    let (store, path, volume) = match at {
        Location::Volume { volume, path } => {
            let volume = volumes::found(app, holder, volume.as_str()).await?;
            (volumes::open(app, &volume)?, path.as_str(), Some(volume))
        }
        Location::Host(path) => (of_machine(app, holder, path)?, "", None),
        Location::Url(url) => (Store::of_url(url)?, "", None),
    };
    let not = |wanted: Words| Error::BadValue { name: "at", value: at.without_query(), wanted };
    let held = held(&store, path).await.map_err(|why| match why {
        NotHeld::Volume(error) => error.into(),
        NotHeld::Nothing => not(said!("a place with files in it", "有文件的位置")),
        NotHeld::TooMuch(wanted) => not(wanted),
    })?;
    Ok((held, volume))
}

fn of_machine(app: &App, holder: &Holder, path: &str) -> Result<Store, Error> {
    if holder.role != Role::Admin {
        let wanted = said!(
            "a place in a volume or a URL: directories of the server's machine are made datasets by administrators alone",
            "数据卷中的位置或 URL：服务器机器上的目录只能由管理员做成数据集"
        );
        return Err(Error::BadValue { name: "at", value: path.to_owned(), wanted });
    }
    volumes::keeps_clear_of(&app.data, Path::new(path))?;
    Ok(Store::of_host(path)?)
}
