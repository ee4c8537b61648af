// Mutants with one bug each in the handling of answers. The suite must detect every one.

import type { BatchItem } from '@millrace/log'
import type { ToolPart } from '@millrace/protocol'
import type { CallNeed } from '../../execute/tool/call-need.ts'
import { batchItemChunk, type Mutant, rewriting } from './run-mutants.fixture.ts'

export interface ApprovalsMutant extends Mutant {
  /** The fault that reveals it at the right point. @default random faults */
  readonly by?: 'answer' | 'death-after'
  /** What a call needs. */
  readonly need?: (need: CallNeed, call: ToolPart) => CallNeed
  /** The call that is executed. */
  readonly call?: (call: ToolPart) => ToolPart
  /** Whether a run pauses despite answers. */
  readonly pauses?: boolean
  /** Whether a sub-agent is known to have started. */
  readonly forgets?: boolean
  /** Whether answers are accepted without checks. */
  readonly takes?: 'any kind' | 'any input'
}

const RUN: CallNeed = { for: 'run' }

export const APPROVALS_MUTANTS: readonly ApprovalsMutant[] = [
  {
    name: 'a call that runs before anybody has approved it',
    found: /runs rope: (no client had approved it|the log has no approval)/,
    need: (need, { executor }) => (need.for === 'answer' && executor !== 'client' ? RUN : need),
  },
  {
    name: 'a call that runs though it was denied',
    found: /runs (stone|wheel): expected a denial/,
    need: need => (need.for === 'denial' ? RUN : need),
  },
  {
    name: 'a call that runs with another input than was approved',
    found: /runs rope: with .*, shown was/,
    call: call => (call.toolCallId === 'rope' ? { ...call, input: { what: 'rope', amount: 201 } } : call),
  },
  {
    name: 'a call that is asked for by one batch, and its approval by the next, and a heir who asks nobody',
    plan: 19,
    found: /no client had approved it|the log has no approval|expected a denial/,
    by: 'death-after',
    call: call => (call.approval ? call : { ...call, approval: { id: '', approved: true } }),
    writer: writer => {
      const decide = writer.decide.bind(writer)
      writer.decide = async build => {
        let asking: BatchItem[] = []
        const done = await decide(ticket => {
          const batch = build(ticket) as readonly BatchItem[] | undefined
          const at = batch?.findIndex(item => batchItemChunk(item).type === 'tool-approval-request') ?? -1
          if (!batch || at <= 0) return batch
          asking = batch.slice(at)
          return batch.slice(0, at)
        })
        if (done && asking.length > 0) await decide(() => asking)
        return done
      }
    },
  },
  {
    name: 'calls that run again though the log has their outcome',
    found: /starts tool .* (the log had the outcome|it had committed the outcome)/,
    position: position => (position.open.length > 0 ? { ...position, open: position.calls } : position),
    need: (need, { state }) => (state.startsWith('output') ? RUN : need),
  },
  {
    name: 'an answer that is taken and not kept',
    found: /does not come to its end|is missing/,
    world: {
      store: store =>
        new Proxy(store, {
          get(target, name) {
            if (name !== 'append') return Reflect.get(target, name, target)
            const append = target.append.bind(target)
            return (...call: Parameters<typeof append>) => {
              const isAnswer = !('epoch' in call[2]) && call[1].body.includes('"rope"')
              return isAnswer ? Promise.resolve({ outcome: 'appended', first: 1, last: 1, clock: 0 }) : append(...call)
            }
          },
        }),
    },
  },
  {
    name: 'a client’s result that settles its call twice',
    found: /dropped|has an outcome at/,
    world: {
      store: rewriting(entries =>
        entries.flatMap(entry => {
          const { chunk } = entry
          const isResult = chunk.type === 'tool-output-available' && chunk.executor === 'client'
          return isResult ? [entry, entry] : [entry]
        }),
      ),
    },
  },
  {
    name: 'a run that pauses though it was answered',
    plan: 59,
    found: /the run pauses, but .* can continue/,
    by: 'answer',
    pauses: true,
  },
  {
    name: 'a sub-agent that begins again when somebody else goes on',
    found: /began before|dropped/,
    forgets: true,
  },
  {
    name: 'an answer that is taken for what it is not',
    found: /expected answer_wrong_kind/,
    takes: 'any kind',
  },
  {
    name: 'an approval of what was never shown',
    found: /taken, expected answer_invalid/,
    takes: 'any input',
  },
]
