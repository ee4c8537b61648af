import type { ClaimResult } from '../../store/log-store.ts'
import { randomName } from '../../store/names.ts'
import type { LogFile } from './log-file.ts'

const CLAIM = `
UPDATE streams SET epochs = ?, epoch = ?, counter = NULL, owner = ?, until = ? WHERE id = ?`
// Null means any driver. It is searched like a program.
const DUE = `
SELECT s.name FROM json_each(?) p CROSS JOIN streams s ON s.program IS p.value
WHERE s.wake <= ? ORDER BY s.wake, s.id LIMIT ?`

/** Takes the log under a new epoch, which fences every other. */
export function claim(
  file: LogFile,
  now: number,
  streamId: string,
  owner: string,
  ttlMs: number,
  takeover: boolean,
): ClaimResult {
  type Row = [id: number, epochs: number, owner: string | null, until: number | null]
  const row = file.row<Row>('SELECT id, epochs, owner, until FROM streams WHERE name = ?', streamId)
  if (row === undefined) return { outcome: 'absent' }
  const [id, epochs, holder, leaseUntil] = row
  if (holder !== null && leaseUntil !== null && leaseUntil > now && !takeover) {
    return { outcome: 'busy', owner: holder, until: leaseUntil, clock: now }
  }
  const [epoch, until] = [`${epochs + 1}-${randomName()}`, now + ttlMs]
  file.run(CLAIM, epochs + 1, epoch, owner, until, id)
  return { outcome: 'claimed', epoch, until, clock: now }
}

/** Extends the lease, if the log still has this epoch and it was not released. */
export function renew(
  file: LogFile,
  now: number,
  streamId: string,
  epoch: string,
  ttlMs: number,
): { until: number; clock: number } | undefined {
  const until = now + ttlMs
  const renewed = file.run('UPDATE streams SET until = ? WHERE name = ? AND epoch = ?', until, streamId, epoch)
  return renewed === 0 ? undefined : { until, clock: now }
}

/** Ends this epoch and its lease. Returns whether the log had this epoch. */
export function release(file: LogFile, _now: number, streamId: string, epoch: string): boolean {
  const sql = 'UPDATE streams SET epoch = NULL, counter = NULL, owner = NULL, until = NULL WHERE name = ? AND epoch = ?'
  return file.run(sql, streamId, epoch) > 0
}

/** Logs without a live lease whose ticket is due for one of these programs or for every driver. */
export function due(file: LogFile, now: number, programs: readonly string[], limit: number): string[] {
  const programsJson = JSON.stringify([null, ...new Set(programs)])
  return Array.from(file.rows<[string]>(DUE, programsJson, now, Math.min(limit, 0xffff_ffff)), ([streamId]) => streamId)
}
