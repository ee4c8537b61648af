import { useMessage } from '@millrace/react'
import { memo } from 'react'
import { Parts } from '../part/parts.tsx'
import { AgentActions } from './agent-actions.tsx'
import { Failure } from './failure.tsx'
import { Question } from './question.tsx'
import { Said } from './said.tsx'
import { Structured } from './structured.tsx'
import type { Between } from './turns.ts'

interface MessageProps {
  readonly id: string
  readonly between: readonly Between[]
  readonly isLast: boolean
}

/** A message: a person's, or an agent's with all that it did and asked. */
export const Message = memo(function Message({ id, between, isLast }: MessageProps) {
  const message = useMessage(id)
  if (message === undefined) return null
  if (message.role === 'user') return <Said message={message} />
  const { status, parts, error, agentType } = message
  const isSilent = between.length === 0 && parts.every(({ type }) => type === 'step-start')
  // Who only asks says nothing yet: the question is there.
  if (isSilent && status === 'streaming') return null
  return (
    <article className="message agent" data-status={status} data-message={id}>
      <h3>{agentType ?? message.role}</h3>
      <Parts
        parts={parts}
        between={between.map(({ kind, id, at }) => ({
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
