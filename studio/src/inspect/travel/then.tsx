import { ChatProvider } from '@millrace/react'
import { ReplayChat, useLogState } from '@millrace/react/log'
import { useEffect, useMemo, useState } from 'react'
import { connection } from '../../app/connection.ts'
import { chatOf } from '../../app/place.ts'
import { ReadOnlyProvider } from '../../app/read-only.ts'
import { Transcript } from '../../conversation/transcript.tsx'
import { useInspected } from '../inspected.ts'
import { useTravel } from './travel.ts'

/** The conversation as it was at the sequence that is looked at. */
export function Then({ onGo }: { readonly onGo: (address: string) => void }) {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { head } = useLogState(log)
  const chat = useMemo(() => new ReplayChat({ sessionId: log.sessionId }), [log])
  const sequence = at ?? head
  useEffect(() => chat.show(log.viewAt(sequence)), [chat, log, sequence])
  return (
    <section className="conversation then" aria-label="The conversation as it was">
      {at !== undefined && (
        <p className="banner" role="status">
          As it was at {at} of {head}.
          <button type="button" onClick={() => travel()}>
            Back to now
          </button>
          {!log.isRecording && <Fork session={log.sessionId} at={at} onGo={onGo} />}
        </p>
      )}
      <ReadOnlyProvider value={true}>
        <ChatProvider chat={chat}>
          <Transcript />
        </ChatProvider>
      </ReadOnlyProvider>
    </section>
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
      <button type="button" onClick={() => void fork()}>
        Go on from here
      </button>
      {failure}
    </>
  )
}
