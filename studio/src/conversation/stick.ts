import { type RefObject, useEffect, useMemo, useState } from 'react'

const NEAR_PX = 60

/** Keeps the end in sight for who was there, and lets everybody else read on. */
export function useStickToEnd(pane: RefObject<HTMLElement | null>) {
  const [isAtEnd, setAtEnd] = useState(true)
  const place = useMemo(() => {
    let isSticking = true
    let top = 0
    let fromEnd: number | undefined
    const end = () => {
      const { current } = pane
      if (current) current.scrollTop = current.scrollHeight
    }
    return {
      grew: () => isSticking && end(),
      scrolled: () => {
        const { current } = pane
        if (!current) return
        const isNear = current.scrollHeight - current.scrollTop - current.clientHeight < NEAR_PX
        // Only who scrolls up has left: what grows meanwhile moves the end away by itself.
        if (isNear) isSticking = true
        else if (current.scrollTop < top) isSticking = false
        top = current.scrollTop
        setAtEnd(isSticking)
      },
      toEnd: () => {
        isSticking = true
        end()
      },
      keep: Object.assign(
        () => {
          const { current } = pane
          if (current && fromEnd !== undefined) current.scrollTop = current.scrollHeight - fromEnd
          fromEnd = undefined
        },
        {
          remember: () => {
            const { current } = pane
            if (current) fromEnd = current.scrollHeight - current.scrollTop
          },
        },
      ),
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
