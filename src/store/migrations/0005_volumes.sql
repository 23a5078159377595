-- Named places where bytes live. Whose owner is empty was made by the server's configuration.
CREATE TABLE volume (
    name TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- 1: for everyone; 0: for the owner and administrators.
    shared BIGINT NOT NULL,
    -- What opens it, sealed; never without a seal.
    sealed TEXT,
    created_at_ms BIGINT NOT NULL
)
