import { ChatProvider } from '@millrace/react'
import { useLogState } from '@millrace/react/log'
import { useCallback, useState, useSyncExternalStore } from 'react'
import { connection } from '../../app/connection.ts'
import { chatOf } from '../../app/place.ts'
import { ReadOnlyProvider } from '../../app/read-only.ts'
import { Transcript } from '../../conversation/transcript.tsx'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useInspected } from '../inspected.ts'
import { useReplay } from './replay.ts'
import { useTravel } from './travel.ts'

/** The conversation as it was at the sequence that is looked at. */
export function Then({ onGo }: { readonly onGo: (address: string) => void }) {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { head } = useLogState(log)
  const { chat, error } = useReplay()
  return (
    <section className="conversation then" aria-label="The conversation as it was">
      {at !== undefined && (
        <p className="banner" role="status">
          <span>
            As it was at <b>{at}</b> of {head}
          </span>
          <button type="button" onClick={() => travel()}>
            Back to now
          </button>
          <Stop session={log.sessionId} />
          {!log.isRecording && <Fork session={log.sessionId} at={at} onGo={onGo} />}
        </p>
      )}
      {error !== undefined && <Unknown why={error} />}
      <ReadOnlyProvider value={true}>
        <ChatProvider chat={chat}>
          <Transcript />
        </ChatProvider>
      </ReadOnlyProvider>
    </section>
  )
}

/** Where the log begins too late to say how it was. */
export function Unknown({ why }: { readonly why: string }) {
  return (
    <p className="banner bad" role="alert">
      How it was then cannot be told: what it goes back to is not in the log any more ({why}).
    </p>
  )
}

/** Stops what goes on meanwhile in the chat beside: what it has for that is out of sight. */
function Stop({ session }: { readonly session: string }) {
  const chat = useChatOfPage()
  const subscribe = useCallback((listener: () => void) => chat?.subscribe(listener) ?? (() => {}), [chat])
  const read = () => (chat?.state.sessionId === session ? chat.state.runId : undefined)
  const runId = useSyncExternalStore(subscribe, read, read)
  if (chat === undefined || runId === undefined) return null
  return (
    <button type="button" onClick={() => void chat.stop({ runId })}>
      Stop
    </button>
  )
}

/** Begins another session that starts as this one was. */
function Fork({ session, at, onGo }: { readonly session: string; readonly at: number } & Parameters<typeof Then>[0]) {
  const [failure, setFailure] = useState<string>()
  const fork = async () => {
    try {
      const path = `/sessions/${encodeURIComponent(session)}/fork`
      const { sessionId } = await connection.api.ask<{ readonly sessionId: string }>('POST', path, { at })
      onGo(chatOf(sessionId))
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      {/* Of nothing there is nothing to go on with. */}
      <button type="button" disabled={at === 0} onClick={() => void fork()}>
        Go on from here
      </button>
      {failure}
    </>
  )
}
