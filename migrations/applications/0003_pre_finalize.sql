-- 0003_pre_finalize.sql    FIN-05, FIN-06, FIN-09, FIN-10: the durable side of a submit (ADR-038).
-- finalize_operations holds where the submit of a draft stands and who drives it; finalize_attempts what each attempt
-- pinned. The pairs of statuses that may follow each other are data, equal to those in services/applications/domain/states.py.
-- Lock order of every transaction: application_drafts row, finalize_operations row, outbox.
-- Locks: none, all objects are new. Undo: DROP TABLE finalize_attempts, finalize_operations,
-- finalize_operation_transitions; DROP FUNCTION finalize_operation_guard(), finalize_attempt_guard().
SET LOCAL lock_timeout = '2s';

CREATE TABLE finalize_operation_transitions (
  from_status TEXT NOT NULL, -- 'none' before the row exists
  to_status   TEXT NOT NULL,
  PRIMARY KEY (from_status, to_status)
);
INSERT INTO finalize_operation_transitions (from_status, to_status) VALUES
  ('none',         'in_progress'),  -- claim
  ('in_progress',  'completed'),    -- final commit
  ('in_progress',  'compensating'), -- abort
  ('compensating', 'aborted'),      -- cancel acknowledged
  ('aborted',      'in_progress');  -- submitted again, with the next generation

CREATE TABLE finalize_operations (
  operation_id       UUID        PRIMARY KEY,      -- equals the reserved application id for an initial filing
  application_id     UUID        NOT NULL,
  kind               TEXT        NOT NULL,
  status             TEXT        NOT NULL,
  generation         BIGINT      NOT NULL,         -- the latest attempt, from 1
  holder             UUID,                         -- fresh for every claim: safety. NULL once completed or aborted
  lease_expires_at   TIMESTAMPTZ,                  -- liveness only, on this database's clock
  household_id       UUID,
  completed_at       TIMESTAMPTZ,
  released_at        TIMESTAMPTZ,                  -- persons sealed the generation and let its events go
  release_blocked_at TIMESTAMPTZ,                  -- persons refused for good to release it: a data steward decides
  CONSTRAINT finalize_operations_kind       CHECK (kind IN ('initial', 'supplement', 'renewal', 'change')),
  CONSTRAINT finalize_operations_status     CHECK (status IN ('in_progress', 'compensating', 'completed', 'aborted')),
  CONSTRAINT finalize_operations_generation CHECK (generation >= 1),
  CONSTRAINT finalize_operations_lease      CHECK ((holder IS NULL) = (lease_expires_at IS NULL)),
  CONSTRAINT finalize_operations_driven     CHECK ((holder IS NULL) = (status IN ('completed', 'aborted'))),
  CONSTRAINT finalize_operations_completed  CHECK ((completed_at IS NULL) = (status <> 'completed')),
  CONSTRAINT finalize_operations_household  CHECK ((household_id IS NULL) = (status <> 'completed')),
  CONSTRAINT finalize_operations_released   CHECK (released_at IS NULL OR status = 'completed'),
  CONSTRAINT finalize_operations_blocked    CHECK (release_blocked_at IS NULL OR (status = 'completed' AND released_at IS NULL))
);

-- Durable intents of the release sweeper: completed and not released; being undone and nobody at it.
CREATE INDEX finalize_operations_unreleased ON finalize_operations (completed_at)
  WHERE status = 'completed' AND released_at IS NULL AND release_blocked_at IS NULL;
CREATE INDEX finalize_operations_leased ON finalize_operations (lease_expires_at)
  WHERE status IN ('in_progress', 'compensating');

CREATE TABLE finalize_attempts (
  operation_id   UUID        NOT NULL REFERENCES finalize_operations,
  generation     BIGINT      NOT NULL,
  received_at    TIMESTAMPTZ NOT NULL, -- when the submit arrived; kept also where it came to nothing
  basis_date     DATE        NOT NULL, -- every write of the attempt holds from this day on, whenever it is resumed
  filing_date    DATE        NOT NULL,
  digest         BYTEA       NOT NULL, -- keyed, of the submitted request
  digest_version SMALLINT    NOT NULL,
  digest_kid     TEXT        NOT NULL,
  manifest       TEXT[],               -- text forms of the step keys, in the order of the plan; set at completion
  ended_at       TIMESTAMPTZ,
  outcome        TEXT,
  abort_reason   TEXT,                 -- name of the reason that began the undoing
  PRIMARY KEY (operation_id, generation),
  CONSTRAINT finalize_attempts_digest   CHECK (octet_length(digest) = 32),
  CONSTRAINT finalize_attempts_outcome  CHECK (outcome IN ('completed', 'aborted')),
  CONSTRAINT finalize_attempts_ended    CHECK ((ended_at IS NULL) = (outcome IS NULL)),
  CONSTRAINT finalize_attempts_manifest CHECK ((manifest IS NOT NULL) = (outcome IS NOT DISTINCT FROM 'completed')),
  CONSTRAINT finalize_attempts_reason   CHECK (abort_reason IS NOT NULL OR outcome IS DISTINCT FROM 'aborted')
);

-- A CHECK cannot see the old row. Besides the pairs: what was pinned stays, and only a new submit raises the generation.
CREATE FUNCTION finalize_operation_guard() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  before TEXT := CASE TG_OP WHEN 'INSERT' THEN 'none' ELSE OLD.status END;
BEGIN
  IF before <> NEW.status AND NOT EXISTS (
       SELECT FROM finalize_operation_transitions t WHERE t.from_status = before AND t.to_status = NEW.status) THEN
    RAISE EXCEPTION 'finalize operation: % to % is no transition', before, NEW.status
      USING ERRCODE = 'check_violation', CONSTRAINT = 'finalize_operation_transitions';
  END IF;
  IF TG_OP = 'INSERT' THEN
    IF NEW.generation <> 1 THEN
      RAISE EXCEPTION 'finalize operation: the first generation is 1'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'finalize_operations_generation_step';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.generation <> OLD.generation + (CASE WHEN before = 'aborted' AND NEW.status = 'in_progress' THEN 1 ELSE 0 END) THEN
    RAISE EXCEPTION 'finalize operation: a generation is raised by one, and by a new submit alone'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'finalize_operations_generation_step';
  END IF;
  IF (NEW.operation_id, NEW.application_id) <> (OLD.operation_id, OLD.application_id)
     OR (OLD.status = 'completed' AND (NEW.household_id, NEW.completed_at) <> (OLD.household_id, OLD.completed_at))
     OR (OLD.released_at IS NOT NULL AND NEW.released_at IS DISTINCT FROM OLD.released_at) THEN
    RAISE EXCEPTION 'finalize operation: what is set once does not change'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'finalize_operations_set_once';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER finalize_operation_guard BEFORE INSERT OR UPDATE ON finalize_operations
  FOR EACH ROW EXECUTE FUNCTION finalize_operation_guard();

-- An attempt's pins are out of the service's reach by grants; its end is written once.
CREATE FUNCTION finalize_attempt_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.outcome IS NOT NULL THEN
    RAISE EXCEPTION 'finalize attempt: an attempt that ended does not change'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'finalize_attempts_set_once';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER finalize_attempt_guard BEFORE UPDATE ON finalize_attempts
  FOR EACH ROW EXECUTE FUNCTION finalize_attempt_guard();

-- Rows are evidence: nothing is deleted by the service.
GRANT SELECT ON finalize_operation_transitions TO canopy_service;
GRANT SELECT, INSERT ON finalize_operations, finalize_attempts TO canopy_service;
GRANT UPDATE (status, generation, holder, lease_expires_at, household_id, completed_at, released_at,
              release_blocked_at) ON finalize_operations TO canopy_service;
GRANT UPDATE (manifest, ended_at, outcome, abort_reason) ON finalize_attempts TO canopy_service;
