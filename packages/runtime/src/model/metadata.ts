import type { JsonObject } from '@millrace/protocol'

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
