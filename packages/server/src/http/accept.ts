import { Refusal } from '../errors/refusal.ts'

const TYPES = {
  sse: 'text/event-stream',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
} as const

/** How something can be answered. */
export type ReplyType = keyof typeof TYPES

/** Nobody means more than so many. */
const MOST_RANGES = 32

/** What an `Accept` header wants most of what is offered: the first of that where it takes anything, or does not say. */
export function negotiate<A extends ReplyType>(accept: string | null, offered: readonly [A, ...A[]]): A {
  if (accept === null || accept.trim() === '') return offered[0]
  const ranges = accept.toLowerCase().split(',', MOST_RANGES).map(rangeOf)
  const isRefused = (way: A) => ranges.some(({ type, weight }) => type === TYPES[way] && weight === 0)
  const open = offered.filter(way => !isRefused(way))
  let best: { readonly way: A; readonly weight: number } | undefined
  // Of those that are wanted as much as each other, the one that was named first.
  for (const { type, weight } of ranges) {
    const way = open.find(known => isIn(TYPES[known], type))
    if (way !== undefined && weight > (best?.weight ?? 0)) best = { way, weight }
  }
  if (best) return best.way
  throw new Refusal('not_acceptable', `accept: expected ${offered.map(way => TYPES[way]).join(' or ')}`)
}

function rangeOf(range: string): { readonly type: string; readonly weight: number } {
  const [type = '', ...rest] = range.split(';').map(piece => piece.trim())
  const weight = Number(rest.find(piece => piece.startsWith('q='))?.slice(2) ?? 1)
  // The name that it had before it was anybody's.
  const known = type === 'application/ndjson' ? TYPES.ndjson : type
  return { type: known, weight: weight >= 0 && weight <= 1 ? weight : 1 }
}

const isIn = (type: string, range: string): boolean =>
  range === '*/*' || range === type || (range.endsWith('/*') && type.startsWith(range.slice(0, -1)))
