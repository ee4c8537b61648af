// Runs workflows in tests: with stores in memory and on disk, answers, restarts and the log at the end.

import { type LogStore, memoryStore } from '@millrace/log'
import type { Entry, Json, View } from '@millrace/protocol'
import { validLog } from '../../api/pendings.fixture.ts'
import type { RunResult } from '../../api/result.ts'
import type { Run } from '../../api/run.ts'
import type { Runtime, StartWorkflowOptions } from '../../api/runtime.ts'
import type { RuntimeOptions } from '../../api/runtime-options.ts'
import type { Answered } from '../../api/submit-answer.ts'
import { codeOf, sqliteStores, testRuntime } from '../../api/test-runtime.fixture.ts'
import type { EdgeDefinition } from '../../define/edge.ts'
import type { NodeDefinition } from '../../define/node.ts'
import { type Workflow, workflow } from '../../define/workflow.ts'
import { type LoggedMessage, recordingLogger } from '../agent/run-to-end.fixture.ts'

const SESSION = 's'
const RUN = 'r'

/** Stores to testRun on: the name, and a function that opens another handle. */
export const STORES: readonly (readonly [name: string, open: () => Promise<() => LogStore>])[] = [
  [
    'in memory',
    async () => {
      const store = memoryStore()
      return () => store
    },
  ],
  [
    'on SQLite',
    async () => {
      const stores = await sqliteStores(4)
      return () => stores.shift() as LogStore
    },
  ],
]

export interface TestRunOptions {
  readonly open?: () => LogStore
  readonly workflows?: readonly Workflow[]
  readonly options?: Partial<RuntimeOptions>
  readonly start?: Partial<StartWorkflowOptions>
}

/** One run of a workflow across processes. */
export class WorkflowTestRun {
  readonly logged: LoggedMessage[]
  runtime: Runtime
  run: Run
  readonly #createRuntime: () => Runtime

  private constructor(runtime: Runtime, run: Run, logged: LoggedMessage[], createRuntime: () => Runtime) {
    this.runtime = runtime
    this.run = run
    this.logged = logged
    this.#createRuntime = createRuntime
  }

  /** Starts a workflow. */
  static async start(
    testWorkflow: Workflow,
    { open, workflows = [], options = {}, start = {} }: TestRunOptions = {},
  ): Promise<WorkflowTestRun> {
    const { logger, logged } = recordingLogger()
    const store = memoryStore()
    const createRuntime = () =>
      testRuntime({
        workflows: [testWorkflow, ...workflows],
        logger,
        store: open?.() ?? store,
        ...options,
      } as Partial<RuntimeOptions>)
    const runtime = createRuntime()
    const startOptions = { session: SESSION, runId: RUN, input: 'Go.', ...start, workflow: testWorkflow }
    const run = await runtime.start(startOptions as StartWorkflowOptions)
    return new WorkflowTestRun(runtime, run, logged, createRuntime)
  }

  /** The result when the run ended or cannot continue. */
  result(): Promise<RunResult> {
    return this.run.result()
  }

  /** Pending interrupts, by the ends of their ids. */
  async questionIds(): Promise<string[]> {
    const { pendings } = await this.result()
    return pendings.map(({ id }) => id.slice(`${RUN}::`.length)).sort()
  }

  /** Answers an interrupt by the end of its id, as in `1.node.1/useInterrupt:id.1`. */
  answer(id: string, response: Json, runtime = this.runtime): Promise<Answered> {
    return runtime.answer(SESSION, { kind: 'interrupt', id: `${RUN}::${id}`, response })
  }

  /** The error code of a rejected answer. */
  answerError(id: string, response: Json): Promise<string> {
    return codeOf(this.answer(id, response))
  }

  /** Continues in another process, which has only the log. */
  async restart(): Promise<void> {
    await this.runtime.close()
    this.runtime = this.#createRuntime()
    this.run = this.runtime.run(SESSION, RUN)
  }

  /** The log. Fails if it violates the protocol. */
  log(): Promise<Entry[]> {
    return validLog(this.runtime, SESSION)
  }

  async view(): Promise<Omit<View, 'internal'>> {
    return (await this.runtime.view(SESSION)).view
  }
}

/** A workflow with nodes in sequence. */
export function sequence(nodes: Readonly<Record<string, NodeDefinition>>, more: object = {}): Workflow {
  const names = Object.keys(nodes)
  return wired(nodes, [['start', names[0]], ...names.map((name, index) => [name, names[index + 1] ?? 'end'])], more)
}

/** A workflow without compile-time checks of its edges. */
export function wired(nodes: Readonly<Record<string, NodeDefinition>>, edges: unknown, more: object = {}): Workflow {
  const definition = { id: 'own', ...more, nodes, edges: edges as readonly EdgeDefinition[] }
  return workflow(definition as never) as Workflow
}

/** A workflow with one node. */
export const single = (node: NodeDefinition, more: object = {}): Workflow => sequence({ node }, more)

/** Public entries. */
export const publicOf = (log: readonly Entry[]): Entry[] => log.filter(({ internal }) => !internal)

/** An interrupt for text. */
export const textInterrupt = (question: string, more: object = {}) =>
  ({ request: { kind: 'text', question }, ...more }) as const
