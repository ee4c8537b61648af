// Streams of the server of durable streams, in its memory.
import { newStream } from '../server/durable.ts'
import type { Held } from './holding.ts'

export async function holdDurable(sessions: number): Promise<Held[]> {
  const held: Held[] = []
  for (let n = 0; n < sessions; n++) {
    const { live, append } = await newStream(false)
    held.push({ address: live, append: chunk => append([chunk]) })
  }
  return held
}
