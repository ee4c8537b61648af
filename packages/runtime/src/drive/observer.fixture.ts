// An agent that asks, fails or answers, and an observer that records its notifications.

import type { Entry } from '@millrace/protocol'
import { z } from 'zod'
import { type Agent, agent, type FinishedRun, type Observer, type PausedRun, scriptedModel, tool } from '../index.ts'
import type { ProcessTimers } from './clock.fixture.ts'
import { type Process, VirtualCluster } from './virtual-cluster.fixture.ts'

export const SESSION = 's'
export const RUN = 'r1'

/** An agent that asks to pay, fails, streams a long text or answers, as its input says. */
export const approvalAgents =
  (version = '1', timeoutMs?: number) =>
  (timers: ProcessTimers): Agent[] => [
    agent({
      name: 'clerk',
      version,
      tools: [
        tool({
          name: 'pay',
          inputSchema: z.object({}),
          approval: timeoutMs === undefined ? true : { timeoutMs },
          execute: () => 'paid',
        }),
      ],
      maxRetries: 0,
      model: scriptedModel(
        ({ lastText, turnAnswers }) => {
          if (lastText.includes('fail')) throw new Error('no')
          if (lastText.includes('pay') && turnAnswers === 0) return { calls: [{ name: 'pay', input: {}, id: 'c1' }] }
          return { text: lastText.includes('long') ? 'one two three four five six' : 'Done.' }
        },
        { paceMs: 100, timers },
      ),
    }),
  ]

/** Records its notifications. */
export class RecordingObserver implements Observer {
  readonly paused: PausedRun[] = []
  readonly finished: FinishedRun[] = []
  /** Called with each notification. */
  onNotify: () => unknown = () => {}

  onPaused(run: PausedRun): unknown {
    this.paused.push(run)
    return this.onNotify()
  }

  onFinished(run: FinishedRun): unknown {
    this.finished.push(run)
    return this.onNotify()
  }

  get count(): number {
    return this.paused.length + this.finished.length
  }
}

export interface SetUp {
  readonly cluster: VirtualCluster
  readonly observer: RecordingObserver
  readonly process: Process
  start(input?: string, runId?: string): Promise<void>
}

export function setUp(options: Parameters<VirtualCluster['process']>[1] = {}): SetUp {
  const cluster = new VirtualCluster()
  const observer = new RecordingObserver()
  const process = cluster.process(approvalAgents(), { observers: [observer], ...options })
  const start = async (input = 'Hi', runId = RUN) => {
    const to = { session: SESSION, principal: 'ada', runId, agent: 'clerk', input }
    await process.runtime.start(to)
  }
  return { cluster, observer, process, start }
}

export const isPause = ({ chunk }: Entry): boolean => chunk.type === 'run-paused'
export const acknowledgementsIn = async (cluster: VirtualCluster): Promise<Entry[]> =>
  (await cluster.entries(SESSION)).filter(({ chunk }) => chunk.type === 'run-notified')
export const noticesIn = async (cluster: VirtualCluster) =>
  (await cluster.manager.getInfo(SESSION))?.ticket.notices ?? []
export const never = () => new Promise<never>(() => {})
