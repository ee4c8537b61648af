import { type KeyboardEvent, useEffect, useRef } from 'react'
import { useTravel } from '../inspect/travel/travel.ts'
import type { Sibling } from './siblings.ts'

interface PagerProps {
  /** What there are several of. */
  readonly name: string
  readonly siblings: readonly Sibling[]
  /** Which one is shown. */
  readonly place: number
}

/** The pager that was used last: where it leads there is another in its place, and who uses the keyboard goes on there. */
let inUse: string | undefined

/** Goes through what stood at one place of the conversation, as it was then. */
export function Pager({ name, siblings, place }: PagerProps) {
  const { at, travel } = useTravel()
  const group = useRef<HTMLFieldSetElement>(null)
  const key = `${name} ${siblings[0]?.runId}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: where one has come to elsewhere, it is there
  useEffect(() => {
    const { current } = group
    if (inUse !== key || !current?.checkVisibility()) return
    inUse = undefined
    current.focus()
  }, [at, key])
  if (siblings.length < 2 || place < 0) return null
  const go = (to: number) => {
    const sibling = siblings[to]
    if (sibling === undefined) return
    inUse = key
    travel(sibling.end)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    go(place + step)
  }
  return (
    <fieldset
      className="pager"
      aria-label={`${name} ${place + 1} of ${siblings.length}`}
      ref={group}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <button type="button" aria-label="The one before" disabled={place === 0} onClick={() => go(place - 1)}>
        ‹
      </button>
      <span>
        {place + 1}/{siblings.length}
      </span>
      <button
        type="button"
        aria-label="The next one"
        disabled={place === siblings.length - 1}
        onClick={() => go(place + 1)}
      >
        ›
      </button>
    </fieldset>
  )
}
