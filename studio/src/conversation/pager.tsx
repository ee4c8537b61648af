import { type KeyboardEvent, useEffect, useRef } from 'react'
import { useTravel } from '../inspect/travel/travel.ts'
import type { Sibling } from './siblings.ts'

interface PagerProps {
  /** Name of the paged item, for the label. */
  readonly name: string
  readonly siblings: readonly Sibling[]
  /** Index of the shown version. */
  readonly index: number
}

/** The version being loaded. The pager that shows it takes over the keyboard focus. */
let target: { readonly key: string; readonly index: number; readonly since: number } | undefined

/** After this time a target that did not load is ignored. */
const TARGET_TIMEOUT_MS = 2000

/** Pages through the versions of a message or response. */
export function Pager({ name, siblings, index }: PagerProps) {
  const { at, travel } = useTravel()
  const group = useRef<HTMLFieldSetElement>(null)
  const key = `${name} ${siblings[0]?.runId}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: `at` changes when the target is shown
  useEffect(() => {
    const { current } = group
    if (target?.key !== key || target.index !== index || !current?.checkVisibility()) return
    target = undefined
    current.focus()
  }, [at, key, index])
  if (siblings.length < 2 || index < 0) return null
  const go = (step: number) => {
    const since = performance.now()
    // While a version loads, the next step counts from there.
    const isLoading = target?.key === key && since - target.since < TARGET_TIMEOUT_MS
    const to = (isLoading && target ? target.index : index) + step
    const sibling = siblings[to]
    if (sibling === undefined) return
    target = { key, index: to, since }
    travel(sibling.end)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    go(step)
  }
  return (
    <fieldset
      className="pager"
      aria-label={`${name} ${index + 1} of ${siblings.length}`}
      ref={group}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <button type="button" aria-label="Previous version" disabled={index === 0} onClick={() => go(-1)}>
        ‹
      </button>
      <span>
        {index + 1}/{siblings.length}
      </span>
      <button type="button" aria-label="Next version" disabled={index === siblings.length - 1} onClick={() => go(1)}>
        ›
      </button>
    </fieldset>
  )
}
