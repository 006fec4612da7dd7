-- 0004_pre_entities.sql    PER-01, PER-08: the stable identities. What is said of them is in their versions.
-- operation_id and generation name the finalize attempt that brought an entity in. sealed_at is NULL until that attempt
-- is released: until then the entity is found by its id only. Locks: none, all objects are new. Undo: DROP TABLE each.
SET LOCAL lock_timeout = '2s';

CREATE TABLE persons (
  person_id    UUID        PRIMARY KEY,
  operation_id UUID,
  generation   BIGINT,
  created_at   TIMESTAMPTZ NOT NULL,
  sealed_at    TIMESTAMPTZ,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT persons_tagged CHECK ((operation_id IS NULL) = (generation IS NULL)),
  CONSTRAINT persons_sealed CHECK (operation_id IS NOT NULL OR sealed_at IS NOT NULL)
);

CREATE TABLE households (
  household_id UUID        PRIMARY KEY,
  operation_id UUID,
  generation   BIGINT,
  created_at   TIMESTAMPTZ NOT NULL,
  sealed_at    TIMESTAMPTZ,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT households_tagged CHECK ((operation_id IS NULL) = (generation IS NULL)),
  CONSTRAINT households_sealed CHECK (operation_id IS NOT NULL OR sealed_at IS NOT NULL)
);

-- Facts. `position` is the order of recording, which readers keep.
CREATE TABLE members (
  fact_id      UUID        PRIMARY KEY,
  household_id UUID        NOT NULL REFERENCES households,
  person_id    UUID        NOT NULL REFERENCES persons,
  position     BIGINT      NOT NULL GENERATED ALWAYS AS IDENTITY,
  operation_id UUID,
  generation   BIGINT,
  created_at   TIMESTAMPTZ NOT NULL,
  sealed_at    TIMESTAMPTZ,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT members_tagged CHECK ((operation_id IS NULL) = (generation IS NULL)),
  CONSTRAINT members_sealed CHECK (operation_id IS NOT NULL OR sealed_at IS NOT NULL)
);

CREATE TABLE incomes (
  fact_id      UUID        PRIMARY KEY,
  person_id    UUID        NOT NULL REFERENCES persons,
  position     BIGINT      NOT NULL GENERATED ALWAYS AS IDENTITY,
  operation_id UUID,
  generation   BIGINT,
  created_at   TIMESTAMPTZ NOT NULL,
  sealed_at    TIMESTAMPTZ,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT incomes_tagged CHECK ((operation_id IS NULL) = (generation IS NULL)),
  CONSTRAINT incomes_sealed CHECK (operation_id IS NOT NULL OR sealed_at IS NOT NULL)
);

CREATE INDEX members_of_household ON members (household_id);
CREATE INDEX members_of_person ON members (person_id);
CREATE INDEX incomes_of_person ON incomes (person_id);
-- What a release seals.
CREATE INDEX persons_unsealed ON persons (operation_id, generation) WHERE sealed_at IS NULL;
CREATE INDEX households_unsealed ON households (operation_id, generation) WHERE sealed_at IS NULL;
CREATE INDEX members_unsealed ON members (operation_id, generation) WHERE sealed_at IS NULL;
CREATE INDEX incomes_unsealed ON incomes (operation_id, generation) WHERE sealed_at IS NULL;

CREATE TRIGGER no_rewrite BEFORE UPDATE ON persons FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('sealed_at');
CREATE TRIGGER no_rewrite BEFORE UPDATE ON households FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('sealed_at');
CREATE TRIGGER no_rewrite BEFORE UPDATE ON members FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('sealed_at');
CREATE TRIGGER no_rewrite BEFORE UPDATE ON incomes FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('sealed_at');
CREATE TRIGGER no_delete BEFORE DELETE ON persons FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_delete BEFORE DELETE ON households FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_delete BEFORE DELETE ON members FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_delete BEFORE DELETE ON incomes FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON persons FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON households FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON members FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON incomes FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

GRANT SELECT, INSERT ON persons, households, members, incomes TO canopy_service;
GRANT UPDATE (sealed_at) ON persons, households, members, incomes TO canopy_service;
