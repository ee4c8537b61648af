import type { SessionIdentity } from '../sessions/session-access.ts'
import { Follower, type FollowOptions } from './follower.ts'
import type { StreamChannel } from './stream-channel.ts'
import type { StreamServices } from './stream-services.ts'

/** A session, and the place after which it is read. */
export interface FollowedSession {
  readonly sessionId: string
  readonly identity: SessionIdentity
  readonly after: string
}

/** A session that somebody may not read, and why. */
export interface RefusedSession {
  readonly sessionId: string
  readonly error: unknown
}

/** All that one connection was asked for. */
export interface MultiSessionRequest {
  readonly sessions: readonly FollowedSession[]
  readonly refused: readonly RefusedSession[]
}

/** Several sessions on one connection: what closes one leaves the others open, and the connection ends with the last. */
export class MultiSessionStream {
  readonly #services: StreamServices
  readonly #requested: MultiSessionRequest
  readonly #how: Pick<FollowOptions, 'merge' | 'whole'>
  readonly #mustBeAllowed: (sessionId: string) => Promise<void>
  readonly #followers = new Map<string, Follower>()
  #channel: StreamChannel | undefined

  constructor(
    services: StreamServices,
    requested: MultiSessionRequest,
    how: Pick<FollowOptions, 'merge' | 'whole'>,
    mustBeAllowed: (sessionId: string) => Promise<void>,
  ) {
    this.#services = services
    this.#requested = requested
    this.#how = how
    this.#mustBeAllowed = mustBeAllowed
  }

  /** Says which are refused and follows the others, until each is closed or the connection is over. */
  async serve(channel: StreamChannel): Promise<void> {
    const { manager, settings, connections } = this.#services
    const how = { isNamed: true, ...this.#how, isLive: true, heartbeatMs: settings.heartbeatMs }
    this.#channel = channel
    const follow = async (session: FollowedSession): Promise<void> => {
      const { sessionId } = session
      const follower = new Follower(manager, channel, { ...session, ...how })
      this.#followers.set(sessionId, follower)
      await follower.run().catch(error => connections.fail(channel, error, sessionId))
      this.#followers.delete(sessionId)
    }
    const { sessions, refused } = this.#requested
    for (const { sessionId, error } of refused) connections.fail(channel, error, sessionId)
    await Promise.all(sessions.map(follow))
  }

  /** Closes those that may not be read any more. */
  async recheck(): Promise<void> {
    for (const [sessionId, follower] of this.#followers) {
      try {
        await this.#mustBeAllowed(sessionId)
      } catch (error) {
        if (!this.#followers.has(sessionId)) continue
        this.#services.connections.fail(this.#channel as StreamChannel, error, sessionId)
        follower.stop()
      }
    }
  }
}
