import type { Message, View } from '@millrace/protocol'
import { HttpError } from '../errors/http-error.ts'

/** The view of a session without its internal part. */
export type PublicView = Omit<View, 'internal'>

/** The messages that a request asks for. */
export interface PageQuery {
  readonly messages?: string | undefined
  readonly before?: string | undefined
}

/** Position of a page: the total number of messages, whether older ones exist, and the message before which they lie. */
export interface MessagePage {
  readonly total: number
  readonly hasMore: boolean
  readonly before?: string
}

/** Maximum number of messages on one page. */
export const MAX_MESSAGES = 1000

/** The full view; or the view with only its last messages, which can still be followed; or a page of older messages. @throws `request_invalid` */
export function messagePageOf(
  view: PublicView,
  { messages: range, before }: PageQuery,
):
  | { readonly view: PublicView; readonly page?: MessagePage }
  | { readonly messages: readonly Message[]; readonly page: MessagePage; readonly view?: undefined } {
  if (range === undefined) {
    if (before !== undefined)
      throw new HttpError('request_invalid', 'before: expected the parameter messages too, such as messages=last:50')
    return { view }
  }
  const limit = Number(/^last:(\d{1,6})$/.exec(range)?.[1])
  if (!(limit >= 1 && limit <= MAX_MESSAGES)) {
    throw new HttpError('request_invalid', `messages: expected last:N with N from 1 to ${MAX_MESSAGES}`)
  }
  const { messages } = view
  const total = messages.length
  const end = before === undefined ? total : messages.findIndex(({ id }) => id === before)
  if (end < 0) throw new HttpError('request_invalid', 'before: expected the id of a message in this session')
  const start = Math.max(0, end - limit)
  const pageWith = (hasMore: boolean): MessagePage => {
    const first = messages[start]?.id
    return { total, hasMore, ...(hasMore && first !== undefined && { before: first }) }
  }
  if (before !== undefined) return { messages: messages.slice(start, end), page: pageWith(start > 0) }
  const open = openMessages(view)
  const last = messages.filter(({ id }, i) => i >= start || open.has(id))
  return {
    view: { ...view, messages: last, ...runsAndRequestsOf(view, last, limit) },
    page: pageWith(last.length < total),
  }
}

/**
 * The runs and requests of a page: those of its messages, the open ones, and the last `limit`, so that a reconnecting client sees how they ended.
 * Later entries refer to no other run (law 7). The usage of the omitted runs is in the view's `usage`.
 */
function runsAndRequestsOf(
  { runs, requests }: PublicView,
  pageMessages: readonly Message[],
  limit: number,
): Pick<PublicView, 'runs' | 'requests'> {
  const ids = new Set(pageMessages.map(({ id }) => id))
  const pageRequests = requests.filter(
    ({ status, message }) => status === 'waiting' || ids.has(message?.messageId ?? ''),
  )
  const open = runs.filter(({ finishedAt }) => finishedAt === undefined)
  const needed = [...pageMessages, ...pageRequests, ...open, ...requests.slice(-limit), ...runs.slice(-limit)]
  const runIds = new Set(needed.map(({ runId }) => runId))
  const isNeeded = ({ runId }: { readonly runId: string }) => runIds.has(runId)
  return { runs: runs.filter(isNeeded), requests: requests.filter(isNeeded) }
}

/** Ids of the messages that later entries may still change: messages of running agents, and of the agents that called them. */
function openMessages({ messages, runs, agents }: PublicView): ReadonlySet<string> {
  const keyOf = (runId: string, agentId: string | undefined) => JSON.stringify([runId, agentId])
  const open = new Set(runs.filter(({ finishedAt }) => finishedAt === undefined).map(({ runId }) => runId))
  const ended = new Set(agents.filter(({ status }) => status).map(({ runId, agentId }) => keyOf(runId, agentId)))
  const byId = new Map(messages.map(message => [message.id, message]))
  const found = new Set<string>()
  for (const message of messages) {
    const { runId, agentId } = message
    if (runId === undefined || !open.has(runId) || ended.has(keyOf(runId, agentId))) continue
    for (let next: Message | undefined = message; next && !found.has(next.id); ) {
      found.add(next.id)
      next = byId.get(next.parent?.messageId ?? '')
    }
  }
  return found
}
