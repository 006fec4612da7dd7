-- 0001_pre_drafts.sql    DRF-01, DRF-02, DRF-04, DRF-09, DRF-11: encrypted drafts and the credentials that open them.
-- A draft is content that this database cannot read, under an application id that no application has yet. The code and
-- the verifier of its passcode stand in tables of their own, since they outlive it: submitting deletes the draft and
-- keeps them. Hence no foreign key joins the three, and none points to applications (ADR-026): who deletes a draft says
-- what goes with it, in explicit statements.
-- Lock order of every transaction: application_drafts row first.
-- Locks: none, all objects are new. Undo: DROP TABLE passcode_hashes, application_id_codes, application_drafts.
SET LOCAL lock_timeout = '2s';

CREATE TABLE application_drafts (
  application_id    UUID        PRIMARY KEY,            -- reserved for the application that the draft may become
  request_id        UUID        UNIQUE,                 -- of the call that opened it; NULL once a later call took it over
  kdf_id            SMALLINT    NOT NULL,               -- how the applicant's device derives the master key
  kdf_memory_kib    INTEGER     NOT NULL,
  kdf_passes        SMALLINT    NOT NULL,
  kdf_salt          BYTEA       NOT NULL,               -- no secret; never the salt of the login verifier
  enc_version       SMALLINT    NOT NULL,
  server_share      BYTEA,                              -- key share of enc_version 2, encrypted under the pepper
  share_kid         TEXT,                               -- key of the pepper ring that encrypts it
  revision          BIGINT      NOT NULL DEFAULT 0,     -- saves so far
  save_id           UUID,                               -- of the last save,
  save_digest       BYTEA,                              -- and SHA-256 of what it sent: a repeat is answered, not stored
  schema_version    INTEGER,
  padded_len        INTEGER,
  nonce             BYTEA,
  ciphertext        BYTEA,
  wrapped_key_nonce BYTEA,
  wrapped_key       BYTEA,
  created_at        TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  last_saved_at     TIMESTAMPTZ,
  expires_at        TIMESTAMPTZ NOT NULL,               -- 30 days after the last save, or after the start
  CONSTRAINT application_drafts_kdf        CHECK (kdf_id = 1 AND kdf_memory_kib >= 32768
                                                  AND kdf_memory_kib::bigint * kdf_passes >= 196608
                                                  AND octet_length(kdf_salt) = 16),
  CONSTRAINT application_drafts_encryption CHECK (enc_version IN (1, 2)),
  CONSTRAINT application_drafts_share      CHECK ((enc_version = 2) = (server_share IS NOT NULL)
                                                  AND (server_share IS NULL) = (share_kid IS NULL)),
  CONSTRAINT application_drafts_saved      CHECK (num_nonnulls(save_id, save_digest, schema_version, padded_len, nonce,
                                                               ciphertext, wrapped_key_nonce, wrapped_key, last_saved_at)
                                                  = CASE WHEN revision = 0 THEN 0 ELSE 9 END),
  CONSTRAINT application_drafts_revision   CHECK (revision >= 0),
  CONSTRAINT application_drafts_digest     CHECK (octet_length(save_digest) = 32),
  CONSTRAINT application_drafts_padding    CHECK (padded_len BETWEEN 4096 AND 262144
                                                  AND padded_len % CASE WHEN padded_len <= 65536 THEN 4096 ELSE 16384 END = 0
                                                  AND octet_length(ciphertext) = padded_len + 16),
  CONSTRAINT application_drafts_nonces     CHECK (octet_length(nonce) = 24 AND octet_length(wrapped_key_nonce) = 24
                                                  AND octet_length(wrapped_key) = 48)
);
ALTER TABLE application_drafts ALTER COLUMN ciphertext SET STORAGE EXTERNAL; -- ciphertext does not compress

CREATE INDEX application_drafts_expires_at ON application_drafts (expires_at);
CREATE INDEX application_drafts_share_kid ON application_drafts (share_kid) WHERE share_kid IS NOT NULL;

CREATE TABLE application_id_codes (
  application_id UUID PRIMARY KEY,
  code           TEXT NOT NULL UNIQUE,
  CONSTRAINT application_id_codes_code CHECK (code ~ '^HH-[0-9a-f]{8}$')
);

CREATE TABLE passcode_hashes (
  application_id   UUID     PRIMARY KEY,
  salt             BYTEA    NOT NULL,
  memory_kib       INTEGER  NOT NULL,
  passes           SMALLINT NOT NULL,
  verifier         BYTEA    NOT NULL,           -- Argon2id of the passcode, encrypted under the pepper
  pepper_kid       TEXT     NOT NULL,           -- key of the pepper ring that encrypts it
  credential_epoch BIGINT   NOT NULL DEFAULT 1, -- sessions of an older one are void
  CONSTRAINT passcode_hashes_salt  CHECK (octet_length(salt) = 16),
  CONSTRAINT passcode_hashes_cost  CHECK (memory_kib >= 32768 AND memory_kib::bigint * passes >= 196608),
  CONSTRAINT passcode_hashes_epoch CHECK (credential_epoch >= 1)
);
CREATE INDEX passcode_hashes_pepper_kid ON passcode_hashes (pepper_kid);

-- None of the three is evidence: a draft that expires or is submitted goes. What a draft was opened with does not change.
GRANT SELECT, INSERT, DELETE ON application_drafts, application_id_codes, passcode_hashes TO canopy_service;
GRANT UPDATE (request_id, server_share, share_kid, revision, save_id, save_digest, schema_version, padded_len, nonce,
              ciphertext, wrapped_key_nonce, wrapped_key, last_saved_at, expires_at) ON application_drafts TO canopy_service;
GRANT UPDATE (verifier, pepper_kid) ON passcode_hashes TO canopy_service;
