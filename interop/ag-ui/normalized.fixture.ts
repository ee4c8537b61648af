import type { Message } from '@ag-ui/client'
import type { AgUiMessage } from '@millrace/dialects/ag-ui'

/** Normalises messages: ignores whitespace in arguments, the order of parallel results, and our additional fields. */
export function normalized(messages: readonly (Message | AgUiMessage)[]): unknown[] {
  const result = messages
    .filter(({ role, ...rest }) => role !== 'reasoning' || (rest as { content?: string }).content !== '')
    .map(message => {
      const { metadata, toolCalls, content, ...rest } = message as Extract<Message, { role: 'assistant' }>
      const calls = toolCalls?.map(({ id, function: { name, arguments: text } }) => ({ id, name, input: parsed(text) }))
      return { ...rest, content: content ?? '', ...(calls && { calls }) }
    })
  const grouped: unknown[] = []
  let results: { readonly id: string }[] = []
  const flush = () => {
    grouped.push(...results.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
    results = []
  }
  for (const message of result) {
    if ((message.role as string) === 'tool') results.push(message)
    else {
      flush()
      grouped.push(message)
    }
  }
  flush()
  return grouped
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
