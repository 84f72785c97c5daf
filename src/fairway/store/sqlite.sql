-- name: schema
-- The log: one row per change, keyed by its revision. head holds what is needed to select a record without decoding it.
CREATE TABLE IF NOT EXISTS log (
    revision INTEGER PRIMARY KEY,
    flags INTEGER NOT NULL,
    bucket TEXT NOT NULL,
    path TEXT NOT NULL,
    head BLOB NOT NULL,
    value BLOB
);
CREATE TABLE IF NOT EXISTS stream (
    stream TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (stream, sequence)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS mark (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS volatile (
    bucket TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS trimmed (
    stream TEXT PRIMARY KEY,
    upto INTEGER NOT NULL
) WITHOUT ROWID;

-- name: rows
-- Everything, oldest first: the state is what is left after the last row of each path.
SELECT revision, flags, bucket, path, head, value FROM log ORDER BY revision;

-- name: insert
-- Several rows at once: the placeholders of one row are repeated.
INSERT INTO log (revision, flags, bucket, path, head, value) VALUES (?, ?, ?, ?, ?, ?);

-- name: streams
SELECT stream, sequence, data FROM stream ORDER BY stream, sequence;

-- name: tables
SELECT count(*) FROM sqlite_master;

-- name: newest
SELECT coalesce(max(revision), 0) FROM log;

-- name: marks
SELECT name, value FROM mark;

-- name: set_mark
INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: volatile
SELECT bucket FROM volatile ORDER BY bucket;

-- name: set_volatile
INSERT OR IGNORE INTO volatile (bucket) VALUES (?);

-- name: trimmed
SELECT stream, upto FROM trimmed;

-- name: set_trimmed
-- Sequence numbers are never used again, so how far a stream went outlives its records.
INSERT INTO trimmed (stream, upto) VALUES (?, ?) ON CONFLICT (stream) DO UPDATE SET upto = max(upto, excluded.upto);

-- name: append
INSERT INTO stream (stream, sequence, data) VALUES (?, ?, ?);

-- name: trim
DELETE FROM stream WHERE stream = ? AND sequence <= ?;

-- name: forget
-- Superseded rows and old tombstones, in one statement so that the interpreter's lock changes hands once.
DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?));
