import {
  type Chunk,
  type Entry,
  Fold,
  type Message,
  type MessageChunk,
  messageIdOf,
  type View,
} from '@millrace/protocol'
import { RunIds, type SessionIds } from './ids.ts'

/** A view with what was said before all that it shows: what people said, and after each what the peer answered. It is as old as can be, and over. */
export function withPastTurns(view: View, told: readonly Chunk[], names: SessionIds, mark: string): View {
  const fold = new Fold()
  let turn: { readonly runId: string; readonly names: RunIds } | undefined
  let turns = 0
  const write = (runId: string, ...chunks: readonly Chunk[]) =>
    fold.apply(
      chunks.map((chunk, i): Entry => {
        const origin = { runId, lane: 'main', agentId: runId, agentType: '', step: 0 }
        return { sequence: fold.head + i + 1, timestamp: 0, origin, chunk }
      }),
    )
  const end = () => turn && write(turn.runId, { type: 'finish' }, { type: 'run-finished', status: 'completed' })
  const begin = () => {
    end()
    const runId = `${mark}~past-${++turns}`
    write(runId, { type: 'run-started', program: '' })
    turn = { runId, names: new RunIds(runId, names) }
    return turn
  }
  for (const chunk of told) {
    if (chunk.type === 'message') write(begin().runId, named(chunk, names))
    else {
      const { runId, names: own } = turn ?? begin()
      write(runId, own.own(chunk, runId))
    }
  }
  end()
  const { messages, runs } = fold.view()
  const isThere = new Set(view.messages.map(({ id }) => id))
  const before = messages.filter(({ id }) => !isThere.has(id)).map(aged)
  return {
    ...view,
    messages: [...before, ...view.messages],
    runs: [...runs.map(run => ({ ...run, at: 0 })), ...view.runs],
  }
}

/** Before all else, in the order in which they stand. */
const aged = (message: Message): Message => ({
  ...message,
  at: 0,
  ...(message.metaAt !== undefined && { metaAt: 0 }),
  parts: message.parts.map(part => ({ ...part, at: 0 })),
})

/** A person's message under a name that one may have here: what agents' messages have in theirs is in no other. */
function named(said: MessageChunk, names: SessionIds): MessageChunk {
  const messageId = said.messageId.replaceAll('::', ':')
  if (messageId !== said.messageId) names.messages.set(messageId, said.messageId)
  return { ...said, messageId }
}

/** A view without the words and calls of a run that were not there at another time. */
export function withoutNewParts(view: View, runId: string, before: View): View {
  const id = messageIdOf(runId, runId)
  const had = new Set(before.messages.find(message => message.id === id)?.parts.map(({ key }) => key))
  const messages = view.messages.map(message =>
    message.id === id
      ? { ...message, parts: message.parts.filter(part => had.has(part.key) || !WORDS.has(part.type)) }
      : message,
  )
  return { ...view, messages }
}

const WORDS: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool', 'dynamic-tool'])
