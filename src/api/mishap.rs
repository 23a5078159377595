//! A mistake of ours in one handler costs that one request, and whoever waits for it is told.

use std::{any::Any, panic::AssertUnwindSafe};

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;

use crate::error::Error;

/// Answers for a handler that panicked. Nothing it held is used again: what it had begun to write is undone by the store.
pub async fn answer(request: Request, next: Next) -> Response {
    let asked = format!("{} {}", request.method(), request.uri().path());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|panic| Error::Internal(format!("{asked} panicked: {}", said(&*panic))).into_response())
}

fn said(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a word")
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, routing::get};
    use model::wire::ErrorBody;
    use tower::ServiceExt;

    use super::*;

    async fn mistake() -> &'static str {
        panic!("a mistake of ours")
    }

    async fn asked(path: &str) -> (u16, Vec<u8>) {
        let routes = Router::new().route("/mistake", get(mistake)).route("/good", get(|| async { "good" }));
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let answer = super::super::in_every_answer(routes).oneshot(request).await.unwrap();
        assert_eq!(answer.headers()["x-content-type-options"], "nosniff");
        (answer.status().as_u16(), axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap().to_vec())
    }

    #[tokio::test]
    async fn a_handler_that_panics_is_answered_for_and_tells_nobody_how() {
        let (status, body) = asked("/mistake").await;
        let body: ErrorBody = serde_json::from_slice(&body).unwrap();
        assert_eq!((status, body.code.as_str(), body.message.as_str()), (500, "internal", "something went wrong on our side"));
        assert_eq!(asked("/good").await, (200, b"good".to_vec()));
    }
}
