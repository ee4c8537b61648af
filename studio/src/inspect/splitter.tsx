import { type KeyboardEvent, type PointerEvent, useState } from 'react'

interface SplitterProps {
  readonly label: string
  /** `row` between top and bottom, `column` between left and right. */
  readonly between: 'row' | 'column'
  /** Size of the resized side, in percent of the page. */
  readonly size: number
  readonly onSize: (size: number) => void
  /** Whether the resized side comes after the splitter. @default false */
  readonly isAfter?: boolean
}

/** Sizes in percent of the page. */
const MIN_SIZE = 10
const MAX_SIZE = 80
const STEP = 2

/** A divider that resizes one side, by dragging or with the arrow keys. */
export function Splitter({ label, between, size, onSize, isAfter = false }: SplitterProps) {
  const set = (size: number) => onSize(Math.min(MAX_SIZE, Math.max(MIN_SIZE, Math.round(size))))
  const sign = isAfter ? -1 : 1
  const move = ({ buttons, movementX, movementY, currentTarget }: PointerEvent) => {
    if (buttons === 0 || !currentTarget.hasAttribute('data-dragged')) return
    const pixels = between === 'row' ? movementY : movementX
    const total = between === 'row' ? innerHeight : innerWidth
    onSize(Math.min(MAX_SIZE, Math.max(MIN_SIZE, size + (sign * pixels * 100) / total)))
  }
  const keys = (event: KeyboardEvent) => {
    const [less, more] = between === 'row' ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight']
    if (event.key === less) set(size - sign * STEP)
    else if (event.key === more) set(size + sign * STEP)
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a movable divider is no <hr>
    <div
      className={`splitter ${between}`}
      role="separator"
      aria-label={label}
      aria-orientation={between === 'row' ? 'horizontal' : 'vertical'}
      aria-valuenow={Math.round(size)}
      aria-valuemin={MIN_SIZE}
      aria-valuemax={MAX_SIZE}
      tabIndex={0}
      onPointerDown={({ currentTarget, pointerId }) => {
        currentTarget.setPointerCapture(pointerId)
        currentTarget.setAttribute('data-dragged', '')
      }}
      onPointerUp={({ currentTarget }) => currentTarget.removeAttribute('data-dragged')}
      onPointerCancel={({ currentTarget }) => currentTarget.removeAttribute('data-dragged')}
      onPointerMove={move}
      onKeyDown={keys}
    />
  )
}

/** A size kept in the local storage. */
export function useSize(name: string, initial: number): readonly [number, (size: number) => void] {
  const key = `inspect-${name}`
  const [size, setSize] = useState(() => Number(localStorage.getItem(key)) || initial)
  const storeSize = (size: number) => {
    localStorage.setItem(key, String(size))
    setSize(size)
  }
  return [size, storeSize]
}
