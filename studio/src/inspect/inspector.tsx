import { useLogState } from '@millrace/react/log'
import { useState } from 'react'
import { useInspected } from './inspected.ts'
import { panels } from './panels.ts'
import { Slider } from './travel/slider.tsx'

/** A log, in all the ways in which it can be looked at. */
export function Inspector() {
  const log = useInspected()
  const { count, head, status, error } = useLogState(log)
  const [name, show] = useState(panels[0]?.name)
  const { Panel } = panels.find(panel => panel.name === name) ?? {}
  return (
    <section className="inspector" aria-label="The log">
      <p className="quiet" role="status">
        {count} entries, up to {head}, {error?.message ?? status}
      </p>
      <Slider />
      <div className="tabs" role="tablist" aria-label="Views of the log">
        {panels.map(panel => (
          <button
            key={panel.name}
            type="button"
            role="tab"
            aria-selected={panel.name === name}
            onClick={() => show(panel.name)}
          >
            {panel.name}
          </button>
        ))}
      </div>
      {Panel && <Panel />}
    </section>
  )
}
