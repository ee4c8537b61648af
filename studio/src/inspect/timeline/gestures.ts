import { type PointerEvent, type RefObject, useEffect, useRef } from 'react'

interface GestureHandlers {
  /** Zooms by a factor around x. */
  readonly zoom: (factor: number, x: number) => void
  /** Scrolls by pixels. */
  readonly pan: (pixels: number) => void
  readonly press: (x: number, y: number) => void
}

/** Movement in px above which a press is a drag. */
const DRAG_PX = 4
/** Zoom factor per pixel of the wheel. */
const PER_PIXEL = 1.0025
/** Pixels per line of the wheel. */
const WHEEL_LINE_PX = 16

/** Handles wheel, drag, pinch and press on an element. */
export function useGestures(element: RefObject<HTMLElement | null>, moves: GestureHandlers) {
  const latest = useRef(moves)
  latest.current = moves
  useEffect(() => {
    const wheel = (event: WheelEvent) => {
      const { deltaX, deltaY, deltaMode, shiftKey, clientX } = event
      event.preventDefault()
      const unit = deltaMode === 0 ? 1 : WHEEL_LINE_PX
      const x = clientX - (element.current?.getBoundingClientRect().left ?? 0)
      if (shiftKey || Math.abs(deltaX) > Math.abs(deltaY)) latest.current.pan((deltaX || deltaY) * unit)
      else latest.current.zoom(PER_PIXEL ** (-deltaY * unit), x)
    }
    const target = element.current
    // React adds passive listeners, which cannot prevent the page from scrolling.
    target?.addEventListener('wheel', wheel, { passive: false })
    return () => target?.removeEventListener('wheel', wheel)
  }, [element])

  const fingers = useRef(new Map<number, number>())
  const drag = useRef<{ readonly x: number; isDrag: boolean } | undefined>(undefined)
  const pinchOf = () => {
    const [a = 0, b = 0] = fingers.current.values()
    return { distance: Math.max(1, Math.abs(a - b)), middle: (a + b) / 2 }
  }
  const pointOf = ({ clientX, clientY, currentTarget }: PointerEvent) => {
    const { left, top } = currentTarget.getBoundingClientRect()
    return { x: clientX - left, y: clientY - top }
  }
  return {
    /** Whether the user is dragging. */
    isDragging: () => drag.current?.isDrag === true,
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return
      const { x } = pointOf(event)
      fingers.current.set(event.pointerId, x)
      drag.current = { x, isDrag: fingers.current.size > 1 }
    },
    onPointerMove: (event: PointerEvent) => {
      const before = fingers.current.get(event.pointerId)
      if (before === undefined || drag.current === undefined) return
      const { x } = pointOf(event)
      if (!drag.current.isDrag && Math.abs(x - drag.current.x) < DRAG_PX) return
      if (!drag.current.isDrag) event.currentTarget.setPointerCapture(event.pointerId)
      drag.current.isDrag = true
      const old = pinchOf()
      fingers.current.set(event.pointerId, x)
      if (fingers.current.size === 1) return moves.pan(before - x)
      const { distance, middle } = pinchOf()
      moves.zoom(distance / old.distance, middle)
    },
    onPointerUp: (event: PointerEvent) => {
      const wasPress = drag.current?.isDrag === false && fingers.current.has(event.pointerId)
      fingers.current.delete(event.pointerId)
      if (fingers.current.size === 0) drag.current = undefined
      const { x, y } = pointOf(event)
      if (wasPress) moves.press(x, y)
    },
    onPointerCancel: (event: PointerEvent) => {
      fingers.current.delete(event.pointerId)
      drag.current = undefined
    },
  }
}
