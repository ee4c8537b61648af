// The program with pendings: two parallel sub-agents, each with progress, state and a call that needs approval (one
// approved, one denied); one of them with a failed attempt and its own sub-agent, the other with a client tool;
// approval rules that approve, deny and allow; a client tool that needs approval; and a call without an answer in time.
// It depends only on the prompt, the attempt and `ANSWERS`, so it is deterministic.

import { systemTimers } from '@millrace/log'
import type { JsonObject } from '@millrace/protocol'
import { z } from 'zod'
import type { Run } from '../../api/run.ts'
import type { Runtime } from '../../api/runtime.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { subAgent } from '../../define/sub-agent.ts'
import { type AnyTool, tool } from '../../define/tool.ts'
import { type ScriptedAnswer, type ScriptedPrompt, scriptedModel } from '../../model/scripted-model.ts'
import type { WriteLine } from './ledger.fixture.ts'
import {
  attemptOf,
  callOf,
  type Program,
  type ProgramOptions,
  recordedModel,
  SESSION,
  soundTool,
} from './tools-program.fixture.ts'

export const APPROVALS_RUN = 'works'
/** A session without pendings. */
export const OTHER_SESSION = 'elsewhere'
/** Owner of both sessions. */
export const PRINCIPAL = 'owner'

export interface ApprovalsOptions extends ProgramOptions {
  /** Timeout of the answer that never comes, in ms. */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 300

/** The decision on each call that needs approval: the guest, the decision and the input. */
export const APPROVALS: Readonly<
  Record<string, { readonly by: 'person' | 'rule' | 'time'; readonly approved: boolean; readonly input: JsonObject }>
> = {
  rope: { by: 'person', approved: true, input: { what: 'rope', amount: 200 } },
  stone: { by: 'person', approved: false, input: { what: 'stone', amount: 700 } },
  nails: { by: 'rule', approved: true, input: { what: 'nails', amount: 50 } },
  wheel: { by: 'rule', approved: false, input: { what: 'a second wheel', amount: 5000 } },
  sign: { by: 'person', approved: true, input: { paper: 'the bill' } },
  boots: { by: 'person', approved: true, input: { what: 'boots', amount: 110 } },
  ale: { by: 'time', approved: false, input: { what: 'ale', amount: 20 } },
}

/** The client's result of each call. */
export const RESULTS: Readonly<Record<string, { readonly input: JsonObject; readonly output: JsonObject }>> = {
  where: { input: { what: 'the weir' }, output: { seen: 'below the bridge' } },
  crack: { input: { what: 'the crack' }, output: { seen: 'as long as an arm' } },
  sign: { input: { paper: 'the bill' }, output: { seen: 'signed' } },
}

interface Purse {
  readonly total?: number
  readonly spent?: number
}

/** The agents of one process. */
export function approvalsAgents(options: ApprovalsOptions): readonly Agent[] {
  const { writeLine, timers = systemTimers, paceMs = 0, deadlineMs = DEADLINE_MS } = options
  const pause = (): Promise<void> => (paceMs > 0 ? new Promise(done => timers.after(paceMs, done)) : Promise.resolve())
  const model = (script: (prompt: ScriptedPrompt) => ScriptedAnswer) =>
    recordedModel(scriptedModel(script, { paceMs, timers }), writeLine)
  const spend = spendTool(writeLine, pause)
  const look = tool({ name: 'look', inputSchema: z.object({ what: z.string() }), outputSchema: SEEN, client: true })
  const tools = [soundTool(writeLine, pause), spend]
  const lad = agent({ name: 'lad', model: model(sound), tools })
  const dredger = agent({ name: 'dredger', model: model(dredge), tools, subAgents: [lad] })
  const mason = agent({ name: 'mason', model: model(mend), tools: [...tools, look], parallelCalls: 2 })
  return [
    agent({
      name: 'steward',
      model: model(steward),
      // The state that its sub-agents changed is in its next prompt.
      instructions: ({ state }) => {
        const { total = 0, spent = 0 } = state as Purse
        return `See to the mill. Sounded: ${total}. Spent: ${spent}.`
      },
      tools: [
        spend,
        look,
        tool({
          name: 'sign',
          inputSchema: z.object({ paper: z.string() }),
          outputSchema: SEEN,
          client: true,
          approval: true,
        }),
        treatTool(writeLine, deadlineMs),
      ],
      subAgents: [
        dredger,
        subAgent(mason, { name: 'mend', inputSchema: z.object({ wall: z.string() }), prompt: askMason }),
      ],
      initialState: { spent: 0 },
      parallelCalls: 3,
    }),
  ]
}

const SEEN = z.object({ seen: z.string() })

const askMason = ({ wall }: { wall: string }): string => `Mend the wall of the ${wall}.`

/** Requests the run. Idempotent. */
export async function requestApprovalsRun(runtime: Runtime): Promise<Run> {
  await runtime.manager.createStream(OTHER_SESSION, PRINCIPAL)
  return runtime.start({
    session: SESSION,
    principal: PRINCIPAL,
    agent: 'agent:steward@1',
    runId: APPROVALS_RUN,
    messageId: `asks-${APPROVALS_RUN}`,
    input: 'See to the mill.',
    context: { asked: APPROVALS_RUN },
  })
}

/** The program with pendings. */
export const APPROVALS_PROGRAM: Program = { runs: [APPROVALS_RUN], agents: approvalsAgents, ask: requestApprovalsRun }

function steward({ answers }: ScriptedPrompt): ScriptedAnswer {
  switch (answers) {
    case 0:
      return {
        reasoning: 'Two can work at once.',
        text: 'I will have the race dredged and the pit mended.',
        calls: [
          { name: 'dredger', input: { prompt: 'Clear the race.' }, id: 'race' },
          { name: 'mend', input: { wall: 'pit' }, id: 'pit' },
          { name: 'look', input: inputOf('where'), id: 'where' },
          { name: 'spend', input: inputOf('nails'), id: 'nails' },
          { name: 'spend', input: inputOf('wheel'), id: 'wheel' },
        ],
        usage: { input: 100, output: 40 },
      }
    case 1:
      return {
        text: 'Only the bill is left.',
        calls: [
          { name: 'sign', input: inputOf('sign'), id: 'sign' },
          { name: 'treat', input: inputOf('ale'), id: 'ale' },
        ],
        usage: { input: 200, output: 20 },
      }
    default:
      return { text: 'The mill is seen to, and nobody had ale.', usage: { input: 300, output: 10 } }
  }
}

function dredge(prompt: ScriptedPrompt): ScriptedAnswer {
  switch (prompt.answers) {
    case 0:
      return {
        text: 'How deep is it?',
        calls: [
          { name: 'sound', input: { place: 'race', turns: 2 }, id: 'depth' },
          { name: 'spend', input: inputOf('rope'), id: 'rope' },
        ],
        usage: { input: 30, output: 6 },
      }
    case 1:
      return attemptOf(prompt) === 1
        ? {
            text: 'Once more at',
            parts: [
              { type: 'tool-input-start', id: 'again', toolName: 'lad' },
              { type: 'tool-input-delta', id: 'again', delta: '{"prompt":' },
            ],
            error: new Error('overloaded'),
          }
        : {
            text: 'Once more at the sluice, lad.',
            calls: [{ name: 'lad', input: { prompt: 'Sound the sluice.' }, id: 'again' }],
            usage: { input: 40, output: 7 },
          }
    default:
      return { text: 'The race is clear.', usage: { input: 50, output: 5 } }
  }
}

function sound({ answers }: ScriptedPrompt): ScriptedAnswer {
  return answers === 0
    ? {
        calls: [
          { name: 'sound', input: { place: 'sluice', turns: 1 }, id: 'sluice' },
          { name: 'spend', input: inputOf('boots'), id: 'boots' },
        ],
        usage: { input: 11, output: 3 },
      }
    : { text: 'Three metres.', usage: { input: 12, output: 2 } }
}

function mend({ answers }: ScriptedPrompt): ScriptedAnswer {
  switch (answers) {
    case 0:
      return {
        reasoning: 'It wants stone.',
        calls: [
          { name: 'sound', input: { place: 'pit', turns: 2 }, id: 'wall' },
          { name: 'spend', input: inputOf('stone'), id: 'stone' },
          { name: 'look', input: inputOf('crack'), id: 'crack' },
        ],
        usage: { input: 31, output: 8 },
      }
    case 1:
      return {
        text: 'Then lime will do.',
        calls: [{ name: 'spend', input: { what: 'lime', amount: 5 }, id: 'lime' }],
        usage: { input: 41, output: 9 },
      }
    default:
      return { text: 'The wall holds.', usage: { input: 51, output: 4 } }
  }
}

const inputOf = (toolCallId: string): JsonObject => (APPROVALS[toolCallId] ?? RESULTS[toolCallId])?.input ?? {}

/** Allows small amounts, asks for larger ones, and decides itself in between and beyond. */
function spendTool(writeLine: WriteLine, pause: () => Promise<void>): AnyTool {
  return tool({
    name: 'spend',
    description: 'Buys something',
    inputSchema: z.object({ what: z.string(), amount: z.number() }),
    approval: ({ amount }) => {
      if (amount < 10) return false
      if (amount < 100) return { approved: true, reason: 'from the petty cash' }
      return amount > 1000 ? { approved: false, reason: 'beyond the purse' } : true
    },
    async execute({ what, amount }, context) {
      const call = callOf(context.idempotencyKey, { what, amount })
      writeLine({ ...call, phase: 'start' })
      await pause()
      context.updateState(state => {
        const { spent = 0, ...rest } = (state ?? {}) as Purse
        return { ...rest, spent: spent + amount }
      })
      writeLine({ ...call, phase: 'end' })
      return `bought ${what}`
    },
  })
}

/** Waits for an answer with a short timeout. */
function treatTool(writeLine: WriteLine, timeoutMs: number): AnyTool {
  return tool({
    name: 'treat',
    inputSchema: z.object({ what: z.string(), amount: z.number() }),
    approval: { timeoutMs },
    execute(input, context) {
      const call = callOf(context.idempotencyKey, input)
      writeLine({ ...call, phase: 'start' })
      writeLine({ ...call, phase: 'end' })
      return 'cheers'
    },
  })
}
