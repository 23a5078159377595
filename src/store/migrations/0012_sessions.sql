-- Who is logged in to the console, and the links that let someone in once. Both stand for a token and end with it.
CREATE TABLE session (
    hash TEXT PRIMARY KEY,
    key_hash TEXT NOT NULL,
    token_hash TEXT NOT NULL REFERENCES token (hash) ON DELETE CASCADE,
    expires_at_ms INTEGER NOT NULL
);
CREATE TABLE ticket (
    hash TEXT PRIMARY KEY,
    token_hash TEXT NOT NULL REFERENCES token (hash) ON DELETE CASCADE,
    expires_at_ms INTEGER NOT NULL
)
