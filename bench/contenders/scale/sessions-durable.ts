// Streams of `@durable-streams/server`, in memory.
import { newStream } from '../server/durable.ts'
import type { ServedSession } from './open-sessions.ts'

export async function sessionsDurable(sessions: number): Promise<ServedSession[]> {
  const served: ServedSession[] = []
  for (let n = 0; n < sessions; n++) {
    const { live, append } = await newStream(false)
    served.push({ address: live, append: chunk => append([chunk]) })
  }
  return served
}
