-- The statistics of the records up to `seq`, whose hash is `hash`, in one row. They can be computed again from the log.
CREATE TABLE IF NOT EXISTS figures(id INTEGER PRIMARY KEY,seq INTEGER NOT NULL,hash TEXT NOT NULL,body TEXT NOT NULL)STRICT;
