// Realistic workflows, each with something that is hard to continue in another process.

import { z } from 'zod'
import type { NodeContext } from '../../define/node.ts'
import { workflow } from '../../define/workflow.ts'
import { useInterrupt } from '../../execute/hooks/use-interrupt.ts'
import { useReason } from '../../execute/hooks/use-reason.ts'
import { useNodeState, useWorkflowState } from '../../execute/hooks/use-state.ts'
import { useStructuredData } from '../../execute/hooks/use-structured-data.ts'
import type { Program } from './tools-program.fixture.ts'
import { flowProgram } from './workflow.fixture.ts'
import { EMAIL, executeOp, type NodeEnvironment } from './workflow.ops.fixture.ts'

export type ScenarioName = 'draft' | 'rounds' | 'branches' | 'passage' | 'retry' | 'consent'

const TONES = [
  { id: 'dry', label: 'Dry' },
  { id: 'warm', label: 'Warm' },
]

/** A recorded side effect. It may fail the first time. */
const recordedStep = (environment: NodeEnvironment, key: string, fails?: 'once') =>
  executeOp(environment, { op: 'step', key, ...(fails && { fails }) }, key)

/** Asks for the tone, streams the fields of an email, and sends it. */
const draft = (environment: NodeEnvironment) => [
  workflow({
    id: 'draft',
    nodes: {
      ask: async ({ input }: NodeContext<string>) => {
        useStructuredData({ kind: 'set', streamId: 'form', path: 'topic', value: input })
        await recordedStep(environment, 'look up the address')
        const tone = await useInterrupt({
          request: { kind: 'choice', question: 'Which tone?', options: TONES },
          id: 'tone',
        })
        return { data: { tone } }
      },
      write: async ({ input }: NodeContext<{ tone: string }>) => {
        const { output } = await useReason({
          model: environment.model,
          input: `object|an email that is ${input.tone}`,
          outputSchema: EMAIL,
          structured: {
            dataType: 'email',
            fields: { subject: 'set', body: 'text-delta', bullets: 'append' },
          },
        })
        return { data: output }
      },
      send: async ({ input }: NodeContext<z.infer<typeof EMAIL>>) => {
        await recordedStep(environment, 'send')
        return { data: input, ui: { message: `Sent: ${input.subject}` } }
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'write'],
      ['write', 'send'],
      ['send', 'end'],
    ],
  }),
]

/** A repeated node that asks twice in parallel and then in sequence with one id. */
const rounds = (environment: NodeEnvironment) => [
  workflow({
    id: 'rounds',
    nodes: {
      round: async () => {
        const [count, setCount] = useNodeState(1)
        const [all, setAll] = useWorkflowState<string[]>('answers', [])
        const both = await Promise.all([
          useInterrupt({ request: { kind: 'text', question: `First, ${count}?` }, id: 'first' }),
          useInterrupt({ request: { kind: 'multi-choice', question: 'Which?', options: TONES }, id: 'second' }),
        ])
        await recordedStep(environment, 'write down')
        const more: string[] = []
        for (let question = 1; question <= 2; question++) {
          more.push(await useInterrupt({ request: { kind: 'text', question: `And ${question}?` }, id: 'more' }))
          useStructuredData({ kind: 'append', streamId: 'answers', path: 'rows', items: [`${count}.${question}`] })
        }
        const results = [...all, ...both.flat(), ...more]
        setCount(count + 1)
        setAll(results)
        return { data: results, ...(count < 2 && { condition: 'again' as const }) }
      },
    },
    edges: [
      ['start', 'round'],
      ['round', 'round', { when: 'again', max: 2 }],
      ['round', 'end', { otherwise: true }],
    ],
  }),
]

/** Two branches with data: one asks, one fails the first time and is retried. */
const branches = (environment: NodeEnvironment) => [
  workflow({
    id: 'branches',
    nodes: {
      begin: () => ({ data: 'both' }),
      left: async ({ input }: NodeContext<string>) => {
        const response = await useInterrupt({ request: { kind: 'text', question: 'Left?' }, id: 'left' })
        await recordedStep(environment, 'left')
        return { data: { input, said: response } }
      },
      right: {
        retry: { attempts: 3 },
        run: async ({ input }: NodeContext<string>) => {
          const [, add] = useWorkflowState<number>('tries', 0)
          useStructuredData({ kind: 'text-delta', streamId: 'right', path: 'body', delta: 'before ' })
          await recordedStep(environment, 'right')
          add(before => (before ?? 0) + 1)
          useStructuredData({ kind: 'text-delta', streamId: 'right', path: 'body', delta: 'after ' })
          await recordedStep(environment, 'unsure', 'once')
          return { data: { input, isSure: true } }
        },
      },
      far: async ({ input }: NodeContext<{ input: string; isSure: boolean }>) => {
        const text = await executeOp(environment, { op: 'reason', ask: 'text' }, 'far')
        return { data: { ...input, text } }
      },
      join: ({ input }: NodeContext<{ left: unknown; right: unknown }>) => {
        const [tries] = useWorkflowState<number>('tries')
        return { data: { ...input, tries }, ui: { message: `Joined after ${tries}.` } }
      },
    },
    edges: [
      ['start', 'begin'],
      ['begin', ['left', 'right'], { join: 'join' }],
      ['left', 'join'],
      ['right', 'far'],
      ['far', 'join'],
      ['join', 'end'],
    ],
  }),
]

/** Transitions to another workflow after an answer. */
const passage = (environment: NodeEnvironment) => [
  workflow({
    id: 'passage',
    nodes: {
      ask: async () => {
        const [, set] = useWorkflowState<string>('where')
        const where = await useInterrupt({ request: { kind: 'text', question: 'Where to?' } })
        set(where)
        return { data: { where }, transitionTo: 'beyond' }
      },
    },
    edges: [
      ['start', 'ask'],
      ['ask', 'end'],
    ],
  }),
  workflow({
    id: 'beyond',
    inputSchema: z.object({ where: z.string() }),
    nodes: {
      arrive: async ({ input }: NodeContext<{ where: string }>) => {
        const [where] = useWorkflowState<string>('where')
        await recordedStep(environment, 'unpack')
        const again = await useInterrupt({ request: { kind: 'text', question: 'And now?' } })
        return { data: { ...input, again, isSame: where === input.where } }
      },
      rest: async ({ input }: NodeContext<{ where: string; again: string; isSame: boolean }>) => {
        const answer = await executeOp(environment, { op: 'reason', ask: 'text' }, 'rest')
        return { data: { ...input, said: answer } }
      },
    },
    edges: [
      ['start', 'arrive'],
      ['arrive', 'rest'],
      ['rest', 'end'],
    ],
  }),
]

/** A node that asks and then fails: it is retried without asking again. */
const retry = (environment: NodeEnvironment) => [
  workflow({
    id: 'retry',
    nodes: {
      book: {
        retry: { attempts: 4 },
        run: async () => {
          await recordedStep(environment, 'reserve')
          useStructuredData({ kind: 'set', streamId: 'booking', path: 'state', value: 'reserved' })
          const answer = await useInterrupt({ request: { kind: 'text', question: 'Surely?' }, responseSchema: SURELY })
          useStructuredData({ kind: 'set', streamId: 'booking', path: 'answer', value: answer })
          await recordedStep(environment, 'pay', 'once')
          const firstAnswer = await executeOp(environment, { op: 'reason', ask: 'broken' }, 'book')
          await recordedStep(environment, 'print', 'once')
          return { data: { answer, said: firstAnswer } }
        },
      },
    },
    edges: [
      ['start', 'book'],
      ['book', 'end'],
    ],
  }),
]

const SURELY = z.string().startsWith('surely')

/** Models with tools that need approval: one is approved, one denied. */
const consent = (environment: NodeEnvironment) => [
  workflow({
    id: 'consent',
    nodes: {
      work: async () => {
        await recordedStep(environment, 'prepare')
        // The failure is committed before the pause.
        await executeOp(environment, { op: 'step', key: 'knock', fails: 'always' }, 'work')
        const [seen, see] = useWorkflowState('seen', 0)
        const yes = await executeOp(environment, { op: 'reason', ask: 'approval' }, 'work')
        useStructuredData({ kind: 'set', streamId: 'work', path: 'half', value: true })
        const no = await executeOp(environment, { op: 'reason', ask: 'denial', id: 'no' }, 'work')
        see(seen + 1)
        return { data: { yes, no, seen } }
      },
      tell: async ({ input }: NodeContext<{ yes: unknown; no: unknown; seen: number }>) => {
        const answer = await executeOp(environment, { op: 'reason', ask: 'person' }, 'tell')
        return { data: { ...input, told: answer } }
      },
    },
    edges: [
      ['start', 'work'],
      ['work', 'tell'],
      ['tell', 'end'],
    ],
  }),
]

const SEQUENTIAL = { isSequential: true, failing: new Set<string>() }

/** The programs of the scenarios. */
export const SCENARIOS: Readonly<Record<ScenarioName, Program>> = {
  draft: flowProgram(draft, SEQUENTIAL),
  rounds: flowProgram(rounds, SEQUENTIAL),
  branches: flowProgram(branches, { isSequential: false, failing: new Set(['unsure']) }),
  passage: flowProgram(passage, SEQUENTIAL),
  retry: flowProgram(retry, { isSequential: true, failing: new Set(['pay', 'print']) }),
  consent: flowProgram(consent, SEQUENTIAL),
}
