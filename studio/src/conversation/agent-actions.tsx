import type { Message } from '@millrace/client'
import { useChatActions, useChatInstance } from '@millrace/react'
import { useState } from 'react'
import { useReadOnly } from '../app/read-only.ts'
import { useFamily } from './family.tsx'
import { Fork } from './fork.tsx'
import { Pager } from './pager.tsx'
import { Tokens } from './usage.tsx'

/** What can be done with an answer, and what it took. */
export function AgentActions({ message, isLast }: { readonly message: Message; readonly isLast: boolean }) {
  const { id, runId, parts } = message
  const { regenerate } = useChatActions()
  const { store } = useChatInstance()
  const isReadOnly = useReadOnly()
  const [isCopied, setCopied] = useState(false)
  const { answers = [] } = useFamily().byRun.get(runId ?? '') ?? {}
  // There is none on a page that came unencrypted over a network.
  const { clipboard } = navigator as { clipboard?: Clipboard }
  const text = parts.map(part => (part.type === 'text' ? part.text : '')).join('')
  return (
    <div className="actions">
      <Pager name="Answer" siblings={answers} place={answers.findIndex(one => one.runId === runId)} />
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
      {/* It has ended, and with it what it used. */}
      <Tokens usage={runId === undefined ? undefined : store.run(runId)?.usage} of="this answer" />
    </div>
  )
}
