import type { ChatAnswer, Pending } from '@millrace/client'
import { useChatInstance, usePending } from '@millrace/react'
import { useCallback, useEffect, useMemo, useState } from 'react'
import { tools } from '../app/tools.ts'
import { focusAsking } from '../conversation/focus.ts'
import { wordsOf } from '../words.ts'
import { type Answering, AnsweringContext } from './answering.ts'
import { Approval } from './approval.tsx'
import { ClientTool } from './client-tool.tsx'
import { Interrupt } from './interrupt.tsx'

// What the browser does by itself needs nobody.
const needsSomebody = (pending: Pending): boolean =>
  pending.kind !== 'client-tool' || !Object.hasOwn(tools, pending.part.toolName)

/** What the run waits for, and how a person answers it. */
export function Pendings() {
  const { pendings: all, answer } = usePending()
  const pendings = all.filter(needsSomebody)
  const [refused, setRefused] = useState<Answering['refused']>()
  const chat = useChatInstance()
  const [answered, setAnswered] = useState<{ readonly runId: string | undefined }>()
  const forget = useCallback(() => {
    setRefused(undefined)
    if (chat.state.error?.source === 'answer') chat.clearError()
  }, [chat])
  const answering = useMemo(
    (): Answering => ({
      refused,
      answer: async (said: ChatAnswer) => {
        forget()
        try {
          const { runId } = chat.state
          await answer(said)
          setAnswered({ runId })
          return true
        } catch (error) {
          setRefused({ id: said.id, words: wordsOf(error as Error & { code?: string }) })
          return false
        }
      },
    }),
    [answer, chat, forget, refused],
  )
  const first = pendings[0]?.id
  // Who has answered one goes on to the next of this run, or to what they would like to say.
  useEffect(() => {
    if (answered && (first === undefined || answered.runId === chat.state.runId)) focusAsking(first)
  }, [answered, chat, first])
  return (
    <AnsweringContext value={answering}>
      <section className="pendings" aria-label="What the run waits for" aria-live="polite">
        {refused && !pendings.some(({ id }) => id === refused.id) && (
          <p className="failure" role="alert">
            <span>Your answer was not taken. {refused.words}</span>
            <button type="button" onClick={forget}>
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
