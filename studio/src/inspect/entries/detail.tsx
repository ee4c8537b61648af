import { type Entry, isGuest, type Json, type Origin } from '@millrace/protocol'
import type { SessionLog } from '@millrace/react/log'
import { memo, useDeferredValue, useMemo } from 'react'
import { Changes } from '../diff/changes.tsx'
import { diffOf } from '../diff/diff.ts'
import { unchangedReason } from '../diff/unchanged-reason.ts'
import { useInspectedLog } from '../inspected-log.ts'
import { useTravel } from '../travel/travel.ts'
import { sizeOf } from './entry-row.tsx'
import { excerptOf } from './excerpt.ts'
import { formatBytes } from './format.ts'
import { groupOf } from './group.ts'
import { JsonTree } from './json-tree.tsx'
import { type EntryFilter, runOf } from './search.ts'

interface DetailProps {
  readonly entry: Entry
  readonly index: number
  /** Called to restrict the list of entries. */
  readonly onFilter: (part: Partial<EntryFilter>) => void
}

/** The details of an entry: its chunk, origin, changes to the view, and neighbours. */
export function Detail(props: DetailProps) {
  // Deferred, so that dragging the slider stays smooth.
  const entry = useDeferredValue(props.entry)
  const index = useDeferredValue(props.index)
  return <DetailContent entry={entry} index={index} onFilter={props.onFilter} />
}

const DetailContent = memo(function DetailContent({ entry, index, onFilter }: DetailProps) {
  const { sequence, timestamp, origin, chunk, blobs, internal } = entry
  const runId = runOf(entry)
  return (
    <section className="detail" aria-label={`Entry ${sequence}`}>
      <header>
        <h3>
          <span className="type" data-group={groupOf(chunk)}>
            {chunk.type}
          </span>{' '}
          {sequence}
        </h3>
        <p className="quiet">
          {new Date(timestamp).toLocaleString()} · {formatBytes(sizeOf(entry))}
          {internal && ' · internal'}
        </p>
      </header>
      <Section title="Changes">
        <EntryChanges entry={entry} />
      </Section>
      <Section title="Chunk">
        <JsonTree value={chunk as unknown as Json} open={3} />
      </Section>
      <Section title="Origin">
        <dl className="origin">
          {fieldsOf(origin).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
        <p className="row">
          {runId !== undefined && (
            <button type="button" onClick={() => onFilter({ runId })}>
              Only this run
            </button>
          )}
          {origin.lane !== undefined && (
            <button type="button" onClick={() => onFilter({ lane: origin.lane, ...(runId && { runId }) })}>
              Only this lane
            </button>
          )}
        </p>
      </Section>
      {blobs && (
        <Section title="Blobs">
          <JsonTree value={blobs as unknown as Json} open={2} />
        </Section>
      )}
      <Section title="Previous and next in this lane">
        <Neighbours entry={entry} index={index} />
      </Section>
    </section>
  )
})

function Section({ title, children }: { readonly title: string; readonly children: React.ReactNode }) {
  return (
    <div className="piece">
      <h4>{title}</h4>
      {children}
    </div>
  )
}

const fieldsOf = (origin: Origin): [string, string][] =>
  Object.entries(origin).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))

/** The changes of the view by the entry. */
function EntryChanges({ entry }: { readonly entry: Entry }) {
  const log = useInspectedLog()
  const changes = useMemo(() => changesOf(log, entry), [log, entry])
  if (typeof changes === 'string') return <p className="quiet">{changes}</p>
  return <Changes diff={changes} />
}

function changesOf(log: SessionLog, entry: Entry) {
  try {
    const before = log.viewAt(entry.sequence - 1)
    const diff = diffOf(before, log.viewAt(entry.sequence))
    return diff.changes.length > 0 ? diff : unchangedReason(entry, before)
  } catch (error) {
    return `Not available: ${error instanceof Error ? error.message : error}`
  }
}

/** Maximum number of entries to search for a neighbour. */
const MAX_DISTANCE = 5000

/** The previous and next entry of the same lane. */
function Neighbours({ entry, index }: { readonly entry: Entry; readonly index: number }) {
  const { entries } = useInspectedLog()
  const { travel } = useTravel()
  const find = (step: 1 | -1): Entry | undefined => {
    for (let i = index + step, checked = 0; checked < MAX_DISTANCE; i += step, checked++) {
      const other = entries[i]
      if (other === undefined || isSameLane(entry.origin, other.origin)) return other
    }
    return undefined
  }
  const [before, after] = [find(-1), find(1)]
  const line = (one: Entry) => (
    <li>
      <button type="button" onClick={() => travel(one.sequence)}>
        {one.sequence} <span data-group={groupOf(one.chunk)}>{one.chunk.type}</span> {excerptOf(one)}
      </button>
    </li>
  )
  return (
    <ul className="neighbours">
      {before && line(before)}
      {after && line(after)}
    </ul>
  )
}

const isSameLane = (one: Origin, other: Origin): boolean =>
  isGuest(one) ? isGuest(other) : one.runId === other.runId && one.lane === other.lane
