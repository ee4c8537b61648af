import { Refusal } from '../errors/refusal.ts'
import { checkPosition } from '../stream/resume-position.ts'

interface SessionPosition {
  readonly sessionId: string
  readonly after: string
}

/** The sessions that a query names, and of each the place after which it is read: said next to it, or of all of them after all of them. */
export function placesOf(query: URLSearchParams, most: number): readonly SessionPosition[] {
  const pairs = [...query].filter(([key]) => key === 'session' || key === 'after')
  const places = isListed(pairs) ? listed(pairs) : paired(pairs)
  if (places.length === 0) throw new Refusal('request_invalid', 'session: expected one at least')
  if (places.length > most) throw new Refusal('request_invalid', `session: expected at most ${most}`)
  if (new Set(places.map(({ sessionId }) => sessionId)).size < places.length) {
    throw new Refusal('request_invalid', 'session: expected each once')
  }
  return places.map(({ sessionId, after = '0' }) => ({ sessionId, after: checkPosition('after', after) }))
}

type QueryPairs = readonly (readonly [key: string, value: string])[]
type PartialPosition = Omit<SessionPosition, 'after'> & { after?: string }

/** Whether all sessions come first, then as many places: clients that know of lists alone send them so. */
const isListed = (pairs: QueryPairs): boolean =>
  pairs.length % 2 === 0 && pairs.every(([key], i) => (key === 'session') === i < pairs.length / 2)

const listed = (pairs: QueryPairs): readonly PartialPosition[] =>
  pairs
    .slice(0, pairs.length / 2)
    .map(([, sessionId], i) => ({ sessionId, after: pairs[pairs.length / 2 + i]?.[1] as string }))

/** Each place stands after its session. */
function paired(pairs: QueryPairs): readonly PartialPosition[] {
  const places: PartialPosition[] = []
  for (const [key, value] of pairs) {
    const last = places.at(-1)
    if (key === 'session') places.push({ sessionId: value })
    else if (last === undefined || last.after !== undefined) {
      throw new Refusal('request_invalid', 'after: expected one for each session, or once after its session')
    } else last.after = value
  }
  return places
}
