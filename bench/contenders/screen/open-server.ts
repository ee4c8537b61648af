// The server and page of one system under test, in a child process.
import type { AnswerScript, ScriptedAnswers } from './scripted-answers.ts'

/** System under test. `plain` is the floor. */
export type System = 'ours' | 'ai' | 'tanstack' | 'mui' | 'plain'

/** Content of the page: the answers, each in its own conversation with `messages` earlier messages. */
export interface ScreenSetup extends AnswerScript {
  readonly messages: number
}

/** One conversation of a page. */
export interface Conversation {
  /** Its session, if it exists already. */
  readonly session?: string
  /** URL of its answers, if the page needs it. */
  readonly url?: string
}

/** URL of a page, and its conversations. */
export interface PageAddress {
  readonly page: string
  readonly conversations: readonly Conversation[]
}

/** A running server. */
export interface SystemServer {
  /** Uses this script for the following answers. */
  show(setup: ScreenSetup, script: ScriptedAnswers): Promise<PageAddress>
}

/** The earlier messages of a conversation. */
export const historyOf = (count: number): { id: string; role: 'user' | 'assistant'; text: string }[] =>
  Array.from({ length: count }, (_, i) => {
    return {
      id: `message-${i}`,
      role: i % 2 ? 'assistant' : 'user',
      text: `What the mill said for the ${i}th time.`,
    }
  })

/** Starts the server of a system, which serves the page in `folder`. */
export async function openServer(system: System, folder: string): Promise<SystemServer> {
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
