// The actions of guests in a race: when they start, and their results.

import type { Chunk } from '@millrace/protocol'
import type { Runtime } from '../../api/runtime.ts'
import { MillraceError } from '../../error/error.ts'
import type { GuestAction } from './race-plan.fixture.ts'
import { NEXT, RUN, SESSION } from './waiting-program.fixture.ts'

const CLAIM_MS = 30

/** Delay in ms after which a guest starts now that this entry is in the log; undefined if it waits for another. */
export function startDelayMs(
  { start, isResult }: GuestAction,
  call: string,
  chunk: Chunk,
  now: number,
): number | undefined {
  const { on, afterMs } = start
  if (on === chunk.type) return afterMs
  const { deadline, toolCallId } = chunk as { deadline?: number; toolCallId?: string }
  const isMeant = toolCallId === call && isResult === (chunk.type === 'tool-input-available')
  return on === 'deadline' && deadline !== undefined && isMeant ? deadline + afterMs - now : undefined
}

/** Executes an action. Returns the sequence of an answer, or the error. */
export async function performAction(
  runtime: Runtime,
  action: GuestAction,
  guest: string,
  toolCallId: string,
): Promise<{ readonly outcome: string; readonly sequence?: number }> {
  try {
    const done = await submit(runtime, action, guest, toolCallId)
    if (done === false) return { outcome: 'ended' }
    return { outcome: 'accepted', ...(typeof done === 'number' && { sequence: done }) }
  } catch (error) {
    return { outcome: MillraceError.isInstance(error) ? error.code : `not typed: ${error}` }
  }
}

async function submit(
  runtime: Runtime,
  action: GuestAction,
  guest: string,
  toolCallId: string,
): Promise<number | boolean> {
  const as = { guest }
  switch (action.verb) {
    case 'stop':
      return runtime.stop(SESSION, RUN, as)
    case 'abort':
      return runtime.stop(SESSION, RUN, { mode: 'abort', ...as })
    case 'undo':
      return runtime.stop(SESSION, NEXT, as)
    case 'interrupt': {
      const message = { messageId: 'asks-next', input: 'Now that.' }
      const requestOptions = {
        session: SESSION,
        runId: NEXT,
        whenBusy: 'interrupt-previous',
        ...message,
        ...as,
      } as const
      await runtime.start({ agent: 'agent:next@1', ...requestOptions })
      return true
    }
    case 'claim': {
      const { until } = await runtime.claim(SESSION, toolCallId, { forMs: CLAIM_MS, ...as })
      return until > 0
    }
    default: {
      const isYes = action.verb === 'yes'
      const answer = action.isResult
        ? ({ kind: 'tool-result', id: toolCallId, ...(isYes ? { output: guest } : { error: guest }) } as const)
        : ({ kind: 'approval', id: `${RUN}::${toolCallId}`, approved: isYes, reason: guest } as const)
      return (await runtime.answer(SESSION, answer, as)).sequence
    }
  }
}
