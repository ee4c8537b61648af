// A node that asks a model, from its start to its end, with all that can be told of it.

import { type LogStore, memoryStore } from '@millrace/log'
import type { Entry, Json, ToolPart, View } from '@millrace/protocol'
import { expect } from 'vitest'
import type { RunResult } from '../../api/result.ts'
import type { Runtime } from '../../api/runtime.ts'
import type { RuntimeOptions } from '../../api/runtime-options.ts'
import { logOf, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { NodeContext } from '../../define/node.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'
import { type LoggedMessage, recordingLogger, reportsOf } from '../agent/play.fixture.ts'

export const SESSION = 's'
export const RUN = 'r'

export interface Asked<T> {
  readonly runtime: Runtime
  readonly store: LogStore
  readonly result: RunResult
  readonly view: Omit<View, 'internal'>
  readonly log: readonly Entry[]
  readonly logged: readonly LoggedMessage[]
  /** What the node's code came to, each time that it did. */
  readonly came: readonly T[]
  /** The same, as long as it was one thing. */
  readonly given: T
}

/** A workflow of one node, and what the node's code came to. */
export function nodeOf<T>(code: (context: NodeContext<string>) => Promise<T>, version = '1') {
  const came: T[] = []
  const own: Workflow = workflow({
    id: 'asking',
    version,
    nodes: {
      node: async (context: NodeContext<string>) => {
        const given = await code(context)
        came.push(given)
        return { data: 'done' }
      },
    },
    edges: [
      ['start', 'node'],
      ['node', 'end'],
    ],
  }) as unknown as Workflow
  return { own, came }
}

/** Runs a node until it waits or ends. Nothing that it says may break the protocol. */
export async function asking<T>(
  code: (context: NodeContext<string>) => Promise<T>,
  options: Partial<RuntimeOptions> = {},
): Promise<Asked<T>> {
  const { own, came } = nodeOf(code)
  const { logger, logged } = recordingLogger()
  const store = options.store ?? memoryStore()
  const runtime = testRuntime({ workflows: [own], logger, ...options, store })
  const run = await runtime.start({ session: SESSION, runId: RUN, input: 'Go.', workflow: own })
  return settled({ runtime, store, logged, came }, await run.result())
}

async function settled<T>(
  parts: Pick<Asked<T>, 'runtime' | 'store' | 'logged' | 'came'>,
  result: RunResult,
): Promise<Asked<T>> {
  const { runtime, came } = parts
  const log = await logOf(runtime, SESSION)
  expect(reportsOf(log)).toEqual([])
  const { view } = await runtime.view(SESSION)
  return {
    ...parts,
    result,
    view,
    log,
    get given() {
      expect(came).toHaveLength(1)
      return came[0] as T
    },
  }
}

/** Answers the question that a run waits for, and waits until it waits or ends again. */
export async function answered<T>(asked: Asked<T>, response: Json, other = asked.runtime): Promise<Asked<T>> {
  const [pending] = asked.view.pendings
  await other.answer(SESSION, { kind: 'interrupt', id: pending?.id ?? '', response })
  const { store, logged, came } = asked
  return settled({ runtime: other, store, logged, came }, await other.run(SESSION, RUN).result())
}

/** Approves a call, or does not, and waits until the run waits or ends again. */
export async function decided<T>(asked: Asked<T>, toolCallId: string, approved = true): Promise<Asked<T>> {
  const { runtime } = asked
  await runtime.answer(SESSION, { kind: 'approval', id: `${RUN}::${toolCallId}`, approved })
  const { store, logged, came } = asked
  return settled({ runtime, store, logged, came }, await runtime.run(SESSION, RUN).result())
}

/** What readers see. */
export const publicOf = (log: readonly Entry[]): readonly Entry[] => log.filter(({ internal }) => !internal)

/** The updates of structured objects, and what was taken away of them. */
export const structuredIn = (log: readonly Entry[]) =>
  publicOf(log).flatMap(({ chunk }) =>
    chunk.type === 'structured-data' || chunk.type === 'structured-data-invalidated' ? [chunk] : [],
  )

/** The text that readers see. */
export const textIn = (log: readonly Entry[]): string =>
  publicOf(log)
    .map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : ''))
    .join('')

/** The calls that readers see. */
export const callsIn = ({ messages }: Pick<View, 'messages'>): readonly ToolPart[] =>
  messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => 'toolCallId' in part))
