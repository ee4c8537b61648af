import type { Message, Part } from '@millrace/protocol'
import { equalJson } from './equal-json.ts'

/** A message that the page shows differently from the log. */
export interface Discrepancy {
  readonly id: string
  /** Sequence of its first entry. */
  readonly at: number
  /** `lost` if the page misses the message or some of its text. */
  readonly kind: 'lost' | 'differing'
  /** The beginning of its text. */
  readonly gist: string
}

/** Minimum number of latest messages on a page that has not loaded all. */
const PAGE = 100
/** Maximum length of a gist. */
const GIST = 40

/**
 * Compares shown messages with the log at the same head. Ignores messages that are still being sent. If the page has not loaded all
 * messages (`isWhole` is false), older messages are compared only if they are shown.
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

/** Index of the first message from which the page has all. */
function rangeFrom(shown: ReadonlyMap<string, Message>, logged: readonly Message[]): number {
  let from = Math.max(0, logged.length - PAGE)
  while (from < logged.length && !shown.has(logged[from]?.id ?? '')) from++
  return from
}

/** Whether a message is not in the log yet. */
const isLocal = ({ at }: Message): boolean => at === Number.MAX_SAFE_INTEGER

/** Compares role and parts. The status also depends on the page. */
function kindOf(shown: Message, logged: Message): Discrepancy['kind'] | undefined {
  if (shown.role === logged.role && equalJson(shown.parts, logged.parts)) return undefined
  return isSubsequence(contentOf(shown), contentOf(logged)) ? 'lost' : 'differing'
}

const contentOf = ({ parts }: Message): string => parts.map(textOf).join('')

const textOf = (part: Part): string =>
  part.type === 'text' || part.type === 'reasoning' ? part.text : JSON.stringify(part)

/** Whether a text is another text with some characters removed. */
function isSubsequence(text: string, whole: string): boolean {
  if (text.length >= whole.length) return false
  let place = 0
  for (let i = 0; i < whole.length && place < text.length; i++) if (whole[i] === text[place]) place++
  return place === text.length
}

function gistOf({ role, parts }: Message): string {
  const first = parts.find(({ type }) => type === 'text')
  const text = first?.type === 'text' ? first.text.trim() : ''
  if (text === '') return `${role} message`
  return `“${text.length > GIST ? `${text.slice(0, GIST)}…` : text}”`
}
