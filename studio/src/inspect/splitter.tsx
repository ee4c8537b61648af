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

const MIN = 10
const MAX = 80
const STEP = 2

/** A divider that resizes one side, by dragging or with the arrow keys. */
export function Splitter({ label, between, size, onSize, isAfter = false }: SplitterProps) {
  const set = (size: number) => onSize(Math.min(MAX, Math.max(MIN, Math.round(size))))
  const sign = isAfter ? -1 : 1
  const move = ({ buttons, movementX, movementY, currentTarget }: PointerEvent) => {
    if (buttons === 0 || !currentTarget.hasAttribute('data-held')) return
    const pixels = between === 'row' ? movementY : movementX
    const whole = between === 'row' ? innerHeight : innerWidth
    onSize(Math.min(MAX, Math.max(MIN, size + (sign * pixels * 100) / whole)))
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
      aria-valuemin={MIN}
      aria-valuemax={MAX}
      tabIndex={0}
      onPointerDown={({ currentTarget, pointerId }) => {
        currentTarget.setPointerCapture(pointerId)
        currentTarget.setAttribute('data-held', '')
      }}
      onPointerUp={({ currentTarget }) => currentTarget.removeAttribute('data-held')}
      onPointerCancel={({ currentTarget }) => currentTarget.removeAttribute('data-held')}
      onPointerMove={move}
      onKeyDown={keys}
    />
  )
}

/** A size kept in the local storage. */
export function useSize(name: string, first: number): readonly [number, (size: number) => void] {
  const key = `inspect-${name}`
  const [size, setSize] = useState(() => Number(localStorage.getItem(key)) || first)
  const remember = (size: number) => {
    localStorage.setItem(key, String(size))
    setSize(size)
  }
  return [size, remember]
}
