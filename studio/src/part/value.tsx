import type { Json } from '@millrace/protocol'

/** A JSON value as nested lists. */
export function Value({ value }: { readonly value: Json }) {
  if (Array.isArray(value)) {
    return (
      <ol className="value">
        {value.map((item, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no id
          <li key={i}>
            <Value value={item} />
          </li>
        ))}
      </ol>
    )
  }
  if (typeof value === 'object' && value !== null) {
    return (
      <dl className="value">
        {Object.entries(value).map(([name, field]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Value value={field} />
            </dd>
          </div>
        ))}
      </dl>
    )
  }
  return <span className="value">{String(value)}</span>
}
