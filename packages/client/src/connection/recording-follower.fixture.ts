import type { Entry, Failure, Snapshot, Subscriber, Subscription } from '@millrace/protocol'
import { expect, onTestFinished } from 'vitest'
import type { FakeStreamServer } from './fake-stream-server.fixture.ts'
import { type ConnectionOptions, createConnection, type PageConnection } from './page-connection.ts'

/** What a follower was told, in order. */
export class RecordingFollower implements Subscriber {
  readonly all: string[] = []
  readonly statuses: string[] = []
  readonly failures: Failure[] = []
  snapshots: Snapshot[] = []
  readonly #wait = new Set<() => void>()
  onEntries: (through: number) => void | Promise<void> = () => {}

  snapshot(snapshot: Snapshot): void {
    this.snapshots.push(snapshot)
    this.#tell(`snapshot ${snapshot.sequence}`)
  }

  entries(entries: readonly Entry[], through: number): void | Promise<void> {
    this.#tell(`${entries.map(({ sequence }) => sequence).join(' ')} to ${through}`)
    return this.onEntries(through)
  }

  status(status: string, reason: string): void {
    expect(reason).not.toBe('')
    this.statuses.push(status)
    for (const look of this.#wait) look()
  }

  fail(failure: Failure): void {
    this.failures.push(failure)
    this.#tell(`failed ${failure.code}`)
  }

  /** Waits until it holds. */
  async until(holds: () => boolean): Promise<void> {
    if (holds()) return
    await new Promise<void>(resolve => {
      const look = () => {
        if (!holds()) return
        this.#wait.delete(look)
        resolve()
      }
      this.#wait.add(look)
    })
  }

  #tell(what: string): void {
    this.all.push(what)
    for (const look of this.#wait) look()
  }
}

/** A connection to such a server, closed with its test. */
export function connect(server: FakeStreamServer, options: ConnectionOptions = {}): PageConnection {
  const connection = createConnection({ fetch: server.fetch, backoff: { first: 2, longest: 8 }, ...options })
  onTestFinished(() => connection.close())
  return connection
}

/** Follows a session from its beginning, from a place, or (null) from a snapshot on. */
export function followed(
  connection: PageConnection,
  sessionId = 's',
  after: string | null = '0',
): { readonly told: RecordingFollower; readonly following: Subscription } {
  const told = new RecordingFollower()
  return { told, following: connection.follow(sessionId, told, after ?? undefined) }
}
