import { HttpError } from '../errors/http-error.ts'
import { checkPosition } from '../stream/resume-position.ts'

interface SessionPosition {
  readonly sessionId: string
  readonly after: string
}

/**
 * The sessions of a query and the position of each. Each `after` is behind its `session`, or all of them are behind all sessions, in
 * the same order. @throws `request_invalid`
 */
export function positionsOf(query: URLSearchParams, maxSessions: number): readonly SessionPosition[] {
  const pairs = [...query].filter(([key]) => key === 'session' || key === 'after')
  const positions = hasSessionsFirst(pairs) ? positionsAfterSessions(pairs) : positionsBySession(pairs)
  if (positions.length === 0) throw new HttpError('request_invalid', 'session: expected at least one')
  if (positions.length > maxSessions)
    throw new HttpError('request_invalid', `session: expected at most ${maxSessions}, found ${positions.length}`)
  if (new Set(positions.map(({ sessionId }) => sessionId)).size < positions.length) {
    throw new HttpError('request_invalid', 'session: expected each session once')
  }
  return positions.map(({ sessionId, after = '0' }) => ({ sessionId, after: checkPosition('after', after) }))
}

type QueryPairs = readonly (readonly [key: string, value: string])[]
type PartialPosition = Omit<SessionPosition, 'after'> & { after?: string }

/** Whether all sessions come first, followed by one position for each: clients that group repeated parameters send them like this. */
const hasSessionsFirst = (pairs: QueryPairs): boolean =>
  pairs.length % 2 === 0 && pairs.every(([key], i) => (key === 'session') === i < pairs.length / 2)

const positionsAfterSessions = (pairs: QueryPairs): readonly PartialPosition[] =>
  pairs
    .slice(0, pairs.length / 2)
    .map(([, sessionId], i) => ({ sessionId, after: pairs[pairs.length / 2 + i]?.[1] as string }))

/** Each position is behind its session. */
function positionsBySession(pairs: QueryPairs): readonly PartialPosition[] {
  const positions: PartialPosition[] = []
  for (const [key, value] of pairs) {
    const last = positions.at(-1)
    if (key === 'session') positions.push({ sessionId: value })
    else if (last === undefined || last.after !== undefined) {
      throw new HttpError(
        'request_invalid',
        'after: expected one after its session, or one for each session after all of them',
      )
    } else last.after = value
  }
  return positions
}
