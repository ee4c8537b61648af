import type { ReactNode } from 'react'
import { Callbacks } from './callbacks/callbacks.tsx'
import { Charts } from './charts/charts.tsx'
import { Entries } from './entries/entries.tsx'
import { Faults } from './faults/faults.tsx'

import { Splitter, useSize } from './splitter.tsx'
import { Tabs } from './tabs.tsx'
import { Timeline } from './timeline/timeline.tsx'
import { Slider } from './travel/slider.tsx'
import { State } from './travel/state.tsx'
import { WirePanel } from './wire/wire-panel.tsx'

/** The views of the log, in the order of the tabs. */
const views = [
  { name: 'Entries', panel: <Entries key="Entries" /> },
  { name: 'Charts', panel: <Charts key="Charts" /> },
  { name: 'Wire', panel: <WirePanel key="Wire" /> },
  { name: 'Callbacks', panel: <Callbacks key="Callbacks" /> },
  { name: 'Faults', panel: <Faults key="Faults" /> },
]
/** Without a side panel, the state is one of the tabs. */
const withState = [...views, { name: 'State', panel: <State key="State" /> }]

/** All views of a log, with a side panel if there is room. */
export function Inspector({ side }: { readonly side?: ReactNode }) {
  const [over, setOver] = useSize('over', 26)
  const [sideWidth, setBeside] = useSize('side', 34)
  const sizes = { '--over': `${over}dvh`, '--side': `${sideWidth}%` }
  return (
    <section className="inspector" aria-label="Log" style={sizes as object}>
      <Timeline />
      <Splitter label="Timeline height" between="row" size={over} onSize={setOver} />
      <Slider />
      <div className="under" data-side={side !== undefined}>
        <Tabs label="Log views" tabs={side === undefined ? withState : views} />
        {side !== undefined && (
          <>
            <Splitter label="Conversation width" between="column" size={sideWidth} onSize={setBeside} isAfter />
            <div className="side">{side}</div>
          </>
        )}
      </div>
    </section>
  )
}
