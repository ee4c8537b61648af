import type { ChatAnswer, Pending } from '@millrace/client'
import { useChatInstance, usePending } from '@millrace/react'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { tools } from '../app/tools.ts'
import { focusPending } from '../conversation/focus.ts'
import { errorText } from '../error-text.ts'
import { type Answering, AnsweringContext } from './answering.ts'
import { Approval } from './approval.tsx'
import { ClientTool } from './client-tool.tsx'
import { Interrupt } from './interrupt.tsx'

// Client tools in `tools` are executed without the user.
const needsUser = (pending: Pending): boolean =>
  pending.kind !== 'client-tool' || !Object.hasOwn(tools, pending.part.toolName)

/** Forms for everything that the run waits for. */
export function Pendings() {
  const { pendings: all, answer } = usePending()
  const pendings = all.filter(needsUser)
  const [rejected, setRejected] = useState<Answering['rejected']>()
  const chat = useChatInstance()
  const [answered, setAnswered] = useState<{ readonly runId: string | undefined }>()
  const clearRejection = useCallback(() => {
    setRejected(undefined)
    if (chat.state.error?.source === 'answer') chat.clearError()
  }, [chat])
  const answering = useMemo(
    (): Answering => ({
      rejected,
      answer: async (value: ChatAnswer) => {
        clearRejection()
        try {
          const { runId } = chat.state
          await answer(value)
          setAnswered({ runId })
          return true
        } catch (error) {
          setRejected({ id: value.id, message: errorText(error as Error & { code?: string }) })
          return false
        }
      },
    }),
    [answer, chat, clearRejection, rejected],
  )
  const first = pendings[0]?.id
  // After an answer, focus the next pending of this run, or the message input.
  useEffect(() => {
    if (answered && (first === undefined || answered.runId === chat.state.runId)) focusPending(first)
  }, [answered, chat, first])
  return (
    <AnsweringContext value={answering}>
      <section className="pendings" aria-label="Waiting for you" aria-live="polite">
        {rejected && !pendings.some(({ id }) => id === rejected.id) && (
          <p className="failure" role="alert">
            <span>Your answer was not accepted. {rejected.message}</span>
            <button type="button" onClick={clearRejection}>
              Dismiss
            </button>
          </p>
        )}
        {pendings.map(pending => (
          <OnePending key={pending.id} pending={pending} />
        ))}
      </section>
    </AnsweringContext>
  )
}

function OnePending({ pending }: { readonly pending: Pending }) {
  if (pending.kind === 'approval') return <Approval pending={pending} />
  if (pending.kind === 'interrupt') return <Interrupt interrupt={pending.interrupt} />
  return <ClientTool pending={pending} />
}
