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

/** Where a pager leads, and since when: there is another in its place there, and who uses the keyboard goes on with that. */
let goal: { readonly key: string; readonly place: number; readonly since: number } | undefined

/** How long it may take to get there: after that nobody is on the way. */
const LONGEST_MS = 2000

/** Goes through what stood at one place of the conversation, as it was then. */
export function Pager({ name, siblings, place }: PagerProps) {
  const { at, travel } = useTravel()
  const group = useRef<HTMLFieldSetElement>(null)
  const key = `${name} ${siblings[0]?.runId}`
  // biome-ignore lint/correctness/useExhaustiveDependencies: where one has come to elsewhere, it is there
  useEffect(() => {
    const { current } = group
    if (goal?.key !== key || goal.place !== place || !current?.checkVisibility()) return
    goal = undefined
    current.focus()
  }, [at, key, place])
  if (siblings.length < 2 || place < 0) return null
  const go = (step: number) => {
    const since = performance.now()
    // Who is on the way goes on from where that leads.
    const isOnTheWay = goal?.key === key && since - goal.since < LONGEST_MS
    const to = (isOnTheWay && goal ? goal.place : place) + step
    const sibling = siblings[to]
    if (sibling === undefined) return
    goal = { key, place: to, since }
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
      aria-label={`${name} ${place + 1} of ${siblings.length}`}
      ref={group}
      tabIndex={-1}
      onKeyDown={onKeyDown}
    >
      <button type="button" aria-label="The one before" disabled={place === 0} onClick={() => go(-1)}>
        ‹
      </button>
      <span>
        {place + 1}/{siblings.length}
      </span>
      <button type="button" aria-label="The next one" disabled={place === siblings.length - 1} onClick={() => go(1)}>
        ›
      </button>
    </fieldset>
  )
}
