/** Which part of the time is looked at. */
export interface Look {
  /** How much of the time is seen at once; all of it, where nothing is said. */
  readonly span?: number | undefined
  /** Where what is seen begins; where nothing is said it ends with the log, and goes on with it. */
  readonly from?: number | undefined
}

/** No closer than this, in milliseconds. */
const CLOSEST = 5
/** A short log is not stretched over the whole width. */
const LEAST = 200
/** Room after the end, as a share of what is seen. */
const ROOM = 0.02

/** What a look sees of a log that reaches to `end`. */
export function seenOf({ span, from }: Look, end: number): { readonly from: number; readonly to: number } {
  const whole = Math.max(LEAST, end * (1 + ROOM))
  const length = Math.min(whole, span ?? whole)
  if (length === whole) return { from: 0, to: whole }
  const latest = whole - length
  const start = Math.min(Math.max(0, from ?? latest), latest)
  return { from: start, to: start + length }
}

/** Closer by a factor, or further away, around a place; who follows the end goes on to. */
export function zoomed(look: Look, end: number, factor: number, around?: number): Look {
  const seen = seenOf(look, end)
  const length = seen.to - seen.from
  const whole = Math.max(LEAST, end * (1 + ROOM))
  const span = Math.max(CLOSEST, length / factor)
  if (span >= whole) return {}
  const isFollowing = look.from === undefined
  if (around === undefined && isFollowing) return { span }
  const middle = around ?? seen.from + length / 2
  return settled({ span, from: middle - (middle - seen.from) * (span / length) }, end)
}

/** The same, further on by a share of what is seen. */
export function moved(look: Look, end: number, share: number): Look {
  const seen = seenOf(look, end)
  const span = seen.to - seen.from
  return settled({ span, from: seen.from + share * span }, end)
}

/** With a place in sight; the same look where it is. */
export function showing(look: Look, end: number, place: number): Look {
  const seen = seenOf(look, end)
  if (place >= seen.from && place <= seen.to) return look
  const span = seen.to - seen.from
  return settled({ span, from: place - span / 2 }, end)
}

/** Whoever is at the end goes on with it. */
function settled({ span = 0, from = 0 }: Look, end: number): Look {
  const { to } = seenOf({ span, from }, end)
  return to >= end * (1 + ROOM) ? { span } : { span, from: Math.max(0, from) }
}
