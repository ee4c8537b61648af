// Processes that share one store, in virtual time: each with its own store connection, timers and runtime.

import { type LogStore, Memory, memoryStore, StreamManager } from '@millrace/log'
import type { Entry, ToolPart, View } from '@millrace/protocol'
import { expect } from 'vitest'
import { type Agent, createRuntime, type Runtime, type RuntimeOptions } from '../index.ts'
import { Clock, type ProcessTimers } from './clock.fixture.ts'
import { StoreConnection } from './store-connection.fixture.ts'

/** Duration of a lease, in ms. */
export const LEASE_MS = 600

export interface Process {
  readonly connection: StoreConnection
  readonly timers: ProcessTimers
  readonly runtime: Runtime
  /** Logged messages. */
  readonly logged: { readonly level: 'warn' | 'error'; readonly message: string; readonly cause: unknown }[]
  /** Kills the process: it has no effects any more. */
  kill(): void
  freeze(): void
  thaw(): void
}

export class VirtualCluster {
  readonly clock = new Clock()
  readonly memory = new Memory({ clock: this.clock.now })
  /** The connection of guests and of the test itself. Always available. */
  readonly store: LogStore = memoryStore(undefined, this.memory)
  readonly manager = new StreamManager({ store: this.store, timers: this.clock.timers() })

  /** Starts a process with agents that use its timers. */
  process(
    agents: (timers: ProcessTimers) => readonly Agent[],
    options: Omit<RuntimeOptions, 'store' | 'timers' | 'agents'> = {},
  ): Process {
    const connection = new StoreConnection(memoryStore(undefined, this.memory))
    const timers = this.clock.timers()
    const logged: Process['logged'] = []
    const record = (level: 'warn' | 'error') => (message: string, fields: Readonly<Record<string, unknown>>) => {
      logged.push({ level, message, cause: fields['cause'] })
    }
    const runtime = createRuntime({
      logger: { warn: record('warn'), error: record('error') },
      ...options,
      agents: agents(timers),
      store: connection.store,
      timers,
      log: { leaseMs: LEASE_MS, retryTimeoutMs: 5000, ...options.log },
    })
    return {
      connection,
      timers,
      runtime,
      logged,
      kill() {
        connection.kill()
        timers.isFrozen = true
      },
      freeze() {
        connection.freeze()
        timers.isFrozen = true
      },
      thaw() {
        timers.isFrozen = false
        connection.thaw()
      },
    }
  }

  /** All entries of a session. */
  async entries(session: string): Promise<Entry[]> {
    const { head } = (await this.manager.getInfo(session)) ?? { head: 0 }
    return this.manager.entries(session, 0, head)
  }

  async view(session: string, at?: number): Promise<View> {
    return (await this.manager.view(session, at)).view
  }

  /** Waits for an entry in a log and returns it. */
  async waitForEntry(session: string, is: (entry: Entry) => boolean): Promise<Entry> {
    const found = async (): Promise<Entry> => {
      for (;;) {
        const { promise, resolve } = Promise.withResolvers<void>()
        const stop = this.store.watch(session, () => resolve())
        const entry = (await this.entries(session)).find(is)
        if (entry) {
          stop()
          return entry
        }
        await promise
        stop()
      }
    }
    return this.clock.until(found())
  }

  /** Waits until the run has ended in its public view. */
  async waitForEnd(session: string, runId: string): Promise<string> {
    const { chunk } = await this.waitForEntry(session, isEndOf(runId))
    return (chunk as { status: string }).status
  }
}

export const isEndOf =
  (runId: string) =>
  ({ chunk, origin }: Entry): boolean =>
    chunk.type === 'run-finished' && origin.runId === runId

export const isStep = (origin: Entry['origin'], step: number): boolean => 'step' in origin && origin.step === step

/** The text of a run. */
export function textOf(view: View, runId: string): string {
  const message = view.messages.find(other => other.runId === runId && other.role === 'assistant')
  return (message?.parts ?? []).map(part => (part.type === 'text' && 'text' in part ? part.text : '')).join('')
}

/** The calls of a run. */
export function callsOf(view: View, runId: string): ToolPart[] {
  const messages = view.messages.filter(other => other.runId === runId)
  return messages.flatMap(({ parts }) => parts.filter((part): part is ToolPart => 'toolCallId' in part))
}

const SETTLED_STATES = new Set(['output-available', 'output-error', 'output-denied', 'input-error'])

/** Law 7: a run has one end, nothing follows it, and no call is open. */
export async function expectOneEnd(cluster: VirtualCluster, session: string, runId: string): Promise<void> {
  const entries = await cluster.entries(session)
  const ends = entries.filter(isEndOf(runId))
  expect(ends).toHaveLength(1)
  const runEntries = entries.filter(({ origin }) => origin.runId === runId && origin.guest === undefined)
  expect(runEntries.at(-1)).toBe(ends[0])
  const open = callsOf(await cluster.view(session), runId).filter(({ state }) => !SETTLED_STATES.has(state))
  expect(open).toEqual([])
}
