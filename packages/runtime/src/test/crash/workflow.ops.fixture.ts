// The operations of a recipe's nodes, each by the hook that it tests. They depend only on the recipe and the answers,
// so they are deterministic.

import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { Json } from '@millrace/protocol'
import { z } from 'zod'
import { type AnyTool, tool } from '../../define/tool.ts'
import { MillraceError } from '../../error/error.ts'
import { type InterruptOptions, type InterruptRequest, useInterrupt } from '../../execute/hooks/use-interrupt.ts'
import { useReason } from '../../execute/hooks/use-reason.ts'
import { useRuntimeContext } from '../../execute/hooks/use-runtime-context.ts'
import { useNodeState, useWorkflowState } from '../../execute/hooks/use-state.ts'
import { useStep } from '../../execute/hooks/use-step.ts'
import { useStructuredData } from '../../execute/hooks/use-structured-data.ts'
import type { ScriptedAnswer, ScriptedPrompt } from '../../model/scripted-model.ts'
import type { WriteLine } from './ledger.fixture.ts'
import { attemptOf, callOf } from './tools-program.fixture.ts'
import type { Op } from './workflow.recipe.fixture.ts'

/** The environment of the nodes of one process. */
export interface NodeEnvironment {
  readonly writeLine: WriteLine
  readonly model: LanguageModelV4
  pause(): Promise<void>
  /** Whether this is the first time in any process. */
  isFirst(key: string): boolean
}

/** A short hash of a value. */
export function digest(value: unknown): string {
  let hash = 7
  for (const letter of JSON.stringify(value) ?? '') hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) | 0
  return (hash >>> 0).toString(36)
}

export const EMAIL = z.object({ subject: z.string(), body: z.string(), bullets: z.array(z.string()) })

/**
 * Executes one operation in a node and returns its result. State that a replay reads differently is in `atEnd`: results for the end of the node.
 */
export async function executeOp(
  environment: NodeEnvironment,
  op: Op,
  opPath: string,
  atEnd: (() => Json)[] = [],
): Promise<Json> {
  switch (op.op) {
    case 'step':
      return step(environment, op)
    case 'reason':
      return reason(environment, op, opPath)
    case 'question':
      return question(op)
    case 'show':
      return show(op)
    case 'state':
      return state(op, atEnd)
    case 'count': {
      const [count, set] = useNodeState(0)
      atEnd.push(() => {
        set(count + 1)
        return count
      })
      return null
    }
    case 'context':
      return (useRuntimeContext() as Json | undefined) ?? null
    case 'together':
      return Promise.all(
        op.strands.map(async (strand, index) => {
          const results: Json[] = []
          for (const [nth, one] of strand.entries())
            results.push(await executeOp(environment, one, `${opPath}.${index}.${nth}`, atEnd))
          return results
        }),
      )
  }
}

async function step(
  { writeLine, pause, isFirst }: NodeEnvironment,
  { key, fails }: Extract<Op, { op: 'step' }>,
): Promise<Json> {
  const done = useStep(key, async ({ idempotencyKey }) => {
    const call = callOf(idempotencyKey, key)
    writeLine({ ...call, phase: 'start' })
    await pause()
    if (fails === 'always' || (fails === 'once' && isFirst(idempotencyKey))) throw new Error(`${key} fails`)
    writeLine({ ...call, phase: 'end' })
    return { key }
  })
  if (fails !== 'always') return done
  return done.catch((error: unknown) => String((error as Error).message))
}

async function reason(
  { model, writeLine, pause }: NodeEnvironment,
  { ask, id }: Extract<Op, { op: 'reason' }>,
  opPath: string,
) {
  const options = { model, input: `${ask}|${opPath}`, ...(id !== undefined && { id }) }
  switch (ask) {
    case 'object':
    case 'person': {
      const { output, text, usage, interruptResponse } = await useReason({
        ...options,
        outputSchema: EMAIL,
        structured: { dataType: 'email', fields: { subject: 'set', body: 'text-delta', bullets: 'append' } },
        ...(ask === 'person' && { interrupt: { requestSchema: REQUEST } }),
      })
      return { output, text, usage, interruptResponse: interruptResponse ?? null } as Json
    }
    case 'hidden':
    case 'tools':
    case 'approval':
    case 'denial': {
      const { text, toolResults, usage } = await useReason({
        ...options,
        tools: [tallyTool(writeLine, pause)],
        emit: ask !== 'hidden',
        toolExecution: { approval: ask === 'approval' || ask === 'denial' },
      })
      return { text, toolResults, usage } as unknown as Json
    }
    default: {
      const { text, usage } = await useReason(options)
      return { text, usage } as Json
    }
  }
}

const REQUEST = z.object({ kind: z.literal('text'), question: z.string() })

const OPTIONS = [
  { id: 'dry', label: 'Dry' },
  { id: 'warm', label: 'Warm' },
]

const REQUESTS = {
  text: { request: { kind: 'text', question: 'What now?' } },
  strict: { request: { kind: 'text', question: 'Surely?' }, responseSchema: z.string().startsWith('surely') },
  choice: { request: { kind: 'choice', question: 'Which?', options: OPTIONS } },
  'multi-choice': { request: { kind: 'multi-choice', question: 'Which ones?', options: OPTIONS } },
  late: { request: { kind: 'text', question: 'Anybody?' }, timeoutMs: 700 },
  form: { request: { kind: 'form' }, responseSchema: z.object({ name: z.string(), age: z.number() }) },
} as const

async function question({ ask, id }: Extract<Op, { op: 'question' }>): Promise<Json> {
  const options = { ...REQUESTS[ask], ...(id !== undefined && { id }) } as InterruptOptions<InterruptRequest>
  const answered = useInterrupt(options) as Promise<Json>
  if (ask !== 'late') return answered
  return answered.catch((error: unknown) => MillraceError.isInstance(error) && error.code)
}

async function show({ stream: streamId, isComplete }: Extract<Op, { op: 'show' }>): Promise<Json> {
  if (isComplete) useStructuredData({ data: { whole: streamId }, dataType: 'note' })
  else {
    useStructuredData({ kind: 'set', streamId, path: 'title', value: streamId })
    useStructuredData({ kind: 'append', streamId, path: 'rows', items: [streamId, 1] })
    await useStructuredData({ kind: 'text-delta', streamId, path: 'body', delta: `${streamId} ` })
  }
  return streamId
}

function state({ key, isShared }: Extract<Op, { op: 'state' }>, atEnd: (() => Json)[]): Json {
  const [, set] = useWorkflowState<number>(key, 0)
  set(before => (before ?? 0) + 1)
  // Concurrent writes of others are not included.
  if (!(isShared && key === 'shared')) atEnd.push(() => useWorkflowState<number>(key, 0)[0])
  return null
}

/** A tool that counts. Its user decides about approval. */
export function tallyTool(writeLine: WriteLine, pause: () => Promise<void>): AnyTool {
  return tool({
    name: 'tally',
    description: 'Counts something',
    inputSchema: z.object({ what: z.string() }),
    async execute(input, context) {
      const call = callOf(context.idempotencyKey, input)
      writeLine({ ...call, phase: 'start' })
      await pause()
      writeLine({ ...call, phase: 'end' })
      return `tallied ${input.what}`
    },
  })
}

const USAGE = { usage: { input: 10, output: 3 } }

/** The answer of a model, by the request. */
export function answer(prompt: ScriptedPrompt): ScriptedAnswer {
  const { lastText, turnAnswers, key } = prompt
  const [ask, opPath = ''] = lastText.split('|')
  const email = { subject: `On ${digest(lastText)}`, body: `Dear ${opPath || 'all'}, well`, bullets: ['one', 'two'] }
  switch (ask) {
    case 'broken':
      return attemptOf(prompt) === 1
        ? { text: 'I was about to', error: new Error('overloaded') }
        : { text: `I was about to say ${opPath}.`, ...USAGE }
    case 'object': {
      const fields = attemptOf(prompt) === 1 && isOdd(opPath) ? { ...email, bullets: [1] } : email
      return { text: JSON.stringify(fields), pieceLength: 9, ...USAGE }
    }
    case 'person': {
      const interruptRequest = { kind: 'text', question: 'Shall I?' }
      return { text: JSON.stringify({ output: email, interruptRequest }), pieceLength: 11, ...USAGE }
    }
    case 'hidden':
    case 'tools':
    case 'approval':
    case 'denial': {
      const calls = [{ name: 'tally', input: { what: opPath }, id: `${ask}-${digest(key)}` }]
      return turnAnswers === 0
        ? { text: 'Let me count.', calls, ...USAGE }
        : { reasoning: 'Counted.', text: `That was ${opPath}.`, ...USAGE }
    }
    case 'text':
      return { reasoning: 'Hm.', text: `So it is with ${opPath}.`, ...USAGE }
    default:
      // It contains the person's response.
      return { text: JSON.stringify(email), pieceLength: 9, ...USAGE }
  }
}

const isOdd = (text: string): boolean => digest(text).charCodeAt(0) % 2 === 1
