import { ChatProvider } from '@millrace/react'
import { useLogState } from '@millrace/react/log'
import { useCallback, useState, useSyncExternalStore } from 'react'
import { connection } from '../../app/connection.ts'
import { ReadOnlyProvider } from '../../app/read-only.ts'
import { chatUrl } from '../../app/route.ts'
import { Transcript } from '../../conversation/transcript.tsx'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useInspected } from '../inspected.ts'
import { useReplay } from './replay.ts'
import { useTravel } from './travel.ts'

/** The conversation at the selected sequence, read-only. */
export function PastConversation({ onNavigate }: { readonly onNavigate: (address: string) => void }) {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { head } = useLogState(log)
  const { chat, error } = useReplay()
  return (
    <section className="conversation past" aria-label="Conversation at this point">
      {at !== undefined && (
        <p className="banner" role="status">
          <span>
            Viewing entry <b>{at}</b> of {head}
          </span>
          <button type="button" onClick={() => travel()}>
            Back to live
          </button>
          <Stop session={log.sessionId} />
          {!log.isRecording && <Fork session={log.sessionId} at={at} onNavigate={onNavigate} />}
        </p>
      )}
      {error !== undefined && <ViewUnavailable why={error} />}
      <ReadOnlyProvider value={true}>
        <ChatProvider chat={chat}>
          <Transcript />
        </ChatProvider>
      </ReadOnlyProvider>
    </section>
  )
}

/** Shown if entries that the view needs were trimmed. */
export function ViewUnavailable({ why }: { readonly why: string }) {
  return (
    <p className="banner bad" role="alert">
      This point is not available: earlier entries were trimmed from the log ({why}).
    </p>
  )
}

/** Stops the run of the live chat. Its own button is hidden here. */
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

/** Starts a new chat from this point. */
function Fork({
  session,
  at,
  onNavigate,
}: { readonly session: string; readonly at: number } & Parameters<typeof PastConversation>[0]) {
  const [failure, setFailure] = useState<string>()
  const fork = async () => {
    try {
      const path = `/sessions/${encodeURIComponent(session)}/fork`
      const { sessionId } = await connection.api.ask<{ readonly sessionId: string }>('POST', path, { at })
      onNavigate(chatUrl(sessionId))
    } catch (error) {
      setFailure(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      {/* There is nothing to fork before the first entry. */}
      <button type="button" disabled={at === 0} onClick={() => void fork()}>
        Fork from here
      </button>
      {failure}
    </>
  )
}
