-- Names under which code has versions, and whose they are.
CREATE TABLE algorithm (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    -- 1: for everyone; 0: for the owner and administrators.
    shared BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
-- The number of a name's next version. It outlives the algorithm: what a number once stood for, it stands for always.
CREATE TABLE algorithm_number (
    name TEXT PRIMARY KEY,
    next BIGINT NOT NULL
);
-- What an algorithm says, and the text that it was read from.
CREATE TABLE algorithm_version (
    algorithm TEXT NOT NULL REFERENCES algorithm (name) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    document TEXT NOT NULL,
    text TEXT NOT NULL,
    -- The uploaded folder that its code is, if it is one; it is kept for as long as the version is.
    upload TEXT,
    made_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (algorithm, version)
)
