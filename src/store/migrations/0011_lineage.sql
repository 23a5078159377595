-- What a job has to do with others: the job whose output it begins with or that it is a rerun of, by id, and the
-- places it reads and writes, such as `data:mnist/train`.
CREATE TABLE lineage (
    job TEXT NOT NULL REFERENCES job (id) ON DELETE CASCADE,
    how TEXT NOT NULL,
    what TEXT NOT NULL,
    PRIMARY KEY (job, how, what)
);
CREATE INDEX lineage_by_what ON lineage (what, how)
