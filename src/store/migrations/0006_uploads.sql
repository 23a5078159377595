-- Which uploaded folder a job's code is, and what is known of it. What no job names is swept away one day.
CREATE TABLE upload_use (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    digest TEXT NOT NULL,
    facts TEXT NOT NULL
);
CREATE INDEX upload_use_by_digest ON upload_use (digest)
