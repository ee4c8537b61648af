import { useMessage } from '@millrace/react'
import { memo } from 'react'
import { Parts } from '../part/parts.tsx'
import { AgentActions } from './agent-actions.tsx'
import { Failure } from './failure.tsx'
import { Question } from './question.tsx'
import { Structured } from './structured.tsx'
import type { InlineItem } from './use-turns.ts'
import { UserMessage } from './user-message.tsx'

interface MessageProps {
  readonly id: string
  readonly inlineItems: readonly InlineItem[]
  readonly isLast: boolean
}

/** A message of the user, or of an agent with its tool calls and questions. */
export const Message = memo(function Message({ id, inlineItems, isLast }: MessageProps) {
  const message = useMessage(id)
  if (message === undefined) return null
  if (message.role === 'user') return <UserMessage message={message} />
  const { status, parts, error, agentType } = message
  const isEmpty = inlineItems.length === 0 && parts.every(({ type }) => type === 'step-start')
  // Its question, if any, is shown above the composer.
  if (isEmpty && status === 'streaming') return null
  return (
    <article className="message agent" data-status={status} data-message={id}>
      <h3>{agentType ?? message.role}</h3>
      <Parts
        parts={parts}
        inlineItems={inlineItems.map(({ kind, id, at }) => ({
          at,
          element: kind === 'question' ? <Question key={id} id={id} /> : <Structured key={id} id={id} />,
        }))}
      />
      {status === 'cancelled' && <p className="quiet">Stopped.</p>}
      {error && <Failure messageId={id} error={error} />}
      {status !== 'streaming' && <AgentActions message={message} isLast={isLast} />}
    </article>
  )
})
