import { useChatInstance, useConnection, useSelector } from '@millrace/react'
import { useEffect, useState } from 'react'

/** Seconds without an entry after which a notice appears. */
const STALLED_S = 8

/** Shows that a run is active and its status note. Announces only the start and end of a response to screen readers. */
export function Working() {
  const status = useSelector(({ state }) => state.status)
  const note = useSelector(({ store }) => store.ledger.runs.at(-1)?.note)
  // The state of the run is unknown while offline.
  const isOffline = useConnection().status === 'offline'
  const isWorking = !isOffline && (status === 'submitted' || status === 'streaming')
  const stalledS = useStalledSeconds(isWorking)
  return (
    <>
      <p className="working" data-status={status}>
        {isWorking && <span className="pulse" />}
        {isWorking && (note ?? '')}
        {stalledS >= STALLED_S && (
          <span className="stalled">
            No response for {stalledS} s. Your chat is saved and continues when a worker is available.
          </span>
        )}
      </p>
      <Announcer isStreaming={status === 'streaming'} isPaused={status === 'paused'} />
    </>
  )
}

/** Seconds since the last entry of the log, polled once a second. */
function useStalledSeconds(isWorking: boolean): number {
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

/** Announces the start and end of a response to screen readers, not every delta. */
function Announcer({ isStreaming, isPaused }: { readonly isStreaming: boolean; readonly isPaused: boolean }) {
  const [hasBegun, begin] = useState(false)
  if (isStreaming && !hasBegun) begin(true)
  const announcement = isStreaming ? 'Response started.' : isPaused ? 'Waiting for you.' : 'Response finished.'
  return (
    <p className="hidden" role="status">
      {hasBegun && announcement}
    </p>
  )
}
