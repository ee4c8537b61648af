import type { SessionLog } from '@millrace/client/log'
import { useLogState } from '@millrace/react/log'
import { useEffect, useReducer, useState } from 'react'
import { formats } from './formats.ts'
import { Wire } from './wire.ts'
import type { WireEncoder, WireRun } from './wire-encoder.ts'

/** Time budget before yielding to the event loop, in ms. */
const BUDGET_MS = 8

interface RunPosition {
  readonly runId: string
  /** Sequence of its first entry. */
  readonly at: number
  readonly turn: number
}

/** A run in a wire format. Renders again as more of it is encoded. */
export function useWire(log: SessionLog, { runId, at, turn }: RunPosition, formatId: string): Wire | undefined {
  const { count } = useLogState(log)
  const { entries } = log
  const createEncoder = useEncoder(formatId)
  const [wire, setWire] = useState<Wire>()
  const [, render] = useReducer((times: number) => times + 1, 0)
  useEffect(() => {
    if (createEncoder === undefined) return
    const run: WireRun = { sessionId: log.sessionId, runId, turn, before: () => log.viewAt(at - 1) }
    // The request precedes the first entry of the run.
    const from = entries.findIndex(({ origin }) => origin.runId === runId)
    setWire(new Wire(runId, () => createEncoder(run), Math.max(0, from)))
    return () => setWire(undefined)
  }, [log, entries, createEncoder, runId, at, turn])
  useEffect(() => {
    if (wire === undefined) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const encodeSlice = () => {
      const until = performance.now() + BUDGET_MS
      const isDone = wire.take(entries, count, () => performance.now() < until)
      render()
      if (!isDone) timer = setTimeout(encodeSlice)
    }
    encodeSlice()
    return () => clearTimeout(timer)
  }, [wire, entries, count])
  return wire
}

/** The encoder factory of a format, once it is loaded. */
function useEncoder(formatId: string): ((run: WireRun) => WireEncoder) | undefined {
  const [loaded, setLoaded] = useState<{ readonly id: string; readonly createEncoder: (run: WireRun) => WireEncoder }>()
  useEffect(() => {
    let isCancelled = false
    const format = formats.find(({ id }) => id === formatId)
    void format?.load().then(createEncoder => {
      if (!isCancelled) setLoaded({ id: formatId, createEncoder })
    })
    return () => {
      isCancelled = true
    }
  }, [formatId])
  return loaded?.id === formatId ? loaded.createEncoder : undefined
}
