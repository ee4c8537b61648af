import type { Json } from '@millrace/protocol'
import { useSelector } from '@millrace/react'
import { Value } from '../part/value.tsx'

/** A question that was answered. */
export function Question({ id }: { readonly id: string }) {
  const interrupt = useSelector(({ store }) => store.ledger.interrupts.find(({ interruptId }) => interruptId === id))
  if (interrupt === undefined) return null
  const { input, response = null } = interrupt
  const labels = new Map('options' in input ? input.options.map(({ id, label }) => [id, label]) : [])
  const label = (value: Json): Json => (typeof value === 'string' ? (labels.get(value) ?? value) : value)
  const answer = Array.isArray(response) ? response.map(label).join(', ') : label(response)
  return (
    <article className="question">
      <p>{input.question ?? 'Question'}</p>
      <div className="bubble">
        <Value value={answer} />
      </div>
    </article>
  )
}
