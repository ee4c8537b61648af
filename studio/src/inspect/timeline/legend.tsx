import { Glyph, MARKER_LABELS } from './glyph.tsx'
import { markerKinds } from './row.ts'

const FILLS = [
  ['step', 'Model call'],
  ['step tools', 'Tools of the step'],
  ['call', 'Tool or sub-agent'],
  ['waiting', 'Waiting for you'],
  ['deltas text', 'Text'],
  ['deltas reasoning', 'Reasoning'],
  ['deltas input', 'Tool input'],
] as const

/** Explains the markers and colors of the timeline. */
export function Legend() {
  return (
    <details className="legend">
      <summary>Legend</summary>
      <ul>
        {FILLS.map(([name, meaning]) => (
          <li key={name}>
            <svg width="14" height="12" aria-hidden="true">
              <rect
                className={name.replace(' tools', '')}
                data-state={name.includes('tools') ? 'tools' : 'done'}
                x="1"
                y="2"
                width="12"
                height="8"
              />
            </svg>
            {meaning}
          </li>
        ))}
        <li>
          <svg width="14" height="12" aria-hidden="true">
            <rect className="discarded" fill="url(#discarded-pattern)" x="1" y="1" width="12" height="10" />
          </svg>
          Discarded draft
        </li>
        {markerKinds.map(marker => (
          <li key={marker}>
            <svg width="14" height="12" viewBox="-7 -6 14 12" aria-hidden="true">
              <Glyph marker={marker} />
            </svg>
            {MARKER_LABELS[marker]}
          </li>
        ))}
      </ul>
    </details>
  )
}
