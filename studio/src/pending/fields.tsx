import { useId } from 'react'
import type { Field } from './schema.ts'

/** The fields of a form. */
export const Fields = ({ fields }: { readonly fields: readonly Field[] }) => (
  <div className="fields">
    {fields.map(field => (
      <OneField key={field.name} field={field} />
    ))}
  </div>
)

function OneField({ field: { name, label, kind, isRequired, options, hint, type } }: { readonly field: Field }) {
  const id = useId()
  if (kind === 'boolean') {
    return (
      <label className="box" title={hint}>
        <input type="checkbox" name={name} />
        {label}
      </label>
    )
  }
  const common = { id, name, required: isRequired, autoComplete: 'off' }
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!isRequired && <span className="quiet"> (optional)</span>}
      </label>
      {kind === 'choice' ? (
        <select {...common}>
          {options.map(option => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : (
        <input {...common} type={type} placeholder={hint ?? (kind === 'json' ? 'JSON' : '')} step="any" />
      )}
    </div>
  )
}
