// Which parts of the public surface need a doc comment or a default, and have none.
import {
  type ApiEntry,
  type ApiItem,
  chunkTypeOf,
  isGuard,
  isOptions,
  isShown,
  membersOf,
  nameOf,
  parseComment,
  specifier,
} from './api-model.ts'

const METHODS = new Set(['Method', 'MethodSignature'])
const FIELDS = new Set(['Property', 'PropertySignature'])

/**
 * Exports and members without a comment, one line each. These need one:
 *
 * - every export, except guards, the types of chunks (docs/reference/chunks.md has those), the schemas, and
 *   interfaces and types in the format of another system, which that system documents;
 * - every method;
 * - every field, except those of interfaces in the format of another system.
 *
 * Constructors need none: the comment of the class says what they create.
 */
export function commentGaps(entries: readonly ApiEntry[]): string[] {
  const gaps = entries.flatMap(entry => entry.items.flatMap(item => itemGaps(entry, item)))
  return [...new Set(gaps)]
}

function itemGaps(entry: ApiEntry, item: ApiItem): string[] {
  const at = `${specifier(entry)}: ${nameOf(item)}`
  const own = needsComment(entry, item) && isMissing(item) ? [at] : []
  const members = membersOf(entry, item).filter(
    member => isShown(member) && isMissing(member) && memberNeedsComment(entry, item, member),
  )
  return [...own, ...members.map(member => `${at}.${member.name}`)]
}

/**
 * Optional fields of options without a `@default`, one line each. Types in the format of another system need none.
 */
export function defaultGaps(entries: readonly ApiEntry[]): string[] {
  const gaps = entries.flatMap(entry =>
    entry.items.flatMap(item => (isOptions(item) && needsComment(entry, item) ? itemDefaultGaps(entry, item) : [])),
  )
  return [...new Set(gaps)]
}

function itemDefaultGaps(entry: ApiEntry, item: ApiItem): string[] {
  const members = membersOf(entry, item).filter(
    member =>
      isShown(member) &&
      FIELDS.has(member.kind) &&
      member.isOptional &&
      parseComment(member.docComment).default === undefined,
  )
  return members.map(member => `${specifier(entry)}: ${nameOf(item)}.${member.name}`)
}

const isMissing = ({ docComment, overloadIndex = 1 }: ApiItem): boolean =>
  overloadIndex === 1 && parseComment(docComment).summary === ''

function needsComment(entry: ApiEntry, item: ApiItem): boolean {
  if (entry.path.endsWith('/schemas') || isGuard(item) || chunkTypeOf(item) !== undefined) return false
  const isShape = item.kind === 'TypeAlias' || (item.kind === 'Interface' && !isOptions(item))
  return !(isShape && isForeign(entry))
}

/** Whether an entry point has the types of another system's format. */
const isForeign = ({ package: name, path }: ApiEntry): boolean =>
  name === '@millrace/dialects' && path !== '.' && path !== './foreign-server'

function memberNeedsComment(entry: ApiEntry, item: ApiItem, member: ApiItem): boolean {
  return METHODS.has(member.kind) || (FIELDS.has(member.kind) && needsComment(entry, item))
}
