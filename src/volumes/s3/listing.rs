//! What is in a bucket, page by page.

use std::collections::VecDeque;

use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use model::said;
use reqwest::Method;

use super::{
    super::{Entry, Listed, checked, error::Trouble},
    Ask, S3,
    answers::{self, Object, Uploads, decoded},
};

struct Pages<T> {
    s3: S3,
    /// Of the keys, with the volume's own before it; empty or ending with `/`.
    prefix: String,
    delimiter: bool,
    /// Read and not handed out yet.
    ready: VecDeque<Result<T, Trouble>>,
    next: Next,
    understand: fn(&S3, answers::Listed) -> VecDeque<Result<T, Trouble>>,
}

enum Next {
    First,
    After(String),
    Nothing,
}

impl S3 {
    pub fn list(&self, directory: &str) -> BoxStream<'static, Result<Entry, Trouble>> {
        self.pages(directory, false, |s3, page| {
            let encoding = page.encoding_type.as_deref();
            page.contents.into_iter().filter_map(|object| s3.file(object, encoding).transpose()).collect()
        })
    }

    pub fn walk(&self, directory: &str) -> BoxStream<'static, Result<Listed, Trouble>> {
        self.pages(directory, false, |s3, page| {
            let encoding = page.encoding_type.as_deref();
            let either = |object: Object| {
                let key = decoded(&object.key, encoding)?;
                Ok(match s3.file(object, encoding)? {
                    Some(entry) => Listed::File(entry),
                    None => Listed::Directory { path: s3.path(&key)? },
                })
            };
            page.contents.into_iter().map(either).collect()
        })
    }

    pub fn browse(&self, directory: &str) -> BoxStream<'static, Result<Listed, Trouble>> {
        self.pages(directory, true, |s3, page| {
            let encoding = page.encoding_type.as_deref();
            let files = page.contents.into_iter().filter_map(|object| s3.file(object, encoding).transpose()).map(|it| it.map(Listed::File));
            let directory = |key: String| Ok(Listed::Directory { path: s3.path(&decoded(&key, encoding)?)? });
            files.chain(page.common_prefixes.into_iter().map(|it| directory(it.prefix))).collect()
        })
    }

    fn pages<T: Send + 'static>(
        &self,
        directory: &str,
        delimiter: bool,
        understand: fn(&S3, answers::Listed) -> VecDeque<Result<T, Trouble>>,
    ) -> BoxStream<'static, Result<T, Trouble>> {
        let prefix = self.directory_prefix(directory);
        let pages = Pages { s3: self.clone(), prefix, delimiter, ready: VecDeque::new(), next: Next::First, understand };
        stream::unfold(pages, |mut pages| async { pages.item().await.map(|item| (item, pages)) }).boxed()
    }

    fn directory_prefix(&self, directory: &str) -> String {
        let key = self.key(directory);
        if key.is_empty() { key } else { key + "/" }
    }

    /// None for the empty objects by which some programs mark a directory.
    fn file(&self, object: Object, encoding: Option<&str>) -> Result<Option<Entry>, Trouble> {
        let key = decoded(&object.key, encoding)?;
        if key.ends_with('/') && object.size == 0 {
            return Ok(None);
        }
        let modified_ms = object.last_modified.as_deref().map_or(0, answers::timestamp_ms);
        let etag = object.etag.unwrap_or_default().trim_matches('"').to_owned();
        if key.ends_with('/') {
            return Err(unspeakable(&key));
        }
        Ok(Some(Entry { path: self.path(&key)?, size: object.size, modified_ms, etag }))
    }

    /// A key as a path of the volume.
    fn path(&self, key: &str) -> Result<String, Trouble> {
        let path = match self.0.prefix.as_str() {
            "" => key,
            prefix => key.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')).ok_or_else(|| unspeakable(key))?,
        };
        let path = path.strip_suffix('/').unwrap_or(path);
        checked(path).map_err(|_| unspeakable(key))?;
        Ok(path.to_owned())
    }

    /// Of a file, and of everything below it if it is a directory. MinIO tells of uploads only to whoever
    /// asks for the file itself, so a file is asked for as well as a directory.
    pub async fn abort_stale(&self, path: &str) -> Result<usize, Trouble> {
        let key = self.key(path);
        let of_file = if key.is_empty() { 0 } else { self.abort_page(&key, |found, _| found == key).await? };
        let (prefix, mut below) = (self.directory_prefix(path), 0);
        // What is aborted is gone from the next page, so the first page is asked for until it is empty.
        loop {
            match self.abort_page(&prefix, |_, _| true).await? {
                0 => return Ok(of_file + below),
                count => below += count,
            }
        }
    }

    /// Not every store lists an upload of which a part came after its end, so those that we know of are given up by their names.
    pub async fn abort_stale_of(&self, path: &str) -> Result<(), Trouble> {
        let key = self.key(path);
        for upload in self.0.doubts.uploads_of(&key) {
            self.abort(&key, &upload).await?;
        }
        self.abort_page(&key, |found, _| found == key).await.map(drop)
    }

    /// `is_meant` is asked with an upload's key and name. The key that is the prefix comes before all others.
    pub(super) async fn abort_page(&self, prefix: &str, is_meant: impl Fn(&str, &str) -> bool) -> Result<usize, Trouble> {
        let query = vec![("uploads", String::new()), ("prefix", prefix.to_owned()), ("encoding-type", "url".into())];
        let xml = self.text(&Ask { method: Method::GET, query, ..Ask::default() }).await?;
        let uploads: Uploads = answers::parse(&xml)?;
        let mut aborted = 0;
        for upload in &uploads.upload {
            let key = decoded(&upload.key, uploads.encoding_type.as_deref())?;
            if is_meant(&key, &upload.upload_id) {
                self.abort(&key, &upload.upload_id).await?;
                aborted += 1;
            }
        }
        Ok(aborted)
    }
}

fn unspeakable(key: &str) -> Trouble {
    Trouble::never(said!("the bucket has the key `{key}`, which cannot be a file's path", "存储桶里的键 `{key}` 不能作为文件路径"))
}

impl<T> Pages<T> {
    async fn item(&mut self) -> Option<Result<T, Trouble>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if matches!(self.next, Next::Nothing) {
                return None;
            }
            if let Err(trouble) = self.turn().await {
                self.next = Next::Nothing;
                return Some(Err(trouble));
            }
        }
    }

    async fn turn(&mut self) -> Result<(), Trouble> {
        let mut query = vec![("list-type", "2".to_owned()), ("prefix", self.prefix.clone()), ("encoding-type", "url".into())];
        if self.delimiter {
            query.push(("delimiter", "/".into()));
        }
        if let Next::After(token) = &self.next {
            query.push(("continuation-token", token.clone()));
        }
        let xml = self.s3.text(&Ask { method: Method::GET, query, ..Ask::default() }).await?;
        let mut page: answers::Listed = answers::parse(&xml)?;
        self.next = match page.next_continuation_token.take() {
            Some(token) if page.is_truncated => Next::After(token),
            _ => Next::Nothing,
        };
        self.ready = (self.understand)(&self.s3, page);
        Ok(())
    }
}
