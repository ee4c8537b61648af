import type { Entry, Failure, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import { expect, onTestFinished } from 'vitest'
import type { FakeStreamServer } from './fake-stream-server.fixture.ts'
import { type ConnectionOptions, createConnection, type PageConnection } from './page-connection.ts'

/** Records the events of a subscription in order. */
export class RecordingFollower implements Subscriber {
  readonly all: string[] = []
  readonly statuses: string[] = []
  readonly failures: Failure[] = []
  snapshots: Snapshot[] = []
  readonly #waiting = new Set<() => void>()
  onEntries: (through: number) => void | Promise<void> = () => {}

  snapshot(snapshot: Snapshot): void {
    this.snapshots.push(snapshot)
    this.#record(`snapshot ${snapshot.sequence}`)
  }

  entries(entries: readonly Entry[], through: number): void | Promise<void> {
    this.#record(`${entries.map(({ sequence }) => sequence).join(' ')} to ${through}`)
    return this.onEntries(through)
  }

  status(status: string, reason: string): void {
    expect(reason).not.toBe('')
    this.statuses.push(status)
    for (const check of this.#waiting) check()
  }

  fail(failure: Failure): void {
    this.failures.push(failure)
    this.#record(`failed ${failure.code}`)
  }

  /** Resolves when the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return
    await new Promise<void>(resolve => {
      const check = () => {
        if (!condition()) return
        this.#waiting.delete(check)
        resolve()
      }
      this.#waiting.add(check)
    })
  }

  #record(event: string): void {
    this.all.push(event)
    for (const check of this.#waiting) check()
  }
}

/** Connects to the fake server. Closes with the test. */
export function connect(server: FakeStreamServer, options: ConnectionOptions = {}): PageConnection {
  const connection = createConnection({ fetch: server.fetch, backoff: { firstMs: 2, longestMs: 8 }, ...options })
  onTestFinished(() => connection.close())
  return connection
}

/** Follows a session from its start, from a cursor, or (null) from a snapshot. */
export function followed(
  connection: PageConnection,
  sessionId = 's',
  after: string | null = '0',
): { readonly follower: RecordingFollower; readonly subscription: Subscription } {
  const follower = new RecordingFollower()
  return { follower, subscription: connection.follow(sessionId, follower, after ?? undefined) }
}
