/** Digest of a text that does not depend on how the text is split. Digests of adjacent pieces can be joined. */
export interface Digest {
  readonly length: number
  readonly hash: number
  /** Factor for the hash of the preceding text. */
  readonly power: number
}

export const EMPTY_DIGEST: Digest = { length: 0, hash: 0, power: 1 }

/** Digest of one piece. */
export function digestOf(text: string): Digest {
  let [hash, power] = [0, 1]
  for (let i = 0; i < text.length; i++) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
    power = Math.imul(power, 31)
  }
  return { length: text.length, hash, power }
}

/** Digest of two adjacent pieces. */
export function joinDigests(before: Digest, after: Digest): Digest {
  return {
    length: before.length + after.length,
    hash: (Math.imul(before.hash, after.power) + after.hash) | 0,
    power: Math.imul(before.power, after.power),
  }
}
