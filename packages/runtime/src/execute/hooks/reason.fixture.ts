// Runs a workflow with one node that calls a model, and returns everything about the run.

import { type LogStore, memoryStore } from '@millrace/log'
import type { Entry, Json, ToolPart, View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { RunResult } from '../../api/result.ts'
import type { Runtime } from '../../api/runtime.ts'
import type { RuntimeOptions } from '../../api/runtime-options.ts'
import { logOf, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'
import { type LoggedMessage, recordingLogger, reportsOf } from '../agent/run-to-end.fixture.ts'

export const SESSION = 's'
export const RUN = 'r'

export interface NodeRun<T> {
  readonly runtime: Runtime
  readonly store: LogStore
  readonly result: RunResult
  readonly view: Omit<View, 'internal'>
  readonly log: readonly Entry[]
  readonly logged: readonly LoggedMessage[]
  /** The results of the node's code, one per execution. */
  readonly returns: readonly T[]
  /** The result of the only execution. */
  readonly returned: T
}

/** A workflow with one node, and the results of its code. */
export function nodeOf<T>(code: (context: NodeContext<string>) => Promise<T>, version = '1') {
  const returns: T[] = []
  const testWorkflow: Workflow = workflow({
    id: 'asking',
    version,
    nodes: {
      node: async (context: NodeContext<string>) => {
        const returned = await code(context)
        returns.push(returned)
        return { data: 'done' }
      },
    },
    edges: [
      ['start', 'node'],
      ['node', 'end'],
    ],
  }) as unknown as Workflow
  return { testWorkflow, returns }
}

/** Runs a node until it waits or ends. Fails if the log violates the protocol. */
export async function runNode<T>(
  code: (context: NodeContext<string>) => Promise<T>,
  options: Partial<RuntimeOptions> = {},
): Promise<NodeRun<T>> {
  const { testWorkflow, returns } = nodeOf(code)
  const { logger, logged } = recordingLogger()
  const store = options.store ?? memoryStore()
  const runtime = testRuntime({ workflows: [testWorkflow], logger, ...options, store })
  const run = await runtime.start({ session: SESSION, runId: RUN, input: 'Go.', workflow: testWorkflow })
  return settled({ runtime, store, logged, returns }, await run.result())
}

async function settled<T>(
  parts: Pick<NodeRun<T>, 'runtime' | 'store' | 'logged' | 'returns'>,
  result: RunResult,
): Promise<NodeRun<T>> {
  const { runtime, returns } = parts
  const log = await logOf(runtime, SESSION)
  expect(reportsOf(log)).toEqual([])
  const { view } = await runtime.view(SESSION)
  return {
    ...parts,
    result,
    view,
    log,
    get returned() {
      expect(returns).toHaveLength(1)
      return returns[0] as T
    },
  }
}

/** Answers the pending interrupt and waits until the run waits or ends. */
export async function answerInterrupt<T>(
  pausedRun: NodeRun<T>,
  response: Json,
  other = pausedRun.runtime,
): Promise<NodeRun<T>> {
  const [pending] = pausedRun.view.pendings
  await other.answer(SESSION, { kind: 'interrupt', id: pending?.id ?? '', response })
  const { store, logged, returns } = pausedRun
  return settled({ runtime: other, store, logged, returns }, await other.run(SESSION, RUN).result())
}

/** Approves or denies a call and waits until the run waits or ends. */
export async function decideApproval<T>(
  pausedRun: NodeRun<T>,
  toolCallId: string,
  approved = true,
): Promise<NodeRun<T>> {
  const { runtime } = pausedRun
  await runtime.answer(SESSION, { kind: 'approval', id: `${RUN}::${toolCallId}`, approved })
  const { store, logged, returns } = pausedRun
  return settled({ runtime, store, logged, returns }, await runtime.run(SESSION, RUN).result())
}

/** Public entries. */
export const publicOf = (log: readonly Entry[]): readonly Entry[] => log.filter(({ internal }) => !internal)

/** Updates and invalidations of structured objects. */
export const structuredIn = (log: readonly Entry[]) =>
  publicOf(log).flatMap(({ chunk }) =>
    chunk.type === 'structured-data' || chunk.type === 'structured-data-invalidated' ? [chunk] : [],
  )

/** Public text. */
export const textIn = (log: readonly Entry[]): string =>
  publicOf(log)
    .map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : ''))
    .join('')

/** Public calls. */
export const callsIn = ({ messages }: Pick<View, 'messages'>): readonly ToolPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => 'toolCallId' in part))
