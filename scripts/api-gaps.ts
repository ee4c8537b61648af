// Which parts of the public surface need a doc comment and have none.
import {
  type ApiEntry,
  type ApiItem,
  chunkTypeOf,
  isGuard,
  isOptions,
  membersOf,
  nameOf,
  parseComment,
  specifier,
} from './api-model.ts'

const METHODS = new Set(['Method', 'MethodSignature'])
/** Methods of the language: `[Symbol.asyncIterator]`, and those of iterators. */
const LANGUAGE_METHODS = /^(\[Symbol\.\w+\]|next|return)$/

/**
 * Exports and members without a comment, one line each. These need one:
 *
 * - every export, except guards, the types of chunks (docs/reference/chunks.md has those), the schemas, and
 *   interfaces and types in the format of another system, which that system documents;
 * - every member of an options interface;
 * - every method.
 *
 * Fields of other interfaces are data. They have a comment where the name does not say it all.
 */
export function commentGaps(entries: readonly ApiEntry[]): string[] {
  const gaps = entries.flatMap(entry => entry.items.flatMap(item => itemGaps(entry, item)))
  return [...new Set(gaps)]
}

function itemGaps(entry: ApiEntry, item: ApiItem): string[] {
  const at = `${specifier(entry)}: ${nameOf(item)}`
  const own = needsComment(entry, item) && isMissing(item) ? [at] : []
  const members = membersOf(entry, item).filter(member => isMissing(member) && memberNeedsComment(item, member))
  return [...own, ...members.map(member => `${at}.${member.name}`)]
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

/** Protected methods are for subclasses of this project. */
const memberNeedsComment = (item: ApiItem, member: ApiItem): boolean =>
  METHODS.has(member.kind)
    ? member.isProtected !== true && !LANGUAGE_METHODS.test(member.name ?? '')
    : isOptions(item) && member.kind === 'PropertySignature'
