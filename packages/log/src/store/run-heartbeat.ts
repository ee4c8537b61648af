// The loop of a heartbeat's thread: renews all leases that are due in few statements, while the event loop of the
// process makes progress.

import type { MessagePort } from 'node:worker_threads'
import type { HeartbeatAnswer, HeartbeatRequest, ThreadLease } from './heartbeat-messages.ts'

/** Maximum number of leases in one statement. */
export const MAX_LEASES_PER_STATEMENT = 200

/**
 * A thread that has failed for this long, in ms, without a success ends: its connection will not work. Failures after a
 * success are those of the store.
 */
const MAX_FIRST_FAILURE_MS = 10_000

/** For how long the first claim may wait while the connection is tried again, and the pause between two tries, in ms. */
const MAX_CONNECT_MS = 1000
const CONNECT_RETRY_MS = 20

/** What happened to a lease. */
export type RenewalOutcome = 'renewed' | 'lost' | 'locked'

/** The thread's own connection to a store. */
export interface LeaseRenewer {
  /**
   * Renews leases. Returns what happened to each: it was renewed; the log has another epoch, or none; or another transaction
   * has the log locked now. Without leases it only connects.
   */
  renew(leases: readonly ThreadLease[]): Promise<readonly RenewalOutcome[]>
  /** Closes the connection. */
  close(): Promise<void>
}

interface BeatingLease {
  readonly lease: ThreadLease
  readonly until: BigInt64Array
  /** When to renew it next, in ns by `process.hrtime`. */
  nextAt: bigint
}

/** Renews leases until the port gets `close`. `progress` is shared with the event loop. */
export function runHeartbeat(port: MessagePort, progress: SharedArrayBuffer, renewer: LeaseRenewer): void {
  const leases = new Map<number, BeatingLease>()
  const counter = new Int32Array(progress)
  let lastProgress = Atomics.load(counter, 0)
  let progressAt = process.hrtime.bigint()
  let timer: NodeJS.Timeout | undefined
  let beating: Promise<void> | undefined
  let isClosed = false
  let hasSucceeded = false
  let firstFailureAt: bigint | undefined

  port.on('message', (request: HeartbeatRequest) => {
    if (request.kind === 'keep') {
      const { lease } = request
      // It was claimed just now.
      const nextAt = process.hrtime.bigint() + nsOf(lease.ttlMs / 3)
      leases.set(lease.id, { lease, until: new BigInt64Array(lease.until), nextAt })
      schedule()
    } else if (request.kind === 'stop') {
      leases.delete(request.id)
    } else {
      void close()
    }
  })
  beating = connect().finally(afterBeat)

  async function close(): Promise<void> {
    isClosed = true
    clearTimeout(timer)
    await beating
    await renewer.close()
    port.close()
  }

  /** Schedules the next beat for the earliest lease. */
  function schedule(): void {
    if (beating !== undefined || isClosed) return
    clearTimeout(timer)
    let earliest: bigint | undefined
    for (const { nextAt } of leases.values()) if (earliest === undefined || nextAt < earliest) earliest = nextAt
    if (earliest === undefined) return
    const ms = Math.max(0, Number(earliest - process.hrtime.bigint()) / 1e6)
    timer = setTimeout(() => {
      beating = beat().finally(afterBeat)
    }, ms)
  }

  function afterBeat(): void {
    beating = undefined
    schedule()
  }

  /** Connects before the first claim, whose lease may have to be renewed while the event loop is blocked. */
  async function connect(): Promise<void> {
    const startedAt = process.hrtime.bigint()
    while (!hasSucceeded && !isClosed) {
      try {
        await renewer.renew([])
        hasSucceeded = true
      } catch {
        const now = process.hrtime.bigint()
        firstFailureAt ??= now
        if (now - startedAt >= nsOf(MAX_CONNECT_MS)) break
        // Other connections may be opening the same file.
        await new Promise(resolve => setTimeout(resolve, CONNECT_RETRY_MS))
      }
    }
    reportReady()
  }

  function reportReady(): void {
    port.postMessage({ kind: 'ready', isConnected: hasSucceeded } satisfies HeartbeatAnswer)
  }

  async function beat(): Promise<void> {
    const due = dueLeases()
    const answer = { kind: 'changed' as const, lost: [] as number[], renewed: [] as number[] }
    for (let i = 0; i < due.length && !isClosed; i += MAX_LEASES_PER_STATEMENT) {
      await renew(due.slice(i, i + MAX_LEASES_PER_STATEMENT), answer)
    }
    if (answer.lost.length + answer.renewed.length > 0) port.postMessage(answer satisfies HeartbeatAnswer)
  }

  /** The leases to renew now. A lease that is due soon joins, so that leases of one duration are renewed together. */
  function dueLeases(): BeatingLease[] {
    const now = process.hrtime.bigint()
    const found = Atomics.load(counter, 0)
    if (found !== lastProgress) {
      lastProgress = found
      progressAt = now
    }
    return [...leases.values()].filter(each => {
      const { ttlMs, maxBlockedMs } = each.lease
      if (each.nextAt > now + nsOf(ttlMs / 9)) return false
      if (now - progressAt <= nsOf(maxBlockedMs)) return true
      // The event loop is blocked for too long: the lease ends, unless the event loop makes progress before.
      each.nextAt = now + nsOf(ttlMs / 3)
      return false
    })
  }

  async function renew(due: readonly BeatingLease[], answer: { lost: number[]; renewed: number[] }): Promise<void> {
    const askedAt = process.hrtime.bigint()
    let outcomes: readonly RenewalOutcome[]
    try {
      outcomes = await renewer.renew(due.map(({ lease }) => lease))
      if (!hasSucceeded) {
        hasSucceeded = true
        reportReady()
      }
    } catch (error) {
      const now = process.hrtime.bigint()
      firstFailureAt ??= now
      if (!hasSucceeded && now - firstFailureAt >= nsOf(MAX_FIRST_FAILURE_MS)) {
        const message = error instanceof Error ? error.message : String(error)
        port.postMessage({ kind: 'failed', message } satisfies HeartbeatAnswer)
        // It waits for the end of this beat.
        void close()
        return
      }
      // The store is not available. It is tried again soon, since the leases may still be valid.
      for (const each of due) each.nextAt = now + nsOf(each.lease.ttlMs / 10)
      return
    }
    const now = process.hrtime.bigint()
    for (const [i, each] of due.entries()) {
      const { id, ttlMs } = each.lease
      if (!leases.has(id)) continue
      const outcome = outcomes[i]
      if (outcome === 'locked') {
        each.nextAt = now + nsOf(ttlMs / 10)
        continue
      }
      if (outcome !== 'renewed') {
        leases.delete(id)
        answer.lost.push(id)
        continue
      }
      if (Atomics.load(each.until, 0) <= now) answer.renewed.push(id)
      Atomics.store(each.until, 0, askedAt + nsOf(ttlMs))
      each.nextAt = askedAt + nsOf(ttlMs / 3)
    }
  }
}

const nsOf = (ms: number): bigint => BigInt(Math.round(ms * 1e6))
