import type { Encoder } from '@millrace/dialects'
import type { Run } from '@millrace/runtime'
import type { Reply } from '../../http/reply.ts'
import type { Call } from '../../routing/route.ts'
import { type Ask, take } from '../turn/turn.ts'
import { spoken, type Tongue } from './run-stream.ts'

/** How a run is told to who asked for it. */
export interface Telling<Event> {
  readonly tongue: Tongue<Event>
  readonly encoder: (run: Run) => Encoder<Event>
}

/** Does what a client asks for, once, and streams the run. There is room for that before anything is done. */
export async function converse<Event>(call: Call, ask: Ask, { tongue, encoder }: Telling<Event>): Promise<Reply> {
  return withRoom(call, async release => {
    const { caller, ...taken } = await take(call, ask)
    return spoken(call, caller, { ...taken, encoder: encoder(taken.run), tongue, release })
  })
}

/** Does something that ends in a stream, for which there is room from before it until the stream is over; throws where there is none, and nothing is done. */
export async function withRoom<T>(
  { services, caller }: Pick<Call, 'services' | 'caller'>,
  work: (release: () => void) => Promise<T>,
): Promise<T> {
  const release = services.limiter.stream(caller.principal)
  try {
    return await work(release)
  } catch (error) {
    release()
    throw error
  }
}
