// The dialects by name. Each is loaded on demand.

import type { Decoder, Encoder } from '@millrace/dialects'
import { LogDecoder, LogEncoder } from './log-dialect.ts'

/** A dialect to convert from or to. Its decoder checks the events. */
export interface ConvertDialect {
  decoder(): Decoder<unknown>
  encoder(): Encoder<unknown>
  /** The last event of an SSE stream. */
  readonly closing?: string
}

/** A dialect whose types of events are unknown here. Its decoder checks them. */
interface UncheckedDialect {
  decoder(): unknown
  encoder(): unknown
}

const foreignDialects: Readonly<Record<string, () => Promise<UncheckedDialect>>> = {
  'ai-sdk': async () => (await import('@millrace/dialects/ai-sdk')).aiSdkDialect,
  'ag-ui': async () => (await import('@millrace/dialects/ag-ui')).agUiDialect,
  helix: async () => (await import('@millrace/dialects/helix')).helixDialect,
  kortyx: async () => (await import('@millrace/dialects/kortyx')).kortyxDialect,
  mui: async () => (await import('@millrace/dialects/mui')).muiDialect,
  tanstack: async () => (await import('@millrace/dialects/tanstack')).tanstackAgUiDialect,
  'tanstack-0.2': async () => (await import('@millrace/dialects/tanstack')).tanstackDialect,
}

const MILLRACE = 'millrace'
/** Dialects that end an SSE stream with `[DONE]`. */
const DIALECTS_WITH_DONE: readonly string[] = ['ai-sdk', 'kortyx']

/** The names of all dialects. */
export const dialectNames: readonly string[] = [MILLRACE, ...Object.keys(foreignDialects)]

/** A dialect by name. For `millrace`, `runId` is the run to read or the id of the written run. `from` is the dialect of the input. */
export async function dialectOf(name: string, runId: string | undefined, from: string): Promise<ConvertDialect> {
  if (name === MILLRACE) {
    return { decoder: () => new LogDecoder(runId), encoder: () => new LogEncoder(runId ?? `from-${from}`, from) }
  }
  const found = (await foreignDialects[name]?.()) as ConvertDialect
  return {
    decoder: () => found.decoder(),
    encoder: () => found.encoder(),
    ...(DIALECTS_WITH_DONE.includes(name) && { closing: 'data: [DONE]\n\n' }),
  }
}
