import type { StoredSnapshot } from '../../store/log-store.ts'
import type { LogFile } from './log-file.ts'
import { MAX_SEQUENCE } from './schema.ts'

const PUT = `
INSERT OR REPLACE INTO snapshots (place, mark, version, body)
SELECT (id << 32) | ?, ?, ?, ? FROM streams WHERE name = ?`
const PRUNE = `
WITH log AS (SELECT id, floor FROM streams WHERE name = ?)
DELETE FROM snapshots WHERE place IN (
  SELECT place FROM snapshots, log
  WHERE place BETWEEN id << 32 AND (id << 32) | 0xffffffff ORDER BY place DESC LIMIT -1 OFFSET ?)
AND place IS NOT (SELECT max(place) FROM snapshots, log WHERE place BETWEEN id << 32 AND (id << 32) | floor)`
const GET = `
SELECT place & 0xffffffff, mark, version, body FROM snapshots, (SELECT id FROM streams WHERE name = ?)
WHERE place BETWEEN id << 32 AND (id << 32) | ? ORDER BY place DESC LIMIT 1`

/**
 * Stores a snapshot and replaces one at the same sequence. Keeps the newest `keep` and the newest at or below the
 * floor.
 */
export function putSnapshot(
  file: LogFile,
  _now: number,
  streamId: string,
  { sequence, mark, version, body }: StoredSnapshot,
  keep: number,
): void {
  file.run(PUT, sequence, mark, version, body, streamId)
  file.run(PRUNE, streamId, Math.min(keep, MAX_SEQUENCE))
}

/** The newest snapshot at or below a sequence. */
export function getSnapshot(file: LogFile, _now: number, streamId: string, atMost: number): StoredSnapshot | undefined {
  if (atMost < 0) return undefined
  const row = file.row<[number, string, number, string]>(GET, streamId, Math.min(atMost, MAX_SEQUENCE))
  return row && { sequence: row[0], mark: row[1], version: row[2], body: row[3] }
}
