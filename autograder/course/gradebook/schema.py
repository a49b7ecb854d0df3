"""Define the gradebook's tables."""

from __future__ import annotations

# Commits reach the disk, deleted data is overwritten, and the cache stays small.
PRAGMAS = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
PRAGMA foreign_keys=ON;
PRAGMA secure_delete=ON;
PRAGMA cache_size=-500;
"""
VERSION = 2
# The statements that turn a gradebook of each earlier version into the next one.
MIGRATIONS = {
    1: """
DROP TABLE event;
UPDATE verdict SET status = 'not_implemented' WHERE status = 'missing';
UPDATE verdict SET diagnosis = replace(diagnosis, '"sentence":', '"message":');
"""
}
SCHEMA = """
CREATE TABLE student (
    id INTEGER PRIMARY KEY,
    alias TEXT NOT NULL UNIQUE,     -- replaces the name if names are hidden, and in file names
    name TEXT NOT NULL,
    on_roster INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE identifier (           -- how platforms know a student
    student INTEGER NOT NULL REFERENCES student ON DELETE CASCADE,
    kind TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (student, kind, value)
);
CREATE INDEX identifier_value ON identifier (value, kind);
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,             -- regrade, rescore
    state TEXT NOT NULL,            -- open, held (a score would drop), current (now or earlier)
    started TEXT NOT NULL,
    finished TEXT,
    source TEXT NOT NULL,
    note TEXT NOT NULL,
    grader TEXT NOT NULL,
    rubric TEXT NOT NULL,
    seed TEXT NOT NULL
);
CREATE TABLE report (               -- the result of grading these sources; the document is a file in results/
    id INTEGER PRIMARY KEY,
    sha256 TEXT NOT NULL,
    grader TEXT NOT NULL,
    rubric TEXT NOT NULL,
    seed TEXT NOT NULL,
    environment TEXT NOT NULL,      -- torch, Python, platform, sandbox layers
    document TEXT NOT NULL,
    gradable INTEGER NOT NULL,
    max_score REAL NOT NULL,
    graded TEXT NOT NULL,
    UNIQUE (sha256, grader, rubric, seed)
);
CREATE TABLE verdict (
    report INTEGER NOT NULL REFERENCES report ON DELETE CASCADE,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    criterion TEXT NOT NULL,
    title TEXT NOT NULL,
    bonus INTEGER NOT NULL,
    status TEXT NOT NULL,
    score REAL NOT NULL,
    max_score REAL NOT NULL,
    message TEXT NOT NULL,
    diagnosis TEXT NOT NULL,        -- JSON: [{mistake, message}]
    PRIMARY KEY (report, position)
);
CREATE TABLE entry (                -- a student's attempt in a run
    run INTEGER NOT NULL REFERENCES run,
    student INTEGER NOT NULL REFERENCES student ON DELETE CASCADE,
    attempt INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    submitted TEXT NOT NULL,
    partners INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    trouble TEXT NOT NULL,          -- why the attempt has no grade
    report INTEGER REFERENCES report,
    PRIMARY KEY (run, student, attempt)
);
CREATE TABLE override (
    id INTEGER PRIMARY KEY,
    student INTEGER NOT NULL REFERENCES student ON DELETE CASCADE,
    what TEXT NOT NULL,             -- a check, written.N, or total
    points REAL,                    -- NULL removes an earlier override
    reason TEXT NOT NULL,
    who TEXT NOT NULL,
    at TEXT NOT NULL
);
CREATE TABLE export (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    format TEXT NOT NULL,
    target TEXT NOT NULL,
    run INTEGER NOT NULL REFERENCES run
);
CREATE TABLE exported (
    export INTEGER NOT NULL REFERENCES export,
    student INTEGER NOT NULL REFERENCES student ON DELETE CASCADE,
    score REAL NOT NULL,
    PRIMARY KEY (export, student)
);
CREATE TABLE page (                 -- hash of the inputs of a student's report
    student INTEGER PRIMARY KEY REFERENCES student ON DELETE CASCADE,
    made_of TEXT NOT NULL
);
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
