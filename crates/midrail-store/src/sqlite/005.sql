-- The running instances of the service, which renew their row as long as they live.

CREATE TABLE instances (
  id       TEXT PRIMARY KEY,
  revision TEXT NOT NULL,    -- of the policy that the instance enforces
  address  TEXT NOT NULL,    -- where it listens
  started  INTEGER NOT NULL, -- microseconds since 1970, as is the next
  seen     INTEGER NOT NULL  -- by the clock of the database
) STRICT, WITHOUT ROWID;
