import type { Json } from '@millrace/protocol'
import { useAgentState } from '@millrace/react'
import { Value } from '../part/value.tsx'

/** The state that agents share, collapsed. */
export function SharedState() {
  const state = useAgentState<Json>()
  if (state === undefined || state === null) return null
  return (
    <details className="card state">
      <summary>Shared state</summary>
      <Value value={state} />
    </details>
  )
}
