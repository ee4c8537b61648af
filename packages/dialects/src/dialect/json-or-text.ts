import type { Json } from '@millrace/protocol'

/** Parses JSON. Returns the text itself if it is not JSON. */
export function jsonOrText(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
