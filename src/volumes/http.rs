//! Files of a web server, to be read and nothing else. There is no standard way to list them, so a folder
//! that is to be listed has an index: a file with a line for each, its size, a tab and its path.

use std::{collections::BTreeSet, sync::Arc};

use futures_util::{
    FutureExt, StreamExt,
    stream::{self, BoxStream},
};
use model::{said, words::Words};
use reqwest::{Client, Method, Response, StatusCode, Url, header, redirect};

use super::{
    Entry, Listed, Want, checked,
    error::Trouble,
    joined,
    reading::{self, Opened, Opener},
    retry, web,
};

pub const INDEX: &str = ".trainmaster-index";
const INDEX_BYTES_MAX: usize = 64 << 20;
const REDIRECTS_MAX: usize = 5;

#[derive(Clone)]
pub struct Http(Arc<Inner>);

struct Inner {
    client: Client,
    url: Url,
    /// Whether the URL is a folder with files below it, or one file.
    folder: bool,
}

pub fn read_only() -> Trouble {
    Trouble::never((
        "files of a web server can only be read; name a bucket or a local volume to write to",
        "网站上的文件只能读；要写入，请用存储桶或本地数据卷",
    ))
}

impl Http {
    pub fn folder(url: &str) -> Result<Self, Trouble> {
        let url = web::url(url)?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(Trouble::never((
                "a volume's URL has paths put behind it, so it cannot end with `?` or `#`",
                "数据卷的网址后面要接路径，所以不能以 `?` 或 `#` 结尾",
            )));
        }
        Self::open(url, true)
    }

    pub fn file(url: &str) -> Result<Self, Trouble> {
        Self::open(web::url(url)?, false)
    }

    fn open(url: Url, folder: bool) -> Result<Self, Trouble> {
        // We hold no credentials of a web server, so none can be carried to another.
        let builder = Client::builder().redirect(redirect::Policy::limited(REDIRECTS_MAX)).referer(false);
        Ok(Self(Arc::new(Inner { client: web::client(&url, builder)?, url, folder })))
    }

    /// Whether it is one file, and no folder with files below it.
    pub fn is_file(&self) -> bool {
        !self.0.folder
    }

    fn url(&self, path: &str) -> Result<Url, Trouble> {
        if path.is_empty() && !self.0.folder {
            return Ok(self.0.url.clone());
        }
        if path.is_empty() || !self.0.folder {
            return Err(Trouble::Missing { what: "file" });
        }
        let text = format!("{}/{}", self.0.url.as_str().trim_end_matches('/'), web::encoded_path(path));
        Url::parse(&text).map_err(|error| Trouble::never(Words::quoted(error)))
    }

    async fn once(&self, method: Method, path: &str, range: Option<String>) -> Result<Response, Trouble> {
        let mut request = self.0.client.request(method, self.url(path)?);
        if let Some(range) = range {
            request = request.header(header::RANGE, range);
        }
        let response = web::send(request, bytes::Bytes::new()).await?;
        let status = response.status();
        // A page of words about it is no reason; the status is.
        if status.is_success() { Ok(response) } else { Err(web::status_trouble(status, response.headers(), status.to_string())) }
    }

    pub async fn head(&self, path: &str) -> Result<Entry, Trouble> {
        match self.told(Method::HEAD, path).await {
            // An address that is signed is often signed for GET alone, and some servers know nothing else. What follows the
            // head of that answer is not waited for.
            Err(Trouble::Denied { .. } | Trouble::Never { .. }) => self.told(Method::GET, path).await,
            told => told,
        }
    }

    async fn told(&self, method: Method, path: &str) -> Result<Entry, Trouble> {
        let response = retry::tries(|| self.once(method.clone(), path, None)).await?;
        web::entry(path, response.status(), response.headers())
    }

    pub fn opener(&self, path: &str, want: &Want) -> Opener {
        reading::opener(self, path, want, |this, path, from, length| async move { this.opened(&path, from, length).await })
    }

    async fn opened(&self, path: &str, from: u64, length: Option<u64>) -> Result<Opened, Trouble> {
        let response = match self.once(Method::GET, path, web::range_header(from, length)).await {
            Err(trouble @ Trouble::Never { .. }) if from > 0 => return self.nothing_left(path, from, trouble).await,
            other => other?,
        };
        let entry = web::entry(path, response.status(), response.headers())?;
        // Not every server knows ranges; what comes before ours is read and dropped.
        let skipped = if response.status() == StatusCode::PARTIAL_CONTENT { 0 } else { from };
        Ok(Opened { entry, body: without_first(web::body(response), skipped) })
    }

    /// A range that begins where the file ends is refused by servers, but there is nothing wrong with it.
    async fn nothing_left(&self, path: &str, from: u64, refused: Trouble) -> Result<Opened, Trouble> {
        let entry = self.head(path).await?;
        if from == entry.size { Ok(Opened { entry, body: stream::empty().boxed() }) } else { Err(refused) }
    }

    pub fn list(&self, directory: &str) -> BoxStream<'static, Result<Entry, Trouble>> {
        let (this, directory) = (self.clone(), directory.to_owned());
        let listing = async move {
            match this.index().await {
                Err(trouble) => vec![Err(trouble)],
                Ok(entries) => {
                    entries.into_iter().filter(|it| it.as_ref().map_or(true, |entry| below(&directory, &entry.path).is_some())).collect()
                }
            }
        };
        listing.map(stream::iter).flatten_stream().boxed()
    }

    pub fn browse(&self, directory: &str) -> BoxStream<'static, Result<Listed, Trouble>> {
        let (this, directory) = (self.clone(), directory.to_owned());
        let listing = async move {
            let mut seen = BTreeSet::new();
            let one_level = |item: Result<Entry, Trouble>| match item {
                Err(trouble) => Some(Err(trouble)),
                Ok(entry) => match below(&directory, &entry.path)?.split_once('/') {
                    None => Some(Ok(Listed::File(entry))),
                    Some((first, _)) => {
                        let path = joined(&directory, first);
                        seen.insert(path.clone()).then_some(Ok(Listed::Directory { path }))
                    }
                },
            };
            match this.index().await {
                Err(trouble) => vec![Err(trouble)],
                Ok(entries) => entries.into_iter().filter_map(one_level).collect(),
            }
        };
        listing.map(stream::iter).flatten_stream().boxed()
    }

    async fn index(&self) -> Result<Vec<Result<Entry, Trouble>>, Trouble> {
        if !self.0.folder {
            return Err(Trouble::never(("is one file; there is nothing below it", "是单个文件，下面没有内容")));
        }
        let response = match retry::tries(|| self.once(Method::GET, INDEX, None)).await {
            Err(Trouble::Missing { .. }) => {
                return Err(Trouble::never(said!(
                    "a web server's files can only be listed if there is a file {INDEX} with a line `SIZE<tab>PATH` for each",
                    "网站上要有文件 {INDEX}，每个文件一行 `大小<制表符>路径`，才能列出其中的文件"
                )));
            }
            other => other?,
        };
        let bytes = web::small_body(response, INDEX_BYTES_MAX).await?;
        let text = String::from_utf8(bytes).map_err(|_| Trouble::never(said!("{INDEX} is not UTF-8", "{INDEX} 不是 UTF-8")))?;
        Ok(text.lines().filter(|line| !line.is_empty()).map(index_line).collect())
    }
}

fn index_line(line: &str) -> Result<Entry, Trouble> {
    let bad = || {
        Trouble::never(said!(
            "{INDEX} has the line `{line}`, which is not a size, a tab and a path",
            "{INDEX} 里的 `{line}` 不是“大小、制表符、路径”这样的一行"
        ))
    };
    let (size, path) = line.split_once('\t').ok_or_else(bad)?;
    checked(path)?;
    Ok(Entry { path: path.to_owned(), size: size.parse().map_err(|_| bad())?, modified_ms: 0, etag: String::new() })
}

fn below<'a>(directory: &str, path: &'a str) -> Option<&'a str> {
    if directory.is_empty() { Some(path) } else { path.strip_prefix(directory)?.strip_prefix('/') }
}

type Body = BoxStream<'static, Result<bytes::Bytes, Trouble>>;

fn without_first(body: Body, count: u64) -> Body {
    if count == 0 {
        return body;
    }
    let mut left = count;
    let skip = move |piece: Result<bytes::Bytes, Trouble>| {
        let rest = piece.map(|piece| {
            let drop = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
            left -= drop as u64;
            piece.slice(drop..)
        });
        futures_util::future::ready(match rest {
            Ok(rest) if rest.is_empty() => None,
            other => Some(other),
        })
    };
    body.filter_map(skip).boxed()
}
