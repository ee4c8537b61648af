/** The visible part of the time axis. */
export interface Viewport {
  /** Visible duration in ms. @default the entire log */
  readonly span?: number | undefined
  /** Start of the visible range. @default follows the end of the log */
  readonly from?: number | undefined
}

/** Minimum visible duration in ms. */
const MIN_SPAN = 5
/** Shorter logs are not stretched over the full width. */
const MIN_LENGTH = 200
/** Space after the end, as a share of the length. */
const MARGIN = 0.02

/** The visible range of a log that reaches to `end`. */
export function visibleRange({ span, from }: Viewport, end: number): { readonly from: number; readonly to: number } {
  const fullLength = Math.max(MIN_LENGTH, end * (1 + MARGIN))
  const length = Math.min(fullLength, span ?? fullLength)
  if (length === fullLength) return { from: 0, to: fullLength }
  const latest = fullLength - length
  const start = Math.min(Math.max(0, from ?? latest), latest)
  return { from: start, to: start + length }
}

/** Zooms by a factor around a position. A viewport that follows the end still does. */
export function zoomed(viewport: Viewport, end: number, factor: number, around?: number): Viewport {
  const range = visibleRange(viewport, end)
  const length = range.to - range.from
  const fullLength = Math.max(MIN_LENGTH, end * (1 + MARGIN))
  const span = Math.max(MIN_SPAN, length / factor)
  if (span >= fullLength) return {}
  const isFollowing = viewport.from === undefined
  if (around === undefined && isFollowing) return { span }
  const middle = around ?? range.from + length / 2
  return settled({ span, from: middle - (middle - range.from) * (span / length) }, end)
}

/** Pans by a share of the visible range. */
export function panned(viewport: Viewport, end: number, share: number): Viewport {
  const range = visibleRange(viewport, end)
  const span = range.to - range.from
  return settled({ span, from: range.from + share * span }, end)
}

/** Moves a position into view. Returns the same viewport if it is visible. */
export function revealed(viewport: Viewport, end: number, position: number): Viewport {
  const range = visibleRange(viewport, end)
  if (position >= range.from && position <= range.to) return viewport
  const span = range.to - range.from
  return settled({ span, from: position - span / 2 }, end)
}

/** Follows the end of the log if the viewport reaches it. */
function settled({ span = 0, from = 0 }: Viewport, end: number): Viewport {
  const { to } = visibleRange({ span, from }, end)
  return to >= end * (1 + MARGIN) ? { span } : { span, from: Math.max(0, from) }
}
