// What a client of AG-UI has to know of a session before it can follow a run there: it tells all that it has with each request, so that only what it lacks is told.

import { type AgUiBefore, type AgUiMessage, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import type { RunAgentInput } from '@millrace/dialects/ag-ui/schemas'
import type { StreamManager } from '@millrace/log'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'
import { messageIdFor } from '../turn/names.ts'

/** What a client has, as it says; nothing, where it says nothing. */
export type ClientState = Pick<RunAgentInput, 'messages' | 'state'> | undefined

/** Where a run began, from where on a client goes on that has followed it so far, and what it has. */
interface RunPosition {
  readonly sessionId: string
  readonly at: number
  readonly after: number | undefined
  readonly had: ClientState
}

/** What was there before a run; undefined where that is not known any more. */
export const earlierMessages = (manager: StreamManager, about: RunPosition): Promise<AgUiBefore | undefined> =>
  unlessTrimmed(() => earlier(manager, about))

async function earlier(manager: StreamManager, { sessionId, at, after, had }: RunPosition): Promise<AgUiBefore> {
  const { view } = await manager.view(sessionId, at - 1)
  const messages = aguiMessagesOf({ messages: await withInlineBlobs(manager, sessionId, view.messages) })
  const { state } = after === undefined ? view : (await manager.view(sessionId, after)).view
  const isNew = after === undefined ? !hasThese(had, messages) : had?.messages.length === 0
  const isOther = state !== undefined && JSON.stringify(state) !== JSON.stringify(had?.state)
  return { messages, isNew, ...(isOther && { state }) }
}

/** Whether a client has these messages, and only what it says now besides. */
function hasThese(had: ClientState, messages: readonly AgUiMessage[]): boolean {
  if (had === undefined) return false
  const ours = new Set(messages.filter(isCompared).map(({ id }) => id))
  const theirs = had.messages.filter(isCompared).map(({ id, role }) => (role === 'user' ? messageIdFor(id) : id))
  const known = new Set(theirs)
  // The last is what the client says now.
  return [...ours].every(id => known.has(id)) && theirs.slice(0, -1).every(id => ours.has(id as string))
}

/** Reasonings may be missing, and what came of a call may go by another name. */
const isCompared = ({ role }: { readonly role: string }): boolean => role === 'user' || role === 'assistant'
