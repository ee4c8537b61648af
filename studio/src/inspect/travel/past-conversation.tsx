import { ChatProvider } from '@millrace/react'
import { useLogState } from '@millrace/react/log'
import { useCallback, useState, useSyncExternalStore } from 'react'

import { ReadOnlyProvider } from '../../app/read-only.ts'
import { chatUrl } from '../../app/route.ts'
import { forkSession } from '../../conversation/fork.tsx'
import { Transcript } from '../../conversation/transcript.tsx'
import { errorText } from '../../error-text.ts'
import { useChatOfPage } from '../callbacks/calls.ts'
import { useInspectedLog } from '../inspected-log.ts'
import { useReplay } from './replay.ts'
import { useTravel } from './travel.ts'

/** The conversation at the selected sequence, read-only. */
export function PastConversation({ onNavigate }: { readonly onNavigate: (address: string) => void }) {
  const log = useInspectedLog()
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
      {error !== undefined && <ViewUnavailable reason={error} />}
      <ReadOnlyProvider value={true}>
        <ChatProvider chat={chat}>
          <Transcript />
        </ChatProvider>
      </ReadOnlyProvider>
    </section>
  )
}

/** Shown if entries that the view needs were trimmed. */
export function ViewUnavailable({ reason }: { readonly reason: string }) {
  return (
    <p className="banner bad" role="alert">
      This point is not available: earlier entries were trimmed from the log ({reason}).
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
      onNavigate(chatUrl(await forkSession(session, at)))
    } catch (error) {
      setFailure(errorText(error as Error & { code?: string }))
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
