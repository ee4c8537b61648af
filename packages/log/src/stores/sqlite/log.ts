import type { Fork, ForkResult } from '../../store/log-store.ts'
import { randomName, versionOf } from '../../store/names.ts'
import { headOf, markAt } from './head.ts'
import type { LogFile } from './log-file.ts'
import { OF_LOG } from './schema.ts'

const CREATE = `
INSERT INTO streams (name, incarnation, floor, floor_mark, version, principal, created, touched, epochs, due, program, ticket)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?) ON CONFLICT (name) DO NOTHING`

const INSERT = `
INSERT OR IGNORE INTO batches (place, first, timestamp, mark, body) VALUES ((? << 32) | ?, ?, ?, ?, ?)`

const TRIM_BATCHES = 'DELETE FROM batches WHERE place BETWEEN ? << 32 AND (? << 32) | ? AND place <> (? << 32) | ?'
const TRIM_KEYS = 'DELETE FROM keys WHERE stream = ? AND last <= ? AND keep = 0'

const COPY_BATCHES = `
WITH params (source, target, at) AS (VALUES (?, ?, ?))
INSERT INTO batches (place, first, timestamp, mark, body)
SELECT (target << 32) | min(place & 0xffffffff, at), first, timestamp, mark, body FROM params, batches
WHERE first <= at AND place BETWEEN source << 32
  AND (SELECT min(place) FROM batches WHERE place BETWEEN (source << 32) | at AND (source << 32) | 0xffffffff)`
const COPY_KEYS = `
WITH params (source, target, at) AS (VALUES (?, ?, ?))
INSERT INTO keys (stream, key, first, last, keep)
SELECT target, key, first, min(last, at), keep FROM params, keys WHERE stream = source AND first <= at`
const COPY_SNAPSHOTS = `
WITH params (source, target, at) AS (VALUES (?, ?, ?))
INSERT INTO snapshots (place, mark, version, body)
SELECT (target << 32) | (place & 0xffffffff), mark, version, body FROM params, snapshots
WHERE place BETWEEN source << 32 AND (source << 32) | at`
const COPY_BLOBS = 'INSERT INTO blobs (stream, hash, content) SELECT ?, hash, content FROM blobs WHERE stream = ?'

const REMOVE_CONTENTS = `
DELETE FROM contents WHERE id IN (SELECT content FROM blobs WHERE stream = ?)
AND NOT EXISTS (SELECT 1 FROM blobs WHERE content = contents.id AND stream <> ?)`

/** Creates an empty log with a new incarnation. Returns false if it exists. */
export function create(file: LogFile, now: number, streamId: string, principal: string | null): boolean {
  const incarnation = randomName()
  const version = versionOf(0, incarnation, '0')
  return file.run(CREATE, streamId, incarnation, 0, '0', version, principal, now, now, null, null, '') > 0
}

/**
 * Drops the entries up to `floor` and their keys except the kept ones, if the ticket has the version `ifVersion`
 * where given.
 */
export function trim(
  file: LogFile,
  _now: number,
  streamId: string,
  floor: number,
  ifVersion: string | undefined,
): 'rose' | 'stays' | 'refused' {
  const log = headOf(file, streamId)
  if (log === undefined || (ifVersion !== undefined && ifVersion !== log.version)) return 'refused'
  const to = Math.min(floor, log.head)
  if (to <= log.floor) return 'stays'
  const mark = markAt(file, log, to) as string
  const version = `${versionOf(log.head, log.incarnation, log.mark)}~${to}`
  file.run('UPDATE streams SET floor = ?, floor_mark = ?, version = ? WHERE id = ?', to, mark, version, log.id)
  file.run(TRIM_BATCHES, log.id, log.id, to, log.id, log.head)
  if (to === log.head) file.run("UPDATE batches SET body = '' WHERE place = (? << 32) | ?", log.id, to)
  file.run(TRIM_KEYS, log.id, to)
  return 'rose'
}

/** Creates a log that starts as a copy of another's prefix. */
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
  file.run(COPY_BATCHES, from.id, id, at)
  // If the whole prefix was trimmed there is no batch to copy, but the log needs a last batch as its head.
  if (at > 0 && at === from.floor) file.run(INSERT, id, at, at, from.timestamp, mark, '')
  if (closing) {
    const { batch, nonce } = closing
    file.run(INSERT, id, at + batch.count, at + 1, Math.max(now, from.timestamp), nonce, batch.body)
  }
  for (const sql of [COPY_KEYS, COPY_SNAPSHOTS]) file.run(sql, from.id, id, at)
  file.run(COPY_BLOBS, id, from.id)
  return 'forked'
}

/** Removes a log, if its ticket has the version `ifVersion` where given. Returns whether it did. */
export function remove(file: LogFile, _now: number, streamId: string, ifVersion: string | undefined): boolean {
  const [id, version] = file.row<[number, string]>('SELECT id, version FROM streams WHERE name = ?', streamId) ?? []
  if (id === undefined || (ifVersion !== undefined && ifVersion !== version)) return false
  file.run(REMOVE_CONTENTS, id, id)
  for (const table of ['blobs', 'keys']) file.run(`DELETE FROM ${table} WHERE stream = ?`, id)
  for (const table of ['snapshots', 'batches']) file.run(`DELETE FROM ${table} WHERE ${OF_LOG}`, id, id)
  file.run('DELETE FROM streams WHERE id = ?', id)
  return true
}

/** Gives every log a new incarnation, and ends all leases and epochs. Returns the number of logs. */
export function restored(file: LogFile): number {
  const sql = `
    UPDATE streams SET incarnation = ? || '-' || id, epoch = NULL, counter = NULL, owner = NULL, until = NULL`
  return file.run(sql, randomName())
}

function idOf(file: LogFile, streamId: string): number | undefined {
  return file.row<[number]>('SELECT id FROM streams WHERE name = ?', streamId)?.[0]
}
