import type { Json } from '@millrace/protocol'
import { useState } from 'react'

/** Items and characters shown before "more" is clicked. */
const MAX_ITEMS = 100
const MAX_TEXT = 400

interface JsonTreeProps {
  readonly value: Json
  readonly name?: string
  /** Number of levels that are open at first. @default 2 */
  readonly open?: number
}

/** A collapsible JSON value. Collapsed parts are not rendered. */
export function JsonTree({ value, name, open = 2 }: JsonTreeProps) {
  if (typeof value !== 'object' || value === null) {
    return (
      <span className="json">
        <Name name={name} />
        <Leaf value={value} />
      </span>
    )
  }
  return <Branch value={value} name={name} open={open} />
}

function Name({ name }: { readonly name: string | undefined }) {
  return name === undefined ? null : <span className="name">{name}: </span>
}

function Branch({
  value,
  name,
  open,
}: {
  readonly value: Json[] | { [name: string]: Json }
  readonly name: string | undefined
  readonly open: number
}) {
  const [isOpen, setOpen] = useState(open > 0)
  const [shownCount, setShownCount] = useState(MAX_ITEMS)
  const isList = Array.isArray(value)
  const names = Object.keys(value)
  const [left, right] = isList ? '[]' : '{}'
  if (names.length === 0) {
    return (
      <span className="json">
        <Name name={name} />
        {left}
        {right}
      </span>
    )
  }
  return (
    <details className="json" open={isOpen} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>
        <Name name={name} />
        {left}
        {!isOpen && (
          <span className="preview">
            {preview(value, names)}
            {right}
          </span>
        )}
      </summary>
      {isOpen && (
        <ul>
          {names.slice(0, shownCount).map(key => (
            <li key={key}>
              <JsonTree
                value={(value as { [name: string]: Json })[key] ?? null}
                {...(!isList && { name: key })}
                open={open - 1}
              />
            </li>
          ))}
          {names.length > shownCount && (
            <li>
              <button type="button" onClick={() => setShownCount(shownCount * 4)}>
                {names.length - shownCount} more
              </button>
            </li>
          )}
        </ul>
      )}
    </details>
  )
}

function preview(value: Json[] | { [name: string]: Json }, names: readonly string[]): string {
  return Array.isArray(value)
    ? `${names.length} ${names.length === 1 ? 'item' : 'items'}`
    : names.slice(0, 4).join(', ') + (names.length > 4 ? ', …' : '')
}

function Leaf({ value }: { readonly value: string | number | boolean | null }) {
  const [isExpanded, setExpanded] = useState(false)
  if (typeof value !== 'string') return <span className="leaf">{String(value)}</span>
  const isLong = value.length > MAX_TEXT && !isExpanded
  return (
    <span className="leaf text">
      {JSON.stringify(isLong ? value.slice(0, MAX_TEXT) : value)}
      {isLong && (
        <button type="button" onClick={() => setExpanded(true)}>
          {value.length - MAX_TEXT} more characters
        </button>
      )}
    </span>
  )
}
