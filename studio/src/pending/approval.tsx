import type { Pending } from '@millrace/client'
import { useSelector } from '@millrace/react'
import { Value } from '../part/value.tsx'
import { PendingForm } from './pending-form.tsx'

/** The form that approves or denies a tool call. Shows the exact input that will run. */
export function Approval({ pending }: { readonly pending: Extract<Pending, { kind: 'approval' }> }) {
  const { id, part } = pending
  const sessionId = useSelector(({ state }) => state.sessionId) ?? ''
  const blobHash = part.blobs?.['/input']?.hash
  return (
    <PendingForm
      id={id}
      kind="approval"
      title={`Allow ${part.title ?? part.toolName}?`}
      read={(form, button) => {
        const reason = String(form.get('reason') ?? '')
        return { kind: 'approval', id, approved: button === 'yes', ...(reason && { reason }) }
      }}
    >
      {blobHash === undefined ? (
        <div className="input">
          <Value value={part.input ?? null} />
          <details>
            <summary>View JSON</summary>
            <pre>{JSON.stringify(part.input ?? null, null, 2)}</pre>
          </details>
        </div>
      ) : (
        <a href={`/api/sessions/${encodeURIComponent(sessionId)}/blobs/${blobHash}`} target="_blank" rel="noreferrer">
          View the full input
        </a>
      )}
      <div className="row decision">
        <input
          name="reason"
          aria-label="Reason"
          placeholder="Reason (optional)"
          autoComplete="off"
          // Enter must not pick one of the two answers.
          onKeyDown={event => event.key === 'Enter' && event.preventDefault()}
        />
        <button type="submit" value="no">
          Deny
        </button>
        <button type="submit" value="yes" className="primary">
          Approve
        </button>
      </div>
    </PendingForm>
  )
}
