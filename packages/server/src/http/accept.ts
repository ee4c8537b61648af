import { HttpError } from '../errors/http-error.ts'

const TYPES = {
  sse: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
} as const

/** Content types of replies that clients can ask for. */
export type ReplyType = keyof typeof TYPES

/** Maximum number of ranges that are read from an `Accept` header. */
const MAX_RANGES = 32

/** The offered type that an `Accept` header prefers; the first offered one if all are equal or the header is missing. @throws `not_acceptable` */
export function negotiate<A extends ReplyType>(accept: string | null, offered: readonly [A, ...A[]]): A {
  if (accept === null || accept.trim() === '') return offered[0]
  const ranges = accept.toLowerCase().split(',', MAX_RANGES).map(rangeOf)
  const isRefused = (offer: A) => ranges.some(({ type, weight }) => type === TYPES[offer] && weight === 0)
  const acceptable = offered.filter(offer => !isRefused(offer))
  let best: { readonly offer: A; readonly weight: number } | undefined
  // With equal weights, the type that is named first wins.
  for (const { type, weight } of ranges) {
    const offer = acceptable.find(candidate => isInRange(TYPES[candidate], type))
    if (offer !== undefined && weight > (best?.weight ?? 0)) best = { offer, weight }
  }
  if (best) return best.offer
  throw new HttpError('not_acceptable', `accept: expected ${offered.map(offer => TYPES[offer]).join(' or ')}`)
}

function rangeOf(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...rest] = range.split(';').map(piece => piece.trim())
  const weight = Number(rest.find(piece => piece.startsWith('q='))?.slice(2) ?? 1)
  const isAlias = type === 'application/ndjson'
  return { type: isAlias ? TYPES.ndjson : type, weight: weight >= 0 && weight <= 1 ? weight : 1 }
}

const isInRange = (type: string, range: string): boolean =>
  range === '*/*' || range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
