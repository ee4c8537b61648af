import { type Entry, isGuest } from '@millrace/protocol'
import { memo } from 'react'
import { excerptOf } from './excerpt.ts'
import type { Facets } from './facets.ts'
import { formatBytes, formatClock, formatDuration } from './format.ts'
import { groupOf } from './group.ts'
import { runOf } from './search.ts'

interface EntryRowProps {
  readonly entry: Entry
  readonly index: number
  /** Index among the shown entries. */
  readonly position: number
  readonly start: number
  readonly facets: Facets
  readonly showsClockTime: boolean
  readonly isSelected: boolean
  readonly isActive: boolean
  /** Whether it comes after the selected entry. */
  readonly isAfterSelected: boolean
  readonly onChoose: (sequence: number) => void
}

/** A row of the table of entries. */
export const EntryRow = memo(function EntryRow(props: EntryRowProps) {
  const { entry, index, position, start, facets, showsClockTime, isSelected, isActive, isAfterSelected, onChoose } =
    props
  const { sequence, chunk, internal } = entry
  return (
    <tr
      id={`entry-${index}`}
      className="entry"
      aria-rowindex={position + 2}
      aria-selected={isSelected}
      data-active={isActive}
      data-gone={isAfterSelected}
      data-sequence={sequence}
      style={{ transform: `translateY(${start}px)` }}
      onClick={() => onChoose(sequence)}
    >
      <td className="sequence">{sequence}</td>
      <td className="time">{timeOf(entry, facets, showsClockTime)}</td>
      <Lane entry={entry} />
      <td className="type" data-group={groupOf(chunk)}>
        {chunk.type}
        {internal && ' (internal)'}
      </td>
      <td className="excerpt">{excerptOf(entry)}</td>
      <td className="bytes">{formatBytes(sizeOf(entry))}</td>
    </tr>
  )
})

function Lane({ entry: { origin } }: { readonly entry: Entry }) {
  if (isGuest(origin)) {
    return <td className="lane guest">{origin.guest}</td>
  }
  const depth = origin.lane.split('/').length - 1
  return (
    <td className="lane" title={origin.lane} style={{ paddingLeft: `${Math.min(depth, 4) * 0.6}rem` }}>
      {origin.agentType}
    </td>
  )
}

/** The time of an entry: clock time, or time since the start of its run. An entry before the start has its clock time in seconds. */
function timeOf(entry: Entry, facets: Facets, showsClockTime: boolean): string {
  const start = facets.runs.get(runOf(entry) ?? '')?.start
  const since = start === undefined ? -1 : entry.timestamp - start
  if (showsClockTime) return formatClock(entry.timestamp, 'ms')
  return since < 0 ? formatClock(entry.timestamp, 's') : `+${formatDuration(since)}`
}

const encoder = new TextEncoder()
const sizes = new WeakMap<Entry, number>()

/** Size of an entry as JSON, in bytes. */
export function sizeOf(entry: Entry): number {
  let size = sizes.get(entry)
  if (size === undefined) {
    size = encoder.encode(JSON.stringify(entry)).length
    sizes.set(entry, size)
  }
  return size
}
