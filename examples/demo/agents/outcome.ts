import type { ScriptedPrompt } from 'millrace'

/** The result of the latest call of a tool, as the model sees it. */
export function outcomeOf({ options }: ScriptedPrompt, toolName: string) {
  const results = options.prompt.flatMap(message => (message.role === 'tool' ? message.content : []))
  const latest = results.findLast(part => part.type === 'tool-result' && part.toolName === toolName)
  return latest?.type === 'tool-result' ? latest.output : undefined
}
