import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'

/** Problems of a prompt that the strictest providers would reject. */
export function problemsOf(prompt: LanguageModelV4Prompt): string[] {
  const problems: string[] = []
  const seen = new Set<string>()
  prompt.forEach((message, index) => {
    const before = prompt[index - 1]
    const addProblem = (problem: string) => problems.push(`${index} (${message.role}): ${problem}`)
    if (message.role === 'system') {
      if (index > 0) addProblem('not at the beginning')
      if (!message.content.trim()) addProblem('empty')
      return
    }
    if (message.content.length === 0) addProblem('empty')
    if (message.role === 'user') {
      if (before?.role === 'user') addProblem('after a user')
      for (const part of message.content) if (part.type === 'text' && !part.text.trim()) addProblem('blank text')
    }
    if (message.role === 'assistant') {
      if (before?.role !== 'user' && before?.role !== 'tool') addProblem(`after ${before?.role}`)
      checkReply(message.content, prompt[index + 1], seen, addProblem)
    }
    if (message.role === 'tool' && before?.role !== 'assistant') addProblem(`after ${before?.role}`)
  })
  const last = prompt.at(-1)?.role
  if (last !== 'user' && last !== 'tool') problems.push(`ends with ${last}`)
  return problems
}

type Reply = Extract<LanguageModelV4Message, { role: 'assistant' }>['content']

function checkReply(
  content: Reply,
  next: LanguageModelV4Message | undefined,
  seen: Set<string>,
  addProblem: (problem: string) => void,
): void {
  const open = new Set<string>()
  const called = new Set<string>()
  let hasContent = false
  for (const part of content) {
    if (part.type === 'text') {
      if (part.text.trim()) hasContent = true
      else if (!part.providerOptions) addProblem('blank text')
    }
    if (part.type === 'tool-call') {
      hasContent = true
      if (seen.has(part.toolCallId)) addProblem(`a second call ${part.toolCallId}`)
      seen.add(part.toolCallId)
      if (!/^[\w-]{1,64}$/.test(part.toolName)) addProblem(`a tool by the name ${JSON.stringify(part.toolName)}`)
      if (part.providerExecuted) open.add(part.toolCallId)
      else called.add(part.toolCallId)
    }
    if (part.type === 'tool-result' && !open.delete(part.toolCallId))
      addProblem(`a result without a call ${part.toolCallId}`)
  }
  if (!hasContent) addProblem('no content that every provider accepts')
  for (const id of open) addProblem(`a provider call without a result ${id}`)
  for (const part of next?.role === 'tool' ? next.content : []) {
    if (part.type !== 'tool-result') addProblem(`${part.type} among the results`)
    else if (!called.delete(part.toolCallId)) addProblem(`a result without a call ${part.toolCallId}`)
  }
  for (const id of called) addProblem(`a call without a result ${id}`)
}
