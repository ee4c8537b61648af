import { useMessage } from '@millrace/react'
import { memo } from 'react'
import { Parts } from '../part/parts.tsx'
import { AgentActions } from './agent-actions.tsx'
import { Failure } from './failure.tsx'
import { Said } from './said.tsx'

/** A message: a person's, or an agent's with all that it did. */
export const Message = memo(function Message({ id, isLast }: { readonly id: string; readonly isLast: boolean }) {
  const message = useMessage(id)
  if (message === undefined) return null
  if (message.role === 'user') return <Said message={message} />
  const { status, parts, error, agentType } = message
  return (
    <article className="message agent" data-status={status} data-message={id}>
      <h3>{agentType ?? message.role}</h3>
      <Parts messageId={id} parts={parts} />
      {status === 'cancelled' && <p className="quiet">Stopped.</p>}
      {error && <Failure messageId={id} error={error} />}
      {status !== 'streaming' && <AgentActions message={message} isLast={isLast} />}
    </article>
  )
})
