//! Counts every request by the route it was for, how it was answered, and how long that took.

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use axum::{
    body::{Body, Bytes},
    extract::{MatchedPath, Request},
    http::{Method, header},
    middleware::Next,
    response::Response,
};
use futures_util::TryStreamExt;

use crate::meter::{FOLLOWERS, REQUESTS};

pub async fn count(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = known(request.method());
    let response = next.run(request).await;
    REQUESTS.note(method, &route, response.status().as_u16(), began.elapsed());
    let is_stream = response.headers().get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
    if is_stream { followed(response) } else { response }
}

/// Whoever calls may invent methods, and each would be kept for ever.
fn known(method: &Method) -> &'static str {
    const KNOWN: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
    KNOWN.into_iter().find(|it| *it == method.as_str()).unwrap_or("other")
}

/// Counts a follower until the stream is over or its reader is gone.
fn followed(response: Response) -> Response {
    let follower = Follower::new();
    response.map(|body| {
        Body::from_stream(body.into_data_stream().map_ok(move |event| {
            let _for_as_long_as_the_stream = &follower;
            // An event is put together in a buffer that grows twofold. What waits for a slow reader has no room to spare.
            Bytes::copy_from_slice(&event)
        }))
    })
}

struct Follower;

impl Follower {
    fn new() -> Self {
        FOLLOWERS.fetch_add(1, Relaxed);
        Self
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        FOLLOWERS.fetch_sub(1, Relaxed);
    }
}
