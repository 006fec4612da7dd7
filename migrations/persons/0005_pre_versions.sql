-- 0005_pre_versions.sql    PER-02, PER-05: what was said of an entity, for which days, and from when until when it was on record.
-- Valid time: `valid`, half-open. Recorded time: recorded_at until superseded_at. A version is never changed: a correction
-- supersedes it and records others. Among the versions on record no day of an entity is covered twice.
-- payload: one protobuf message, sealed under the version's own data key. step_key names the finalize step that wrote it.
-- Locks: none, all objects are new. Undo: DROP TABLE each.
SET LOCAL lock_timeout = '2s';

CREATE TABLE person_versions (
  version_id    UUID        PRIMARY KEY,
  person_id     UUID        NOT NULL REFERENCES persons,
  valid         DATERANGE   NOT NULL,
  recorded_at   TIMESTAMPTZ NOT NULL,
  superseded_at TIMESTAMPTZ,
  dek_id        UUID        NOT NULL UNIQUE REFERENCES redaction_keys,
  payload       BYTEA       NOT NULL,
  operation_id  UUID,
  generation    BIGINT,
  step_key      TEXT,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT person_versions_tagged   CHECK (num_nulls(operation_id, generation, step_key) IN (0, 3)),
  CONSTRAINT person_versions_valid    CHECK (NOT isempty(valid) AND NOT lower_inf(valid) AND lower_inc(valid) AND NOT upper_inc(valid)),
  CONSTRAINT person_versions_recorded CHECK (superseded_at > recorded_at),
  CONSTRAINT person_versions_overlap  EXCLUDE USING gist (person_id WITH =, valid WITH &&) WHERE (superseded_at IS NULL)
);
CREATE INDEX person_versions_by_day ON person_versions (person_id, lower(valid));
CREATE TRIGGER no_rewrite BEFORE UPDATE ON person_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('superseded_at');
CREATE TRIGGER no_delete BEFORE DELETE ON person_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON person_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

CREATE TABLE household_versions (
  version_id    UUID        PRIMARY KEY,
  household_id  UUID        NOT NULL REFERENCES households,
  valid         DATERANGE   NOT NULL,
  recorded_at   TIMESTAMPTZ NOT NULL,
  superseded_at TIMESTAMPTZ,
  dek_id        UUID        NOT NULL UNIQUE REFERENCES redaction_keys,
  payload       BYTEA       NOT NULL,
  operation_id  UUID,
  generation    BIGINT,
  step_key      TEXT,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT household_versions_tagged   CHECK (num_nulls(operation_id, generation, step_key) IN (0, 3)),
  CONSTRAINT household_versions_valid    CHECK (NOT isempty(valid) AND NOT lower_inf(valid) AND lower_inc(valid) AND NOT upper_inc(valid)),
  CONSTRAINT household_versions_recorded CHECK (superseded_at > recorded_at),
  CONSTRAINT household_versions_overlap  EXCLUDE USING gist (household_id WITH =, valid WITH &&) WHERE (superseded_at IS NULL)
);
CREATE INDEX household_versions_by_day ON household_versions (household_id, lower(valid));
CREATE TRIGGER no_rewrite BEFORE UPDATE ON household_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('superseded_at');
CREATE TRIGGER no_delete BEFORE DELETE ON household_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON household_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

CREATE TABLE member_versions (
  version_id    UUID        PRIMARY KEY,
  fact_id       UUID        NOT NULL REFERENCES members,
  valid         DATERANGE   NOT NULL,
  recorded_at   TIMESTAMPTZ NOT NULL,
  superseded_at TIMESTAMPTZ,
  dek_id        UUID        NOT NULL UNIQUE REFERENCES redaction_keys,
  payload       BYTEA       NOT NULL,
  operation_id  UUID,
  generation    BIGINT,
  step_key      TEXT,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT member_versions_tagged   CHECK (num_nulls(operation_id, generation, step_key) IN (0, 3)),
  CONSTRAINT member_versions_valid    CHECK (NOT isempty(valid) AND NOT lower_inf(valid) AND lower_inc(valid) AND NOT upper_inc(valid)),
  CONSTRAINT member_versions_recorded CHECK (superseded_at > recorded_at),
  CONSTRAINT member_versions_overlap  EXCLUDE USING gist (fact_id WITH =, valid WITH &&) WHERE (superseded_at IS NULL)
);
CREATE INDEX member_versions_by_day ON member_versions (fact_id, lower(valid));
CREATE TRIGGER no_rewrite BEFORE UPDATE ON member_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('superseded_at');
CREATE TRIGGER no_delete BEFORE DELETE ON member_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON member_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

CREATE TABLE income_versions (
  version_id    UUID        PRIMARY KEY,
  fact_id       UUID        NOT NULL REFERENCES incomes,
  valid         DATERANGE   NOT NULL,
  recorded_at   TIMESTAMPTZ NOT NULL,
  superseded_at TIMESTAMPTZ,
  dek_id        UUID        NOT NULL UNIQUE REFERENCES redaction_keys,
  payload       BYTEA       NOT NULL,
  operation_id  UUID,
  generation    BIGINT,
  step_key      TEXT,
  FOREIGN KEY (operation_id, generation) REFERENCES finalize_operation_generations,
  CONSTRAINT income_versions_tagged   CHECK (num_nulls(operation_id, generation, step_key) IN (0, 3)),
  CONSTRAINT income_versions_valid    CHECK (NOT isempty(valid) AND NOT lower_inf(valid) AND lower_inc(valid) AND NOT upper_inc(valid)),
  CONSTRAINT income_versions_recorded CHECK (superseded_at > recorded_at),
  CONSTRAINT income_versions_overlap  EXCLUDE USING gist (fact_id WITH =, valid WITH &&) WHERE (superseded_at IS NULL)
);
CREATE INDEX income_versions_by_day ON income_versions (fact_id, lower(valid));
CREATE TRIGGER no_rewrite BEFORE UPDATE ON income_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_rewrite('superseded_at');
CREATE TRIGGER no_delete BEFORE DELETE ON income_versions
  FOR EACH ROW EXECUTE FUNCTION refuse_deletion();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON income_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_deletion();

GRANT SELECT, INSERT ON person_versions, household_versions, member_versions, income_versions TO canopy_service;
GRANT UPDATE (superseded_at) ON person_versions, household_versions, member_versions, income_versions TO canopy_service;
