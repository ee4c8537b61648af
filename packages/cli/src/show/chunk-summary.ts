// What an entry says, in a few words.

import type { Chunk } from '@millrace/protocol'
import { oneLine } from '../terminal/escape-control.ts'

const MOST = 100

/** What a chunk says, in one line. */
export function gistOf(chunk: Chunk, most: number = MOST): string {
  return oneLine(wordsOf(chunk), most)
}

function wordsOf(chunk: Chunk): string {
  switch (chunk.type) {
    case 'text-delta':
    case 'reasoning-delta':
      return JSON.stringify(chunk.delta)
    case 'message':
      return `${chunk.role}: ${textOf(chunk.parts)}`
    case 'run-requested':
      return chunk.message ? `${chunk.program} ${textOf(chunk.message.parts)}` : chunk.program
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

/** The words of a message. */
export const textOf = (parts: readonly { readonly type: string }[]): string =>
  parts.map(part => ('text' in part && typeof part.text === 'string' ? part.text : `[${part.type}]`)).join(' ')

/** A value as it can be shown. */
export const jsonOf = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
