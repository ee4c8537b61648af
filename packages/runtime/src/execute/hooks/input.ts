// What a hook is given to ask a model about, as messages: checked, because it may be anything that node code has put together.

import type { Json, JsonObject, Message, Part, Role } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'

/** A piece of what is asked: text, or a file by its address or by a `data:` URL. */
export type ReasonPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly filename?: string }

/** What somebody says; instructions (`system`) are text alone. */
export interface ReasonMessage {
  readonly role: Role
  readonly content: string | readonly ReasonPart[]
}

/** What a model is asked: text, parts, or messages, among them those of the conversation as they are. */
export type ReasonInput = string | readonly (ReasonMessage | Message)[] | readonly ReasonPart[]

const ROLES: readonly unknown[] = ['system', 'user', 'assistant'] satisfies Role[]

/** The messages that an input stands for, a copy of it; throws with the place where it is none. */
export function messagesOf(input: ReasonInput): readonly Message[] {
  const messages = typeof input === 'string' ? [asked([textOf(input, '0')])] : listOf(plainOf(input))
  if (messages.some(({ parts }) => parts.some(isSaid))) return messages
  // A model that were sent nothing would answer anything.
  throw refusal('input', 'something to say', 'blank text')
}

function listOf(given: Json | undefined): readonly Message[] {
  if (!Array.isArray(given)) throw refusal('input', 'text, messages or parts', describeType(given))
  if (given.length === 0) throw refusal('input', 'messages or parts', 'an empty array')
  return isMessage(given[0])
    ? given.map((item, index) => messageOf(item, `input.${index}`))
    : [asked(given.map((item, index) => partOf(item, `input.${index}`)))]
}

const isSaid = (part: Part): boolean => part.type !== 'text' || !('text' in part) || part.text.trim() !== ''

/** A copy that says the same however often it is read: own fields alone, no getters, no prototypes. */
function plainOf(input: unknown): Json | undefined {
  let text: string | undefined
  try {
    text = JSON.stringify(input)
  } catch (cause) {
    throw new ValidationError('useReason: input: expected text, messages or parts, found a value that is not JSON', {
      cause,
    })
  }
  return text === undefined ? undefined : (JSON.parse(text) as Json)
}

const isMessage = (item: Json | undefined): boolean =>
  isObject(item) && ['role', 'content', 'parts'].some(field => field in item)

/** What is asked without saying who asks: a person's words. */
const asked = (parts: readonly Part[]): Message => ({ ...about('input', 'user'), parts })

const about = (id: string, role: Role): Omit<Message, 'parts'> => ({ id, role, status: 'sent', at: 0, createdAt: 0 })

function messageOf(item: Json, where: string): Message {
  const message = objectAt(item, where)
  const { role, content } = message
  if (!isRole(role)) throw refusal(`${where}.role`, 'system, user or assistant', wordOf(role))
  if ('parts' in message) {
    const parts = listAt(message['parts'], `${where}.parts`)
    return {
      ...about(where, role),
      ...message,
      role,
      parts: parts.map((part, at) => saidOf(part, `${where}.parts.${at}`)),
    }
  }
  if (typeof content === 'string') return { ...about(where, role), parts: [textOf(content, '0')] }
  if (!Array.isArray(content)) throw refusal(`${where}.content`, 'text or parts', describeType(content))
  const parts = content.map((part, at) => partOf(part, `${where}.content.${at}`, role === 'system'))
  return { ...about(where, role), parts }
}

const isRole = (role: Json | undefined): role is Role => ROLES.includes(role)

function partOf(item: Json, where: string, isTextOnly = false): Part {
  const part = objectAt(item, where)
  const { type } = part
  if (type === 'text') return textOf(textAt(part, 'text', where), where)
  if (type !== 'file' || isTextOnly) throw refusal(`${where}.type`, isTextOnly ? 'text' : 'text or file', wordOf(type))
  const { filename } = part
  const url = textAt(part, 'url', where)
  if (!isReadable(url)) throw refusal(`${where}.url`, 'an absolute or a data: URL', 'another text')
  const mediaType = textAt(part, 'mediaType', where)
  if (mediaType === '') throw refusal(`${where}.mediaType`, 'one such as image/png', 'an empty text')
  const named = filename === undefined ? {} : { filename: textAt(part, 'filename', where) }
  return { type, url, mediaType, ...named, key: where, at: 0 }
}

const textOf = (text: string, key: string): Part => ({ type: 'text', text, id: key, key, at: 0, state: 'done' })

/** What names no file would reach the model as the word that there was one. */
const isReadable = (url: string): boolean => (/^data:/i.test(url) ? url.includes(',') : URL.canParse(url))

/** What each part of a conversation must say in text, so that a prompt can be made of it. */
const SAID: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['reasoning', ['text']],
  ['file', ['url', 'mediaType']],
  ['tool', ['toolCallId', 'toolName', 'state']],
  ['dynamic-tool', ['toolCallId', 'toolName', 'state']],
])

/** A part of a message of the conversation, as it is: kinds that no model is sent are kept. */
function saidOf(item: Json, where: string): Part {
  const part = objectAt(item, where)
  const type = textAt(part, 'type', where)
  for (const field of SAID.get(type) ?? []) textAt(part, field, where)
  if (part['providerMetadata'] !== undefined) objectAt(part['providerMetadata'], `${where}.providerMetadata`)
  return part as unknown as Part
}

function objectAt(item: Json | undefined, where: string): JsonObject {
  if (isObject(item)) return item
  throw refusal(where, 'an object', describeType(item))
}

function listAt(item: Json | undefined, where: string): readonly Json[] {
  if (Array.isArray(item)) return item
  throw refusal(where, 'an array', describeType(item))
}

function textAt(part: JsonObject, field: string, where: string): string {
  const value = part[field]
  if (typeof value === 'string') return value
  throw refusal(`${where}.${field}`, 'text', describeType(value))
}

/** A word that is none of those that are known, its beginning. */
const wordOf = (word: Json | undefined): string =>
  typeof word === 'string' ? JSON.stringify(word.slice(0, 40)) : describeType(word)

const refusal = (where: string, expected: string, found: string): ValidationError =>
  new ValidationError(`useReason: ${where}: expected ${expected}, found ${found}`)
