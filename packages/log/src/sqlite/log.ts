import { randomName, versionOf } from '../names.ts'
import type { Fork, ForkResult } from '../store.ts'
import type { LogFile } from './file.ts'
import { headOf, markAt } from './head.ts'

const CREATE = `
INSERT INTO streams (name, incarnation, floor, floor_mark, version, principal, created, touched, epochs, due, program, ticket)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT (name) DO NOTHING`

const INSERT = `
INSERT OR IGNORE INTO batches (place, first, timestamp, mark, counter, body) VALUES ((?1 << 32) | ?2, ?3, ?4, ?5, ?6, ?7)`

const TRIM_BATCHES = 'DELETE FROM batches WHERE place BETWEEN ?1 << 32 AND (?1 << 32) | ?2 AND place <> (?1 << 32) | ?3'
const TRIM_KEYS = 'DELETE FROM keys WHERE stream = ? AND last <= ? AND keep = 0'

const COPY_BATCHES = `
INSERT INTO batches (place, first, timestamp, mark, body)
SELECT (?1 << 32) | min(place & 0xffffffff, ?3), first, timestamp, mark, body FROM batches
WHERE first <= ?3 AND place BETWEEN ?2 << 32
  AND (SELECT min(place) FROM batches WHERE place BETWEEN (?2 << 32) | ?3 AND (?2 << 32) | 0xffffffff)`
const COPY_KEYS = `
INSERT INTO keys (stream, key, first, last, keep)
SELECT ?1, key, first, min(last, ?3), keep FROM keys WHERE stream = ?2 AND first <= ?3`
const COPY_SNAPSHOTS = `
INSERT INTO snapshots (place, mark, version, body)
SELECT (?1 << 32) | (place & 0xffffffff), mark, version, body FROM snapshots
WHERE place BETWEEN ?2 << 32 AND (?2 << 32) | ?3`
const COPY_BLOBS = 'INSERT INTO blobs (stream, hash, content) SELECT ?1, hash, content FROM blobs WHERE stream = ?2'

const REMOVE_CONTENTS = `
DELETE FROM contents WHERE id IN (SELECT content FROM blobs WHERE stream = ?1)
AND NOT EXISTS (SELECT 1 FROM blobs WHERE content = contents.id AND stream <> ?1)`
const REMOVALS = [
  REMOVE_CONTENTS,
  'DELETE FROM blobs WHERE stream = ?1',
  'DELETE FROM keys WHERE stream = ?1',
  'DELETE FROM snapshots WHERE place BETWEEN ?1 << 32 AND (?1 << 32) | 0xffffffff',
  'DELETE FROM batches WHERE place BETWEEN ?1 << 32 AND (?1 << 32) | 0xffffffff',
  'DELETE FROM streams WHERE id = ?1',
]

/** Makes an empty log with an incarnation of its own; false if there is one already. */
export function create(file: LogFile, now: number, streamId: string, principal: string | null): boolean {
  const incarnation = randomName()
  const version = versionOf(0, incarnation, '0')
  return file.run(CREATE, streamId, incarnation, 0, '0', version, principal, now, now, null, null, '') > 0
}

/** Drops the entries up to `floor` and their keys but the kept ones; tells whether the floor rose. */
export function trim(file: LogFile, _now: number, streamId: string, floor: number): boolean {
  const log = headOf(file, streamId)
  const to = Math.min(floor, log?.head ?? 0)
  if (log === undefined || to <= log.floor) return false
  const mark = markAt(file, log, to) as string
  file.run('UPDATE streams SET floor = ?2, floor_mark = ?3 WHERE id = ?1', log.id, to, mark)
  file.run(TRIM_BATCHES, log.id, to, log.head)
  if (to === log.head) file.run("UPDATE batches SET body = '' WHERE place = (?1 << 32) | ?2", log.id, to)
  file.run(TRIM_KEYS, log.id, to)
  return true
}

/** Makes a log that starts as a copy of another's prefix, whole or not at all. */
export function fork(
  file: LogFile,
  now: number,
  source: string,
  at: number,
  target: string,
  { principal, ticket, closing }: Fork,
): ForkResult {
  const from = headOf(file, source)
  if (from === undefined) return 'absent'
  if (idOf(file, target) !== undefined) return 'exists'
  if (at > from.head || at < from.floor) return 'out-of-range'
  const incarnation = randomName()
  const mark = markAt(file, from, at) as string
  const version = closing
    ? versionOf(at + closing.batch.count, incarnation, closing.nonce)
    : versionOf(at, incarnation, mark)
  const due = ticket.due.at === 'now' ? now : ticket.due.at
  const rest = [version, principal, now, now, due, ticket.due.program, ticket.state] as const
  file.run(CREATE, target, incarnation, from.floor, from.floorMark, ...rest)
  const id = idOf(file, target) as number
  file.run(COPY_BATCHES, id, from.id, at)
  // Where the prefix was trimmed to its end there is no batch to copy, and the log's last batch is its head.
  if (at > 0 && at === from.floor) file.run(INSERT, id, at, at, from.timestamp, mark, null, '')
  if (closing) {
    const { batch, nonce } = closing
    file.run(INSERT, id, at + batch.count, at + 1, Math.max(now, from.timestamp), nonce, null, batch.body)
  }
  for (const sql of [COPY_KEYS, COPY_SNAPSHOTS]) file.run(sql, id, from.id, at)
  file.run(COPY_BLOBS, id, from.id)
  return 'forked'
}

/** Removes all there is of a log, if its ticket has this version where one is given; false if it did not. */
export function remove(file: LogFile, _now: number, streamId: string, ifVersion: string | undefined): boolean {
  const [id, version] = file.row<[number, string]>('SELECT id, version FROM streams WHERE name = ?', streamId) ?? []
  if (id === undefined || (ifVersion !== undefined && ifVersion !== version)) return false
  for (const sql of REMOVALS) file.run(sql, id)
  return true
}

/** Gives every log a new incarnation, and ends all leases and epochs; tells how many logs there are. */
export function restored(file: LogFile): number {
  const sql = `
    UPDATE streams SET incarnation = ? || '-' || id, epoch = NULL, counter = NULL, owner = NULL, until = NULL`
  return file.run(sql, randomName())
}

function idOf(file: LogFile, streamId: string): number | undefined {
  return file.row<[number]>('SELECT id FROM streams WHERE name = ?', streamId)?.[0]
}
