import type { ReactNode } from 'react'
import { panels } from './panels.ts'
import { Splitter, useSize } from './splitter.tsx'
import { Tabs } from './tabs.tsx'
import { Timeline } from './timeline/timeline.tsx'
import { Slider } from './travel/slider.tsx'
import { State } from './travel/state.tsx'

const views = panels.map(({ name, Panel }) => ({ name, panel: <Panel key={name} /> }))
/** Without anything at the side, what is there on a page is among the tabs. */
const withState = [...views, { name: 'State', panel: <State key="State" /> }]

/** A log, in all the ways in which it can be looked at; where there is room, with something at its side. */
export function Inspector({ side }: { readonly side?: ReactNode }) {
  const [over, setOver] = useSize('over', 26)
  const [beside, setBeside] = useSize('side', 34)
  const sizes = { '--over': `${over}dvh`, '--side': `${beside}%` }
  return (
    <section className="inspector" aria-label="The log" style={sizes as object}>
      <Timeline />
      <Splitter label="Height of the timeline" between="row" size={over} onSize={setOver} />
      <Slider />
      <div className="under" data-side={side !== undefined}>
        <Tabs label="Views of the log" tabs={side === undefined ? withState : views} />
        {side !== undefined && (
          <>
            <Splitter label="Width of the conversation" between="column" size={beside} onSize={setBeside} isAfter />
            <div className="side">{side}</div>
          </>
        )}
      </div>
    </section>
  )
}
