-- Secrets that people keep by name, and those that were written into job files. Sealed, each for its own place.
CREATE TABLE secret (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    sealed TEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
);
-- All of one job's together.
CREATE TABLE job_secret (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    sealed TEXT NOT NULL
);
-- 1: there may be plans and specs from before with secrets that anyone could read.
INSERT INTO meta (name, value) VALUES ('secrets_in_plain_text', 1)
