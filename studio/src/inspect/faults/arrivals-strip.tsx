import type { SessionLog } from '@millrace/client/log'
import { useEffect, useState } from 'react'
import { arrivalsOf, TICK_MS, TICKS } from './arrivals.ts'
import type { Fault } from './fault-log.ts'
import { FAULT_NAMES } from './format-fault.ts'

const HEIGHT = 40

/** A chart of the entries of the last 30 s with markers for faults: shows the gap and how it closes. */
export function ArrivalsStrip({ log, faults }: { readonly log: SessionLog; readonly faults: readonly Fault[] }) {
  const arrivals = arrivalsOf(log)
  const [now, setNow] = useState(() => performance.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), TICK_MS)
    return () => clearInterval(timer)
  }, [])
  const bars = arrivals.bars(now)
  const max = Math.max(8, ...bars)
  const last = Math.floor(now / TICK_MS)
  const marks = faults.flatMap(({ id, name, time }) => {
    const at = TICKS - 1 - (last - Math.floor(time / TICK_MS))
    return at >= 0 && at < TICKS ? [{ id, name, at }] : []
  })
  const total = bars.reduce((sum, count) => sum + count, 0)
  return (
    <figure className="arrivals">
      <figcaption>
        Entries received <span className="quiet since">in the last 30 s: {total.toLocaleString('en')}</span>
      </figcaption>
      <svg viewBox={`0 0 ${TICKS * 4} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        {bars.map((count, i) => {
          const height = count === 0 ? 0 : Math.max(2, (Math.sqrt(count) / Math.sqrt(max)) * HEIGHT)
          // biome-ignore lint/suspicious/noArrayIndexKey: bars have no id
          return <rect key={i} x={i * 4} y={HEIGHT - height} width="3" height={height} />
        })}
        {marks.map(({ id, name, at }) => (
          <line key={id} className="mark" x1={at * 4 + 2} x2={at * 4 + 2} y1="0" y2={HEIGHT}>
            <title>{FAULT_NAMES[name]}</title>
          </line>
        ))}
      </svg>
    </figure>
  )
}
