import type { ToolPart } from '@millrace/client'
import type { Json } from '@millrace/protocol'
import { useChatInstance, useMessage, useMessageIds } from '@millrace/react'
import { useMemo, useState } from 'react'
import { Parts } from './parts.tsx'
import { Value } from './value.tsx'

const STATES: Record<ToolPart['state'], string> = {
  'input-streaming': 'Preparing',
  'input-available': 'Running',
  'approval-requested': 'Waiting for approval',
  'approval-responded': 'Answered',
  'output-available': 'Done',
  'output-error': 'Failed',
  'output-denied': 'Denied',
}

/** A tool call: its input, progress, output and sub-agent. */
export function ToolCard({ part }: { readonly part: ToolPart }) {
  const { toolName, title, state, executor, input, progress, output, errorText, approval, toolCallId } = part
  const childId = useChild(toolCallId)
  const isSettled = state.startsWith('output-')
  const isWithClient = state === 'input-available' && executor === 'client'
  // A pending call shows its input in the form above the composer.
  const isAsked = isWithClient || state === 'approval-requested'
  const [isOpen, setOpen] = useState<boolean>()
  const label = isWithClient ? 'Waiting for you' : STATES[state]
  return (
    <details
      className="card tool"
      data-tool={toolName}
      data-state={state}
      open={isOpen ?? (!(isSettled || isAsked) || childId !== undefined)}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: a summary is a button */}
      <summary
        onClick={event => {
          event.preventDefault()
          setOpen(!(event.currentTarget.parentElement as HTMLDetailsElement).open)
        }}
      >
        <span className="name">{title ?? toolName}</span>
        <span className="excerpt">{excerptOf(input)}</span>
        <span className="badge" data-state={isWithClient ? 'approval-requested' : state}>
          {label}
        </span>
      </summary>
      <div className="body">
        {input !== undefined && <Field name="Input" value={input} />}
        {childId !== undefined && <Child id={childId} />}
        {!isSettled && progress !== undefined && <Field name="Progress" value={progress} />}
        {output !== undefined && childId === undefined && <Field name="Output" value={output} />}
        {errorText !== undefined && <Field name="Error" value={errorText} />}
        {state === 'output-denied' && approval?.reason !== undefined && <Field name="Reason" value={approval.reason} />}
      </div>
    </details>
  )
}

function Field({ name, value }: { readonly name: string; readonly value: Json }) {
  return (
    <section className="field">
      <h4>{name}</h4>
      <Value value={value} />
    </section>
  )
}

/** The message of a call's sub-agent. */
function Child({ id }: { readonly id: string }) {
  const message = useMessage(id)
  if (message === undefined) return null
  return (
    <section className="child" data-status={message.status}>
      <h4>{message.agentType}</h4>
      <Parts parts={message.parts} />
    </section>
  )
}

/** The id of the message of a call's sub-agent. */
function useChild(toolCallId: string): string | undefined {
  const { store } = useChatInstance()
  const ids = useMessageIds()
  // Recomputed only when messages are added: the parent of a message never changes.
  return useMemo(() => ids.find(id => store.message(id)?.parent?.toolCallId === toolCallId), [ids, store, toolCallId])
}

/** The first two strings or numbers of a call's input. */
function excerptOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  return Object.values(input)
    .filter(value => typeof value === 'string' || typeof value === 'number')
    .slice(0, 2)
    .join(' · ')
}
