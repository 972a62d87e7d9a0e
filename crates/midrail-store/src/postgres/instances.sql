-- The running instances of the service, which renew their row as long as they live.

CREATE TABLE instances (
  project  INTEGER NOT NULL,
  id       TEXT COLLATE "C" NOT NULL,
  revision TEXT NOT NULL,   -- of the policy that the instance enforces
  address  TEXT NOT NULL,   -- where it listens
  started  BIGINT NOT NULL, -- microseconds since 1970, as is the next
  seen     BIGINT NOT NULL, -- by the clock of the database
  PRIMARY KEY (project, id)
);
