import type { Pending } from '@millrace/client'
import type { ReactNode } from 'react'
import { submitOnEnter } from '../composer/submit-on-enter.ts'
import { Fields } from './fields.tsx'
import { PendingForm } from './pending-form.tsx'
import { fieldsOf, parseJsonOrText, valuesOf } from './schema.ts'

type InterruptInput = Extract<Pending, { kind: 'interrupt' }>['interrupt']

/** A question of the run: text, single choice, multiple choice or form. */
export function Interrupt({ interrupt: { interruptId: id, input } }: { readonly interrupt: InterruptInput }) {
  const title = input.question ?? 'Question'
  const ask = (read: (form: FormData, button: string) => unknown, children: ReactNode, isChoice = false) => (
    <PendingForm
      id={id}
      kind={`interrupt ${input.kind}`}
      title={title}
      read={(form, button) => ({ kind: 'interrupt', id, response: read(form, button) as never })}
    >
      {children}
      {!isChoice && (
        <div className="row end">
          <button type="submit" className="primary">
            Submit
          </button>
        </div>
      )}
    </PendingForm>
  )
  if (input.kind === 'form') {
    const fields = fieldsOf(input.schema)
    if (fields) return ask(form => valuesOf(fields, form), <Fields fields={fields} />)
    return ask(
      form => parseJsonOrText(String(form.get('value'))),
      <textarea name="value" aria-label={title} required />,
    )
  }
  if (input.kind === 'text') {
    return ask(
      form => form.get('value'),
      <textarea name="value" rows={2} aria-label={title} required onKeyDown={submitOnEnter} />,
    )
  }
  if (input.kind === 'multi-choice' || input.multiple) {
    const boxes = input.options.map(({ id, label, description }) => (
      <label className="box" key={id} title={description}>
        <input type="checkbox" name="value" value={id} />
        {label}
      </label>
    ))
    return ask(form => form.getAll('value'), <div className="row boxes">{boxes}</div>)
  }
  const buttons = input.options.map(({ id, label, description }) => (
    <button type="submit" key={id} value={id} title={description}>
      {label}
    </button>
  ))
  return ask((_, button) => button, <div className="row choices">{buttons}</div>, true)
}
