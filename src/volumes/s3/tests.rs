//! How parts are sent to stores that know checksums, and to those that do not.

use std::sync::Mutex;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    http::request::Parts as Head,
    response::Response as Answer,
};

use super::{super::guard::Guard, *};

/// What kind of store it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Honest,
    /// Says that it has not implemented what it does not know.
    Simple,
    /// The same, without a word about it.
    Curt,
    /// Begins, and says nothing of checksums.
    Ignorant,
    /// Takes no body whose hash is not signed.
    Strict,
    /// Says that it compares checksums, and never that it has.
    Silent,
    /// Repeats another checksum than was sent.
    Wrong,
}

/// A store that keeps nothing but what was asked of it.
struct Fake {
    kind: Kind,
    seen: Mutex<Vec<String>>,
}

impl Fake {
    async fn start(kind: Kind) -> (Arc<Self>, S3) {
        let fake = Arc::new(Self { kind, seen: Mutex::default() });
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let s3 = at(&format!("http://{}", listener.local_addr().unwrap()));
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(axum::serve(listener, router).into_future());
        (fake, s3)
    }

    /// Parts come in any order and may each be refused, so that they are only told apart by how they were sent.
    fn seen(&self) -> String {
        let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
        seen.sort();
        seen.dedup();
        seen.join("\n")
    }
}

fn at(endpoint: &str) -> S3 {
    let volume =
        Volume::S3 { endpoint: Some(endpoint.into()), bucket: "bucket".into(), prefix: String::new(), region: None, virtual_host: false };
    let keys = Credentials { access_key: "AKID".into(), secret_key: "secret".into(), session_token: None };
    S3::open(&volume, Some(&keys)).unwrap()
}

const FILE_BYTES: usize = 9 << 20;

async fn answer(State(fake): State<Arc<Fake>>, request: Request) -> Answer {
    let (head, body) = request.into_parts();
    // What is announced is read, or the next request would begin in the middle of it.
    axum::body::to_bytes(body, usize::MAX).await.unwrap();
    fake.answer(&head)
}

impl Fake {
    fn answer(&self, head: &Head) -> Answer {
        let header = |name: &str| head.headers.get(name).map(|it| it.to_str().unwrap().to_owned());
        let query = head.uri.query().unwrap_or_default().to_owned();
        let ask = match (head.method.as_str(), query.contains("partNumber="), query.contains("uploadId=")) {
            ("POST", _, false) => "begin",
            ("PUT", true, _) => "part",
            ("POST", _, true) => "complete",
            ("HEAD", _, _) => "head",
            _ => "abort",
        };
        let wish = header("x-amz-checksum-algorithm");
        let checksum = header("x-amz-checksum-crc32");
        let is_signed = header("x-amz-content-sha256").is_some_and(|it| it != sign::UNSIGNED);
        let with = match (&wish, &checksum) {
            (Some(_), _) => ", wishing for checksums",
            (None, Some(_)) => ", with a checksum",
            (None, None) => "",
        };
        self.seen.lock().unwrap().push(format!("{ask}{with}{}", if is_signed { "" } else { ", its hash not signed" }));
        let empty = Answer::builder().status(200);
        let (answer, body) = match (ask, self.kind) {
            ("begin", Kind::Simple) if wish.is_some() => (empty.status(501), "<Error><Code>NotImplemented</Code></Error>"),
            ("begin", Kind::Curt) if wish.is_some() => (empty.status(501), ""),
            ("begin", kind) => {
                let granted = wish.filter(|_| kind != Kind::Ignorant);
                let begun = granted.into_iter().fold(empty, |answer, it| answer.header("x-amz-checksum-algorithm", it));
                (begun, "<R><UploadId>u</UploadId></R>")
            }
            ("part", Kind::Strict) if !is_signed => (empty.status(403), ""),
            ("part", Kind::Silent) => (empty.header("etag", "made-up"), ""),
            ("part", Kind::Wrong) => (empty.header("etag", "made-up").header("x-amz-checksum-crc32", "AAAAAA=="), ""),
            ("part", _) => {
                let repeated = checksum.into_iter().fold(empty, |answer, it| answer.header("x-amz-checksum-crc32", it));
                (repeated.header("etag", "made-up"), "")
            }
            ("complete", _) => (empty, "<R><ETag>whole</ETag></R>"),
            ("head", _) => (empty.header("etag", "whole").header("content-length", FILE_BYTES), ""),
            _ => (empty, ""),
        };
        answer.body(Body::from(body)).unwrap()
    }
}

async fn put(s3: &S3) -> Result<(), Trouble> {
    let file = tempfile::tempfile().unwrap();
    file.set_len(FILE_BYTES as u64).unwrap();
    s3.put_file("model.bin", &file, FILE_BYTES as u64, Guard::Nothing).await.map(|_| ())
}

async fn sent_to(kind: Kind) -> String {
    let (fake, s3) = Fake::start(kind).await;
    put(&s3).await.unwrap_or_else(|trouble| panic!("{kind:?}: {trouble:?}"));
    fake.seen()
}

#[tokio::test]
async fn a_store_that_compares_checksums_is_sent_parts_without_a_signed_hash() {
    insta::assert_snapshot!(sent_to(Kind::Honest).await, @"
    begin, wishing for checksums
    complete
    head
    part, with a checksum, its hash not signed
    ");
}

#[tokio::test]
async fn a_store_that_does_not_know_checksums_is_asked_without_and_gets_the_signed_hash() {
    let simple = sent_to(Kind::Simple).await;
    insta::assert_snapshot!(simple, @"
    begin
    begin, wishing for checksums
    complete
    head
    part
    ");
    assert_eq!(sent_to(Kind::Curt).await, simple);
    insta::assert_snapshot!(sent_to(Kind::Ignorant).await, @"
    begin, wishing for checksums
    complete
    head
    part
    ");
}

#[tokio::test]
async fn a_part_that_is_refused_or_not_confirmed_is_sent_again_with_both() {
    let strict = sent_to(Kind::Strict).await;
    insta::assert_snapshot!(strict, @"
    begin, wishing for checksums
    complete
    head
    part, with a checksum
    part, with a checksum, its hash not signed
    ");
    assert_eq!(sent_to(Kind::Silent).await, strict);
}

#[tokio::test]
async fn a_store_that_repeats_another_checksum_does_not_have_the_file() {
    let (fake, s3) = Fake::start(Kind::Wrong).await;
    let trouble = put(&s3).await.unwrap_err();
    assert!(trouble.is_passing() && format!("{trouble:?}").contains("does not say that part"), "{trouble:?}");
    let seen = fake.seen();
    assert!(seen.contains("abort") && !seen.contains("complete"), "{seen}");
}

#[tokio::test]
async fn over_a_line_that_others_can_alter_every_hash_is_signed() {
    let sealed = |endpoint| at(endpoint).0.is_sealed;
    assert!(sealed("https://example.org") && sealed("http://127.0.0.1:9000") && sealed("http://localhost"));
    assert!(!sealed("http://10.0.0.1:9000") && !sealed("http://store.example.org"));
    let (fake, mut s3) = Fake::start(Kind::Honest).await;
    Arc::get_mut(&mut s3.0).unwrap().is_sealed = false;
    put(&s3).await.unwrap();
    insta::assert_snapshot!(fake.seen(), @"
    begin
    complete
    head
    part
    ");
}
