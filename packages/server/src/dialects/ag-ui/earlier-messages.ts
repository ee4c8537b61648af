// The messages and state that an AG-UI client needs before it can follow a run. Clients send all they have with each request, so only the rest is sent.

import { type AgUiHistory, type AgUiMessage, aguiMessagesOf } from '@millrace/dialects/ag-ui'
import type { RunAgentInput } from '@millrace/dialects/ag-ui/schemas'
import type { RouteCall } from '../../routing/route.ts'
import { unlessTrimmed } from '../../sessions/unless-trimmed.ts'
import { messageIdFor } from '../client-request/names.ts'
import { withInlineBlobs } from '../run-stream/inline-blobs.ts'

/** The messages and state that a client sent; undefined if it sent none. */
export type ClientState = Pick<RunAgentInput, 'messages' | 'state'> | undefined

/** The start of a run, the position from which the client resumes, and what the client has. */
interface RunPosition {
  readonly streamId: string
  readonly at: number
  readonly after: number | undefined
  readonly clientState: ClientState
}

/** The messages and state before a run; undefined if they are trimmed. */
export const earlierMessages = (call: RouteCall, position: RunPosition): Promise<AgUiHistory | undefined> =>
  unlessTrimmed(() => read(call, position))

async function read(call: RouteCall, { streamId, at, after, clientState }: RunPosition): Promise<AgUiHistory> {
  const { manager } = call.services
  const { view } = await manager.view(streamId, at - 1)
  const messages = aguiMessagesOf({ messages: await withInlineBlobs(call, streamId, view.messages) })
  const { state } = after === undefined ? view : (await manager.view(streamId, after)).view
  const isNew = after === undefined ? !hasAll(clientState, messages) : clientState?.messages.length === 0
  const hasOtherState = state !== undefined && JSON.stringify(state) !== JSON.stringify(clientState?.state)
  return { messages, isNew, ...(hasOtherState && { state }) }
}

/** Whether a client has these messages, and no others except the one that it sends now. */
function hasAll(clientState: ClientState, messages: readonly AgUiMessage[]): boolean {
  if (clientState === undefined) return false
  const serverIds = new Set(messages.filter(isCompared).map(({ id }) => id))
  const clientIds = clientState.messages
    .filter(isCompared)
    .map(({ id, role }) => (role === 'user' ? messageIdFor(id) : id))
  const clientIdSet = new Set(clientIds)
  // The last one is the message that the client sends now.
  return (
    [...serverIds].every(id => clientIdSet.has(id)) && clientIds.slice(0, -1).every(id => serverIds.has(id as string))
  )
}

/** Reasoning messages may be missing, and tool results may have other ids. */
const isCompared = ({ role }: { readonly role: string }): boolean => role === 'user' || role === 'assistant'
