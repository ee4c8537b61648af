// The tables. A batch is one row. Its primary key `place` has the stream's number in the upper half and the sequence
// of its last entry in the lower half, so that the batches of a log lie together, in order, without another index.
// The last batch of a log is its head: a writer's append is one insert and changes no other row. So the last row
// stays when its entries are trimmed, with an empty body.

import type { DatabaseSync } from 'node:sqlite'
import { LogError } from '../../store/log-error.ts'
import { isFull } from './failure.ts'

/** The largest sequence that fits into a place. */
export const MAX_SEQUENCE = 0xffff_ffff

/**
 * The places of a log; takes its number twice. Parameters are never numbered: Node 22 does not bind numbered ones in
 * order.
 */
export const OF_LOG = 'place BETWEEN ? << 32 AND (? << 32) | 0xffffffff'

/** Identifies a file of logs: "MILR". */
const APPLICATION_ID = 0x4d494c52
const VERSION = 1

const TABLES = `
CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  incarnation TEXT NOT NULL,
  floor INTEGER NOT NULL,
  floor_mark TEXT NOT NULL,
  version TEXT NOT NULL,
  principal TEXT,
  created INTEGER NOT NULL,
  touched INTEGER NOT NULL,
  epochs INTEGER NOT NULL,
  epoch TEXT,
  -- The latest append of the epoch, if it is not the log's last batch.
  counter INTEGER,
  counter_first INTEGER,
  counter_last INTEGER,
  owner TEXT,
  until INTEGER,
  -- The lease's duration, if a claim or a renewal of this epoch wrote it.
  ttl INTEGER,
  ttl_epoch TEXT,
  due INTEGER,
  program TEXT,
  wake INTEGER GENERATED ALWAYS AS (max(due, coalesce(until, due))) VIRTUAL,
  ticket TEXT NOT NULL
);
CREATE INDEX streams_due ON streams (program, wake) WHERE wake IS NOT NULL;
CREATE INDEX streams_list ON streams (principal, touched DESC, name);
CREATE INDEX streams_touched ON streams (touched);

CREATE TABLE batches (
  place INTEGER PRIMARY KEY,
  first INTEGER NOT NULL,
  timestamp INTEGER NOT NULL,
  mark TEXT NOT NULL,
  counter INTEGER,
  body TEXT NOT NULL
);

CREATE TABLE keys (
  stream INTEGER NOT NULL,
  key TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  keep INTEGER NOT NULL,
  PRIMARY KEY (stream, key)
) WITHOUT ROWID;

CREATE TABLE snapshots (
  place INTEGER PRIMARY KEY,
  mark TEXT NOT NULL,
  version INTEGER NOT NULL,
  body TEXT NOT NULL
);

-- A fork shares the contents of its blobs with its source.
CREATE TABLE blobs (
  stream INTEGER NOT NULL,
  hash TEXT NOT NULL,
  content INTEGER NOT NULL,
  PRIMARY KEY (stream, hash)
) WITHOUT ROWID;
CREATE INDEX blobs_content ON blobs (content);
CREATE TABLE contents (
  id INTEGER PRIMARY KEY,
  data BLOB NOT NULL
);

PRAGMA application_id = ${APPLICATION_ID};
PRAGMA user_version = ${VERSION};
`

/** Rejects a file that is not a file of logs of this version or empty. */
export function checkSchema(db: DatabaseSync): 'current' | 'empty' {
  const id = pragma(db, 'application_id')
  const version = pragma(db, 'user_version')
  if (id === APPLICATION_ID && version === VERSION) return 'current'
  if (id === APPLICATION_ID && version > VERSION) {
    const message = `expected logs of version ${VERSION} or older, found version ${version}: upgrade @millrace/log`
    throw new LogError('unavailable', message)
  }
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number }
  if (id === 0 && version === 0 && tables === 0) return 'empty'
  throw new LogError(
    'unavailable',
    'expected a file of logs or an empty file, found the database of another application: use a separate file for the logs',
  )
}

/** Creates the tables once, also when several processes open an empty file. */
export function createSchema(db: DatabaseSync): void {
  db.exec('BEGIN EXCLUSIVE')
  try {
    if (checkSchema(db) === 'empty') db.exec(TABLES)
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/**
 * Adds the columns that files of earlier releases lack. It is no new version of the schema: earlier releases can write such a
 * file too. They leave the columns as they are, so a duration counts only with the epoch beside it.
 */
export function addMissingColumns(db: DatabaseSync): void {
  const isMissing = () =>
    db.prepare("SELECT 1 FROM pragma_table_info('streams') WHERE name = 'ttl'").get() === undefined
  if (!isMissing()) return
  db.exec('BEGIN EXCLUSIVE')
  try {
    if (isMissing())
      db.exec('ALTER TABLE streams ADD COLUMN ttl INTEGER; ALTER TABLE streams ADD COLUMN ttl_epoch TEXT')
    db.exec('COMMIT')
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK')
    throw error
  }
}

/**
 * Adds the index that files of earlier releases lack. It is no new version of the schema: earlier releases can write
 * such a file too, and SQLite keeps the index up to date. A full file stays without it: `listOldest` then reads all
 * logs for a page, and every other call works as before.
 */
export function addMissingIndex(db: DatabaseSync): void {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'streams_touched'").get() !== undefined) return
  try {
    db.exec('CREATE INDEX IF NOT EXISTS streams_touched ON streams (touched)')
  } catch (error) {
    if (!isFull(error)) throw error
  }
}

function pragma(db: DatabaseSync, name: string): number {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0] as number
}
