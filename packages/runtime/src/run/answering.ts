// How an answer gets into a session: looked at beside what waits there, then decided on the ticket, where the first wins (law 5).

import { MAX_CLAIM, type StreamInfo, type StreamManager } from '@millrace/log'
import type { Chunk, Message, Part, View } from '@millrace/protocol'
import type { Agent } from '../agent/agent.ts'
import { RunError, ValidationError } from '../error/error.ts'
import { checkGiven } from '../options.ts'
import type { Schema } from '../schema/schema.ts'
import { type Answer, type AnswerOptions, chunkOf, mustBeOfKind, mustFit, refusalOf } from './answer.ts'
import { sessionUnknown } from './refusal.ts'

/** What became of an answer: where it is in the log. */
export interface Answered {
  readonly sequence: number
}

export interface ClaimOptions extends AnswerOptions {
  /** For how long, in milliseconds: after that another client may take the call. */
  readonly forMs: number
  /** Which of the places where this guest works, such as a tab. */
  readonly by?: string
}

/** Where answers go, and what is known here of who waits for them. */
export interface Answering {
  readonly manager: StreamManager
  /** By their programs. */
  readonly agents: ReadonlyMap<string, Agent>
}

/** An answer that was taken, and the run that waited for it. */
export interface Given extends Answered {
  readonly runId: string | undefined
}

/** Answers what a run waits for: the first answer counts, and who repeats it is told so. */
export async function giveAnswer(
  { manager, agents }: Answering,
  sessionId: string,
  answer: Answer,
  options: AnswerOptions,
): Promise<Given> {
  checkGiven('options', options)
  const chunk = chunkOf(answer)
  const { ticket } = await infoFor(manager, sessionId, options)
  mustBeOfKind(ticket, answer)
  const { runId, program = '' } = ticket.run ?? {}
  const agent = agents.get(program)
  const known = ticket.pendings.find(({ kind, id }) => kind === 'approval' && id === answer.id)?.toolCallId
  // The ticket decides; the session, which may be long, is read only where something is to be compared with what it shows.
  if (!isCompared(answer, agent) && (known !== undefined || !isAmbiguous(answer))) {
    return { ...(await give(manager, sessionId, options.guest, withCall(chunk, known))), runId }
  }
  const { view } = await manager.view(sessionId)
  const schemaOf = (toolName: string, message: Message | undefined) => {
    const own = agent && agentOf(view, agent, message)
    return own && outputOf(own, toolName)
  }
  await mustFit(view, answer, schemaOf, manager, sessionId)
  return { ...(await give(manager, sessionId, options.guest, withCall(chunk, known ?? callOf(view, answer)))), runId }
}

/** Whether something of an answer has to fit what the session shows. */
function isCompared(answer: Answer, agent: Agent | undefined): boolean {
  if (answer.kind === 'approval') return answer.input !== undefined
  return answer.kind === 'interrupt' || ('output' in answer && agent !== undefined && checksOutputs(agent))
}

/** Whether it cannot be told from its id alone which call is approved: both ids in it may hold what stands between them. */
const isAmbiguous = ({ kind, id }: Answer): boolean => kind === 'approval' && id.indexOf('::') !== id.lastIndexOf('::')

/** Takes the call of a client's tool upon oneself for a while, so that nobody else runs it meanwhile; tells until when. */
export async function giveClaim(
  { manager }: Answering,
  sessionId: string,
  toolCallId: string,
  options: ClaimOptions,
): Promise<{ readonly until: number }> {
  checkGiven('options', options)
  const { forMs, by, guest } = options
  if (!(Number.isSafeInteger(forMs) && forMs > 0 && forMs <= MAX_CLAIM)) {
    throw new ValidationError(`claim: forMs: expected whole milliseconds from 1 to ${MAX_CLAIM}, found ${forMs}`)
  }
  const { clock, ticket } = await infoFor(manager, sessionId, options)
  mustBeOfKind(ticket, { kind: 'tool-result', id: toolCallId })
  const until = clock + forMs
  await give(manager, sessionId, guest, { type: 'tool-claimed', toolCallId, until, ...(by !== undefined && { by }) })
  return { until }
}

async function infoFor(manager: StreamManager, sessionId: string, { principal }: AnswerOptions): Promise<StreamInfo> {
  const info = await manager.getInfo(sessionId)
  if (info === null) throw sessionUnknown(sessionId)
  if (principal !== undefined && info.principal !== principal) {
    throw new RunError('answer_forbidden', `session ${sessionId} is not that of who answers`)
  }
  return info
}

async function give(manager: StreamManager, sessionId: string, guest = 'runtime', chunk: Chunk): Promise<Answered> {
  const done = await manager.append(sessionId, guest, chunk)
  if (done.outcome !== 'refused') return { sequence: done.first }
  const {
    approvalId,
    interruptId,
    toolCallId = '',
  } = chunk as Partial<Record<'approvalId' | 'interruptId' | 'toolCallId', string>>
  // A ticket remembers only what was settled last.
  const isForgotten = done.reason === 'unknown' && isSettled((await manager.view(sessionId)).view, chunk)
  throw refusalOf(isForgotten ? 'already-settled' : done.reason, approvalId ?? interruptId ?? toolCallId)
}

/** Whether a session shows that what an answer is to was settled. */
function isSettled({ messages, interrupts }: View, chunk: Chunk): boolean {
  if (chunk.type === 'interrupt-response')
    return interrupts.some(({ interruptId }) => interruptId === chunk.interruptId)
  const { toolCallId, approvalId } = chunk as { toolCallId?: string; approvalId?: string }
  const isIt = (part: Part): boolean => {
    if (!('toolCallId' in part) || !part.state.startsWith('output-')) return false
    return approvalId === undefined
      ? part.toolCallId === toolCallId && part.executor === 'client'
      : part.approval?.id === approvalId
  }
  return messages.some(({ parts }) => parts.some(isIt))
}

/** The call that an approval is about, where its run is known. */
function callOf({ runs }: View, { id }: Answer): string | undefined {
  const run = runs.find(({ runId }) => id.startsWith(`${runId}::`))
  return run && id.slice(run.runId.length + 2)
}

const withCall = (chunk: Chunk, toolCallId: string | undefined): Chunk =>
  chunk.type === 'tool-approval-response' && toolCallId !== undefined ? { ...chunk, toolCallId } : chunk

/** Whether outputs of clients' tools are checked, of an agent or of one that works for it. */
const checksOutputs = ({ tools, subAgents }: Agent): boolean =>
  (typeof tools !== 'function' && tools.some(tool => tool.executor === 'client' && tool.output !== undefined)) ||
  subAgents.some(({ agent }) => checksOutputs(agent))

/** The agent that says a message: the root agent of the run, or one that works for it, by the names of the calls down to it. */
function agentOf(view: View, root: Agent, message: Message | undefined): Agent | undefined {
  if (message?.parent === undefined) return message && root
  const { messageId, toolCallId } = message.parent
  const parent = view.messages.find(({ id }) => id === messageId)
  const call = parent?.parts.find(part => 'toolCallId' in part && part.toolCallId === toolCallId)
  const name = call && 'toolName' in call ? call.toolName : undefined
  return agentOf(view, root, parent)?.subAgents.find(sub => sub.name === name)?.agent
}

/** The schema of the outputs of a client's tool of an agent, where the tools are not computed. */
function outputOf({ tools }: Agent, toolName: string): Schema | undefined {
  const tool = typeof tools === 'function' ? undefined : tools.find(({ name }) => name === toolName)
  return tool?.executor === 'client' ? tool.output : undefined
}
