// How the commits of an execution end, and what tells them apart.

import type { Lane } from '@millrace/log'
import type { Chunk } from '@millrace/protocol'
import { checkpointId } from '../program-execution.ts'
import type { HookRecord } from './record.ts'

/** The end of a commit within the execution of a node. */
export function sealOf(
  { origin }: Lane,
  closesStep = false,
  mark = '',
): Extract<Chunk, { type: 'checkpoint-created' }> {
  const { step } = origin
  return {
    type: 'checkpoint-created',
    checkpointId: `${checkpointId(origin, step, closesStep)}${mark}`,
    stepCount: step,
    closesStep,
  }
}

/** What tells a hook from others of its execution. */
export const pieceOf = (hookId: string): string => hookId.slice(hookId.indexOf('/') + 1)

/** What tells the commits of an execution apart: the hook, and how often it has asked. */
export const markOf = ({ hookId, given: { asked } }: HookRecord): string =>
  `${pieceOf(hookId)}${asked === undefined ? '' : `?${asked.length}`}`
