-- Version 1: sessions, audit log, approvals, policies.
PRAGMA application_id = 1296323148; -- "MDRL"

CREATE TABLE slices (
  session TEXT NOT NULL,
  key     TEXT NOT NULL,
  value   TEXT NOT NULL,    -- JSON
  version INTEGER NOT NULL, -- the seq of the record that it was last written with
  PRIMARY KEY (session, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  seq        INTEGER PRIMARY KEY, -- from 1, without gaps
  time       INTEGER NOT NULL,    -- microseconds since 1970
  session    TEXT NOT NULL,
  kind       TEXT NOT NULL,
  tool       TEXT,
  effect     TEXT NOT NULL,
  guardrails TEXT NOT NULL,       -- a JSON list of those that said more than allow, or an empty text
  prev       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  body       TEXT NOT NULL        -- the record as JSON
) STRICT;
CREATE INDEX audit_session ON audit (session);
CREATE INDEX audit_time ON audit (time);
-- Most records are allowed by everyone, and stand in neither of these.
CREATE INDEX audit_effect ON audit (effect) WHERE effect <> 'allow';
CREATE INDEX audit_guardrails ON audit (seq, guardrails) WHERE guardrails <> '';

CREATE TABLE checkpoints (
  seq       INTEGER PRIMARY KEY,
  hash      TEXT NOT NULL,
  time      TEXT NOT NULL,
  key       TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT;

CREATE TABLE keys (
  id     TEXT PRIMARY KEY,
  public TEXT NOT NULL
) STRICT;

CREATE TABLE policies (
  revision TEXT PRIMARY KEY,
  body     TEXT NOT NULL
) STRICT;

CREATE TABLE approvals (
  id      TEXT PRIMARY KEY,
  state   TEXT NOT NULL,
  session TEXT NOT NULL,
  created INTEGER NOT NULL, -- microseconds since 1970
  body    TEXT NOT NULL     -- JSON
) STRICT;
CREATE INDEX approvals_created ON approvals (created);
CREATE INDEX approvals_pending ON approvals (created) WHERE state = 'pending';

-- What was written stays. REPLACE deletes without asking the triggers, so inserts are watched as well.
CREATE TRIGGER audit_next BEFORE INSERT ON audit
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM audit)
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record goes to its end'); END;
CREATE TRIGGER audit_kept BEFORE UPDATE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record cannot be changed'); END;
CREATE TRIGGER audit_stays BEFORE DELETE ON audit
BEGIN SELECT raise(ABORT, 'the audit log is append-only: a record cannot be removed'); END;

CREATE TRIGGER checkpoints_new BEFORE INSERT ON checkpoints
WHEN EXISTS (SELECT 1 FROM checkpoints WHERE seq = NEW.seq)
BEGIN SELECT raise(ABORT, 'a checkpoint cannot be replaced'); END;
CREATE TRIGGER checkpoints_kept BEFORE UPDATE ON checkpoints
BEGIN SELECT raise(ABORT, 'a checkpoint cannot be changed'); END;
CREATE TRIGGER checkpoints_stay BEFORE DELETE ON checkpoints
BEGIN SELECT raise(ABORT, 'a checkpoint cannot be removed'); END;

CREATE TRIGGER keys_new BEFORE INSERT ON keys
WHEN EXISTS (SELECT 1 FROM keys WHERE id = NEW.id)
BEGIN SELECT raise(ABORT, 'a public key cannot be replaced'); END;
CREATE TRIGGER keys_kept BEFORE UPDATE ON keys
BEGIN SELECT raise(ABORT, 'a public key cannot be changed'); END;
CREATE TRIGGER keys_stay BEFORE DELETE ON keys
BEGIN SELECT raise(ABORT, 'a public key cannot be removed'); END;

CREATE TRIGGER policies_new BEFORE INSERT ON policies
WHEN EXISTS (SELECT 1 FROM policies WHERE revision = NEW.revision)
BEGIN SELECT raise(ABORT, 'a policy that has decided cannot be replaced'); END;
CREATE TRIGGER policies_kept BEFORE UPDATE ON policies
BEGIN SELECT raise(ABORT, 'a policy that has decided cannot be changed'); END;
CREATE TRIGGER policies_stay BEFORE DELETE ON policies
BEGIN SELECT raise(ABORT, 'a policy that has decided cannot be removed'); END;
