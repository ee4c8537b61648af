// Short descriptions of chunks.

import type { Chunk } from '@millrace/protocol'
import { oneLine } from '../terminal/escape-control.ts'

const MAX_TEXT_LENGTH = 100

/** Describes a chunk in one line. */
export function chunkSummary(chunk: Chunk, max: number = MAX_TEXT_LENGTH): string {
  return oneLine(describeChunk(chunk), max)
}

function describeChunk(chunk: Chunk): string {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return JSON.stringify(chunk.delta)
    case 'message':
      return `${chunk.role}: ${messageText(chunk.parts)}`
    case 'run-requested':
      return chunk.message ? `${chunk.program} ${messageText(chunk.message.parts)}` : chunk.program
    case 'error':
      return chunk.code === undefined ? chunk.message : `${chunk.code}: ${chunk.message}`
    default: {
      const { type, ...rest } = chunk
      return Object.entries(rest)
        .map(([name, value]) => (typeof value === 'string' ? `${name}=${value}` : `${name}=${jsonOf(value)}`))
        .join(' ')
    }
  }
}

/** The text of a message. */
export const messageText = (parts: readonly { readonly type: string }[]): string =>
  parts.map(part => ('text' in part && typeof part.text === 'string' ? part.text : `[${part.type}]`)).join(' ')

/** A value as text. */
export const jsonOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
