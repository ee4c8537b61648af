// Converts the input of a hook to messages. Validates it, because node code may build it at run time.

import type { Json, JsonObject, Message, Part, Role } from '@millrace/protocol'
import { isObject } from '@millrace/protocol/internal'
import { describeType } from '../../error/check-object.ts'
import { ValidationError } from '../../error/error.ts'

/** A part of the input: text, or a file by its URL or a `data:` URL. */
export type ReasonPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly filename?: string }

/** A message of the input. A `system` message has only text. */
export interface ReasonMessage {
  /** Role of the author. */
  readonly role: Role
  /** A text, or texts and files. */
  readonly content: string | readonly ReasonPart[]
}

/** Input of a model: text, parts, or messages, including those of the conversation. */
export type ReasonInput = string | readonly (ReasonMessage | Message)[] | readonly ReasonPart[]

const ROLES: readonly unknown[] = ['system', 'user', 'assistant'] satisfies Role[]

/** The messages of an input, as a copy. @throws {ValidationError} with the path of an invalid value. */
export function messagesOf(input: ReasonInput): readonly Message[] {
  const messages = typeof input === 'string' ? [userMessage([textOf(input, '0')])] : messageListOf(plainOf(input))
  if (messages.some(({ parts }) => parts.some(hasContent))) return messages
  // A model without input would answer anything.
  throw inputError('input', 'text that is not blank', 'blank text')
}

function messageListOf(value: Json | undefined): readonly Message[] {
  if (!Array.isArray(value)) throw inputError('input', 'text, messages or parts', describeType(value))
  if (value.length === 0) throw inputError('input', 'messages or parts', 'an empty array')
  return isMessage(value[0])
    ? value.map((item, index) => messageOf(item, `input.${index}`))
    : [userMessage(value.map((item, index) => partOf(item, `input.${index}`)))]
}

const hasContent = (part: Part): boolean => part.type !== 'text' || !('text' in part) || part.text.trim() !== ''

/** A plain copy of the input, without getters and prototypes. */
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

/** A message without a role is a user message. */
const userMessage = (parts: readonly Part[]): Message => ({ ...messageFields('input', 'user'), parts })

const messageFields = (id: string, role: Role): Omit<Message, 'parts'> => ({
  id,
  role,
  status: 'sent',
  at: 0,
  createdAt: 0,
})

function messageOf(item: Json, where: string): Message {
  const message = objectAt(item, where)
  const { role, content } = message
  if (!isRole(role)) throw inputError(`${where}.role`, 'system, user or assistant', describeValue(role))
  if ('parts' in message) {
    const parts = listAt(message['parts'], `${where}.parts`)
    return {
      ...messageFields(where, role),
      ...message,
      role,
      parts: parts.map((part, at) => conversationPartOf(part, `${where}.parts.${at}`)),
    }
  }
  if (typeof content === 'string') return { ...messageFields(where, role), parts: [textOf(content, '0')] }
  if (!Array.isArray(content)) throw inputError(`${where}.content`, 'text or parts', describeType(content))
  const parts = content.map((part, at) => partOf(part, `${where}.content.${at}`, role === 'system'))
  return { ...messageFields(where, role), parts }
}

const isRole = (role: Json | undefined): role is Role => ROLES.includes(role)

function partOf(item: Json, where: string, isTextOnly = false): Part {
  const part = objectAt(item, where)
  const { type } = part
  if (type === 'text') return textOf(textAt(part, 'text', where), where)
  if (type !== 'file' || isTextOnly)
    throw inputError(`${where}.type`, isTextOnly ? 'text' : 'text or file', describeValue(type))
  const { filename } = part
  const url = textAt(part, 'url', where)
  if (!isReadable(url)) throw inputError(`${where}.url`, 'an absolute or a data: URL', 'another format')
  const mediaType = textAt(part, 'mediaType', where)
  if (mediaType === '') throw inputError(`${where}.mediaType`, 'one such as image/png', 'an empty text')
  const named = filename === undefined ? {} : { filename: textAt(part, 'filename', where) }
  return { type, url, mediaType, ...named, key: where, at: 0 }
}

const textOf = (text: string, key: string): Part => ({ type: 'text', text, id: key, key, at: 0, state: 'done' })

/** A URL that cannot be read would reach the model as text. */
const isReadable = (url: string): boolean => (/^data:/i.test(url) ? url.includes(',') : URL.canParse(url))

/** The required string fields of each part type of a conversation. */
const REQUIRED_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['reasoning', ['text']],
  ['file', ['url', 'mediaType']],
  ['tool', ['toolCallId', 'toolName', 'state']],
  ['dynamic-tool', ['toolCallId', 'toolName', 'state']],
])

/** A part of a conversation message, unchanged. Unknown types are kept. */
function conversationPartOf(item: Json, where: string): Part {
  const part = objectAt(item, where)
  const type = textAt(part, 'type', where)
  for (const field of REQUIRED_FIELDS.get(type) ?? []) textAt(part, field, where)
  if (part['providerMetadata'] !== undefined) objectAt(part['providerMetadata'], `${where}.providerMetadata`)
  return part as unknown as Part
}

function objectAt(item: Json | undefined, where: string): JsonObject {
  if (isObject(item)) return item
  throw inputError(where, 'an object', describeType(item))
}

function listAt(item: Json | undefined, where: string): readonly Json[] {
  if (Array.isArray(item)) return item
  throw inputError(where, 'an array', describeType(item))
}

function textAt(part: JsonObject, field: string, where: string): string {
  const value = part[field]
  if (typeof value === 'string') return value
  throw inputError(`${where}.${field}`, 'text', describeType(value))
}

/** An unknown value for an error message, truncated. */
const describeValue = (value: Json | undefined): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 40)) : describeType(value)

const inputError = (where: string, expected: string, found: string): ValidationError =>
  new ValidationError(`useReason: ${where}: expected ${expected}, found ${found}`)
