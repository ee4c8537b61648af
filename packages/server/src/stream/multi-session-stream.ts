import type { Entered } from '../sessions/session-access.ts'
import { Follower, type FollowOptions } from './follower.ts'
import type { Outlet } from './stream-channel.ts'
import type { StreamServices } from './stream-services.ts'

/** A session, and the place after which it is read. */
export interface Place {
  readonly sessionId: string
  readonly entered: Entered
  readonly after: string
}

/** A session that somebody may not read, and why. */
export interface Refused {
  readonly sessionId: string
  readonly error: unknown
}

/** All that one connection was asked for. */
export interface Asked {
  readonly places: readonly Place[]
  readonly refused: readonly Refused[]
}

/** Several sessions on one connection: what closes one leaves the others open, and the connection ends with the last. */
export class Several {
  readonly #services: StreamServices
  readonly #asked: Asked
  readonly #how: Pick<FollowOptions, 'merge' | 'whole'>
  readonly #mustBeAllowed: (sessionId: string) => Promise<void>
  readonly #followers = new Map<string, Follower>()
  #outlet: Outlet | undefined

  constructor(
    services: StreamServices,
    asked: Asked,
    how: Pick<FollowOptions, 'merge' | 'whole'>,
    mustBeAllowed: (sessionId: string) => Promise<void>,
  ) {
    this.#services = services
    this.#asked = asked
    this.#how = how
    this.#mustBeAllowed = mustBeAllowed
  }

  /** Says which are refused and follows the others, until each is closed or the connection is over. */
  async serve(outlet: Outlet): Promise<void> {
    const { manager, feeds, settings, connections } = this.#services
    const how = { isNamed: true, ...this.#how, isLive: true, heartbeatMs: settings.heartbeatMs }
    this.#outlet = outlet
    const follow = async (place: Place): Promise<void> => {
      const { sessionId } = place
      const follower = new Follower(manager, feeds, outlet, { ...place, ...how })
      this.#followers.set(sessionId, follower)
      await follower.run().catch(error => connections.fail(outlet, error, sessionId))
      this.#followers.delete(sessionId)
    }
    const { places, refused } = this.#asked
    for (const { sessionId, error } of refused) connections.fail(outlet, error, sessionId)
    await Promise.all(places.map(follow))
  }

  /** Closes those that may not be read any more. */
  async recheck(): Promise<void> {
    for (const [sessionId, follower] of this.#followers) {
      try {
        await this.#mustBeAllowed(sessionId)
      } catch (error) {
        if (!this.#followers.has(sessionId)) continue
        this.#services.connections.fail(this.#outlet as Outlet, error, sessionId)
        follower.stop()
      }
    }
  }
}
