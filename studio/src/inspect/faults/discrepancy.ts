import type { Message, Part } from '@millrace/protocol'
import { same } from './same.ts'

/** A message that a page shows otherwise than the log has it. */
export interface Discrepancy {
  readonly id: string
  /** The sequence of its first write. */
  readonly at: number
  /** `lost`, where it or words of it are missing on the page. */
  readonly kind: 'lost' | 'differing'
  /** By which people know it: how it begins in the log, or on the page where the log has none. */
  readonly gist: string
}

/** So many of the last messages a page has at least, where it has not all of them. */
const PAGE = 100
/** So much of a message names it. */
const GIST = 40

/**
 * What of these messages is not as the log has it at the same head. What is on its way to the log is not in it yet; and where
 * a page has not all messages (`isWhole`), those before the last ones are compared where they are shown.
 */
export function discrepanciesOf(
  shown: readonly Message[],
  logged: readonly Message[],
  isWhole: boolean,
): readonly Discrepancy[] {
  const byId = new Map(shown.map(message => [message.id, message]))
  const from = isWhole ? 0 : rangeFrom(byId, logged)
  const found: Discrepancy[] = []
  logged.forEach((message, place) => {
    const mine = byId.get(message.id)
    byId.delete(message.id)
    const kind = mine ? kindOf(mine, message) : place >= from ? 'lost' : undefined
    if (kind) found.push({ id: message.id, at: message.at, kind, gist: gistOf(message) })
  })
  for (const message of byId.values()) {
    if (isLocal(message)) continue
    found.push({ id: message.id, at: message.at, kind: 'differing', gist: gistOf(message) })
  }
  return found
}

/** Where the last messages begin that a page has all of. */
function rangeFrom(shown: ReadonlyMap<string, Message>, logged: readonly Message[]): number {
  let from = Math.max(0, logged.length - PAGE)
  while (from < logged.length && !shown.has(logged[from]?.id ?? '')) from++
  return from
}

/** Whether a message is on its way to the log: it has no place there. */
const isLocal = ({ at }: Message): boolean => at === Number.MAX_SAFE_INTEGER

/** Only of what the log can know: how it stands with a message is also its page's to say. */
function kindOf(shown: Message, logged: Message): Discrepancy['kind'] | undefined {
  if (shown.role === logged.role && same(shown.parts, logged.parts)) return undefined
  return isLeftOf(wordsOf(shown), wordsOf(logged)) ? 'lost' : 'differing'
}

const wordsOf = ({ parts }: Message): string => parts.map(textOf).join('')

const textOf = (part: Part): string =>
  part.type === 'text' || part.type === 'reasoning' ? part.text : JSON.stringify(part)

/** Whether a text is what is left of another that something was taken out of. */
function isLeftOf(text: string, whole: string): boolean {
  if (text.length >= whole.length) return false
  let place = 0
  for (let i = 0; i < whole.length && place < text.length; i++) if (whole[i] === text[place]) place++
  return place === text.length
}

function gistOf({ role, parts }: Message): string {
  const said = parts.find(({ type }) => type === 'text')
  const text = said?.type === 'text' ? said.text.trim() : ''
  if (text === '') return `a message of the ${role}`
  return `“${text.length > GIST ? `${text.slice(0, GIST)}…` : text}”`
}
