// A session's key is its owner and its id. Its log has the id of the session, unless a log of another owner has that
// id: then the id of the log is qualified with a hash of the owner. The hash follows a control character, which no
// session id of a client contains, so a client can name no qualified id.

import { createHash } from 'node:crypto'

const SEPARATOR = '\u001f'
/** Length of a SHA-256 as base64url, in characters. */
const HASH_LENGTH = 43
const QUALIFIER_LENGTH = SEPARATOR.length + HASH_LENGTH
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is the separator.
const QUALIFIERS = /\u001f[\w-]{43}/g

/** The id of the log of an owner's session, if a log of another owner has the session's id. */
export const qualifiedId = (owner: string, sessionId: string): string =>
  `${sessionId}${SEPARATOR}${createHash('sha256').update(owner).digest('base64url')}`

/** Whether the id of a log is qualified with its owner. */
export const isQualified = (streamId: string): boolean => streamId.at(-QUALIFIER_LENGTH) === SEPARATOR

/**
 * The id of the session of a log, as the clients of its owner know it. Usually both are the same. It is unique for one
 * owner only: keep your own data by the id of the log.
 */
export const sessionIdOf = (streamId: string): string =>
  isQualified(streamId) ? streamId.slice(0, -QUALIFIER_LENGTH) : streamId

/**
 * The name in the `next` of a list that ends at a log. Clients get it, so it is the same for a plain and a qualified id.
 */
export const listTokenName = (streamId: string): string => sessionIdOf(streamId)

/**
 * The name after which the list continues: the qualified id, which follows the plain one, so that neither is repeated.
 */
export const listStartName = (owner: string | null, name: string): string =>
  owner === null ? name : qualifiedId(owner, name)

/** A text with the ids of sessions in place of the ids of their logs. */
export const withSessionIds = (text: string): string => (text.includes(SEPARATOR) ? text.replace(QUALIFIERS, '') : text)
