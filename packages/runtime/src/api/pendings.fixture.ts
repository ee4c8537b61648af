// Runs with approvals, client tools and sub-agents, and the answers of a test.

import { pendingKey } from '@millrace/log/internal'
import type { Entry, Json, ToolPart, WriterOrigin } from '@millrace/protocol'
import { expect } from 'vitest'
import { z } from 'zod'
import { type Agent, agent } from '../define/agent.ts'
import type { Approval } from '../define/approval.ts'
import type { Program } from '../define/program.ts'
import type { SubAgent } from '../define/sub-agent.ts'
import { type AnyTool, tool } from '../define/tool.ts'
import { type LoggedMessage, recordingLogger, reportsOf } from '../execute/agent/run-to-end.fixture.ts'
import { type ScriptedAnswer, scriptedModel } from '../model/scripted-model.ts'
import type { Run } from './run.ts'
import type { Runtime, StartOptions } from './runtime.ts'
import type { RuntimeOptions } from './runtime-options.ts'
import type { Answered } from './submit-answer.ts'
import { logOf, testRuntime } from './test-runtime.fixture.ts'

const SESSION = 's'
const RUN = 'r'

export interface StartedRun {
  readonly runtime: Runtime
  readonly run: Run
  /** Logged messages. */
  readonly logged: readonly LoggedMessage[]
}

/** Starts a run of an agent. */
export async function startRun(
  testAgent: Agent,
  options: Partial<RuntimeOptions> = {},
  start: Partial<StartOptions> = {},
): Promise<StartedRun> {
  const { logger, logged } = recordingLogger()
  const runtime = testRuntime({ agents: [testAgent], logger, ...options })
  const run = await runtime.start({ session: SESSION, runId: RUN, input: 'Go.', ...start, agent: testAgent })
  return { runtime, run, logged }
}

/** The log of a session. Fails if it violates the protocol or an ended run has open parts. */
export async function validLog(runtime: Runtime, session: string = SESSION): Promise<Entry[]> {
  const log = await logOf(runtime, session)
  expect(reportsOf(log)).toEqual([])
  const { view, ticket } = await runtime.view(session)
  // The view and the ticket have the same pendings.
  expect(view.pendings.map(({ kind, id }) => pendingKey({ kind, id })).sort()).toEqual(
    ticket.pendings.map(pendingKey).sort(),
  )
  if (ticket.run === null) {
    expect(view.pendings).toEqual([])
    expect(view.agents.filter(({ status }) => status === undefined)).toEqual([])
    expect(view.drafts).toEqual([])
    const calls = view.messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => 'toolCallId' in part))
    expect(calls.filter(({ state }) => !state.startsWith('output-'))).toEqual([])
  }
  return log
}

/** Answers an approval of the run. */
export const approve = (runtime: Runtime, toolCallId: string, approved = true, more: object = {}): Promise<Answered> =>
  runtime.answer(SESSION, { kind: 'approval', id: `${RUN}::${toolCallId}`, approved, ...more })

/** Sends the result of a client call. */
export const sendResult = (runtime: Runtime, toolCallId: string, output: Json = 'given'): Promise<Answered> =>
  runtime.answer(SESSION, { kind: 'tool-result', id: toolCallId, output })

/** A tool that counts its executions and returns its input. */
export function counted(name: string, approval?: Approval<{ n: number }>) {
  const ran: number[] = []
  const testTool = tool({
    name,
    inputSchema: z.object({ n: z.number() }),
    ...(approval !== undefined && { approval }),
    execute({ n }) {
      ran.push(n)
      return `${name} ${n}`
    },
  })
  return { ran, tool: testTool }
}

/** An agent with scripted answers, one per step. */
export function scripted<const Name extends string>(
  name: Name,
  answers: readonly ScriptedAnswer[],
  more: { tools?: readonly AnyTool[]; subAgents?: readonly (Program | SubAgent)[]; [option: string]: unknown } = {},
) {
  const prompts: string[] = []
  const model = scriptedModel(({ options, turnAnswers }) => {
    prompts.push(JSON.stringify(options.prompt))
    const answer = answers[turnAnswers]
    if (answer) return answer
    throw new Error(`${name} has no answer ${turnAnswers}`)
  })
  return { prompts, agent: agent({ name, model, ...more } as Parameters<typeof agent>[0]) as Agent }
}

/** A call of a scripted answer. */
export const call = (name: string, id: string, input: Json = {}) => ({ name, id, input })

/** A call of a sub-agent. */
export const subAgentCall = (name: string, id: string, prompt = `do ${id}`) => call(name, id, { prompt })

/** The calls of a session by id. */
export async function callsIn(runtime: Runtime, session: string = SESSION): Promise<Record<string, ToolPart>> {
  const { view } = await runtime.view(session)
  const parts = view.messages.flatMap(({ parts }) => parts)
  return Object.fromEntries(parts.flatMap(part => ('toolCallId' in part ? [[part.toolCallId, part]] : [])))
}

/** Entries of agents, without guests. */
export const writerEntries = (log: readonly Entry[]): (Entry & { origin: WriterOrigin })[] =>
  log.filter((entry): entry is Entry & { origin: WriterOrigin } => entry.origin.guest === undefined)

/** The ids of checkpoints that close a step. */
export const closedIn = (log: readonly Entry[]): string[] =>
  log.flatMap(({ chunk }) => (chunk.type === 'checkpoint-created' && chunk.closesStep ? [chunk.checkpointId] : []))
