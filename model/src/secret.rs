//! Values that nobody may see but the task they are for.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// Secrets by name. Whoever prints them sees only which there are.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretValues(pub BTreeMap<String, String>);

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}
