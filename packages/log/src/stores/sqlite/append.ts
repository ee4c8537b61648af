import { LogError } from '../../store/log-error.ts'
import type { Accepted, AppendResult, GuestAppend, TicketMove, WriterAppend } from '../../store/log-store.ts'
import { randomName, versionOf } from '../../store/names.ts'
import { type Head, hasAcknowledged, headOf } from './head.ts'
import type { LogFile } from './log-file.ts'
import { MAX_SEQUENCE } from './schema.ts'

/** A batch whose size was checked. Without a body if it is too large. */
export interface SizedBatch {
  readonly body: string | undefined
  readonly count: number
}

const INSERT = `
INSERT INTO batches (place, first, timestamp, mark, counter, body) VALUES ((? << 32) | ?, ?, ?, ?, ?, ?)`
const INSERT_KEY = 'INSERT INTO keys (stream, key, first, last, keep) VALUES (?, ?, ?, ?, ?)'
const FIND_KEY = 'SELECT first, last FROM keys WHERE stream = ? AND key = ?'
const KEEP_LATEST = 'UPDATE streams SET counter = ?, counter_first = ?, counter_last = ? WHERE id = ?'
const MOVE = 'UPDATE streams SET version = ?, ticket = ?, touched = ?, due = ?, program = ? WHERE id = ?'
const REGRESS = `
UPDATE streams SET incarnation = ?, epoch = NULL, counter = NULL, owner = NULL, until = NULL WHERE id = ?`

/** Appends a whole batch or nothing, and changes the ticket with it (laws 1, 4, 5). */
export function append(
  file: LogFile,
  now: number,
  streamId: string,
  batch: SizedBatch,
  by: WriterAppend | GuestAppend,
  ticket: TicketMove | undefined,
): AppendResult {
  const log = headOf(file, streamId)
  const isWriter = 'epoch' in by
  if (log === undefined) return { outcome: isWriter ? 'fenced' : 'moved' }
  const clock = Math.max(now, log.timestamp)
  const result = isWriter ? earlierWriterResult(file, log, by, clock) : earlierGuestResult(file, log, by, clock)
  if (result !== undefined) return result
  if (ticket !== undefined && ticket.ifVersion !== log.version) return { outcome: 'moved' }
  if (batch.body === undefined) return { outcome: 'too-large' }

  const [first, last] = [log.head + 1, log.head + batch.count]
  if (last > MAX_SEQUENCE) {
    throw new LogError(
      'unavailable',
      `log ${streamId}: expected at most ${MAX_SEQUENCE} entries, found ${last}: continue in another log`,
    )
  }
  const mark = isWriter ? by.epoch : by.nonce
  file.run(INSERT, log.id, last, first, clock, mark, isWriter ? by.counter : null, batch.body)
  if (!isWriter) {
    file.run(INSERT_KEY, log.id, by.key, first, last, by.keep ? 1 : 0)
    // The last batch is now the guest's, so the writer's latest append moves to the log's row.
    if (log.latestIsLast && log.latest) {
      file.run(KEEP_LATEST, log.latest.counter, log.latest.first, log.latest.last, log.id)
    }
  }
  if (ticket !== undefined) {
    const { state, due } = ticket.next
    const at = due.at === 'now' ? clock : due.at
    file.run(MOVE, versionOf(last, log.incarnation, mark), state, clock, at, due.program, log.id)
  }
  return { outcome: 'appended', first, last, clock }
}

/** The sequences of an accepted guest append. */
export function find(
  file: LogFile,
  _now: number,
  streamId: string,
  key: string,
): { first: number; last: number } | undefined {
  const sql = 'SELECT first, last FROM keys WHERE stream = (SELECT id FROM streams WHERE name = ?) AND key = ?'
  const row = file.row<[number, number]>(sql, streamId, key)
  return row && { first: row[0], last: row[1] }
}

/** The result of a writer's append that is fenced, repeated or regressed; undefined for a new one. */
function earlierWriterResult(file: LogFile, log: Head, by: WriterAppend, clock: number): AppendResult | undefined {
  const { latest } = log
  if (by.epoch !== log.epoch || (latest && by.counter < latest.counter)) return { outcome: 'fenced' }
  if (latest?.counter === by.counter) return duplicate(latest, clock)
  if (hasAcknowledged(file, log, by.lastAcked)) return undefined
  file.run(REGRESS, randomName(), log.id)
  return { outcome: 'regressed' }
}

/** The result of a guest's repeated append; undefined for a new one. */
function earlierGuestResult(file: LogFile, log: Head, by: GuestAppend, clock: number): AppendResult | undefined {
  const row = file.row<[number, number]>(FIND_KEY, log.id, by.key)
  return row && duplicate({ first: row[0], last: row[1] }, clock)
}

const duplicate = ({ first, last }: { first: number; last: number }, clock: number): Accepted => ({
  outcome: 'duplicate',
  first,
  last,
  clock,
})
