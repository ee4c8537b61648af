// What is seen of a timeline: bounded by the pixels there are, whatever the length of the log.

import type { Gap } from './clock.ts'
import type { Timeline } from './model.ts'
import type { Places, Row, Sign, Span, SpanState, Word } from './row.ts'
import { signs, words } from './row.ts'
import { firstFrom, firstWhere } from './sorted.ts'

/** Which part of the time is seen, and on how many pixels. */
export interface Sight {
  readonly from: number
  readonly to: number
  readonly width: number
}

/** Something that lasts, as it is drawn; `count` are drawn as one where they are too narrow. */
export interface Box {
  readonly x: number
  readonly width: number
  /** Of a step: how much of it is its model call. */
  readonly model: number
  readonly state: SpanState | 'many'
  readonly label: string
  readonly count: number
}

/** A column of pixels, and how many pieces came in it. */
export interface Column {
  readonly x: number
  readonly count: number
}

/** A sign, and how many of it are drawn as one. */
export interface Drawn {
  readonly sign: Sign
  readonly x: number
  readonly count: number
  /** The place in the log of the first. */
  readonly index: number
}

export interface DrawnRow {
  readonly row: Row
  readonly label: string
  readonly steps: readonly Box[]
  readonly calls: readonly Box[]
  readonly waits: readonly Box[]
  readonly discards: readonly Box[]
  readonly words: { readonly [W in Word]: readonly Column[] }
  readonly signs: readonly Drawn[]
}

export interface Drawing {
  readonly runs: readonly Box[]
  readonly pauses: readonly Box[]
  readonly cuts: readonly { readonly x: number; readonly width: number }[]
  readonly gaps: readonly { readonly x: number; readonly width: number; readonly gap: Gap; readonly count: number }[]
  readonly rows: readonly DrawnRow[]
  readonly axis: readonly { readonly x: number; readonly elapsed: number }[]
}

/** What is narrower is drawn as this wide, with all that begins on it. */
const NARROWEST = 3
/** How far apart signs of one kind stand. */
const APART = 9
/** How far apart the times of the axis stand, at least. */
const TIMES_APART = 90

/** Where a place of the clock is seen. */
export const xOf = ({ from, to, width }: Sight, at: number): number => ((at - from) / (to - from)) * width

/** What place of the clock is seen there. */
export const placeAt = ({ from, to, width }: Sight, x: number): number => from + (x / width) * (to - from)

/** What is seen of a timeline. */
export function draw(timeline: Timeline, sight: Sight): Drawing {
  const { clock, runs, pauses, cuts, main } = timeline
  const end = clock.now
  const rows: DrawnRow[] = []
  const add = (row: Row) => {
    rows.push(drawRow(row, sight, end))
    for (const below of row.below) add(below)
  }
  add(main)
  return {
    runs: boxesOf(runs, sight, end),
    pauses: boxesOf(pauses, sight, end),
    cuts: boxesOf(cuts, sight, end),
    gaps: gapsOf(clock.gaps, sight),
    rows,
    axis: axisOf(timeline, sight),
  }
}

function drawRow(row: Row, sight: Sight, end: number): DrawnRow {
  const columns = words.map(word => [word, columnsOf(row.words[word].at, sight)])
  return {
    row,
    label: labelOf(row, sight),
    steps: boxesOf(row.steps, sight, end),
    calls: boxesOf(row.calls, sight, end),
    waits: boxesOf(row.waits, sight, end),
    discards: boxesOf(row.discards, sight, end),
    words: Object.fromEntries(columns) as DrawnRow['words'],
    signs: spread(signs.flatMap(sign => signsOf(sign, row.signs.get(sign), sight))),
  }
}

/** Whose row it is: of several that are seen, the latest. */
function labelOf({ depth, calls }: Row, { from, to }: Sight): string {
  if (depth === 0) return 'main'
  const after = firstWhere(calls.length, i => (calls[i] as Span).from > to)
  const last = calls[after - 1]
  return last && (last.to ?? to) >= from ? last.label : ''
}

type Lasting = Pick<Span, 'from'> & Partial<Omit<Span, 'from'>>

/** What lasts, in order and none over another, as boxes of which none is too narrow to see; no more than there is room for. */
export function boxesOf(spans: readonly Lasting[], sight: Sight, end: number): Box[] {
  const boxes: Box[] = []
  const toOf = (i: number) => (spans[i] as Lasting).to ?? end
  const fromOf = (i: number) => (spans[i] as Lasting).from
  let i = firstWhere(spans.length, i => toOf(i) >= sight.from)
  while (i < spans.length && fromOf(i) <= sight.to) {
    const { label = '', state = 'done', middle } = spans[i] as Lasting
    const x = Math.max(-1, xOf(sight, fromOf(i)))
    const right = Math.min(sight.width + 1, xOf(sight, toOf(i)))
    if (right - x >= NARROWEST) {
      const model = Math.max(0, Math.min(right, middle === undefined ? right : xOf(sight, middle)) - x)
      boxes.push({ x, width: right - x, model, state, label, count: 1 })
      i++
      continue
    }
    // All that begins on the next pixels is one with it, but for a last one that is wide enough by itself.
    let next = firstWhere(spans.length, j => xOf(sight, fromOf(j)) >= x + NARROWEST, i + 1)
    if (next - 1 > i && xOf(sight, toOf(next - 1)) - xOf(sight, fromOf(next - 1)) >= NARROWEST) next--
    const count = next - i
    boxes.push({ x, width: NARROWEST, model: NARROWEST, state: count > 1 ? 'many' : state, label, count })
    i = next
  }
  return boxes
}

/** How many there are on each pixel that has some. */
export function columnsOf(at: readonly number[], sight: Sight): Column[] {
  const columns: Column[] = []
  let i = firstFrom(at, sight.from)
  while (i < at.length && (at[i] as number) <= sight.to) {
    const x = Math.floor(xOf(sight, at[i] as number))
    const next = Math.max(i + 1, firstFrom(at, placeAt(sight, x + 1), i + 1))
    columns.push({ x, count: next - i })
    i = next
  }
  return columns
}

function signsOf(sign: Sign, places: Places | undefined, sight: Sight): Drawn[] {
  if (places === undefined) return []
  const { at, index } = places
  const drawn: Drawn[] = []
  const margin = placeAt(sight, APART) - sight.from
  let i = firstFrom(at, sight.from - margin)
  while (i < at.length && (at[i] as number) <= sight.to + margin) {
    const x = xOf(sight, at[i] as number)
    const next = Math.max(i + 1, firstFrom(at, placeAt(sight, x + APART), i + 1))
    drawn.push({ sign, x, count: next - i, index: index[i] as number })
    i = next
  }
  return drawn
}

/** Signs of different kinds that would lie over each other stand side by side; commits have a line of their own. */
function spread(drawn: readonly Drawn[]): Drawn[] {
  let last = Number.NEGATIVE_INFINITY
  return [...drawn]
    .sort((a, b) => a.x - b.x || a.index - b.index)
    .map(one => {
      if (one.sign === 'commit') return one
      last = Math.max(one.x, last + APART)
      return { ...one, x: last }
    })
}

function gapsOf(gaps: readonly Gap[], sight: Sight): Drawing['gaps'] {
  const drawn: { x: number; width: number; gap: Gap; count: number }[] = []
  let i = firstWhere(gaps.length, i => (gaps[i] as Gap).at + (gaps[i] as Gap).drawn >= sight.from)
  while (i < gaps.length && (gaps[i] as Gap).at <= sight.to) {
    const gap = gaps[i] as Gap
    const x = xOf(sight, gap.at)
    const next = firstWhere(gaps.length, j => xOf(sight, (gaps[j] as Gap).at) >= x + NARROWEST, i + 1)
    drawn.push({ x, width: Math.max(1, xOf(sight, gap.at + gap.drawn) - x), gap, count: next - i })
    i = next
  }
  return drawn
}

/** Round times, as far apart as they can be read. */
function axisOf({ clock }: Timeline, sight: Sight): Drawing['axis'] {
  const least = ((sight.to - sight.from) / sight.width) * TIMES_APART
  const step = STEPS.find(step => step >= least) ?? Math.ceil(least / HOUR) * HOUR
  const times: { x: number; elapsed: number }[] = []
  for (let at = Math.max(0, Math.ceil(sight.from / step) * step); at <= sight.to; at += step) {
    times.push({ x: xOf(sight, at), elapsed: clock.elapsedAt(at) })
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

/** The place in the log of the entry of a row that is nearest to a place of the clock, if it is near. */
export function nearest({ at, index }: Places, place: number, near: number): number | undefined {
  const after = firstFrom(at, place)
  let best: number | undefined
  for (const i of [after - 1, after]) {
    const distance = Math.abs((at[i] ?? Number.POSITIVE_INFINITY) - place)
    if (distance <= near && (best === undefined || distance < Math.abs((at[best] as number) - place))) best = i
  }
  return best === undefined ? undefined : index[best]
}
