/** What a text amounts to, however it was cut in pieces: pieces that follow each other can be put together. */
export interface Digest {
  readonly length: number
  readonly hash: number
  /** By what the hash of all that lies before is multiplied. */
  readonly power: number
}

export const EMPTY: Digest = { length: 0, hash: 0, power: 1 }

/** Of one piece. */
export function digestOf(text: string): Digest {
  let [hash, power] = [0, 1]
  for (let i = 0; i < text.length; i++) {
    hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
    power = Math.imul(power, 31)
  }
  return { length: text.length, hash, power }
}

/** Of one piece and what follows it. */
export function joined(before: Digest, after: Digest): Digest {
  return {
    length: before.length + after.length,
    hash: (Math.imul(before.hash, after.power) + after.hash) | 0,
    power: Math.imul(before.power, after.power),
  }
}
