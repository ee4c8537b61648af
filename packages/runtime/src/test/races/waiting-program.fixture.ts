// The programs of the races: agents with pendings, alone, next to a running call, or in sub-agents.

import type { Timers } from '@millrace/log'
import { z } from 'zod'
import { type Agent, agent } from '../../define/agent.ts'
import { type ClientTool, type Tool, tool } from '../../define/tool.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import type { RaceKind } from './race-plan.fixture.ts'

export const SESSION = 'session'
export const RUN = 'r'
/** The run that is requested in place of the first. */
export const NEXT = 'next'

/** Called when a tool starts and ends. */
type RecordOperation = (toolCallId: string, phase: 'start' | 'end') => void

export interface ProgramOptions {
  readonly kind: RaceKind
  readonly timeoutMs: number | undefined
  readonly paceMs: number
  readonly timers: Timers
  readonly recordOperation: RecordOperation
}

/** The calls with pendings. */
export const waitingCallsOf = (kind: RaceKind): readonly string[] =>
  kind === 'children' ? ['a-pay', 'b-pay'] : ['pay']

/** Whether a program waits for an approval, and for a client result. */
export const needsApproval = (kind: RaceKind): boolean => kind !== 'client'
export const hasClientResult = (kind: RaceKind): boolean => kind === 'client' || kind === 'approved-client'

/** The agents of one process. */
export function agentsOf(options: ProgramOptions): readonly Agent[] {
  const { kind } = options
  const pay = payTool(options)
  const otherCalls = kind === 'pair' ? [{ name: 'look', input: {}, id: 'look' }] : []
  const hasChildren = kind === 'child' || kind === 'children'
  const call = { name: 'pay', input: { amount: 5 } }
  const first = (calls: { name: string; input: { amount: number } | { prompt?: string }; id: string }[]) =>
    scriptedModel(({ turnAnswers }) => (turnAnswers === 0 ? { text: 'Now.', calls } : { text: 'Done.' }))
  const child = (name: string, id: string) => agent({ name, tools: [pay], model: first([{ ...call, id }]) })
  const children = kind === 'child' ? [child('a', 'pay')] : [child('a', 'a-pay'), child('b', 'b-pay')]
  return [
    hasChildren
      ? agent({
          name: 'root',
          subAgents: children,
          model: first(children.map(({ name }) => ({ name, input: { prompt: 'pay' }, id: `c${name}` }))),
        })
      : agent({ name: 'root', tools: [pay, lookTool(options)], model: first([...otherCalls, { ...call, id: 'pay' }]) }),
    agent({ name: 'next', model: scriptedModel([{ text: 'Next.' }]) }),
  ]
}

function payTool({ kind, timeoutMs, paceMs, timers, recordOperation }: ProgramOptions): Tool | ClientTool {
  const definition = { name: 'pay', inputSchema: z.object({ amount: z.number() }) }
  const timeout = timeoutMs === undefined ? {} : { timeoutMs }
  const approval = needsApproval(kind) && { approval: timeoutMs === undefined ? true : timeout }
  if (hasClientResult(kind)) return tool({ ...definition, ...approval, ...timeout, client: true })
  return tool({
    ...definition,
    ...approval,
    async execute({ amount }, { toolCallId }) {
      recordOperation(toolCallId, 'start')
      await pause(timers, paceMs)
      recordOperation(toolCallId, 'end')
      return `paid ${amount}`
    },
  })
}

/** Runs for a while without a pending. */
const lookTool = ({ paceMs, timers, recordOperation }: ProgramOptions): Tool =>
  tool({
    name: 'look',
    inputSchema: z.object({}),
    async execute(_, { toolCallId, emit }) {
      recordOperation(toolCallId, 'start')
      for (let turn = 1; turn <= 3; turn++) {
        await pause(timers, paceMs)
        await emit('seen', { turn }, { id: 'seen' })
      }
      recordOperation(toolCallId, 'end')
      return 'seen'
    },
  })

const pause = (timers: Timers, ms: number): Promise<void> =>
  ms > 0 ? new Promise(done => timers.after(ms, done)) : Promise.resolve()
