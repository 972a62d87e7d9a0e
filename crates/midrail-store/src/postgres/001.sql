-- Version 1. Every table holds the rows of all projects, and `project` leads every key.
-- Texts that anyone outside may choose are indexed by a digest or by their beginning: an index takes no long ones.
-- Times are microseconds since 1970.

CREATE TABLE version (version INTEGER NOT NULL);
INSERT INTO version VALUES (0);

-- A project's row is the head of its log, and its lock: who writes to a project has locked its row.
CREATE TABLE projects (
  id      INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name    TEXT COLLATE "C" NOT NULL UNIQUE,
  seq     BIGINT NOT NULL DEFAULT 0,                -- the last record
  hash    TEXT NOT NULL DEFAULT repeat('0', 64),    -- its hash
  notices BIGINT NOT NULL DEFAULT 0                 -- the last notice
) WITH (fillfactor = 30);

-- The seed of a project's keys, unless it is kept in a file outside of the database.
CREATE TABLE secrets (
  project INTEGER PRIMARY KEY,
  seed    TEXT NOT NULL
);

CREATE TABLE slices (
  project INTEGER NOT NULL,
  id      BYTEA NOT NULL,            -- a digest of session and key
  session TEXT COLLATE "C" NOT NULL, -- '' for slices of all sessions (`shared/…`)
  key     TEXT COLLATE "C" NOT NULL,
  value   TEXT NOT NULL,             -- JSON
  version BIGINT NOT NULL,           -- the seq of the record that it was last written with
  PRIMARY KEY (project, id)
) WITH (fillfactor = 80);
CREATE INDEX slices_key ON slices (project, left(session, 64), left(key, 64));

-- What can be told of sessions without going through the log.
CREATE TABLE sessions (
  project     INTEGER NOT NULL,
  id          BYTEA NOT NULL,        -- a digest of the name
  session     TEXT COLLATE "C" NOT NULL,
  records     BIGINT NOT NULL,
  last_seq    BIGINT NOT NULL,
  last_active BIGINT NOT NULL,
  PRIMARY KEY (project, id)
) WITH (fillfactor = 50);

-- A partition a month, made by the first record of the month before. That a seq stands in one month only is held by
-- the project's row.
CREATE TABLE audit (
  project    INTEGER NOT NULL,
  seq        BIGINT NOT NULL,           -- from 1, without gaps
  time       BIGINT NOT NULL,
  session    TEXT COLLATE "C" NOT NULL,
  kind       TEXT COLLATE "C" NOT NULL,
  tool       TEXT COLLATE "C",
  effect     TEXT COLLATE "C" NOT NULL,
  guardrails TEXT COLLATE "C" NOT NULL, -- a JSON list of those that said more than allow, or an empty text
  prev       TEXT NOT NULL,
  hash       TEXT NOT NULL,
  body       TEXT NOT NULL,             -- the record as JSON
  batch      BIGINT NOT NULL,           -- who has lost the connection finds by this what was written
  PRIMARY KEY (project, seq, time)
) PARTITION BY RANGE (time);
CREATE INDEX audit_session ON audit (project, left(session, 64), seq);
CREATE INDEX audit_time ON audit (project, time);
-- Most records are allowed by everyone, and stand in neither of these.
CREATE INDEX audit_effect ON audit (project, effect, seq) WHERE effect <> 'allow';
CREATE INDEX audit_guardrails ON audit (project, seq) WHERE guardrails <> '';
-- Records by clocks that are decades off.
CREATE TABLE audit_other PARTITION OF audit DEFAULT;

CREATE TABLE checkpoints (
  project   INTEGER NOT NULL,
  seq       BIGINT NOT NULL,
  hash      TEXT NOT NULL,
  time      TEXT NOT NULL,
  key       TEXT NOT NULL,
  signature TEXT NOT NULL,
  PRIMARY KEY (project, seq)
);

CREATE TABLE keys (
  project INTEGER NOT NULL,
  id      TEXT NOT NULL,
  public  TEXT NOT NULL,
  place   BIGINT GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (project, id)
);

CREATE TABLE policies (
  project  INTEGER NOT NULL,
  revision TEXT COLLATE "C" NOT NULL,
  body     TEXT NOT NULL,
  PRIMARY KEY (project, revision)
);

CREATE TABLE approvals (
  project INTEGER NOT NULL,
  id      TEXT COLLATE "C" NOT NULL,
  state   TEXT COLLATE "C" NOT NULL,
  session TEXT COLLATE "C" NOT NULL,
  created BIGINT NOT NULL,
  body    TEXT NOT NULL, -- JSON
  PRIMARY KEY (project, id)
);
CREATE INDEX approvals_created ON approvals (project, created);
CREATE INDEX approvals_pending ON approvals (project, created) WHERE state = 'pending';

CREATE TABLE approvers (
  id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project INTEGER NOT NULL,
  name    TEXT COLLATE "C" NOT NULL,
  roles   TEXT NOT NULL, -- a JSON list
  hash    TEXT NOT NULL, -- salt and keyed hash of the approver's key
  created BIGINT NOT NULL,
  revoked BIGINT
);
CREATE INDEX approvers_of ON approvers (project, id);

CREATE TABLE notices (
  project   INTEGER NOT NULL,
  id        BIGINT NOT NULL, -- from 1, without gaps
  seq       BIGINT,          -- the record that it was written with
  time      BIGINT NOT NULL,
  recipient TEXT NOT NULL,
  kind      TEXT NOT NULL,
  message   TEXT NOT NULL,
  body      TEXT NOT NULL,   -- JSON
  PRIMARY KEY (project, id)
);

CREATE TABLE deliveries (
  project   INTEGER NOT NULL,
  channel   TEXT COLLATE "C" NOT NULL,
  notice    BIGINT NOT NULL,
  attempts  BIGINT NOT NULL,
  tried     BIGINT,
  delivered BIGINT,
  PRIMARY KEY (project, channel, notice)
);

-- All notices up to `through` are done with, so that no one looks at them again.
CREATE TABLE channels (
  project INTEGER NOT NULL,
  channel TEXT COLLATE "C" NOT NULL,
  through BIGINT NOT NULL,
  PRIMARY KEY (project, channel)
);

CREATE TABLE alerts (
  id      BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project INTEGER NOT NULL,
  name    TEXT COLLATE "C" NOT NULL,
  key     TEXT COLLATE "C" NOT NULL,
  fired   BIGINT NOT NULL,
  value   DOUBLE PRECISION NOT NULL,
  message TEXT NOT NULL
);
CREATE INDEX alerts_of ON alerts (project, left(name, 64), left(key, 64), id);
CREATE INDEX alerts_latest ON alerts (project, id);

-- What the records up to `seq` come to. It can be made again from the log at any time.
CREATE TABLE figures (
  project INTEGER PRIMARY KEY,
  seq     BIGINT NOT NULL,
  hash    TEXT NOT NULL, -- that of the record `seq`
  body    TEXT NOT NULL  -- JSON
);

CREATE TABLE counters (
  project INTEGER NOT NULL,
  name    TEXT COLLATE "C" NOT NULL,
  value   BIGINT NOT NULL,
  PRIMARY KEY (project, name)
);

-- What was written stays.
CREATE FUNCTION stays() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'restrict_violation'; END $$;

CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE ON audit FOR EACH ROW
EXECUTE FUNCTION stays('the audit log is append-only: a record cannot be changed or removed');
CREATE TRIGGER audit_stays BEFORE TRUNCATE ON audit FOR EACH STATEMENT
EXECUTE FUNCTION stays('the audit log is append-only: it cannot be emptied');
CREATE TRIGGER checkpoints_kept BEFORE UPDATE OR DELETE ON checkpoints FOR EACH ROW
EXECUTE FUNCTION stays('a checkpoint cannot be changed or removed');
CREATE TRIGGER keys_kept BEFORE UPDATE OR DELETE ON keys FOR EACH ROW
EXECUTE FUNCTION stays('a public key cannot be changed or removed');
CREATE TRIGGER policies_kept BEFORE UPDATE OR DELETE ON policies FOR EACH ROW
EXECUTE FUNCTION stays('a policy that has decided cannot be changed or removed');
CREATE TRIGGER secrets_kept BEFORE UPDATE ON secrets FOR EACH ROW
EXECUTE FUNCTION stays('the seed of a project cannot be changed');
CREATE TRIGGER approvals_stay BEFORE DELETE ON approvals FOR EACH ROW
EXECUTE FUNCTION stays('an approval cannot be removed');
CREATE TRIGGER approvals_forward BEFORE UPDATE ON approvals FOR EACH ROW
WHEN (NEW.id <> OLD.id OR NEW.project <> OLD.project
  OR OLD.state NOT IN ('pending', NEW.state) AND OLD.state || NEW.state NOT IN ('approvedused', 'approvedexpired'))
EXECUTE FUNCTION stays('an approval that was decided cannot go back');
CREATE TRIGGER approvers_stay BEFORE DELETE ON approvers FOR EACH ROW
EXECUTE FUNCTION stays('an approver cannot be removed');
CREATE TRIGGER approvers_kept BEFORE UPDATE ON approvers FOR EACH ROW
WHEN (OLD.revoked IS NOT NULL OR NEW.hash <> OLD.hash OR NEW.project <> OLD.project)
EXECUTE FUNCTION stays('an approver can be revoked, and not changed');
-- The head of a log goes forward. A commit would otherwise write over what is there.
CREATE TRIGGER projects_forward BEFORE UPDATE ON projects FOR EACH ROW
WHEN (NEW.id <> OLD.id OR NEW.name <> OLD.name OR NEW.seq < OLD.seq OR NEW.notices < OLD.notices)
EXECUTE FUNCTION stays('the head of a log only goes forward');
CREATE TRIGGER projects_stay BEFORE DELETE ON projects FOR EACH ROW
EXECUTE FUNCTION stays('a project cannot be removed');
