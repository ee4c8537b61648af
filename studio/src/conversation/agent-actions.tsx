import type { Message } from '@millrace/client'
import { useChatActions, useChatInstance } from '@millrace/react'
import { useReadOnly } from '../app/read-only.ts'
import { useCopy } from '../use-copy.ts'
import { Fork } from './fork.tsx'
import { Pager } from './pager.tsx'
import { useSiblings } from './siblings-provider.tsx'
import { Tokens } from './usage.tsx'

/** Actions of a response, and its token usage. */
export function AgentActions({ message, isLast }: { readonly message: Message; readonly isLast: boolean }) {
  const { id, runId, parts } = message
  const { regenerate } = useChatActions()
  const { store } = useChatInstance()
  const isReadOnly = useReadOnly()
  const { result, copy } = useCopy()
  const { answers = [] } = useSiblings().byRun.get(runId ?? '') ?? {}
  const text = parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  return (
    <div className="actions">
      <Pager name="Response" siblings={answers} index={answers.findIndex(answer => answer.runId === runId)} />
      {text !== '' && copy && (
        <button type="button" onClick={() => copy(text)}>
          {result ?? 'Copy'}
        </button>
      )}
      {isLast && !isReadOnly && (
        <button type="button" onClick={() => void regenerate(id)}>
          Regenerate
        </button>
      )}
      {!isReadOnly && <Fork messageId={id} />}
      {/* Only rendered after the end of the run, so the usage is final. */}
      <Tokens usage={runId === undefined ? undefined : store.run(runId)?.usage} scope="this response" />
    </div>
  )
}
