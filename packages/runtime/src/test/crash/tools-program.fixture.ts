// The program of the crash suites: parallel tools with progress, state and data, one of which waits for a slot;
// rejected and failed calls; an attempt that fails within a call; and a queued second run whose first output is
// invalid. It depends only on the prompt and the attempt, so it is deterministic.

import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { systemTimers, type Timers } from '@millrace/log'
import { z } from 'zod'
import type { Run } from '../../api/run.ts'
import type { Runtime } from '../../api/runtime.ts'
import { type Agent, agent } from '../../define/agent.ts'
import { type Tool, tool } from '../../define/tool.ts'
import type { Workflow } from '../../define/workflow.ts'
import { ToolError } from '../../error/error.ts'
import { type ScriptedAnswer, type ScriptedPrompt, scriptedModel } from '../../model/scripted-model.ts'
import type { Answerer, AnsweringClientsOptions } from './answering-clients.fixture.ts'
import type { WriteLine } from './ledger.fixture.ts'
import type { verdict } from './run-verdict.fixture.ts'

export interface ProgramOptions {
  /** Called at the start and the end of every call. */
  readonly writeLine: WriteLine
  readonly timers?: Timers
  /** Time between tokens of a model and between yields of a tool, in ms. @default 0 */
  readonly paceMs?: number
  /** Whether this is the first time in any process, for work that fails once. */
  readonly isFirst?: (key: string) => boolean
}

export const SESSION = 'session'
/** The two runs in order. */
const RUNS = ['survey', 'report'] as const

/** A program for schedules. */
export interface Program {
  readonly runs: readonly string[]
  readonly agents: (options: ProgramOptions) => readonly Agent[]
  readonly workflows?: (options: ProgramOptions) => readonly Workflow[]
  /** Requests all runs. Idempotent. */
  readonly ask: (runtime: Runtime) => Promise<unknown>
  /** Answers pendings. @default those of the program with pendings */
  readonly clients?: (options: AnsweringClientsOptions) => Answerer
  /** Additional checks of the result. */
  readonly judge?: typeof verdict
}

interface Survey {
  readonly depths?: Readonly<Record<string, number>>
  readonly total?: number
  readonly calls?: number
}

/** The agents of one process. */
export function agentsOf({ writeLine, timers = systemTimers, paceMs = 0 }: ProgramOptions): readonly Agent[] {
  const pause = (): Promise<void> => (paceMs > 0 ? new Promise(done => timers.after(paceMs, done)) : Promise.resolve())
  const tools = [soundTool(writeLine, pause), countTool(writeLine, pause), drainTool(writeLine)] as const
  const pace = { paceMs, timers }
  return [
    agent({
      name: 'surveyor',
      model: recordedModel(scriptedModel(survey, pace), writeLine),
      // The state that the calls of a step changed is in the next prompt.
      instructions: ({ state }) => `Survey the pond. So far: ${(state as Survey).total ?? 0}.`,
      tools,
      initialState: { depths: {} },
      parallelCalls: 2,
    }),
    agent({
      name: 'reporter',
      model: recordedModel(scriptedModel(report, pace), writeLine),
      tools,
      outputSchema: z.object({
        title: z.string(),
        places: z.array(z.string()),
        depth: z.object({ total: z.number(), unit: z.enum(['m', 'ft']) }),
      }),
    }),
  ]
}

/** Requests both runs in order. Idempotent. */
export async function requestBothRuns(runtime: Runtime): Promise<readonly Run[]> {
  const runs: Run[] = []
  for (const [index, runId] of RUNS.entries()) {
    runs.push(
      await runtime.start({
        session: SESSION,
        agent: index === 0 ? 'agent:surveyor@1' : 'agent:reporter@1',
        runId,
        messageId: `asks-${runId}`,
        input: index === 0 ? 'How deep is the pond?' : 'Write it up.',
        whenBusy: 'queue',
        context: { asked: runId },
      }),
    )
  }
  return runs
}

/** The program without pendings. */
export const TOOLS_PROGRAM: Program = { runs: RUNS, agents: agentsOf, ask: requestBothRuns }

/** The attempt number of a model call. */
export const attemptOf = ({ options }: ScriptedPrompt): number =>
  Number(options.providerOptions?.['millrace']?.['attempt'])

/** The steps of the first run, by the answers in the prompt. */
function survey(prompt: ScriptedPrompt): ScriptedAnswer {
  switch (prompt.answers) {
    case 0:
      return {
        reasoning: 'A pond has four sides, and I can ask for several at once.',
        text: 'I will sound it from the north and the south, and count the geese.',
        calls: [
          { name: 'sound', input: { place: 'north', turns: 3 }, id: 'north' },
          { name: 'sound', input: { place: 'south', turns: 2 }, id: 'south' },
          { name: 'count', input: { what: 'geese', number: 7 }, id: 'geese' },
          { name: 'count', input: { what: 'reeds', number: 'many' }, id: 'reeds' },
        ],
        usage: { input: 100, output: 40 },
      }
    case 1:
      return attemptOf(prompt) === 1
        ? {
            reasoning: 'Only the plug',
            text: 'Let me pull the plug and',
            parts: [
              { type: 'tool-input-start', id: 'plug', toolName: 'drain' },
              { type: 'tool-input-delta', id: 'plug', delta: '{"plug":' },
            ],
            error: new Error('overloaded'),
          }
        : {
            reasoning: 'Only the plug is left.',
            text: 'Let me pull the plug and sound the east.',
            calls: [
              { name: 'drain', input: { plug: 1 }, id: 'plug' },
              { name: 'sound', input: { place: 'east', turns: 2 }, id: 'east' },
            ],
            usage: { input: 200, output: 30, cached: 100 },
          }
    default:
      return {
        text: 'The pond is nine metres deep in the north, six in the south and six in the east.',
        usage: { input: 300, output: 20 },
      }
  }
}

const REPORT = {
  title: 'The pond behind the mill',
  places: ['north', 'south', 'east'],
  depth: { total: 28, unit: 'm' },
}

/** The steps of the second run. */
function report(prompt: ScriptedPrompt): ScriptedAnswer {
  const isAnswered = prompt.options.prompt.some(
    ({ role, content }) => role === 'tool' && JSON.stringify(content).includes('"west"'),
  )
  if (!isAnswered) {
    return {
      reasoning: 'One side is missing.',
      calls: [{ name: 'sound', input: { place: 'west', turns: 1 }, id: 'west' }],
      usage: { input: 400, output: 10 },
    }
  }
  const reportFields = attemptOf(prompt) === 1 ? { ...REPORT, depth: { total: 28, unit: 'fathoms' } } : REPORT
  return { text: JSON.stringify(reportFields, null, 1), usage: { input: 500, output: 50 } }
}

/** Progress, data that replaces itself, and state updates. */
export function soundTool(writeLine: WriteLine, pause: () => Promise<void>): Tool {
  return tool({
    name: 'sound',
    description: 'How deep it is somewhere',
    inputSchema: z.object({ place: z.string(), turns: z.number() }),
    async *execute({ place, turns }, context) {
      const call = callOf(context.idempotencyKey, { place, turns })
      writeLine({ ...call, phase: 'start' })
      for (let turn = 1; turn <= turns; turn++) {
        await pause()
        context.emit('line', { place, turn }, { id: 'line' })
        if (turn === 1) context.emit('splash', { place })
        context.emit('ripple', { place, turn }, { transient: true })
        yield { place, metres: 3 * turn, isFinal: false }
      }
      const metres = 3 * turns
      context.updateState(state => {
        const { depths = {}, total = 0, calls = 0, ...rest } = (state ?? {}) as Survey
        return { ...rest, depths: { ...depths, [place]: metres }, total: total + metres, calls: calls + 1 }
      })
      writeLine({ ...call, phase: 'end' })
      return { place, metres, isFinal: true }
    },
  })
}

/** State updates without progress. */
function countTool(writeLine: WriteLine, pause: () => Promise<void>): Tool {
  return tool({
    name: 'count',
    description: 'Counts something',
    inputSchema: z.object({ what: z.string(), number: z.number() }),
    async execute(input, context) {
      const call = callOf(context.idempotencyKey, input)
      writeLine({ ...call, phase: 'start' })
      await pause()
      context.updateState(state => {
        const { total = 0, calls = 0, ...rest } = (state ?? {}) as Survey
        return { ...rest, total: total + input.number, calls: calls + 1 }
      })
      writeLine({ ...call, phase: 'end' })
      return `${input.number} ${input.what}`
    },
  })
}

/** Fails with a ToolError. Its state updates are dropped. */
function drainTool(writeLine: WriteLine): Tool {
  return tool({
    name: 'drain',
    description: 'Lets the water out',
    inputSchema: z.object({ plug: z.number() }),
    execute(input, context) {
      const call = callOf(context.idempotencyKey, input)
      writeLine({ ...call, phase: 'start' })
      context.updateState(() => ({ depths: {} }))
      writeLine({ ...call, phase: 'end' })
      throw new ToolError(`plug ${input.plug} is stuck`)
    },
  })
}

/** A ledger line of a tool call. */
export const callOf = (key: string, input: unknown) =>
  ({ kind: 'tool', key, attempt: 1, input: JSON.stringify(input) }) as const

/** A model whose calls are recorded at their start and end. */
export function recordedModel(model: LanguageModelV4, writeLine: WriteLine): LanguageModelV4 {
  return {
    ...model,
    async doStream(options) {
      const { key, attempt } = (options.providerOptions?.['millrace'] ?? {}) as { key: string; attempt: number }
      const call = { kind: 'model', key, attempt, input: JSON.stringify(options.prompt) } as const
      writeLine({ ...call, phase: 'start' })
      const { stream, ...rest } = await model.doStream(options)
      // Observed without wrapping the stream, because there are thousands of runs.
      const getReader = stream.getReader.bind(stream) as () => ReadableStreamDefaultReader<LanguageModelV4StreamPart>
      stream.getReader = (() => {
        const reader = getReader()
        const read = reader.read.bind(reader)
        reader.read = async () => {
          const next = await read()
          if (next.done) writeLine({ ...call, phase: 'end' })
          return next
        }
        return reader
      }) as typeof stream.getReader
      return { stream, ...rest }
    },
  }
}
