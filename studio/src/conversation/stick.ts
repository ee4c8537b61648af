import { type RefObject, useEffect, useMemo, useRef, useState } from 'react'

const NEAR_PX = 60
/** How far from the top older messages are asked for, so that they are there when somebody comes to them. */
const SOON_PX = 1200

/** Keeps the end in sight for who was there, and lets everybody else read on. */
export function useStickToEnd(pane: RefObject<HTMLElement | null>, onNearTop: () => void) {
  const [isAtEnd, setAtEnd] = useState(true)
  const nearTop = useRef(onNearTop)
  nearTop.current = onNearTop
  const place = useMemo(() => {
    let isSticking = true
    let top = 0
    let height = 0
    const end = () => {
      const { current } = pane
      if (current) current.scrollTop = current.scrollHeight
    }
    return {
      grew: () => {
        if (isSticking) end()
        height = pane.current?.scrollHeight ?? 0
      },
      scrolled: () => {
        const { current } = pane
        if (!current) return
        const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
        // Only who scrolls up has left: what grows meanwhile moves the end away by itself.
        if (isNear) isSticking = true
        else if (current.scrollTop < top) isSticking = false
        if (!isSticking && current.scrollTop < Math.min(top, SOON_PX)) nearTop.current()
        top = current.scrollTop
        setAtEnd(isSticking)
      },
      toEnd: () => {
        isSticking = true
        end()
      },
      /** Something was put before what is read: that stays where it is. */
      keep: () => {
        const { current } = pane
        if (!current) return
        if (!isSticking && height > 0) current.scrollTop += current.scrollHeight - height
        height = current.scrollHeight
        top = current.scrollTop
      },
    }
  }, [pane])
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
  return { isAtEnd, toEnd: place.toEnd, keepPlace: place.keep }
}
