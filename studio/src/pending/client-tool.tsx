import type { Pending } from '@millrace/client'
import { Value } from '../part/value.tsx'
import { PendingForm } from './pending-form.tsx'
import { parseJsonOrText } from './schema.ts'

/** A client tool that the user answers: `choose_*` with a row of buttons, any other with a text field for its output. */
export function ClientTool({ pending }: { readonly pending: Extract<Pending, { kind: 'client-tool' }> }) {
  const { id, part } = pending
  const [, thing] = /^choose_(\w+)$/.exec(part.toolName) ?? []
  const { options } = (part.input ?? {}) as { options?: unknown }
  if (thing !== undefined && Array.isArray(options)) {
    return (
      <PendingForm
        id={id}
        kind="client-tool"
        title={`Choose a ${thing}`}
        read={(_, button) => ({ kind: 'tool-result', id, output: { [thing]: button } })}
      >
        <div className="row choices">
          {options.map(option => (
            <button type="submit" key={String(option)} value={String(option)}>
              {String(option)}
            </button>
          ))}
        </div>
      </PendingForm>
    )
  }
  return (
    <PendingForm
      id={id}
      kind="client-tool"
      title={`Enter the result of ${part.toolName}`}
      read={form => ({ kind: 'tool-result', id, output: parseJsonOrText(String(form.get('output'))) })}
    >
      <Value value={part.input ?? null} />
      <div className="row">
        <input name="output" aria-label="Result" placeholder="JSON or text" required autoComplete="off" />
        <button type="submit" className="primary">
          Submit
        </button>
      </div>
    </PendingForm>
  )
}
