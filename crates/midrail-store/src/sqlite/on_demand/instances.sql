-- The running instances of the service, which renew their row as long as they live: the revision of the policy that one
-- enforces, the address where it listens, and microseconds since 1970 by the clock of the database.
CREATE TABLE IF NOT EXISTS instances(id TEXT PRIMARY KEY,revision TEXT NOT NULL,address TEXT NOT NULL,started INTEGER NOT NULL,seen INTEGER NOT NULL)STRICT,WITHOUT ROWID;
