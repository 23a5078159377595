//! Volumes: named places where bytes live. What is needed to enter one is a secret, and kept apart.

use serde::{Deserialize, Serialize};

/// What a volume is. There is no secret in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Volume {
    /// A directory of the machine.
    Local {
        /// Whole, beginning with `/`.
        path: String,
    },
    /// A bucket of anything that speaks S3: AWS, OSS, OBS, MinIO.
    S3 {
        /// Such as `http://127.0.0.1:9000`; AWS's own if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        endpoint: Option<String>,
        bucket: String,
        /// Everything of the volume lies below it in the bucket; empty for the whole bucket.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        prefix: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        region: Option<String>,
        /// Whether the bucket stands in the host's name, as OSS and OBS want it, rather than in the path.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        virtual_host: bool,
    },
    /// Files of a web server, to be read and nothing else.
    Http { url: String },
    /// A claim of the Kubernetes cluster that runs the task.
    Claim { claim: String },
    /// An export that the node of the task mounts.
    Nfs { server: String, path: String },
}

/// What opens a bucket.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    pub access_key: String,
    pub secret_key: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
}

/// Nobody shall find them in a log because somebody printed a struct.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(******)")
    }
}
