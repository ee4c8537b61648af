import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'

const NEAR_PX = 60
/** Older messages load at this distance from the top. */
const LOAD_OLDER_PX = 1200

/** The first visible slot and its offset from the top of the scrolled content. */
interface Anchor {
  readonly slot: HTMLElement
  readonly top: number
}

/**
 * Sticks to the end while the user is there. Otherwise anchors the first visible slot, so that changes above it do not move it. (Not all
 * browsers support scroll anchoring.) Call it in the component that renders the slots.
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
    /** Anchors the first visible slot. */
    const look = (current: HTMLElement) => {
      const sight = current.getBoundingClientRect().top
      const slots = [...current.querySelectorAll<HTMLElement>('.slot')]
      const slot = slots.find(one => one.getBoundingClientRect().bottom > sight)
      anchor = slot && { slot, top: topOf(slot, current) }
    }
    return {
      /** The anchored slot, which has to stay mounted. */
      get anchor(): HTMLElement | undefined {
        return isSticking ? undefined : anchor?.slot
      },
      get isNearTop(): boolean {
        return !isSticking && (pane.current?.scrollTop ?? Infinity) < LOAD_OLDER_PX
      },
      grew: () => isSticking && end(),
      scrolled: () => {
        const { current } = pane
        if (!current) return
        const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
        // Only scrolling up leaves the end: growing content also increases the distance.
        if (isNear) isSticking = true
        else if (current.scrollTop < top) isSticking = false
        if (!isSticking && current.scrollTop < Math.min(top, LOAD_OLDER_PX)) nearTop.current()
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
