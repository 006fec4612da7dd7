-- 0001_pre_outbox.sql    MSH-12, FIN-13: an event is staged in the transaction that causes it and published from here.
-- One line of migrations for every service's database. `position` is the order of release, not of staging: a held row
-- (hold_* set) has none, gets one when its finalize attempt is released, and never if the attempt is dropped.
-- Nothing reads this table past a remembered position: sequence order is not commit order, and a released row is late.
-- Locks: none, all objects are new. Undo: DROP VIEW outbox_due; DROP TABLE event_outbox, outbox_shards;
-- DROP SEQUENCE event_outbox_position.
SET LOCAL lock_timeout = '2s';

CREATE SEQUENCE event_outbox_position AS BIGINT;

CREATE TABLE event_outbox (
  event_id          UUID        PRIMARY KEY,
  stage_number      BIGINT      GENERATED ALWAYS AS IDENTITY,
  position          BIGINT,               -- order within a shard and a subject; NULL while held or dropped
  shard             SMALLINT    NOT NULL, -- blake2b(subject) mod 16: all events of a subject are in one shard
  subject           TEXT        NOT NULL, -- kind and id of the aggregate, nothing personal
  type              TEXT        NOT NULL,
  envelope          BYTEA       NOT NULL, -- canopy.events.v1.Event without source and time, which the drainer fills in
  hold_operation_id UUID,
  hold_generation   BIGINT,
  staged_at         TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  released_at       TIMESTAMPTZ,          -- set on rows that were held
  dropped_at        TIMESTAMPTZ,          -- never published: the finalize attempt was compensated
  published_at      TIMESTAMPTZ,          -- the bus has confirmed
  attempts          INTEGER     NOT NULL DEFAULT 0, -- refusals by the bus; an outage of the bus is not one
  next_attempt_at   TIMESTAMPTZ,
  parked_at         TIMESTAMPTZ,          -- refused too often; later events of the same subject wait behind it
  park_reason       TEXT,
  CONSTRAINT event_outbox_shard     CHECK (shard BETWEEN 0 AND 15),
  CONSTRAINT event_outbox_hold_pair CHECK ((hold_operation_id IS NULL) = (hold_generation IS NULL)),
  CONSTRAINT event_outbox_placed    CHECK ((position IS NULL) = (hold_operation_id IS NOT NULL)),
  CONSTRAINT event_outbox_held      CHECK (hold_operation_id IS NULL OR (published_at IS NULL AND parked_at IS NULL)),
  CONSTRAINT event_outbox_published CHECK (published_at IS NULL OR (dropped_at IS NULL AND parked_at IS NULL)),
  CONSTRAINT event_outbox_parked    CHECK ((parked_at IS NULL) = (park_reason IS NULL))
);

-- The drain: due rows of one shard in order.
CREATE INDEX event_outbox_due ON event_outbox (shard, position)
  WHERE published_at IS NULL AND hold_operation_id IS NULL AND parked_at IS NULL AND dropped_at IS NULL;
-- What a later event of the same subject waits behind.
CREATE INDEX event_outbox_stuck ON event_outbox (subject, position)
  WHERE attempts > 0 AND published_at IS NULL AND dropped_at IS NULL;
-- Release and drop of one finalize attempt.
CREATE INDEX event_outbox_held ON event_outbox (hold_operation_id, hold_generation)
  WHERE hold_operation_id IS NOT NULL AND dropped_at IS NULL;

-- The one definition of "to be published now". A failed event holds back the later ones of its own subject only.
CREATE VIEW outbox_due AS
SELECT e.event_id, e.shard, e.position, e.subject, e.type, e.envelope, e.staged_at
  FROM event_outbox e
 WHERE e.published_at IS NULL
   AND e.hold_operation_id IS NULL
   AND e.parked_at IS NULL
   AND e.dropped_at IS NULL
   AND (e.next_attempt_at IS NULL OR e.next_attempt_at <= clock_timestamp())
   AND NOT EXISTS (
         SELECT
           FROM event_outbox earlier
          WHERE earlier.subject = e.subject
            AND earlier.position < e.position
            AND earlier.attempts > 0
            AND earlier.published_at IS NULL
            AND earlier.dropped_at IS NULL
            AND (earlier.parked_at IS NOT NULL OR earlier.next_attempt_at > clock_timestamp())
       );

-- Who drains a shard. The lease is liveness only; safety is `holder`, fresh for every claim and compared by every write.
CREATE TABLE outbox_shards (
  shard       SMALLINT PRIMARY KEY,
  holder      UUID,
  lease_until TIMESTAMPTZ,
  CONSTRAINT outbox_shards_range CHECK (shard BETWEEN 0 AND 15),
  CONSTRAINT outbox_shards_lease CHECK (holder IS NULL OR lease_until IS NOT NULL)
);
INSERT INTO outbox_shards (shard) SELECT generate_series(0, 15);

-- Rows are evidence: staged once, never changed in content, never deleted by the service.
GRANT SELECT, INSERT ON event_outbox TO canopy_service;
GRANT UPDATE (position, hold_operation_id, hold_generation, released_at, dropped_at, published_at, attempts,
              next_attempt_at, parked_at, park_reason) ON event_outbox TO canopy_service;
GRANT SELECT ON outbox_due, outbox_shards TO canopy_service;
GRANT UPDATE (holder, lease_until) ON outbox_shards TO canopy_service;
GRANT USAGE ON SEQUENCE event_outbox_position TO canopy_service;
