// Readers in a process of their own.
import { type Hearing, hear, type Way } from './answers.ts'
import { answer } from './apart.ts'

/** Come and hear, or tell what was heard. */
export type Heard =
  | { kind: 'come'; way: Way; streamId: string; readers: number; length: number }
  | { kind: 'tell'; streamId: string }

/** What each has heard, where that was asked for. */
export interface HeardAnswer {
  texts: string[]
}

const hearings = new Map<string, Hearing[]>()

answer<Heard, HeardAnswer>(async question => {
  if (question.kind === 'tell') {
    const heard = hearings.get(question.streamId) ?? []
    hearings.delete(question.streamId)
    return { texts: await Promise.all(heard.map(({ text }) => text)) }
  }
  const { way, streamId, readers, length } = question
  hearings.set(streamId, await Promise.all(Array.from({ length: readers }, () => hear(way, streamId, length))))
  return { texts: [] }
})
