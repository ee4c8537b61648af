import type { Services } from '../services.ts'
import { Follower } from './follower.ts'
import type { Entered } from './open.ts'
import type { Outlet } from './outlet.ts'

/** A session, and the place after which it is read. */
export interface Place {
  readonly sessionId: string
  readonly entered: Entered
  readonly after: string
}

/** Several sessions on one connection: what closes one leaves the others open, and the connection ends with the last. */
export class Several {
  readonly #services: Services
  readonly #places: readonly Place[]
  readonly #merge: boolean
  readonly #mustBeAllowed: (sessionId: string) => Promise<void>
  readonly #followers = new Map<string, Follower>()
  #outlet: Outlet | undefined

  constructor(
    services: Services,
    places: readonly Place[],
    merge: boolean,
    mustBeAllowed: (sessionId: string) => Promise<void>,
  ) {
    this.#services = services
    this.#places = places
    this.#merge = merge
    this.#mustBeAllowed = mustBeAllowed
  }

  /** Follows them all, until each is closed or the connection is over. */
  async serve(outlet: Outlet): Promise<void> {
    const { manager, feeds, settings, connections } = this.#services
    const how = { isNamed: true, merge: this.#merge, isLive: true, heartbeatMs: settings.heartbeatMs }
    this.#outlet = outlet
    const follow = async (place: Place): Promise<void> => {
      const { sessionId } = place
      const follower = new Follower(manager, feeds, outlet, { ...place, ...how })
      this.#followers.set(sessionId, follower)
      await follower.run().catch(error => connections.fail(outlet, error, sessionId))
      this.#followers.delete(sessionId)
    }
    await Promise.all(this.#places.map(follow))
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
