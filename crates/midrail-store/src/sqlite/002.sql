-- Version 2: approvers, notices, alerts, figures; and approvals that only go forward.
-- Slices of all sessions (`shared/…`) stand in `slices` under the session '', whose own keys never begin so.

CREATE TABLE approvers (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  roles   TEXT NOT NULL,    -- a JSON list
  hash    TEXT NOT NULL,    -- salt and keyed hash of the approver's key
  created INTEGER NOT NULL, -- microseconds since 1970
  revoked INTEGER
) STRICT;

CREATE TABLE notices (
  id        INTEGER PRIMARY KEY, -- from 1, without gaps
  seq       INTEGER,             -- the record that it was written with
  time      INTEGER NOT NULL,    -- microseconds since 1970
  recipient TEXT NOT NULL,
  kind      TEXT NOT NULL,
  message   TEXT NOT NULL,
  body      TEXT NOT NULL        -- JSON
) STRICT;

CREATE TABLE deliveries (
  channel   TEXT NOT NULL,
  notice    INTEGER NOT NULL,
  attempts  INTEGER NOT NULL,
  tried     INTEGER,             -- microseconds since 1970, as is the next
  delivered INTEGER,
  PRIMARY KEY (channel, notice)
) STRICT, WITHOUT ROWID;

-- All notices up to `through` are done with, so that no one looks at them again.
CREATE TABLE channels (
  channel TEXT PRIMARY KEY,
  through INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alerts (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  key     TEXT NOT NULL,
  fired   INTEGER NOT NULL, -- microseconds since 1970
  value   REAL NOT NULL,
  message TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_of ON alerts (name, key);

-- What the records up to `seq` come to. It can be made again from the log at any time.
CREATE TABLE figures (
  id   INTEGER PRIMARY KEY, -- 1
  seq  INTEGER NOT NULL,
  hash TEXT NOT NULL,       -- that of the record `seq`
  body TEXT NOT NULL        -- JSON
) STRICT;

CREATE TABLE counters (
  name  TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Each of these is read anew by every short process, so there are few, and the stores check the rest themselves.
CREATE TRIGGER approvals_new BEFORE INSERT ON approvals
WHEN EXISTS (SELECT 1 FROM approvals WHERE id = NEW.id)
BEGIN SELECT raise(ABORT, 'an approval cannot be replaced'); END;
CREATE TRIGGER approvals_forward BEFORE UPDATE ON approvals
WHEN NEW.id <> OLD.id OR json_extract(NEW.body, '$.state') IS NOT NEW.state
  OR OLD.state NOT IN ('pending', NEW.state) AND OLD.state || NEW.state NOT IN ('approvedused', 'approvedexpired')
BEGIN SELECT raise(ABORT, 'an approval that was decided cannot go back'); END;
CREATE TRIGGER approvals_stay BEFORE DELETE ON approvals
BEGIN SELECT raise(ABORT, 'an approval cannot be removed'); END;

CREATE TRIGGER approvers_kept BEFORE UPDATE ON approvers
WHEN OLD.revoked IS NOT NULL OR NEW.hash <> OLD.hash
BEGIN SELECT raise(ABORT, 'an approver can be revoked, and not changed'); END;
CREATE TRIGGER approvers_stay BEFORE DELETE ON approvers
BEGIN SELECT raise(ABORT, 'an approver cannot be removed'); END;
