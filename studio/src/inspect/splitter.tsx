import { type KeyboardEvent, type PointerEvent, useState } from 'react'

interface SplitterProps {
  readonly label: string
  /** How what it moves lies: `row` between what is above and below, `column` between left and right. */
  readonly between: 'row' | 'column'
  /** The size of what it makes larger or smaller, in percent of the page. */
  readonly size: number
  readonly onSize: (size: number) => void
  /** Whether what it sizes comes after it. */
  readonly isAfter?: boolean
}

const LEAST = 10
const MOST = 80
const STEP = 2

/** A line that is moved, by hand or by arrow keys, to give one side more room. */
export function Splitter({ label, between, size, onSize, isAfter = false }: SplitterProps) {
  const set = (size: number) => onSize(Math.min(MOST, Math.max(LEAST, Math.round(size))))
  const sign = isAfter ? -1 : 1
  const move = ({ buttons, movementX, movementY, currentTarget }: PointerEvent) => {
    if (buttons === 0 || !currentTarget.hasAttribute('data-held')) return
    const pixels = between === 'row' ? movementY : movementX
    const whole = between === 'row' ? innerHeight : innerWidth
    onSize(Math.min(MOST, Math.max(LEAST, size + (sign * pixels * 100) / whole)))
  }
  const keys = (event: KeyboardEvent) => {
    const [less, more] = between === 'row' ? ['ArrowUp', 'ArrowDown'] : ['ArrowLeft', 'ArrowRight']
    if (event.key === less) set(size - sign * STEP)
    else if (event.key === more) set(size + sign * STEP)
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a line that is moved is no rule between paragraphs
    <div
      className={`splitter ${between}`}
      role="separator"
      aria-label={label}
      aria-orientation={between === 'row' ? 'horizontal' : 'vertical'}
      aria-valuenow={Math.round(size)}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
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

/** A size that this browser remembers. */
export function useSize(name: string, first: number): readonly [number, (size: number) => void] {
  const key = `inspect-${name}`
  const [size, setSize] = useState(() => Number(localStorage.getItem(key)) || first)
  const remember = (size: number) => {
    localStorage.setItem(key, String(size))
    setSize(size)
  }
  return [size, remember]
}
