-- What is said of a job and what happened to it, also in Chinese; empty where it was written before.
ALTER TABLE job ADD COLUMN reason_zh TEXT NOT NULL DEFAULT '';
ALTER TABLE event ADD COLUMN reason_zh TEXT NOT NULL DEFAULT '';
-- How much an event matters, and how long that took which it is the end of.
ALTER TABLE event ADD COLUMN level TEXT NOT NULL DEFAULT 'info';
ALTER TABLE event ADD COLUMN took_ms BIGINT
