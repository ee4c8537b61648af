// The server of one system, with the page of it, in a process of its own.
import type { AnswerScript, ScriptedAnswers } from './scripted-answers.ts'

/** System server and page: ours, another's; or nobody's. */
export type System = 'ours' | 'ai' | 'tanstack' | 'mui' | 'plain'

/** What the page is to show: the answers, each in a conversation of its own that has so many messages already. */
export interface Shown extends AnswerScript {
  readonly messages: number
}

/** One conversation of a page. */
export interface Conversation {
  /** Its session, if it is there already. */
  readonly session?: string
  /** Where it is answered, if that is for the page to know. */
  readonly url?: string
}

/** Where a page is, and its conversations. */
export interface Address {
  readonly page: string
  readonly conversations: readonly Conversation[]
}

/** A server that is up. */
export interface Server {
  /** Answers from now on with this script. */
  show(shown: Shown, script: ScriptedAnswers): Promise<Address>
}

/** The earlier messages of a conversation. */
export const historyOf = (count: number): { id: string; role: 'user' | 'assistant'; text: string }[] =>
  Array.from({ length: count }, (_, i) => {
    return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', text: `What the mill said for the ${i}th time.` }
  })

/** Starts the server of one of them, which serves the page of that folder. */
export async function openServer(system: System, folder: string): Promise<Server> {
  switch (system) {
    case 'ours':
      return (await import('./serve-ours.ts')).openOurs(folder)
    case 'ai':
      return (await import('./serve-ai.ts')).openAi(folder)
    case 'tanstack':
      return (await import('./serve-tanstack.ts')).openTanstack(folder)
    case 'mui':
    case 'plain':
      return (await import('./serve-plain.ts')).openPlain(folder)
  }
}
