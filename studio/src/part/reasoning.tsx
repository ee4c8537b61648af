import type { TextPart } from '@millrace/client'

/** What the model thought, for who wants to know. */
export function Reasoning({ part: { text, state } }: { readonly part: TextPart }) {
  return (
    <details className="reasoning">
      <summary>{state === 'streaming' ? 'Thinking…' : 'Thought'}</summary>
      <p className="text">{text}</p>
    </details>
  )
}
