-- The file that a job was made from, as it was handed over, with every secret masked; and what became of its fields where it
-- was another system's. No text where one of its secrets could not be masked. Nothing for jobs that came as JSON of our own.
CREATE TABLE original (
    job TEXT PRIMARY KEY REFERENCES job (id) ON DELETE CASCADE,
    text TEXT,
    report TEXT NOT NULL
)
