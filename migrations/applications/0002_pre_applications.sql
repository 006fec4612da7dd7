-- 0002_pre_applications.sql    APP-02, DRF-06, FIN-08: what was filed, and what becomes of each program for each person.
-- No status is a draft's: a draft is no application. What people said is with the persons service; the rest of a filing
-- (contacts, signature, consents) is one encrypted payload under a data key of its own.
-- Enum columns hold the contract's value names without their prefix, in lower case.
-- Locks: none but on the credential tables, which are empty. Undo: DROP TRIGGER credentials_outlive_draft ON
-- application_id_codes, passcode_hashes; DROP TABLE application_determinations, applications;
-- DROP FUNCTION applications_refuse_removal(), refuse_credentials_of_application().
SET LOCAL lock_timeout = '2s';

CREATE TABLE applications (
  application_id     UUID        PRIMARY KEY,              -- the id that was reserved for the draft
  kind               TEXT        NOT NULL,                 -- a supplement adds to an application and is none
  status             TEXT        NOT NULL,
  household_id       UUID        NOT NULL,                 -- ids of the persons service
  submitted_by       UUID        NOT NULL,
  programs_requested TEXT[]      NOT NULL,                 -- the programs of its determinations
  submission_channel TEXT        NOT NULL,
  confidentiality    TEXT        NOT NULL,
  recovery_locked    BOOLEAN     NOT NULL DEFAULT false,   -- self-serve recovery waits for a worker
  received_at        TIMESTAMPTZ NOT NULL,
  filing_date        DATE        NOT NULL,
  basis_date         DATE        NOT NULL,
  dek_id             UUID        NOT NULL UNIQUE,          -- data key of `details`,
  wrapped_dek        BYTEA       NOT NULL,                 -- wrapped
  kek_kid            TEXT        NOT NULL,                 -- under this key of the records ring
  details            BYTEA       NOT NULL,
  created_at         TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  CONSTRAINT applications_kind            CHECK (kind IN ('initial', 'renewal', 'change')),
  CONSTRAINT applications_status          CHECK (status IN ('submitted', 'under_review', 'decided', 'withdrawn')),
  CONSTRAINT applications_programs        CHECK (programs_requested <@ ARRAY['snap', 'tanf', 'medicaid', 'chip', 'child_care']
                                                 AND cardinality(programs_requested) > 0),
  CONSTRAINT applications_channel         CHECK (submission_channel IN ('portal', 'kiosk', 'phone', 'paper', 'in_person')),
  CONSTRAINT applications_confidentiality CHECK (confidentiality IN ('standard', 'confidential', 'address_confidential', 'both'))
);
CREATE INDEX applications_household_id ON applications (household_id);

CREATE TABLE application_determinations (
  application_id UUID NOT NULL REFERENCES applications,
  person_id      UUID NOT NULL,
  program        TEXT NOT NULL,
  state          TEXT NOT NULL DEFAULT 'pending',
  decided_on     DATE,
  reason         TEXT,
  effective_from DATE,
  notice_date    DATE,
  PRIMARY KEY (application_id, person_id, program),
  CONSTRAINT application_determinations_program CHECK (program IN ('snap', 'tanf', 'medicaid', 'chip', 'child_care')),
  CONSTRAINT application_determinations_state   CHECK (state IN ('pending', 'approved', 'denied', 'withdrawn')),
  CONSTRAINT application_determinations_decided CHECK ((state = 'pending') = (decided_on IS NULL)),
  CONSTRAINT application_determinations_benefit CHECK (effective_from IS NULL OR state = 'approved')
);

-- What was filed stays, whoever asks.
CREATE FUNCTION applications_refuse_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never removed', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END
$$;
CREATE TRIGGER refuse_delete BEFORE DELETE ON applications
  FOR EACH ROW EXECUTE FUNCTION applications_refuse_removal();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON applications
  FOR EACH STATEMENT EXECUTE FUNCTION applications_refuse_removal();
CREATE TRIGGER refuse_delete BEFORE DELETE ON application_determinations
  FOR EACH ROW EXECUTE FUNCTION applications_refuse_removal();
CREATE TRIGGER refuse_truncate BEFORE TRUNCATE ON application_determinations
  FOR EACH STATEMENT EXECUTE FUNCTION applications_refuse_removal();

-- The credentials of a draft become the login of its application: they do not go with the draft then (DRF-05).
CREATE FUNCTION refuse_credentials_of_application() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM applications WHERE application_id = OLD.application_id) THEN
    RAISE EXCEPTION 'credentials of an application are not removed' USING ERRCODE = 'restrict_violation';
  END IF;
  RETURN OLD;
END
$$;
CREATE TRIGGER credentials_outlive_draft BEFORE DELETE ON application_id_codes
  FOR EACH ROW EXECUTE FUNCTION refuse_credentials_of_application();
CREATE TRIGGER credentials_outlive_draft BEFORE DELETE ON passcode_hashes
  FOR EACH ROW EXECUTE FUNCTION refuse_credentials_of_application();

-- Rows are evidence: written once by the final commit of a submit.
GRANT SELECT, INSERT ON applications, application_determinations TO canopy_service;
