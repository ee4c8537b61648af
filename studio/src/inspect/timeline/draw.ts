// Computes the visible part of a timeline. The result is bounded by the number of pixels, not by the length of the log.

import { firstFrom, firstWhere } from './binary-search.ts'
import type { DeltaKind, MarkerKind, Positions, Row, Span, SpanState } from './row.ts'
import { deltaKinds, markerKinds } from './row.ts'
import type { Gap } from './time-axis.ts'
import type { TimelineModel } from './timeline-model.ts'

/** The visible time range and its width in px. */
export interface VisibleRange {
  readonly from: number
  readonly to: number
  readonly width: number
}

/** A drawn span. `count` spans that are too narrow are drawn as one. */
export interface Box {
  readonly x: number
  readonly width: number
  /** Width of the model call of a step. */
  readonly model: number
  readonly state: SpanState | 'many'
  readonly label: string
  readonly count: number
}

/** A column of one pixel, and the number of deltas in it. */
export interface DeltaColumn {
  readonly x: number
  readonly count: number
}

/** A drawn marker that represents `count` entries. */
export interface DrawnMarker {
  readonly marker: MarkerKind
  readonly x: number
  readonly count: number
  /** Log index of the first. */
  readonly index: number
}

export interface DrawnRow {
  readonly row: Row
  readonly label: string
  readonly steps: readonly Box[]
  readonly calls: readonly Box[]
  readonly waits: readonly Box[]
  readonly discards: readonly Box[]
  readonly deltas: { readonly [W in DeltaKind]: readonly DeltaColumn[] }
  readonly markers: readonly DrawnMarker[]
}

export interface Drawing {
  readonly runs: readonly Box[]
  readonly pauses: readonly Box[]
  readonly cuts: readonly { readonly x: number; readonly width: number }[]
  readonly gaps: readonly { readonly x: number; readonly width: number; readonly gap: Gap; readonly count: number }[]
  readonly rows: readonly DrawnRow[]
  readonly axis: readonly { readonly x: number; readonly elapsed: number }[]
}

/** Minimum width of a box in px. */
const MIN_BOX_PX = 3
/** Minimum distance between markers in px. */
const MIN_MARKER_DISTANCE_PX = 9
/** Minimum distance between axis labels in px. */
const MIN_TICK_DISTANCE_PX = 90

/** Converts a time position to px. */
export const xOf = ({ from, to, width }: VisibleRange, at: number): number => ((at - from) / (to - from)) * width

/** Converts px to a time position. */
export const positionAt = ({ from, to, width }: VisibleRange, x: number): number => from + (x / width) * (to - from)

/** Draws the visible part of a timeline. */
export function draw(timeline: TimelineModel, range: VisibleRange): Drawing {
  const { axis, runs, pauses, cuts, main } = timeline
  const end = axis.end
  const rows: DrawnRow[] = []
  const add = (row: Row) => {
    rows.push(drawRow(row, range, end))
    for (const below of row.below) add(below)
  }
  add(main)
  return {
    runs: boxesOf(runs, range, end),
    pauses: boxesOf(pauses, range, end),
    cuts: boxesOf(cuts, range, end),
    gaps: gapsOf(axis.gaps, range),
    rows,
    axis: axisOf(timeline, range),
  }
}

function drawRow(row: Row, range: VisibleRange, end: number): DrawnRow {
  const columns = deltaKinds.map(kind => [kind, columnsOf(row.deltas[kind].at, range)])
  return {
    row,
    label: labelOf(row, range),
    steps: boxesOf(row.steps, range, end),
    calls: boxesOf(row.calls, range, end),
    waits: boxesOf(row.waits, range, end),
    discards: boxesOf(row.discards, range, end),
    deltas: Object.fromEntries(columns) as DrawnRow['deltas'],
    markers: separateMarkers(markerKinds.flatMap(marker => markersOf(marker, row.markers.get(marker), range))),
  }
}

/** The label of a row: its latest visible call. */
function labelOf({ depth, calls }: Row, { from, to }: VisibleRange): string {
  if (depth === 0) return 'main'
  const after = firstWhere(calls.length, i => (calls[i] as Span).from > to)
  const last = calls[after - 1]
  return last && (last.to ?? to) >= from ? last.label : ''
}

type SpanLike = Pick<Span, 'from'> & Partial<Omit<Span, 'from'>>

/** Converts ordered spans that do not overlap to boxes. Merges boxes that are too narrow. */
export function boxesOf(spans: readonly SpanLike[], range: VisibleRange, end: number): Box[] {
  const boxes: Box[] = []
  const toOf = (i: number) => (spans[i] as SpanLike).to ?? end
  const fromOf = (i: number) => (spans[i] as SpanLike).from
  let i = firstWhere(spans.length, i => toOf(i) >= range.from)
  while (i < spans.length && fromOf(i) <= range.to) {
    const { label = '', state = 'done', middle } = spans[i] as SpanLike
    const x = Math.max(-1, xOf(range, fromOf(i)))
    const right = Math.min(range.width + 1, xOf(range, toOf(i)))
    if (right - x >= MIN_BOX_PX) {
      const model = Math.max(0, Math.min(right, middle === undefined ? right : xOf(range, middle)) - x)
      boxes.push({ x, width: right - x, model, state, label, count: 1 })
      i++
      continue
    }
    // Merge spans that start within the next pixels, except a last one that is wide enough.
    let next = firstWhere(spans.length, j => xOf(range, fromOf(j)) >= x + MIN_BOX_PX, i + 1)
    if (next - 1 > i && xOf(range, toOf(next - 1)) - xOf(range, fromOf(next - 1)) >= MIN_BOX_PX) next--
    const count = next - i
    boxes.push({ x, width: MIN_BOX_PX, model: MIN_BOX_PX, state: count > 1 ? 'many' : state, label, count })
    i = next
  }
  return boxes
}

/** Counts positions per pixel, without empty pixels. */
export function columnsOf(at: readonly number[], range: VisibleRange): DeltaColumn[] {
  const columns: DeltaColumn[] = []
  let i = firstFrom(at, range.from)
  while (i < at.length && (at[i] as number) <= range.to) {
    const x = Math.floor(xOf(range, at[i] as number))
    const next = Math.max(i + 1, firstFrom(at, positionAt(range, x + 1), i + 1))
    columns.push({ x, count: next - i })
    i = next
  }
  return columns
}

function markersOf(marker: MarkerKind, positions: Positions | undefined, range: VisibleRange): DrawnMarker[] {
  if (positions === undefined) return []
  const { at, index } = positions
  const drawnMarkers: DrawnMarker[] = []
  const margin = positionAt(range, MIN_MARKER_DISTANCE_PX) - range.from
  let i = firstFrom(at, range.from - margin)
  while (i < at.length && (at[i] as number) <= range.to + margin) {
    const x = xOf(range, at[i] as number)
    const next = Math.max(i + 1, firstFrom(at, positionAt(range, x + MIN_MARKER_DISTANCE_PX), i + 1))
    drawnMarkers.push({ marker, x, count: next - i, index: index[i] as number })
    i = next
  }
  return drawnMarkers
}

/** Moves overlapping markers side by side. Commits have a separate line. */
function separateMarkers(markers: readonly DrawnMarker[]): DrawnMarker[] {
  let last = Number.NEGATIVE_INFINITY
  return [...markers]
    .sort((a, b) => a.x - b.x || a.index - b.index)
    .map(drawn => {
      if (drawn.marker === 'commit') return drawn
      last = Math.max(drawn.x, last + MIN_MARKER_DISTANCE_PX)
      return { ...drawn, x: last }
    })
}

function gapsOf(gaps: readonly Gap[], range: VisibleRange): Drawing['gaps'] {
  const drawnGaps: { x: number; width: number; gap: Gap; count: number }[] = []
  let i = firstWhere(gaps.length, i => (gaps[i] as Gap).at + (gaps[i] as Gap).drawnMs >= range.from)
  while (i < gaps.length && (gaps[i] as Gap).at <= range.to) {
    const gap = gaps[i] as Gap
    const x = xOf(range, gap.at)
    const next = firstWhere(gaps.length, j => xOf(range, (gaps[j] as Gap).at) >= x + MIN_BOX_PX, i + 1)
    drawnGaps.push({ x, width: Math.max(1, xOf(range, gap.at + gap.drawnMs) - x), gap, count: next - i })
    i = next
  }
  return drawnGaps
}

/** Round times at readable distances. */
function axisOf({ axis }: TimelineModel, range: VisibleRange): Drawing['axis'] {
  const minStep = ((range.to - range.from) / range.width) * MIN_TICK_DISTANCE_PX
  const step = STEPS.find(step => step >= minStep) ?? Math.ceil(minStep / HOUR) * HOUR
  const times: { x: number; elapsed: number }[] = []
  for (let at = Math.max(0, Math.ceil(range.from / step) * step); at <= range.to; at += step) {
    times.push({ x: xOf(range, at), elapsed: axis.elapsedAt(at) })
  }
  return times
}

const HOUR = 3_600_000
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  1000,
  2000,
  5000,
  10_000,
  20_000,
  30_000,
  60_000,
  120_000,
  300_000,
  600_000,
  1_200_000,
  1_800_000,
  HOUR,
]

/** Log index of the entry of a row nearest to a position; undefined if none is within `near`. */
export function nearest({ at, index }: Positions, position: number, near: number): number | undefined {
  const after = firstFrom(at, position)
  let best: number | undefined
  for (const i of [after - 1, after]) {
    const distance = Math.abs((at[i] ?? Number.POSITIVE_INFINITY) - position)
    if (distance <= near && (best === undefined || distance < Math.abs((at[best] as number) - position))) best = i
  }
  return best === undefined ? undefined : index[best]
}
