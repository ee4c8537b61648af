import { useStructured } from '@millrace/react'
import { memo } from 'react'
import { Value } from '../part/value.tsx'

/** A structured object that streams in. */
export const Structured = memo(function Structured({ id }: { readonly id: string }) {
  const object = useStructured(id)
  if (object === undefined) return null
  return (
    <article className="card structured" data-status={object.status}>
      <h3>
        {object.dataType}
        <span className="badge" data-state={object.status}>
          {object.status === 'done' ? 'Done' : 'Writing'}
        </span>
      </h3>
      <Value value={object.data} />
    </article>
  )
})
