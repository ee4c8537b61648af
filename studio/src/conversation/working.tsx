import { useChatInstance, useConnection, useSelector } from '@millrace/react'
import { useEffect, useState } from 'react'

/** After how long without a word people are told of it, in seconds. */
const SILENT_S = 8

/** Says that something is under way, and what, as far as the run tells; to who cannot see it, only that an answer has begun and ended. */
export function Working() {
  const status = useSelector(({ state }) => state.status)
  const note = useSelector(({ store }) => store.ledger.runs.at(-1)?.note)
  // What a server does that is away nobody knows here.
  const isAway = useConnection().status === 'offline'
  const isWorking = !isAway && (status === 'submitted' || status === 'streaming')
  const silence = useSilence(isWorking)
  return (
    <>
      <p className="working" data-status={status}>
        {isWorking && <span className="pulse" />}
        {isWorking && (note ?? '')}
        {silence >= SILENT_S && (
          <span className="silence">
            Nothing has come for {silence} s. Nothing is lost: it goes on as soon as somebody drives it.
          </span>
        )}
      </p>
      <Announcer isStreaming={status === 'streaming'} isPaused={status === 'paused'} />
    </>
  )
}

/** For how many seconds nothing was written to the log; it is looked at now and then, not at each word. */
function useSilence(isWorking: boolean): number {
  const { store } = useChatInstance()
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    if (!isWorking) return
    let { head } = store
    let since = performance.now()
    const timer = setInterval(() => {
      if (store.head !== head) {
        head = store.head
        since = performance.now()
      }
      setSeconds(Math.floor((performance.now() - since) / 1000))
    }, 1000)
    return () => {
      clearInterval(timer)
      setSeconds(0)
    }
  }, [isWorking, store])
  return seconds
}

/** Tells of the start and of the end of an answer: its words, as they come, would be too much. */
function Announcer({ isStreaming, isPaused }: { readonly isStreaming: boolean; readonly isPaused: boolean }) {
  const [hasBegun, begin] = useState(false)
  if (isStreaming && !hasBegun) begin(true)
  const words = isStreaming ? 'An answer has begun.' : isPaused ? 'It waits for somebody.' : 'The answer has ended.'
  return (
    <p className="hidden" role="status">
      {hasBegun && words}
    </p>
  )
}
