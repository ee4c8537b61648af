import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'

const NEAR_PX = 60
/** How far from the top older messages are asked for, so that they are there when somebody comes to them. */
const SOON_PX = 1200

/** What is read, and where that stands in the pane, wherever the pane is scrolled to. */
interface Anchor {
  readonly slot: HTMLElement
  readonly top: number
}

/**
 * Keeps the end in sight for who was there. Everybody else reads on: whatever comes, goes or grows above what they read, that stays where it
 * is. (Not all browsers do that by themselves.) To be called wherever slots are rendered.
 */
export function useStickToEnd(pane: RefObject<HTMLElement | null>, onNearTop: () => void) {
  const [isAtEnd, setAtEnd] = useState(true)
  const nearTop = useRef(onNearTop)
  nearTop.current = onNearTop
  const place = useMemo(() => {
    let isSticking = true
    let top = 0
    let anchor: Anchor | undefined
    const end = () => {
      const { current } = pane
      if (current) current.scrollTop = current.scrollHeight
    }
    const topOf = (slot: HTMLElement, { scrollTop }: HTMLElement) => slot.getBoundingClientRect().top + scrollTop
    /** What is read is the first that reaches into sight. */
    const look = (current: HTMLElement) => {
      const sight = current.getBoundingClientRect().top
      const slots = [...current.querySelectorAll<HTMLElement>('.slot')]
      const slot = slots.find(one => one.getBoundingClientRect().bottom > sight)
      anchor = slot && { slot, top: topOf(slot, current) }
    }
    return {
      /** The slot of what is read, which has to stay. */
      get anchor(): HTMLElement | undefined {
        return isSticking ? undefined : anchor?.slot
      },
      get isNearTop(): boolean {
        return !isSticking && (pane.current?.scrollTop ?? Infinity) < SOON_PX
      },
      grew: () => isSticking && end(),
      scrolled: () => {
        const { current } = pane
        if (!current) return
        const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
        // Only who scrolls up has left: what grows meanwhile moves the end away by itself.
        if (isNear) isSticking = true
        else if (current.scrollTop < top) isSticking = false
        if (!isSticking && current.scrollTop < Math.min(top, SOON_PX)) nearTop.current()
        top = current.scrollTop
        look(current)
        setAtEnd(isSticking)
      },
      toEnd: () => {
        isSticking = true
        end()
      },
      keep: () => {
        const { current } = pane
        if (!current || isSticking) return
        const moved = anchor?.slot.isConnected ? topOf(anchor.slot, current) - anchor.top : 0
        if (moved === 0) return
        current.scrollTop += moved
        top = current.scrollTop
        look(current)
      },
    }
  }, [pane])
  useLayoutEffect(place.keep)
  useEffect(() => {
    const { current } = pane
    const sheet = current?.firstElementChild
    if (!current || !sheet) return
    const observer = new ResizeObserver(place.grew)
    observer.observe(sheet)
    observer.observe(current)
    current.addEventListener('scroll', place.scrolled, { passive: true })
    return () => {
      observer.disconnect()
      current.removeEventListener('scroll', place.scrolled)
    }
  }, [pane, place])
  return { isAtEnd, place }
}
