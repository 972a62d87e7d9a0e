-- The tables that every store has. The text of each statement is parsed by every process that opens a store, so there are
-- few of them, they are short, and comments stand outside of them. The other tables are created when they are first
-- written (`on_demand/`).
PRAGMA application_id = 1296323148; -- "MDRL"

-- The state of sessions. `value` is JSON; `version` is the seq of the record that it was last written with. Slices of all
-- sessions (`shared/…`) have the session ''.
CREATE TABLE IF NOT EXISTS slices(session TEXT NOT NULL,key TEXT NOT NULL,value TEXT NOT NULL,version INTEGER NOT NULL,PRIMARY KEY(session,key))STRICT,WITHOUT ROWID;

-- The audit log. `seq` counts from 1 without gaps; `time` is in microseconds since 1970; `guardrails` is a JSON list of those
-- that said more than allow, or an empty text; `body` is the record as JSON; `changes` has the digests of the slices,
-- approvals and approvers that it changed, as JSON; `actions` and `stopped` count the actions up to this record.
CREATE TABLE IF NOT EXISTS audit(seq INTEGER PRIMARY KEY,time INTEGER NOT NULL,session TEXT NOT NULL,kind TEXT NOT NULL,tool TEXT,effect TEXT NOT NULL,guardrails TEXT NOT NULL,prev TEXT NOT NULL,hash TEXT NOT NULL,body TEXT NOT NULL,changes TEXT,actions INTEGER,stopped INTEGER)STRICT;
CREATE INDEX IF NOT EXISTS audit_session ON audit(session);
CREATE INDEX IF NOT EXISTS audit_time ON audit(time);
-- Most records are allowed by every guardrail, and are in neither of these.
CREATE INDEX IF NOT EXISTS audit_effect ON audit(effect)WHERE effect<>'allow';
CREATE INDEX IF NOT EXISTS audit_guardrails ON audit(seq,guardrails)WHERE guardrails<>'';

-- The sources of policies.
CREATE TABLE IF NOT EXISTS policies(revision TEXT PRIMARY KEY,body TEXT NOT NULL)STRICT;

-- What was written stays. REPLACE deletes without the trigger for deletions, so there is one for insertions as well.
-- A condition in the body of a trigger is parsed in half of the time that one in its WHEN takes.
CREATE TRIGGER IF NOT EXISTS audit_next BEFORE INSERT ON audit BEGIN SELECT CASE WHEN NEW.seq<>coalesce(max(seq),0)+1 THEN raise(ABORT,'the audit log is append-only: a record goes to its end')END FROM audit;END;
CREATE TRIGGER IF NOT EXISTS audit_kept BEFORE UPDATE ON audit BEGIN SELECT raise(ABORT,'the audit log is append-only: a record cannot be changed');END;
CREATE TRIGGER IF NOT EXISTS audit_stays BEFORE DELETE ON audit BEGIN SELECT raise(ABORT,'the audit log is append-only: a record cannot be removed');END;

CREATE TRIGGER IF NOT EXISTS policies_new BEFORE INSERT ON policies BEGIN SELECT raise(ABORT,'a policy that has decided cannot be replaced')FROM policies WHERE revision=NEW.revision;END;
CREATE TRIGGER IF NOT EXISTS policies_kept BEFORE UPDATE ON policies BEGIN SELECT raise(ABORT,'a policy that has decided cannot be changed');END;
CREATE TRIGGER IF NOT EXISTS policies_stay BEFORE DELETE ON policies BEGIN SELECT raise(ABORT,'a policy that has decided cannot be removed');END;
