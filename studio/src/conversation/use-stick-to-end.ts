import { type RefObject, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'

/** Distance from the end that counts as the end, in px. */
const NEAR_PX = 60
/** Distance from the top at which older messages load, in px. */
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
  const scroll = useMemo(() => {
    let isSticking = true
    let top = 0
    let anchor: Anchor | undefined
    const end = () => {
      const { current } = pane
      if (current) current.scrollTop = current.scrollHeight
    }
    const topOf = (slot: HTMLElement, { scrollTop }: HTMLElement) => slot.getBoundingClientRect().top + scrollTop
    /** Anchors the first visible slot. */
    const updateAnchor = (current: HTMLElement) => {
      const paneTop = current.getBoundingClientRect().top
      const slots = [...current.querySelectorAll<HTMLElement>('.slot')]
      const slot = slots.find(candidate => candidate.getBoundingClientRect().bottom > paneTop)
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
      onResize: () => isSticking && end(),
      onScroll: () => {
        const { current } = pane
        if (!current) return
        const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
        // Only scrolling up leaves the end: growing content also increases the distance.
        if (isNear) isSticking = true
        else if (current.scrollTop < top) isSticking = false
        if (!isSticking && current.scrollTop < Math.min(top, LOAD_OLDER_PX)) nearTop.current()
        top = current.scrollTop
        updateAnchor(current)
        setAtEnd(isSticking)
      },
      toEnd: () => {
        isSticking = true
        end()
      },
      restoreAnchor: () => {
        const { current } = pane
        if (!current || isSticking) return
        const moved = anchor?.slot.isConnected ? topOf(anchor.slot, current) - anchor.top : 0
        if (moved === 0) return
        current.scrollTop += moved
        top = current.scrollTop
        updateAnchor(current)
      },
    }
  }, [pane])
  useLayoutEffect(scroll.restoreAnchor)
  useEffect(() => {
    const { current } = pane
    const sheet = current?.firstElementChild
    if (!current || !sheet) return
    const observer = new ResizeObserver(scroll.onResize)
    observer.observe(sheet)
    observer.observe(current)
    current.addEventListener('scroll', scroll.onScroll, { passive: true })
    return () => {
      observer.disconnect()
      current.removeEventListener('scroll', scroll.onScroll)
    }
  }, [pane, scroll])
  return { isAtEnd, scroll }
}
