import type { Chunk, JsonObject } from '@millrace/protocol'
import { isAccepted } from '../error/log-error.ts'
import { jsonLength } from '../schema/json.ts'

/** As many characters of it, as JSON, go into a commit: with what else stands there, less than an entry may be. */
const MOST = 128 * 1024
const LEFT_OUT = 'what the provider said with a part was left out: it is larger than the log takes, or no JSON'

/** Says a word; without what the provider said with it, where the log does not take that. */
export function sayWord(
  chunk: Chunk,
  write: (chunk: Chunk) => PromiseLike<void>,
  warn: (message: string) => void,
): PromiseLike<void> {
  return 'providerMetadata' in chunk && chunk.providerMetadata ? sayAlone(chunk, write, warn) : write(chunk)
}

async function sayAlone(...[chunk, write, warn]: Parameters<typeof sayWord>): Promise<void> {
  if (await isAccepted(() => write(chunk))) return
  const { providerMetadata, ...word } = chunk as Chunk & { readonly providerMetadata?: unknown }
  await write(word as Chunk)
  warn(LEFT_OUT)
}

/** What a provider said, as a field of a fact; no field where a commit may not take it: that would be the end of the run. */
export function keptMetadata(said: unknown, warn: (message: string) => void): { providerMetadata?: JsonObject } {
  if (jsonLength(said) <= MOST) return metadataOf({ providerMetadata: said })
  warn(LEFT_OUT)
  return {}
}

/** What a provider says with a part, as a field of a chunk; no field where it says nothing. */
export const metadataOf = (part: { readonly providerMetadata?: unknown }): { providerMetadata?: JsonObject } =>
  part.providerMetadata ? { providerMetadata: part.providerMetadata as JsonObject } : {}

/** What a provider said with a call and with its result, by provider, the later over the earlier. */
export function mergedMetadata(before: JsonObject | undefined, after: unknown): { providerMetadata?: JsonObject } {
  if (!before || !after) return metadataOf({ providerMetadata: after ?? before })
  const merged: JsonObject = { ...before }
  for (const [provider, said] of Object.entries(after as JsonObject)) {
    merged[provider] = { ...(before[provider] as JsonObject | undefined), ...(said as JsonObject) }
  }
  return { providerMetadata: merged }
}
