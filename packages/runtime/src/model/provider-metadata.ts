import type { Chunk, JsonObject } from '@millrace/protocol'
import { isAccepted } from '../error/log-error.ts'
import { jsonLength } from '../schema/json.ts'

/** As many characters of it, as JSON, go into a commit: with what else stands there, less than an entry may be. */
const MAX_METADATA_LENGTH = 128 * 1024
const METADATA_DROPPED = 'what the provider said with a part was left out: it is larger than the log takes, or no JSON'

/** Says a word; without what the provider said with it, where the log does not take that. */
export function writeWithMetadata(
  chunk: Chunk,
  write: (chunk: Chunk) => PromiseLike<void>,
  warn: (message: string) => void,
): PromiseLike<void> {
  return 'providerMetadata' in chunk && chunk.providerMetadata ? writeOrDropMetadata(chunk, write, warn) : write(chunk)
}

async function writeOrDropMetadata(...[chunk, write, warn]: Parameters<typeof writeWithMetadata>): Promise<void> {
  if (await isAccepted(() => write(chunk))) return
  const { providerMetadata, ...word } = chunk as Chunk & { readonly providerMetadata?: unknown }
  await write(word as Chunk)
  warn(METADATA_DROPPED)
}

/** What a provider said, as a field of a fact; no field where a commit may not take it: that would be the end of the run. */
export function boundedMetadata(said: unknown, warn: (message: string) => void): { providerMetadata?: JsonObject } {
  if (jsonLength(said) <= MAX_METADATA_LENGTH) return metadataOf({ providerMetadata: said })
  warn(METADATA_DROPPED)
  return {}
}

/** What a provider says with a part, as a field of a chunk; no field where it says nothing. */
export const metadataOf = (part: { readonly providerMetadata?: unknown }): { providerMetadata?: JsonObject } =>
  part.providerMetadata ? { providerMetadata: part.providerMetadata as JsonObject } : {}

/** What a provider said with a call and with its result, by provider, the later over the earlier. */
export function mergeMetadata(before: JsonObject | undefined, after: unknown): { providerMetadata?: JsonObject } {
  if (!before || !after) return metadataOf({ providerMetadata: after ?? before })
  const merged: JsonObject = { ...before }
  for (const [provider, said] of Object.entries(after as JsonObject)) {
    merged[provider] = { ...(before[provider] as JsonObject | undefined), ...(said as JsonObject) }
  }
  return { providerMetadata: merged }
}
