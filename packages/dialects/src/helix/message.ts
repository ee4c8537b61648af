// A session's messages as its snapshot has them: those of the AI SDK, which the pages of Helix show.

import { type UIMessage, uiMessagesOf } from '../ai-sdk/message.ts'

type SnapshotView = Parameters<typeof uiMessagesOf>[0]

/** The messages of a view as a snapshot has them, with what is partly said as far as it goes. What the server ran says so: pages send back only what a client did. */
export function snapshotMessagesOf(view: SnapshotView): UIMessage[] {
  const clients = new Set<unknown>()
  for (const { parts } of view.messages) {
    for (const part of parts) if ('toolCallId' in part && part.executor === 'client') clients.add(part.toolCallId)
  }
  return uiMessagesOf(view).map(message => ({
    ...message,
    parts: message.parts.map(part =>
      'toolCallId' in part && !clients.has(part['toolCallId']) ? { ...part, providerExecuted: true } : part,
    ),
  }))
}
