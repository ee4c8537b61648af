import { type RefObject, useLayoutEffect, useRef, useState } from 'react'

/** Measures the width of an element, in px. Until then it is `initial`. */
export function useWidth<E extends Element>(initial = 0): readonly [RefObject<E | null>, number] {
  const element = useRef<E>(null)
  const [width, setWidth] = useState(initial)
  useLayoutEffect(() => {
    if (element.current === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return [element, width]
}
