import type { SessionIdentity } from '../sessions/session-access.ts'
import type { StreamServices } from './connections.ts'
import { Follower, type FollowOptions } from './follower.ts'
import type { StreamChannel } from './stream-channel.ts'

/** A session and the position after which it is read. */
export interface FollowedSession {
  readonly sessionId: string
  readonly identity: SessionIdentity
  readonly after: string
}

/** A session that the caller may not read, and the error. */
export interface RefusedSession {
  readonly sessionId: string
  readonly error: unknown
}

/** The sessions of one connection. */
export interface MultiSessionRequest {
  readonly sessions: readonly FollowedSession[]
  readonly refused: readonly RefusedSession[]
}

/** Several sessions on one connection. An error closes only its own session; the connection ends with the last one. */
export class MultiSessionStream {
  readonly #services: StreamServices
  readonly #requested: MultiSessionRequest
  readonly #readOptions: Pick<FollowOptions, 'merge' | 'includeDiscarded'>
  readonly #authorize: (sessionId: string) => Promise<void>
  readonly #followers = new Map<string, Follower>()
  #channel: StreamChannel | undefined

  constructor(
    services: StreamServices,
    requested: MultiSessionRequest,
    readOptions: Pick<FollowOptions, 'merge' | 'includeDiscarded'>,
    authorize: (sessionId: string) => Promise<void>,
  ) {
    this.#services = services
    this.#requested = requested
    this.#readOptions = readOptions
    this.#authorize = authorize
  }

  /** Sends an error for each refused session and follows the others, until each is closed or the connection ends. */
  async serve(channel: StreamChannel): Promise<void> {
    const { manager, settings, connections } = this.#services
    const options = { isNamed: true, ...this.#readOptions, isLive: true, heartbeatMs: settings.heartbeatMs }
    this.#channel = channel
    const follow = async (session: FollowedSession): Promise<void> => {
      const { sessionId } = session
      const follower = new Follower(manager, channel, { ...session, ...options })
      this.#followers.set(sessionId, follower)
      await follower.run().catch(error => connections.fail(channel, error, sessionId))
      this.#followers.delete(sessionId)
    }
    const { sessions, refused } = this.#requested
    for (const { sessionId, error } of refused) connections.fail(channel, error, sessionId)
    await Promise.all(sessions.map(follow))
  }

  /** Closes the sessions that the caller may no longer read. */
  async recheck(): Promise<void> {
    for (const [sessionId, follower] of this.#followers) {
      try {
        await this.#authorize(sessionId)
      } catch (error) {
        if (!this.#followers.has(sessionId)) continue
        this.#services.connections.fail(this.#channel as StreamChannel, error, sessionId)
        follower.stop()
      }
    }
  }
}
