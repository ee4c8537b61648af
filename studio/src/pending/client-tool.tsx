import type { Pending } from '@millrace/client'
import { Value } from '../part/value.tsx'
import { Asking } from './asking.tsx'
import { jsonOr } from './schema.ts'

/** A call that the person here answers: `choose_color` by a row of buttons, any other by what it gives, written down. */
export function ClientTool({ pending }: { readonly pending: Extract<Pending, { kind: 'client-tool' }> }) {
  const { id, part } = pending
  const [, thing] = /^choose_(\w+)$/.exec(part.toolName) ?? []
  const { options } = (part.input ?? {}) as { options?: unknown }
  if (thing !== undefined && Array.isArray(options)) {
    return (
      <Asking
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
      </Asking>
    )
  }
  return (
    <Asking
      id={id}
      kind="client-tool"
      title={`${part.toolName} is yours to run`}
      read={form => ({ kind: 'tool-result', id, output: jsonOr(String(form.get('output'))) })}
    >
      <Value value={part.input ?? null} />
      <div className="row">
        <input name="output" aria-label="Its output" placeholder="JSON or text" required autoComplete="off" />
        <button type="submit" className="primary">
          Answer
        </button>
      </div>
    </Asking>
  )
}
