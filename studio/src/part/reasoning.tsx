import type { TextPart } from '@millrace/client'
import { Markdown } from '../markdown/markdown.tsx'

/** What the model thought, for who wants to know. */
export function Reasoning({ part: { text, state } }: { readonly part: TextPart }) {
  return (
    <details className="reasoning">
      <summary>{state === 'streaming' ? 'Thinking…' : 'Thought'}</summary>
      <Markdown text={text} isOpen={state === 'streaming'} />
    </details>
  )
}
