-- The first shape of the database, in the SQL that SQLite and Postgres share.

-- Numbers of our own: the owner epoch, and the last event's number (kept here so that deleting
-- events never makes a number come back).
CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value BIGINT NOT NULL
);
INSERT INTO meta (name, value) VALUES ('owner_epoch', 0);
INSERT INTO meta (name, value) VALUES ('event_seq', 0);

-- Everything a list, the queue and a change of state need, and nothing long: a row that is small
-- is cheap to rewrite at each change of state.
CREATE TABLE job (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    state TEXT NOT NULL,
    attempt BIGINT NOT NULL,
    used_for_user BIGINT NOT NULL,
    used_for_platform BIGINT NOT NULL,
    priority BIGINT NOT NULL,
    max_duration_ms BIGINT,
    description TEXT NOT NULL,
    -- Name and description in small letters, cut to what an index can hold.
    search TEXT NOT NULL,
    tags TEXT NOT NULL,
    tasks BIGINT NOT NULL,
    resources TEXT NOT NULL,
    demand TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    queued_at_ms BIGINT NOT NULL,
    started_at_ms BIGINT,
    ended_at_ms BIGINT,
    stop_by TEXT
);
CREATE UNIQUE INDEX job_by_version ON job (owner, name, version);
CREATE INDEX job_by_name ON job (name, id);
CREATE INDEX job_by_owner ON job (owner, id);
CREATE INDEX job_by_state ON job (state, id);
CREATE INDEX job_by_text ON job (id, search);
CREATE INDEX job_queued ON job (priority DESC, id) WHERE state = 'queued';
-- By what it is not, so that a state nobody knows is found too.
CREATE INDEX job_unfinished ON job (id) WHERE state NOT IN ('queued', 'succeeded', 'failed', 'stopped');

-- The long parts of a job, written once.
CREATE TABLE job_plan (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    spec TEXT NOT NULL,
    plan TEXT NOT NULL
);

CREATE TABLE job_tag (
    job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    PRIMARY KEY (job, tag)
);
CREATE INDEX job_tag_by_tag ON job_tag (tag, job);

-- The last version of a name that was given out, for as long as any version of it exists.
CREATE TABLE job_version (
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    last BIGINT NOT NULL,
    PRIMARY KEY (owner, name)
);

-- An idempotency key belongs to one job for ever, also when the job has been deleted.
CREATE TABLE submit_key (
    owner TEXT NOT NULL,
    text TEXT NOT NULL,
    body_hash TEXT NOT NULL,
    job TEXT NOT NULL,
    name TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (owner, text)
);

CREATE TABLE run (
    job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    attempt BIGINT NOT NULL,
    role TEXT NOT NULL,
    task_index BIGINT NOT NULL,
    state TEXT NOT NULL,
    node TEXT NOT NULL,
    amount TEXT NOT NULL,
    devices TEXT NOT NULL,
    ports TEXT NOT NULL,
    address TEXT NOT NULL,
    placed_at_ms BIGINT NOT NULL,
    started_at_ms BIGINT,
    ended_at_ms BIGINT,
    pid BIGINT,
    ending TEXT,
    end_order BIGINT,
    missing TEXT NOT NULL,
    PRIMARY KEY (job, attempt, role, task_index)
);
CREATE INDEX run_live ON run (job, attempt, role, task_index) WHERE state NOT IN ('succeeded', 'failed', 'stopped', 'unknown');

-- Runs of deleted jobs whose files are still to be erased.
CREATE TABLE leftover (
    run TEXT PRIMARY KEY
);

CREATE TABLE event (
    seq BIGINT PRIMARY KEY,
    at_ms BIGINT NOT NULL,
    job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    task TEXT,
    attempt BIGINT,
    kind TEXT NOT NULL,
    reason TEXT NOT NULL
);
CREATE INDEX event_by_job ON event (job, seq);

CREATE TABLE token (
    hash TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    role TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT
);

-- Rows that could not be read. They stay where they are; this says which, and why.
CREATE TABLE quarantine (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    why TEXT NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (kind, key)
);
