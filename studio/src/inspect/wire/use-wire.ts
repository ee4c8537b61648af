import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import { useEffect, useReducer, useState } from 'react'
import { formats } from './formats.ts'
import type { Said, Speaker } from './speaker.ts'
import { Wire } from './wire.ts'

/** For how long entries are said before the page gets a turn, in milliseconds. */
const BUDGET_MS = 8

interface RunOf {
  readonly runId: string
  /** The sequence of its first entry. */
  readonly at: number
  readonly turn: number
}

/** A run in a format, as far as it is said by now: renders again as that goes on. */
export function useWire(log: SessionLog, { runId, at, turn }: RunOf, formatId: string): Wire | undefined {
  const { count } = useLogState(log)
  const { entries } = log
  const speaker = useSpeaker(formatId)
  const [wire, setWire] = useState<Wire>()
  const [, render] = useReducer((times: number) => times + 1, 0)
  useEffect(() => {
    if (speaker === undefined) return
    const said: Said = { sessionId: log.sessionId, runId, turn, before: () => log.viewAt(at - 1) }
    // Who asks for a run does so before it begins.
    const from = entries.findIndex(({ origin }) => origin.runId === runId)
    setWire(new Wire(runId, () => speaker(said), Math.max(0, from)))
    return () => setWire(undefined)
  }, [log, entries, speaker, runId, at, turn])
  useEffect(() => {
    if (wire === undefined) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const go = () => {
      const until = performance.now() + BUDGET_MS
      const isDone = wire.take(entries, count, () => performance.now() < until)
      render()
      if (!isDone) timer = setTimeout(go)
    }
    go()
    return () => clearTimeout(timer)
  }, [wire, entries, count])
  return wire
}

/** What speaks a format, once it is loaded. */
function useSpeaker(formatId: string): ((said: Said) => Speaker) | undefined {
  const [loaded, setLoaded] = useState<{ readonly id: string; readonly speaker: (said: Said) => Speaker }>()
  useEffect(() => {
    let isLeft = false
    const format = formats.find(({ id }) => id === formatId)
    void format?.load().then(speaker => {
      if (!isLeft) setLoaded({ id: formatId, speaker })
    })
    return () => {
      isLeft = true
    }
  }, [formatId])
  return loaded?.id === formatId ? loaded.speaker : undefined
}
