import { useLogState } from '@millrace/react/log'
import { useEffect, useRef, useState } from 'react'
import { useInspectedLog } from '../inspected-log.ts'
import { advancePlayback } from './advance-playback.ts'
import { useTravel } from './travel.ts'

const SPEEDS = [0.5, 1, 4, 16, 64] as const

const ICONS = {
  first: 'M3 3h2v10H3zM14 3v10L6 8z',
  back: 'M12 3v10L4 8z',
  play: 'M4 2.5v11l9.5-5.5z',
  pause: 'M3.5 3h3v10h-3zM9.5 3h3v10h-3z',
  forward: 'M4 3v10l8-5z',
  last: 'M11 3h2v10h-2zM2 3v10l8-5z',
} as const

const Icon = ({ name }: { readonly name: keyof typeof ICONS }) => (
  <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    <path d={ICONS[name]} />
  </svg>
)

/** Moves through the log. The right end is the live state. */
export function Slider() {
  const log = useInspectedLog()
  const { at, travel } = useTravel()
  const { head, count } = useLogState(log)
  const first = log.base?.head ?? 0
  // The thumb follows the pointer at once, everything else once a frame.
  const [dragged, setDragged] = useState<number>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the position has caught up with the thumb
  useEffect(() => setDragged(undefined), [at])
  const position = dragged ?? at ?? head
  const index = at === undefined ? count - 1 : log.indexAt(at)
  const goTo = (index: number) => {
    const entry = log.entries[index]
    if (index >= count - 1) travel()
    else travel(entry ? entry.sequence : first)
  }
  const slide = (to: number) => {
    setDragged(to)
    travel(to >= head ? undefined : to)
  }
  const play = usePlaying()
  return (
    <fieldset className="travel">
      <legend className="hidden">Move through the log</legend>
      <button type="button" aria-label="Go to start" disabled={position <= first} onClick={() => travel(first)}>
        <Icon name="first" />
      </button>
      <button type="button" aria-label="Previous entry" disabled={position <= first} onClick={() => goTo(index - 1)}>
        <Icon name="back" />
      </button>
      <button
        type="button"
        className="play"
        aria-label={play.isOn ? 'Pause' : 'Play'}
        disabled={count === 0}
        onClick={play.toggle}
      >
        <Icon name={play.isOn ? 'pause' : 'play'} />
      </button>
      <button type="button" aria-label="Next entry" disabled={at === undefined} onClick={() => goTo(index + 1)}>
        <Icon name="forward" />
      </button>
      <button type="button" aria-label="Go to live" disabled={at === undefined} onClick={() => travel()}>
        <Icon name="last" />
      </button>
      <input
        type="range"
        aria-label="Position in the log"
        aria-valuetext={at === undefined ? `live, entry ${head}` : `entry ${at} of ${head}`}
        min={first}
        max={head}
        value={position}
        onChange={({ target }) => slide(target.valueAsNumber)}
      />
      <PositionInput
        first={first}
        head={head}
        at={position}
        isLive={at === undefined && head > 0}
        onNavigate={travel}
      />
      <label>
        <span className="hidden">Speed</span>
        <select value={play.speed} onChange={({ target }) => play.setSpeed(Number(target.value))}>
          {SPEEDS.map(speed => (
            <option key={speed} value={speed}>
              {speed}×
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  )
}

interface PositionInputProps {
  readonly first: number
  readonly head: number
  readonly at: number
  readonly isLive: boolean
  readonly onNavigate: (at?: number) => void
}

/** The selected sequence, as an input. */
function PositionInput({ first, head, at, isLive, onNavigate }: PositionInputProps) {
  const [typed, setTyped] = useState<string>()
  const go = () => {
    const to = Math.round(Number(typed))
    if (typed && Number.isFinite(to)) onNavigate(to >= head ? undefined : Math.max(first, to))
    setTyped(undefined)
  }
  return (
    <label className="position" data-live={isLive}>
      <span className="hidden">Sequence</span>
      <input
        inputMode="numeric"
        value={typed ?? String(at)}
        style={{ width: `${Math.max(3, String(head).length) + 2.5}ch` }}
        onChange={({ target }) => setTyped(target.value.replace(/\D/g, ''))}
        onBlur={go}
        onKeyDown={event => {
          if (event.key === 'Enter') go()
          else if (event.key === 'Escape') setTyped(undefined)
        }}
      />
      <output>{isLive ? 'live' : `of ${head}`}</output>
    </label>
  )
}

/** Plays the log from the current position, or from the start if that is the end. Any other move stops it. */
function usePlaying() {
  const log = useInspectedLog()
  const { at, travel } = useTravel()
  const [isOn, setOn] = useState(false)
  const [speed, setSpeed] = useState(1)
  const latest = useRef({ at, travel, speed })
  latest.current = { at, travel, speed }
  useEffect(() => {
    if (!isOn) return
    const first = log.base?.head ?? 0
    const start = latest.current.at ?? first
    // Recent positions: the state follows a frame or two later.
    let recentPositions: (number | undefined)[] = [latest.current.at, start]
    let [index, left, time] = [log.indexAt(start), 0, performance.now()]
    let frame = requestAnimationFrame(function step(now) {
      const { entries } = log
      const { at, travel, speed } = latest.current
      if (!recentPositions.includes(at)) return setOn(false)
      const next = advancePlayback(entries, index, left + Math.max(0, now - time) * speed)
      time = now
      ;({ index, left } = next)
      const isOver = index >= entries.length - 1
      const to = isOver ? undefined : (entries[index]?.sequence ?? first)
      recentPositions = [...recentPositions.slice(-3), to]
      travel(to)
      if (isOver) setOn(false)
      else frame = requestAnimationFrame(step)
    })
    return () => cancelAnimationFrame(frame)
  }, [isOn, log])
  return { isOn, toggle: () => setOn(!isOn), speed, setSpeed }
}
