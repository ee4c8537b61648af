// Random programs of nodes that guard code by state: the code sets a value, and the node that starts again finds it set.

import type { Entry, Json } from '@millrace/protocol'
import fc from 'fast-check'
import type { NodeContext, NodeDefinition } from '../../define/node.ts'
import type { Workflow } from '../../define/workflow.ts'
import { scriptedModel } from '../../model/scripted-model.ts'
import { useInterrupt } from '../hooks/use-interrupt.ts'
import { useReason } from '../hooks/use-reason.ts'
import { type SetState, useNodeState, useWorkflowState } from '../hooks/use-state.ts'
import { useStep } from '../hooks/use-step.ts'
import { useStructuredData } from '../hooks/use-structured-data.ts'
import { textInterrupt, wired } from '../workflow/workflow-test-run.fixture.ts'
import type { InterruptedProgram, Interruption, Life } from './interrupted-run.fixture.ts'

/** Code that runs unless a state value says that it has run. */
export interface Guard {
  readonly do: 'guard'
  /** The value is of the node, of the run, or of the run with a second read for the setter. */
  readonly by: 'node' | 'run' | 'two reads'
  /** Actions of the guarded code besides its effect. */
  readonly also: 'nothing' | 'waits' | 'shows' | 'logs' | 'notes'
  readonly isSetFirst: boolean
}

export type Op =
  | Guard
  /** Answers after a wait, in ms. `reset` is a step after which the line resets its last guard. */
  | { readonly do: 'step' | 'ask' | 'reason' | 'reset'; readonly ms: number }
  /** `fail` throws the first time. `assign` counts by value, `add` by function. `early` sets after a hook what it read before. */
  | { readonly do: 'add' | 'assign' | 'early' | 'note' | 'show' | 'log' | 'fail' }
  | { readonly lines: readonly (readonly Op[])[] }

interface Part {
  readonly ops: readonly Op[]
  readonly visits: number
}

export interface GuardProgram {
  readonly parts: readonly Part[]
  /** Whether the first two nodes run in parallel branches. */
  readonly isForked: boolean
}

const guard = (by: readonly Guard['by'][], also: readonly Guard['also'][]): fc.Arbitrary<Op> =>
  fc.record({
    do: fc.constant('guard' as const),
    by: fc.constantFrom(...by),
    also: fc.constantFrom(...also),
    isSetFirst: fc.boolean(),
  })
const hook: fc.Arbitrary<Op> = fc.record({
  do: fc.constantFrom('step', 'step', 'ask', 'reason', 'reset'),
  ms: fc.nat(20),
})
const plain: fc.Arbitrary<Op> = fc
  .constantFrom('add', 'assign', 'early', 'note', 'show', 'log')
  .map(what => ({ do: what }))
const anywhere = fc.oneof(
  { arbitrary: guard(['run', 'two reads'], ['nothing', 'shows', 'logs', 'notes']), weight: 3 },
  { arbitrary: hook, weight: 3 },
  { arbitrary: plain, weight: 2 },
)
const lines = fc.array(fc.array(anywhere, { minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 3 })
const ops = fc.array(
  fc.oneof(
    { arbitrary: guard(['node', 'run', 'two reads'], ['nothing', 'waits', 'shows', 'logs', 'notes']), weight: 4 },
    { arbitrary: hook, weight: 4 },
    { arbitrary: plain, weight: 2 },
    { arbitrary: fc.constant<Op>({ do: 'fail' }), weight: 1 },
    { arbitrary: fc.record({ lines }), weight: 2 },
  ),
  { minLength: 1, maxLength: 7 },
)
export const guardPrograms: fc.Arbitrary<GuardProgram> = fc.record({
  parts: fc.array(fc.record({ ops, visits: fc.integer({ min: 1, max: 2 }) }), { minLength: 2, maxLength: 2 }),
  isForked: fc.boolean(),
})

/** One execution of a node. */
interface NodeRun {
  readonly life: Life
  readonly how: Interruption
  readonly visit: number
  /** A retried node must not count by value: it counts its attempts. */
  readonly mayAssign: boolean
}

export const guardProgramOf = (program: GuardProgram, how: Interruption): InterruptedProgram => ({
  workflow: life => workflowOf(program, how, life),
  effectsIn: entries => settledEffects(program, entries),
})

function workflowOf({ parts, isForked }: GuardProgram, how: Interruption, life: Life): Workflow {
  const nodes = parts.map((part, index) => [`n${index}`, nodeOf(part, `n${index}`, how, life)] as const)
  const last = ({ input }: NodeContext<Json>) => ({
    data: [input, keysOf(parts).map(key => useWorkflowState<Json>(key)[0] ?? null), notes().toSorted()],
  })
  const names = nodes.map(([name]) => name)
  const steps = [...names, 'last', 'end']
  const first = isForked ? [['first', names, { join: 'last' }]] : [['first', names[0]]]
  const edges = [
    ['start', 'first'],
    ...first,
    ...names.map((name, index) => [name, isForked ? 'last' : steps[index + 1], { when: 'done' }]),
    ...names.map(name => [name, name, { when: 'again' }]),
    ['last', 'end'],
  ]
  return wired({ first: () => {}, ...Object.fromEntries(nodes), last }, edges)
}

function nodeOf({ ops, visits }: Part, path: string, how: Interruption, life: Life): NodeDefinition {
  const mayAssign = !ops.some(op => 'do' in op && op.do === 'fail')
  const run = async ({ input }: NodeContext<Json>) => {
    const [visit, setVisit] = useNodeState(1)
    const results = await runLine(ops, path, { life, how, visit, mayAssign })
    setVisit(visit + 1)
    return { data: [input, results], condition: visit < visits ? 'again' : 'done' }
  }
  return { run, retry: { attempts: 20, backoff: { firstMs: 1 } } }
}

async function runLine(ops: readonly Op[], path: string, node: NodeRun): Promise<Json> {
  const results: Json[] = []
  let reset: SetState<boolean> = () => {}
  for (const [index, op] of ops.entries()) {
    const opPath = `${path}.${index}`
    if ('lines' in op) {
      results.push(await Promise.all(op.lines.map((line, nth) => runLine(line, `${opPath}.${nth}`, node))))
      continue
    }
    if (op.do === 'guard') reset = await runGuarded(op, opPath, path, node)
    else results.push(await runOp(op, opPath, path, node))
    if (op.do === 'reset') reset(false)
  }
  return results
}

async function runGuarded(
  { by, also, isSetFirst }: Guard,
  path: string,
  line: string,
  { life: { timers, effects }, how, visit }: NodeRun,
): Promise<SetState<boolean>> {
  const [isDone, set] = by === 'node' ? useNodeState(false) : useWorkflowState(path, false)
  if (isDone) return set
  const setDone = () => (by === 'two reads' ? useWorkflowState(path, false)[1] : set)(true)
  if (isSetFirst) setDone()
  if (also === 'waits') await new Promise<void>(resolve => void timers.after(3, resolve))
  effects.push(effectOf(path, visit))
  if (also === 'shows') useStructuredData({ data: `${path} shown` })
  if (also === 'logs') log(how, line, path)
  if (also === 'notes') addNote(path)
  if (!isSetFirst) setDone()
  return set
}

async function runOp(
  op: Exclude<Op, Guard | { readonly lines: unknown }>,
  path: string,
  line: string,
  { life, how, visit, mayAssign }: NodeRun,
): Promise<Json> {
  const { timers, nth, effects } = life
  switch (op.do) {
    case 'add':
      useWorkflowState('added', 0)[1]((count = 0) => count + 1)
      return null
    case 'assign': {
      const [count, set] = useWorkflowState(`${path} assigned`, 0)
      if (mayAssign) set(count + 1)
      return null
    }
    case 'early': {
      const [before, set] = useWorkflowState(`${path} early`, 0)
      await useStep(path, () => null)
      set(before + 1)
      return before
    }
    case 'note':
      addNote(path)
      return null
    case 'show':
      useStructuredData({ data: path })
      return null
    case 'log':
      log(how, line, path)
      return null
    case 'fail':
      if (effects.includes(effectOf(path, visit))) return null
      effects.push(effectOf(path, visit))
      throw new Error('the first time')
    case 'ask': {
      // Changes of other code do not change the question.
      const [added] = useWorkflowState('added', 0)
      return useInterrupt(textInterrupt(`${path} after ${added}`, { id: path }))
    }
    case 'reason': {
      const { text } = await useReason({ id: path, model: scriptedModel(() => ({ text: path })), input: 'Go.' })
      return text
    }
    default:
      await useStep(path, () => new Promise<void>(resolve => void timers.after((op.ms * (nth * 7 + 1)) % 21, resolve)))
      return path
  }
}

const notes = (): readonly string[] => useWorkflowState<string[]>('notes', [])[0]

function addNote(path: string): void {
  const [, set] = useWorkflowState<string[]>('notes', [])
  set(list => [...(list ?? []), path])
}

/** A run that resumes a stopped one cannot count the updates of one object that the log has merged. */
function log(how: Interruption, line: string, path: string): void {
  const streamId = `log of ${how === 'killed' ? line : path}`
  useStructuredData({ kind: 'append', streamId, path: 'rows', items: [path] })
}

const effectOf = (path: string, visit: number): string => `${path}@${visit}`

/** The keys of the run that a program sets. */
function keysOf(parts: readonly Part[]): string[] {
  const keysIn = (ops: readonly Op[], path: string): string[] =>
    ops.flatMap((op, index) => {
      const opPath = `${path}.${index}`
      if ('lines' in op) return op.lines.flatMap((line, nth) => keysIn(line, `${opPath}.${nth}`))
      if (op.do === 'guard') return op.by === 'node' ? [] : [opPath]
      if (op.do === 'assign') return [`${opPath} assigned`]
      return op.do === 'early' ? [`${opPath} early`] : []
    })
  return ['added', ...parts.flatMap(({ ops }, index) => keysIn(ops, `n${index}`))]
}

/** The guarded effects that are followed by a hook in the log. */
function settledEffects({ parts }: GuardProgram, entries: readonly Entry[]): string[] {
  const hookIds = new Set(
    entries.flatMap(({ chunk, origin }) =>
      chunk.type === 'hook-completed' && 'runId' in origin ? [chunk.hookId] : [],
    ),
  )
  return parts.flatMap(({ ops, visits }, index) =>
    Array.from({ length: visits }, (_, at) => at + 1).flatMap(visit =>
      guardsIn(ops, `n${index}`, []).flatMap(({ path, next }) =>
        next.some(hook => hookIds.has(`1.n${index}.${visit}/${hook}.1`)) ? [effectOf(path, visit)] : [],
      ),
    ),
  )
}

/** The guards of a line, each with the ids of the hooks of which one is called next. `after` are those that follow the line. */
function guardsIn(
  ops: readonly Op[],
  path: string,
  after: readonly string[],
): readonly { readonly path: string; readonly next: readonly string[] }[] {
  return ops.flatMap((op, index) => {
    const opPath = `${path}.${index}`
    if ('lines' in op) return op.lines.flatMap((line, nth) => guardsIn(line, `${opPath}.${nth}`, []))
    return op.do === 'guard' ? [{ path: opPath, next: firstHooks(ops, path, index + 1, after) }] : []
  })
}

function firstHooks(ops: readonly Op[], path: string, from: number, after: readonly string[]): readonly string[] {
  for (const [index, op] of ops.entries()) {
    if (index < from) continue
    const opPath = `${path}.${index}`
    if ('lines' in op) {
      const inLines = op.lines.flatMap((line, nth) => firstHooks(line, `${opPath}.${nth}`, 0, []))
      if (inLines.length > 0) return inLines
    } else if (op.do in HOOKS) return [`${HOOKS[op.do as keyof typeof HOOKS]}:${encodeURIComponent(opPath)}`]
  }
  return after
}

const HOOKS = { step: 'useStep', reset: 'useStep', early: 'useStep', ask: 'useInterrupt', reason: 'useReason' } as const
