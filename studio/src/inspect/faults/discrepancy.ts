import type { Message, Part } from '@millrace/protocol'
import { equalJson } from '../equal-json.ts'

/** A message that the page shows differently from the log. */
export interface Discrepancy {
  readonly id: string
  /** Sequence of its first entry. */
  readonly at: number
  /** `lost` if the page misses the message or some of its text. */
  readonly kind: 'lost' | 'differing'
  /** The beginning of its text. */
  readonly excerpt: string
}

/** Minimum number of latest messages that a page loads. */
const PAGE_SIZE = 100
/** Maximum length of an excerpt. */
const MAX_EXCERPT = 40

/**
 * Compares the visible messages with the log at the same head. Ignores messages that are still being sent. If the page has not loaded all
 * messages (`isComplete` is false), older messages are compared only if they are visible.
 */
export function discrepanciesOf(
  visible: readonly Message[],
  logged: readonly Message[],
  isComplete: boolean,
): readonly Discrepancy[] {
  const byId = new Map(visible.map(message => [message.id, message]))
  const from = isComplete ? 0 : rangeFrom(byId, logged)
  const found: Discrepancy[] = []
  logged.forEach((message, index) => {
    const visibleMessage = byId.get(message.id)
    byId.delete(message.id)
    const kind = visibleMessage ? kindOf(visibleMessage, message) : index >= from ? 'lost' : undefined
    if (kind) found.push({ id: message.id, at: message.at, kind, excerpt: excerptOf(message) })
  })
  for (const message of byId.values()) {
    if (isLocal(message)) continue
    found.push({ id: message.id, at: message.at, kind: 'differing', excerpt: excerptOf(message) })
  }
  return found
}

/** Index of the first logged message that the page must show. */
function rangeFrom(visible: ReadonlyMap<string, Message>, logged: readonly Message[]): number {
  let from = Math.max(0, logged.length - PAGE_SIZE)
  while (from < logged.length && !visible.has(logged[from]?.id ?? '')) from++
  return from
}

/** Whether a message is not in the log yet. */
const isLocal = ({ at }: Message): boolean => at === Number.MAX_SAFE_INTEGER

/** Compares role and parts. The status also depends on the page. */
function kindOf(visible: Message, logged: Message): Discrepancy['kind'] | undefined {
  if (visible.role === logged.role && equalJson(visible.parts, logged.parts)) return undefined
  return isSubsequence(contentOf(visible), contentOf(logged)) ? 'lost' : 'differing'
}

const contentOf = ({ parts }: Message): string => parts.map(textOf).join('')

const textOf = (part: Part): string =>
  part.type === 'text' || part.type === 'reasoning' ? part.text : JSON.stringify(part)

/** Whether `text` is `fullText` with some characters removed. */
function isSubsequence(text: string, fullText: string): boolean {
  if (text.length >= fullText.length) return false
  let matched = 0
  for (let i = 0; i < fullText.length && matched < text.length; i++) if (fullText[i] === text[matched]) matched++
  return matched === text.length
}

function excerptOf({ role, parts }: Message): string {
  const first = parts.find(({ type }) => type === 'text')
  const text = first?.type === 'text' ? first.text.trim() : ''
  if (text === '') return `${role} message`
  return `“${text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text}”`
}
