// Messages of a snapshot, in the format of the AI SDK, which pages of Helix show.

import { type UIMessage, uiMessagesOf } from '../../ai-sdk/messages/ui-messages.ts'

type SnapshotView = Parameters<typeof uiMessagesOf>[0]

/** The messages of a view in a snapshot, with incomplete parts. Calls of the server are marked: pages send back only the results of client tools. */
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
