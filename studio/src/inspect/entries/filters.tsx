import { type FormEvent, useState } from 'react'
import { runName } from '../run-name.ts'
import { useTravel } from '../travel/travel.ts'
import type { Facets } from './facets.ts'
import { type Group, groups } from './group.ts'
import { type EntryFilter, isNoFilter, NO_FILTER } from './search.ts'
import type { SearchResult } from './use-search.ts'

/** Number of latest runs in the filter. */
const MAX_RUNS = 200

interface FiltersProps {
  readonly facets: Facets
  readonly filter: EntryFilter
  readonly onChange: (filter: EntryFilter) => void
  readonly result: SearchResult
  readonly isClock: boolean
  readonly onClock: (isClock: boolean) => void
}

/** Filters of the list of entries. */
export function Filters({ facets, filter, onChange, result, isClock, onClock }: FiltersProps) {
  const { groups: selectedGroups, runId, lane, text } = filter
  const runs = [...facets.runs.values()].slice(-MAX_RUNS).reverse()
  const selectedRun = runId === undefined ? undefined : facets.runs.get(runId)
  if (selectedRun && !runs.includes(selectedRun)) runs.push(selectedRun)
  const toggle = (group: Group) => {
    const next = new Set(selectedGroups)
    if (!next.delete(group)) next.add(group)
    onChange({ ...filter, groups: next })
  }
  return (
    <search className="filters">
      <div className="row">
        <input
          type="search"
          aria-label="Search entries"
          placeholder="Search entries"
          value={text}
          onChange={({ target }) => onChange({ ...filter, text: target.value })}
        />
        {facets.runs.size > 1 && (
          <select
            aria-label="Run"
            value={runId ?? ''}
            onChange={({ target }) => onChange({ ...filter, runId: target.value || undefined })}
          >
            <option value="">All {facets.runs.size} runs</option>
            {runs.map(run => (
              <option key={run.runId} value={run.runId}>
                {runName(run)}
              </option>
            ))}
          </select>
        )}
        {facets.lanes.size > 1 && (
          <select
            aria-label="Lane"
            value={lane ?? ''}
            onChange={({ target }) => onChange({ ...filter, lane: target.value || undefined })}
          >
            <option value="">All lanes</option>
            {[...facets.lanes].map(([name, agent]) => (
              <option key={name} value={name}>
                {agent}, {name}
              </option>
            ))}
          </select>
        )}
        <Jump />
        <button
          type="button"
          aria-pressed={isClock}
          title="Show clock time instead of time since the start of the run"
          onClick={() => onClock(!isClock)}
        >
          Clock time
        </button>
      </div>
      <fieldset className="groups">
        <legend className="hidden">Entry types</legend>
        {groups.map(group => (
          <button
            key={group}
            type="button"
            className="chip"
            data-group={group}
            aria-pressed={selectedGroups.has(group)}
            onClick={() => toggle(group)}
          >
            {group}
          </button>
        ))}
      </fieldset>
      {!isNoFilter(filter) && (
        <p className="quiet found" role="status">
          {result.count.toLocaleString('en')} {result.count === 1 ? 'entry' : 'entries'} found
          {result.progress < 1 && <progress value={result.progress} aria-label="Searching" />}
          <button type="button" onClick={() => onChange(NO_FILTER)}>
            Clear filters
          </button>
        </p>
      )}
    </search>
  )
}

/** Jumps to a sequence. */
function Jump() {
  const { travel } = useTravel()
  const [typed, setTyped] = useState('')
  const go = (event: FormEvent) => {
    event.preventDefault()
    if (typed !== '') travel(Number(typed))
    setTyped('')
  }
  return (
    <form onSubmit={go}>
      <input
        className="jump"
        inputMode="numeric"
        aria-label="Go to entry"
        placeholder="Go to #"
        value={typed}
        onChange={({ target }) => setTyped(target.value.replace(/\D/g, ''))}
      />
    </form>
  )
}
