// Mutants with one bug each in the handling of answers. The suite must detect every one.

import type { BatchItem } from '@millrace/log'
import type { ToolPart } from '@millrace/protocol'
import type { CallNeed } from '../../execute/tool/call-need.ts'
import { batchItemChunk, type Mutant, rewriting } from './run-mutants.fixture.ts'

export interface ApprovalsMutant extends Mutant {
  /** The fault that reveals it at the right point. @default random faults */
  readonly by?: 'answer' | 'death-after'
  /** The next need of a call. */
  readonly need?: (need: CallNeed, call: ToolPart) => CallNeed
  /** The call that is executed. */
  readonly call?: (call: ToolPart) => ToolPart
  /** Whether a run pauses after an answer. */
  readonly alwaysPauses?: boolean
  /** Whether it forgets that a sub-agent has started. */
  readonly forgetsSubAgents?: boolean
  /** Whether answers are accepted without checks. */
  readonly accepts?: 'any kind' | 'any input'
}

const RUN: CallNeed = { for: 'run' }

export const APPROVALS_MUTANTS: readonly ApprovalsMutant[] = [
  {
    name: 'a call that runs before its approval',
    violation: /runs rope: (no client had approved it|the log has no approval)/,
    need: (need, { executor }) => (need.for === 'answer' && executor !== 'client' ? RUN : need),
  },
  {
    name: 'a denied call that runs',
    violation: /runs (stone|wheel): expected a denial/,
    need: need => (need.for === 'denial' ? RUN : need),
  },
  {
    name: 'a call that runs with another input than the approved one',
    violation: /runs rope: with .*, shown was/,
    call: call => (call.toolCallId === 'rope' ? { ...call, input: { what: 'rope', amount: 201 } } : call),
  },
  {
    name: 'a call and its approval request in separate batches, and a successor that does not request it',
    plan: 19,
    violation: /no client had approved it|the log has no approval|expected a denial/,
    by: 'death-after',
    call: call => (call.approval ? call : { ...call, approval: { id: '', approved: true } }),
    writer: writer => {
      const decide = writer.decide.bind(writer)
      writer.decide = async build => {
        let requests: BatchItem[] = []
        const done = await decide(ticket => {
          const batch = build(ticket) as readonly BatchItem[] | undefined
          const at = batch?.findIndex(item => batchItemChunk(item).type === 'tool-approval-request') ?? -1
          if (!batch || at <= 0) return batch
          requests = batch.slice(at)
          return batch.slice(0, at)
        })
        if (done && requests.length > 0) await decide(() => requests)
        return done
      }
    },
  },
  {
    name: 'calls with an outcome that run again',
    violation: /starts tool .* (the log had the outcome|it had committed the outcome)/,
    position: position => (position.open.length > 0 ? { ...position, open: position.calls } : position),
    need: (need, { state }) => (state.startsWith('output') ? RUN : need),
  },
  {
    name: 'an accepted answer that is not stored',
    violation: /do not end|is missing/,
    inject: {
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
    name: 'a client result that settles its call twice',
    violation: /dropped|has an outcome at/,
    inject: {
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
    name: 'a run that pauses after its pendings were answered',
    plan: 59,
    violation: /the run pauses, but .* can continue/,
    by: 'answer',
    alwaysPauses: true,
  },
  {
    name: 'a sub-agent that the next driver starts again',
    violation: /was started before|dropped/,
    forgetsSubAgents: true,
  },
  {
    name: 'an answer of the wrong kind that is accepted',
    violation: /expected answer_wrong_kind/,
    accepts: 'any kind',
  },
  {
    name: 'an approval of another input that is accepted',
    violation: /accepted, expected answer_invalid/,
    accepts: 'any input',
  },
]
