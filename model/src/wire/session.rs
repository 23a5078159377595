//! The JSON of logging in to the console.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What lets someone in: a token, or the ticket of a link that was made for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum LogIn {
    Token(String),
    Ticket(String),
}

/// A session has begun: its cookie comes with this answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    pub user: String,
    pub role: String,
    /// To be sent as `x-trainmaster-session` with every request of this session; the cookie alone opens nothing.
    pub key: String,
    pub expires_at_ms: u64,
}

/// A link that lets its reader in once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LogInLink {
    /// After the server's address. What stands behind the `#` never travels in a request's line.
    pub path: String,
    pub expires_at_ms: u64,
}

/// A path of this API for a browser that loads it by itself, such as a download.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PassPath {
    /// With its query.
    pub path: String,
}
