import { connection } from '../app/connection.ts'

const MAX_TITLE_LENGTH = 80

/** The title of a session that starts with this message. */
export function titleOf(message: string): string {
  const line = message.replaceAll(/\p{Cc}+/gu, ' ')
  return line.length > MAX_TITLE_LENGTH ? `${line.slice(0, MAX_TITLE_LENGTH)}…` : line
}

/** Sets the title of a session. @throws if the server refuses it or cannot be reached */
export async function setTitle(sessionId: string, title: string): Promise<void> {
  await connection.api.ask('PATCH', `/sessions/${encodeURIComponent(sessionId)}`, { title })
}

/** Sets the title that follows from a message. A failure is ignored: the list then shows the last message. */
export function setTitleFrom(sessionId: string, message: string): void {
  setTitle(sessionId, titleOf(message)).catch(() => {})
}
