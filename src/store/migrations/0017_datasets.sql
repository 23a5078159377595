-- Names under which data has versions, and whose they are.
CREATE TABLE dataset (
    name TEXT PRIMARY KEY,
    description TEXT NOT NULL DEFAULT '',
    owner TEXT NOT NULL,
    -- 1: for everyone; 0: for the owner and administrators.
    shared BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL
);
-- The number of a name's next version. It outlives the dataset: what a number once stood for, it stands for always.
CREATE TABLE dataset_number (
    name TEXT PRIMARY KEY,
    next BIGINT NOT NULL
);
-- A place, and what it held when it was made a version.
CREATE TABLE dataset_version (
    dataset TEXT NOT NULL REFERENCES dataset (name) ON DELETE CASCADE,
    version BIGINT NOT NULL,
    at TEXT NOT NULL,
    -- The volume that the place is in, if it is in one.
    volume TEXT,
    files BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    fingerprint TEXT NOT NULL,
    note TEXT NOT NULL,
    made_by TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (dataset, version)
);
CREATE INDEX dataset_version_in ON dataset_version (volume)
