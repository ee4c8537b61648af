import type { ToolPart } from '@millrace/client'
import type { Json } from '@millrace/protocol'
import { useChatInstance, useMessage, useMessageIds } from '@millrace/react'
import { useMemo, useState } from 'react'
import { Parts } from './parts.tsx'
import { Value } from './value.tsx'

const STATES: Record<ToolPart['state'], string> = {
  'input-streaming': 'is asked for',
  'input-available': 'at work',
  'approval-requested': 'waits for approval',
  'approval-responded': 'decided',
  'output-available': 'done',
  'output-error': 'failed',
  'output-denied': 'denied',
}

/** A tool call: what it was asked, how far it is, what came of it, and who works for it. */
export function ToolCard({ part }: { readonly part: ToolPart }) {
  const { toolName, title, state, executor, input, progress, output, errorText, approval, toolCallId } = part
  const childId = useChild(toolCallId)
  const isSettled = state.startsWith('output-')
  const isWithClient = state === 'input-available' && executor === 'client'
  // What somebody is asked about is shown where they are asked.
  const isAsked = isWithClient || state === 'approval-requested'
  const [isOpen, setOpen] = useState<boolean>()
  const label = isWithClient ? 'waits for a client' : STATES[state]
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
        <span className="gist">{gistOf(input)}</span>
        <span className="badge" data-state={state}>
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

/** What the sub-agent of a call says. */
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

/** The message of the sub-agent that works for a call. */
function useChild(toolCallId: string): string | undefined {
  const { store } = useChatInstance()
  const ids = useMessageIds()
  // Not at every word that comes: whom a message works for never changes.
  return useMemo(() => ids.find(id => store.message(id)?.parent?.toolCallId === toolCallId), [ids, store, toolCallId])
}

/** A call in a few words: the first plain values of what it is asked. */
function gistOf(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  return Object.values(input)
    .filter(value => typeof value === 'string' || typeof value === 'number')
    .slice(0, 2)
    .join(' · ')
}
