import type { Message } from '@millrace/client'
import { useChatActions, useChatInstance } from '@millrace/react'
import { useState } from 'react'
import { useReadOnly } from '../app/read-only.ts'
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
  const [isCopied, setCopied] = useState(false)
  const { answers = [] } = useSiblings().byRun.get(runId ?? '') ?? {}
  // Undefined on a page served over plain HTTP from another host.
  const { clipboard } = navigator as { clipboard?: Clipboard }
  const text = parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  return (
    <div className="actions">
      <Pager name="Response" siblings={answers} index={answers.findIndex(one => one.runId === runId)} />
      {text !== '' && clipboard !== undefined && (
        <button
          type="button"
          onClick={() =>
            clipboard.writeText(text).then(
              () => setCopied(true),
              () => setCopied(false),
            )
          }
        >
          {isCopied ? 'Copied' : 'Copy'}
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
