import type { Chunk, JsonObject } from '@millrace/protocol'
import { isAccepted } from '../error/log-error-code.ts'
import { jsonLength } from '../schema/json.ts'

/** Maximum length of metadata in a committed chunk, in characters of JSON: less than an entry may have, with room for other fields. */
const MAX_METADATA_LENGTH = 128 * 1024
const METADATA_DROPPED = 'provider metadata of a part was dropped: it exceeds the size limit of the log, or is not JSON'

/** Writes a draft chunk, without its provider metadata if the log does not accept that. */
export function writeWithMetadata(
  chunk: Chunk,
  write: (chunk: Chunk) => PromiseLike<void>,
  warn: (message: string) => void,
): PromiseLike<void> {
  return 'providerMetadata' in chunk && chunk.providerMetadata ? writeOrDropMetadata(chunk, write, warn) : write(chunk)
}

async function writeOrDropMetadata(...[chunk, write, warn]: Parameters<typeof writeWithMetadata>): Promise<void> {
  if (await isAccepted(() => write(chunk))) return
  const { providerMetadata, ...rest } = chunk as Chunk & { readonly providerMetadata?: unknown }
  await write(rest as Chunk)
  warn(METADATA_DROPPED)
}

/** Metadata as a field of a committed chunk. Drops metadata that may not fit a commit, because a rejected commit fails the run. */
export function boundedMetadata(metadata: unknown, warn: (message: string) => void): { providerMetadata?: JsonObject } {
  if (jsonLength(metadata) <= MAX_METADATA_LENGTH) return metadataOf({ providerMetadata: metadata })
  warn(METADATA_DROPPED)
  return {}
}

/** The provider metadata of a part as a field of a chunk; no field if there is none. */
export const metadataOf = (part: { readonly providerMetadata?: unknown }): { providerMetadata?: JsonObject } =>
  part.providerMetadata ? { providerMetadata: part.providerMetadata as JsonObject } : {}

/** Merges the metadata of a call and of its result by provider. Later fields win. */
export function mergeMetadata(before: JsonObject | undefined, after: unknown): { providerMetadata?: JsonObject } {
  if (!before || !after) return metadataOf({ providerMetadata: after ?? before })
  const merged: JsonObject = { ...before }
  for (const [provider, metadata] of Object.entries(after as JsonObject)) {
    merged[provider] = { ...(before[provider] as JsonObject | undefined), ...(metadata as JsonObject) }
  }
  return { providerMetadata: merged }
}
