import { proxy } from '../../../../../scripts/faults/proxy.ts'
import { ScheduleHarness } from '../../../../../scripts/faults/sessions/schedule-harness.fixture.ts'
import { FaultyConnection, type Reader } from './faulty-connection.fixture.ts'
import { type FollowerSettings, RunReader, randomSettings, SessionReader } from './follower.fixture.ts'
import { SessionReplica } from './session-replica.fixture.ts'

/** A client that follows all sessions of a schedule. */
export interface Follower {
  readonly name: string
  readonly followerSettings: FollowerSettings
  readonly replicas: readonly SessionReplica[]
  readonly readers: readonly SessionReader[]
}

/** Sessions of a server, the clients that follow them, and the proxies between them. */
export class FollowHarness extends ScheduleHarness {
  readonly followers: Follower[] = []
  readonly runReaders: RunReader[] = []
  readonly #connections: FaultyConnection[] = []

  /** Number of lost connections. */
  get drops(): number {
    return this.#connections.reduce((sum, { drops }) => sum + drops, 0)
  }

  /** The follower that joined at the start. */
  get first(): Follower {
    return this.followers[0] as Follower
  }

  /** Adds a follower of all sessions, with connections of its own. */
  async join(): Promise<Follower> {
    const { random, signal } = this
    signal.throwIfAborted()
    const name = `follower ${this.followers.length + 1}`
    const followerSettings = randomSettings(random)
    const replicas = this.sessionIds.map(sessionId => new SessionReplica(sessionId, () => this.recheck()))
    const groups = followerSettings.isMultiplexed ? [replicas] : replicas.map(replica => [replica])
    const readers = groups.map(group => new SessionReader(group, followerSettings))
    const follower = { name, followerSettings, replicas, readers }
    this.followers.push(follower)
    this.notes.push(`${name} joins when ${this.observed} entries are seen: ${JSON.stringify(followerSettings)}`)
    for (const reader of readers) await this.#connect(reader)
    return follower
  }

  /** Starts a run by a request that follows it. */
  async startAndFollow(
    sessionId: string,
    runId: string,
    format: 'sse' | 'ndjson',
    body: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    const reader = new RunReader(sessionId, runId, format, body)
    this.runReaders.push(reader)
    await this.#connect(reader)
  }

  /** Number of entries that the first follower has seen, of all sessions. */
  get observed(): number {
    return this.followers[0]?.replicas.reduce((sum, { count }) => sum + count, 0) ?? 0
  }

  /** A random connection. It may be reconnecting. */
  anyConnection(): FaultyConnection {
    return this.random.pick(this.#connections)
  }

  /** Checks all conditions again. Ends the schedule when a client has found a problem. */
  override recheck(): void {
    if (this.#hasProblems) this.end()
    super.recheck()
  }

  /** Stops the faults of all connections. */
  stopFaults(): void {
    for (const connection of this.#connections) connection.stopFaults()
  }

  /** Resolves when every `RunReader` has followed its run to the end. */
  async runsFollowed(): Promise<void> {
    await this.until('the runs are followed to their ends', () => this.runReaders.every(({ isOver }) => isOver))
  }

  async leave(): Promise<void> {
    this.end()
    await Promise.all(this.#connections.map(connection => connection.leave()))
  }

  get #hasProblems(): boolean {
    const all = [...this.runReaders, ...this.followers.flatMap(({ replicas, readers }) => [...replicas, ...readers])]
    return all.some(({ problems }) => problems.length > 0)
  }

  async #connect(reader: Reader): Promise<void> {
    const faultProxy = await proxy({ host: '127.0.0.1', port: this.server.port })
    if (this.signal.aborted) {
      // All other clients have left: this one would reconnect forever.
      await faultProxy.stop()
      this.signal.throwIfAborted()
    }
    const connection = new FaultyConnection(faultProxy, reader, {
      random: this.random,
      onFault: () => this.faults++,
      onClose: () => this.recheck(),
    })
    this.#connections.push(connection)
    void connection.ended.then(() => this.recheck())
  }
}
