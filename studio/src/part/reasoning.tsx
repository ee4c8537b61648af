import type { TextPart } from '@millrace/client'
import { Markdown } from '../markdown/markdown.tsx'

/** The reasoning of the model, collapsed. */
export function Reasoning({ part: { text, state } }: { readonly part: TextPart }) {
  return (
    <details className="reasoning">
      <summary>{state === 'streaming' ? 'Thinking…' : 'Thoughts'}</summary>
      <Markdown text={text} isOpen={state === 'streaming'} />
    </details>
  )
}
