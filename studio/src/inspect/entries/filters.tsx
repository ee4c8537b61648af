import { type FormEvent, useState } from 'react'
import { runName } from '../run-name.ts'
import { useTravel } from '../travel/travel.ts'
import type { Facets } from './facets.ts'
import { type Group, groups } from './group.ts'
import { EVERYTHING, isEverything, type Wanted } from './search.ts'
import type { Shown } from './use-search.ts'

/** The runs that can be chosen from: the latest. */
const MOST_RUNS = 200

interface FiltersProps {
  readonly facets: Facets
  readonly wanted: Wanted
  readonly onChange: (wanted: Wanted) => void
  readonly shown: Shown
  readonly isClock: boolean
  readonly onClock: (isClock: boolean) => void
}

/** Says which entries are to be seen. */
export function Filters({ facets, wanted, onChange, shown, isClock, onClock }: FiltersProps) {
  const { groups: chosen, runId, lane, text } = wanted
  const runs = [...facets.runs.values()].slice(-MOST_RUNS).reverse()
  const known = runId === undefined ? undefined : facets.runs.get(runId)
  if (known && !runs.includes(known)) runs.push(known)
  const toggle = (group: Group) => {
    const next = new Set(chosen)
    if (!next.delete(group)) next.add(group)
    onChange({ ...wanted, groups: next })
  }
  return (
    <search className="filters">
      <div className="row">
        <input
          type="search"
          aria-label="Search the entries"
          placeholder="Search in the JSON"
          value={text}
          onChange={({ target }) => onChange({ ...wanted, text: target.value })}
        />
        {facets.runs.size > 1 && (
          <select
            aria-label="Run"
            value={runId ?? ''}
            onChange={({ target }) => onChange({ ...wanted, runId: target.value || undefined })}
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
            onChange={({ target }) => onChange({ ...wanted, lane: target.value || undefined })}
          >
            <option value="">All lanes</option>
            {[...facets.lanes].map(([name, who]) => (
              <option key={name} value={name}>
                {who}, {name}
              </option>
            ))}
          </select>
        )}
        <Jump />
        <button
          type="button"
          aria-pressed={isClock}
          title="Times by the clock, not since the run began"
          onClick={() => onClock(!isClock)}
        >
          Clock
        </button>
      </div>
      <fieldset className="groups">
        <legend className="hidden">Kinds of entries</legend>
        {groups.map(group => (
          <button
            key={group}
            type="button"
            className="chip"
            data-group={group}
            aria-pressed={chosen.has(group)}
            onClick={() => toggle(group)}
          >
            {group}
          </button>
        ))}
      </fieldset>
      {!isEverything(wanted) && (
        <p className="quiet found" role="status">
          {shown.count.toLocaleString('en')} found
          {shown.progress < 1 && <progress value={shown.progress} aria-label="Searching" />}
          <button type="button" onClick={() => onChange(EVERYTHING)}>
            Show all
          </button>
        </p>
      )}
    </search>
  )
}

/** Goes to a sequence. */
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
        aria-label="Go to a sequence"
        placeholder="Go to…"
        value={typed}
        onChange={({ target }) => setTyped(target.value.replace(/\D/g, ''))}
      />
    </form>
  )
}
