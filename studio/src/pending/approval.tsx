import type { Pending } from '@millrace/client'
import { useSelector } from '@millrace/react'
import { Value } from '../part/value.tsx'
import { Asking } from './asking.tsx'

/** May this call run? What is shown is what will. */
export function Approval({ pending }: { readonly pending: Extract<Pending, { kind: 'approval' }> }) {
  const { id, part } = pending
  const sessionId = useSelector(({ state }) => state.sessionId) ?? ''
  const elsewhere = part.blobs?.['/input']?.hash
  return (
    <Asking
      id={id}
      kind="approval"
      title={`May ${part.title ?? part.toolName} run?`}
      read={(form, button) => {
        const reason = String(form.get('reason') ?? '')
        return { kind: 'approval', id, approved: button === 'yes', ...(reason && { reason }) }
      }}
    >
      {elsewhere === undefined ? (
        <div className="shown">
          <Value value={part.input ?? null} />
          <details>
            <summary>As JSON</summary>
            <pre>{JSON.stringify(part.input ?? null, null, 2)}</pre>
          </details>
        </div>
      ) : (
        <a href={`/api/sessions/${encodeURIComponent(sessionId)}/blobs/${elsewhere}`} target="_blank" rel="noreferrer">
          Its input is large: read it here
        </a>
      )}
      <div className="row decision">
        <input
          name="reason"
          aria-label="Reason"
          placeholder="Reason, if you like"
          autoComplete="off"
          // A reason is none of the two answers: which it is, a button says.
          onKeyDown={event => event.key === 'Enter' && event.preventDefault()}
        />
        <button type="submit" value="no">
          Deny
        </button>
        <button type="submit" value="yes" className="primary">
          Approve
        </button>
      </div>
    </Asking>
  )
}
