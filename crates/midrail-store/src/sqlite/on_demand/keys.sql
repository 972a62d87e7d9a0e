-- The keys that have signed, in the order of their first signature, and the signed records.
CREATE TABLE IF NOT EXISTS keys(id TEXT PRIMARY KEY,public TEXT NOT NULL)STRICT;
CREATE TABLE IF NOT EXISTS checkpoints(seq INTEGER PRIMARY KEY,hash TEXT NOT NULL,time TEXT NOT NULL,key TEXT NOT NULL,signature TEXT NOT NULL)STRICT;
CREATE TRIGGER IF NOT EXISTS keys_new BEFORE INSERT ON keys BEGIN SELECT raise(ABORT,'a public key cannot be replaced')FROM keys WHERE id=NEW.id;END;
CREATE TRIGGER IF NOT EXISTS keys_kept BEFORE UPDATE ON keys BEGIN SELECT raise(ABORT,'a public key cannot be changed');END;
CREATE TRIGGER IF NOT EXISTS keys_stay BEFORE DELETE ON keys BEGIN SELECT raise(ABORT,'a public key cannot be removed');END;
CREATE TRIGGER IF NOT EXISTS checkpoints_new BEFORE INSERT ON checkpoints BEGIN SELECT raise(ABORT,'a checkpoint cannot be replaced')FROM checkpoints WHERE seq=NEW.seq;END;
CREATE TRIGGER IF NOT EXISTS checkpoints_kept BEFORE UPDATE ON checkpoints BEGIN SELECT raise(ABORT,'a checkpoint cannot be changed');END;
CREATE TRIGGER IF NOT EXISTS checkpoints_stay BEFORE DELETE ON checkpoints BEGIN SELECT raise(ABORT,'a checkpoint cannot be removed');END;
