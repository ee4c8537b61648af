import type { ClaimResult } from '../../store/log-store.ts'
import { randomName } from '../../store/names.ts'
import type { LeaseRecord } from './lease-observer.ts'
import type { LogFile } from './log-file.ts'

const CLAIM = `
UPDATE streams SET epochs = ?, epoch = ?, counter = NULL, owner = ?, until = ?, ttl = ?, ttl_epoch = ? WHERE id = ?`
const RENEW = 'UPDATE streams SET until = ?, ttl = ?, ttl_epoch = epoch WHERE name = ? AND epoch = ?'
// A process of an earlier release does not write the duration.
const TTL = 'CASE WHEN s.ttl_epoch = s.epoch THEN s.ttl END'
const LEASE = `s.epoch, s.until, ${TTL}`
// Null means any driver. It is searched like a program.
const DUE = `
SELECT s.name, ${LEASE} FROM json_each(?) p CROSS JOIN streams s ON s.program IS p.value
WHERE s.wake <= ? ORDER BY s.wake, s.id LIMIT ?`
const LEASES_BETWEEN = `
SELECT name, epoch, until, ttl FROM (
  SELECT s.name AS name, s.owner AS owner, s.epoch AS epoch, s.until AS until, ${TTL} AS ttl
  FROM json_each(?) p CROSS JOIN streams s ON s.program IS p.value
  WHERE s.wake > ? AND s.wake <= ? ORDER BY s.wake LIMIT ?
) WHERE owner IS NOT NULL`

/** Leases that end later than this are not observed yet, in ms. The default lease is not longer. */
const OBSERVED_AHEAD_MS = 30_000
/** Maximum number of logs with an expired lease, and of those with a live one, that a call of `due` observes. */
const MAX_OBSERVED_PER_CALL = 1000

type LeaseColumns = [epoch: string | null, until: number | null, ttlMs: number | null]

/** A log and its lease. */
export interface LeasedLog {
  readonly streamId: string
  readonly lease: LeaseRecord
}

/** The result of a claim, with the lease that is in the way. */
export type SqliteClaim = ClaimResult & { readonly lease?: LeaseRecord }

/**
 * Takes the log under a new epoch, which fences every other. `expired` is a lease that has certainly expired, if it is
 * unchanged.
 */
export function claim(
  file: LogFile,
  now: number,
  streamId: string,
  owner: string,
  ttlMs: number,
  takeover: boolean,
  expired: LeaseRecord | undefined,
): SqliteClaim {
  type Row = [id: number, epochs: number, owner: string | null, ...LeaseColumns]
  const row = file.row<Row>(`SELECT s.id, s.epochs, s.owner, ${LEASE} FROM streams s WHERE s.name = ?`, streamId)
  if (row === undefined) return { outcome: 'absent' }
  const [id, epochs, holder, ...columns] = row
  const lease = leaseOf(columns)
  if (holder !== null && lease !== undefined && !takeover && isLive(lease, expired, now)) {
    return { outcome: 'busy', owner: holder, until: lease.until, clock: now, lease }
  }
  const [epoch, until] = [`${epochs + 1}-${randomName()}`, now + ttlMs]
  file.run(CLAIM, epochs + 1, epoch, owner, until, ttlMs, epoch, id)
  return { outcome: 'claimed', epoch, until, clock: now }
}

function isLive(lease: LeaseRecord, expired: LeaseRecord | undefined, now: number): boolean {
  if (lease.ttlMs === undefined) return lease.until > now
  return lease.epoch !== expired?.epoch || lease.until !== expired.until
}

function leaseOf([epoch, until, ttlMs]: LeaseColumns): LeaseRecord | undefined {
  return epoch === null || until === null ? undefined : { epoch, until, ttlMs: ttlMs ?? undefined }
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
  const renewed = file.run(RENEW, until, ttlMs, streamId, epoch)
  return renewed === 0 ? undefined : { until, clock: now }
}

/** Ends this epoch and its lease. Returns whether the log had this epoch. */
export function release(file: LogFile, _now: number, streamId: string, epoch: string): boolean {
  const sql = 'UPDATE streams SET epoch = NULL, counter = NULL, owner = NULL, until = NULL WHERE name = ? AND epoch = ?'
  return file.run(sql, streamId, epoch) > 0
}

/**
 * Logs whose ticket is due for one of these programs or for every driver, without a lease that is live by this clock. And
 * leases of such logs, live or expired, so that the caller can observe them.
 */
export function due(
  file: LogFile,
  now: number,
  programs: readonly string[],
  limit: number,
): { readonly due: readonly string[]; readonly leased: readonly LeasedLog[] } {
  type Row = [streamId: string, ...LeaseColumns]
  const programsJson = JSON.stringify([null, ...new Set(programs)])
  const rows = Array.from(file.rows<Row>(DUE, programsJson, now, Math.min(limit, 0xffff_ffff)))
  const leasedBetween = (from: number, to: number) =>
    Array.from(file.rows<Row>(LEASES_BETWEEN, programsJson, from, to, MAX_OBSERVED_PER_CALL))
  // Expired leases beyond the limit are observed, too. Otherwise each page of a dead process's logs would wait for a lease.
  const expired = rows.length < limit ? [] : leasedBetween(-1, now)
  const live = leasedBetween(now, now + OBSERVED_AHEAD_MS)
  return {
    due: rows.map(([streamId]) => streamId),
    leased: [...rows, ...expired, ...live].flatMap(([streamId, ...columns]) => {
      const lease = leaseOf(columns)
      return lease === undefined ? [] : [{ streamId, lease }]
    }),
  }
}
