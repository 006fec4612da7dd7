-- 0002_pre_finalize.sql    FIN-01, FIN-04, FIN-19..-21: the persons side of a finalize.
-- A generation is one attempt of one operation. Its row is a tombstone once cancelled: it is never deleted, so that a
-- late registration or step of that attempt finds it. Locks: none, all objects are new. Undo: DROP TABLE each.
SET LOCAL lock_timeout = '2s';

-- Which state may follow which; 'absent' stands for no row. The code holds the same pairs, and a test compares them.
CREATE TABLE finalize_generation_transitions (
  from_state TEXT NOT NULL,
  to_state   TEXT NOT NULL,
  PRIMARY KEY (from_state, to_state)
);
INSERT INTO finalize_generation_transitions (from_state, to_state)
VALUES ('absent', 'active'),
       ('absent', 'cancelled'),
       ('active', 'cancelled'),
       ('active', 'sealed'),
       ('active', 'release_blocked'),
       ('release_blocked', 'active'),  -- a steward lets the missing steps be applied again
       ('release_blocked', 'sealed');  -- a steward drops the extra ones, then it is released

CREATE TABLE finalize_operation_generations (
  operation_id UUID        NOT NULL, -- the reserved application id
  generation   BIGINT      NOT NULL, -- the attempt, from 1
  state        TEXT        NOT NULL,
  digest       BYTEA,                -- keyed digest of the submitted request; NULL for one cancelled before it was known
  basis_date   DATE,                 -- from which every write of the attempt holds
  changed_at   TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(), -- when the state was reached
  PRIMARY KEY (operation_id, generation),
  CONSTRAINT finalize_operation_generations_from_one CHECK (generation >= 1),
  CONSTRAINT finalize_operation_generations_digest   CHECK (octet_length(digest) = 32),
  CONSTRAINT finalize_operation_generations_pinned
    CHECK ((digest IS NULL) = (basis_date IS NULL) AND (digest IS NOT NULL OR state = 'cancelled'))
);

CREATE FUNCTION require_generation_transition() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was TEXT := 'absent';
BEGIN
  IF TG_OP = 'UPDATE' THEN
    was := OLD.state;
    IF (OLD.operation_id, OLD.generation, OLD.digest, OLD.basis_date)
       IS DISTINCT FROM (NEW.operation_id, NEW.generation, NEW.digest, NEW.basis_date) THEN
      RAISE EXCEPTION 'the pins of a generation are never rewritten' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
  END IF;
  IF NOT EXISTS (
       SELECT FROM finalize_generation_transitions WHERE from_state = was AND to_state = NEW.state
     ) THEN
    RAISE EXCEPTION 'a generation does not go from % to %', was, NEW.state
      USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER transition BEFORE INSERT OR UPDATE ON finalize_operation_generations
  FOR EACH ROW EXECUTE FUNCTION require_generation_transition();

-- What a step left behind: written in the transaction that writes its entity and stages its event.
CREATE TABLE finalize_receipts (
  operation_id UUID        NOT NULL,
  generation   BIGINT      NOT NULL,
  step_key     TEXT        NOT NULL, -- "person/0", "household", "member/0", "income/0"
  stable_id    UUID        NOT NULL, -- person_id, household_id or fact_id: it survives corrections
  recorded_at  TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (operation_id, generation, step_key),
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations
);

-- Entities that undoing an attempt left intact; a data steward decides.
CREATE TABLE quarantined_entities (
  quarantine_id  UUID        PRIMARY KEY,
  kind           TEXT        NOT NULL,
  stable_id      UUID        NOT NULL,
  operation_id   UUID        NOT NULL,
  generation     BIGINT      NOT NULL,
  cause          TEXT        NOT NULL,
  quarantined_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  decision       TEXT,
  decided_at     TIMESTAMPTZ,
  UNIQUE (operation_id, generation, stable_id),
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT quarantined_entities_kind     CHECK (kind IN ('person', 'household', 'member', 'income')),
  CONSTRAINT quarantined_entities_cause    CHECK (cause IN ('later_version', 'other_household', 'repeated_failure')),
  CONSTRAINT quarantined_entities_decision CHECK (decision IN ('keep', 'shred')),
  CONSTRAINT quarantined_entities_decided  CHECK ((decision IS NULL) = (decided_at IS NULL))
);

CREATE TRIGGER no_rewrite BEFORE UPDATE ON finalize_receipts
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite();
CREATE TRIGGER no_rewrite BEFORE UPDATE ON quarantined_entities
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('decision', 'decided_at');

CREATE TRIGGER no_delete BEFORE DELETE ON finalize_operation_generations
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON finalize_operation_generations
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_delete BEFORE DELETE ON finalize_receipts
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON finalize_receipts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_delete BEFORE DELETE ON quarantined_entities
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON quarantined_entities
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

GRANT SELECT ON finalize_generation_transitions TO canopy_service;
GRANT SELECT, INSERT ON finalize_operation_generations TO canopy_service;
GRANT UPDATE (state, changed_at) ON finalize_operation_generations TO canopy_service; -- also what FOR SHARE asks for
GRANT SELECT, INSERT ON finalize_receipts TO canopy_service;
GRANT SELECT ON quarantined_entities TO canopy_service;
