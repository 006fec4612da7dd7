-- 0001_pre_append_only.sql    FIN-17, PER-02: what is recorded stays recorded, whoever asks.
-- The service role has no right to delete in the first place; these triggers also stop the owner of the tables.
-- Locks: none, all objects are new. Undo: DROP FUNCTION each; DROP EXTENSION btree_gist.
SET LOCAL lock_timeout = '2s';

CREATE EXTENSION IF NOT EXISTS btree_gist; -- equality of ids inside an exclusion constraint

-- For BEFORE DELETE (row) and BEFORE TRUNCATE (statement).
CREATE FUNCTION refuse_deletion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never deleted', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
END
$$;

-- For BEFORE UPDATE (row). Arguments: the columns that may be set, each from NULL and once; all others stay.
CREATE FUNCTION refuse_rewrite() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  settable TEXT[] := coalesce(TG_ARGV::text[], '{}');
  was JSONB := to_jsonb(OLD);
  settable_column TEXT;
BEGIN
  IF was - settable IS DISTINCT FROM to_jsonb(NEW) - settable THEN
    RAISE EXCEPTION 'rows of % are never rewritten', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  FOREACH settable_column IN ARRAY settable LOOP
    IF was ->> settable_column IS NOT NULL THEN
      RAISE EXCEPTION 'column % of % is set once', settable_column, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END LOOP;
  RETURN NEW;
END
$$;

-- Whether a period covers a day. Written over its bounds, not as `valid @> day`, so that a btree on lower(valid) serves.
CREATE FUNCTION holds_on(valid DATERANGE, day DATE) RETURNS BOOLEAN LANGUAGE sql IMMUTABLE AS
  'SELECT lower(valid) <= day AND coalesce(upper(valid) > day, true)';

-- Whether a version was on record at an instant; an instant of NULL asks for what is on record now: what no finite
-- instant ended. It never says `superseded_at IS NULL`, which would invite the planner to descend the index of the
-- exclusion constraint; a GiST descent by id costs several times one of the btree.
CREATE FUNCTION on_record(recorded_at TIMESTAMPTZ, superseded_at TIMESTAMPTZ, instant TIMESTAMPTZ) RETURNS BOOLEAN
  LANGUAGE sql IMMUTABLE AS
  'SELECT recorded_at <= coalesce(instant, ''infinity'')
      AND coalesce(superseded_at, ''infinity'') > coalesce(instant, ''290000-01-01 00:00:00+00'')';
