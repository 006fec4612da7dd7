-- 0003_pre_redaction_keys.sql    PER-05..-07: the key of each version, stored wrapped, and its destruction.
-- Shredding a key is the only way in which personal data goes: the row stays, its key is gone for good.
-- Locks: none, all objects are new. Undo: DROP TABLE redaction_keys; DROP FUNCTION require_shred().
SET LOCAL lock_timeout = '2s';

CREATE TABLE redaction_keys (
  dek_id      UUID        PRIMARY KEY,
  kid         TEXT        NOT NULL, -- of the key of the key ring that wrapped it
  wrapped_key BYTEA,                -- NULL once shredded
  minted_at   TIMESTAMPTZ NOT NULL,
  shredded_at TIMESTAMPTZ,
  CONSTRAINT redaction_keys_shredded CHECK ((wrapped_key IS NULL) = (shredded_at IS NOT NULL))
);

-- One way: the only change a key can see is its shred, and a shredded key sees none.
CREATE FUNCTION require_shred() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.shredded_at IS NOT NULL
     OR NEW.shredded_at IS NULL
     OR (OLD.dek_id, OLD.kid, OLD.minted_at) IS DISTINCT FROM (NEW.dek_id, NEW.kid, NEW.minted_at) THEN
    RAISE EXCEPTION 'a data key is shredded once and never changed otherwise'
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER one_way BEFORE UPDATE ON redaction_keys
  FOR EACH ROW EXECUTE FUNCTION require_shred();
CREATE TRIGGER no_delete BEFORE DELETE ON redaction_keys
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON redaction_keys
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

GRANT SELECT, INSERT ON redaction_keys TO canopy_service;
GRANT UPDATE (wrapped_key, shredded_at) ON redaction_keys TO canopy_service;
