// The doc model of API Extractor, as far as the API pages and the check of comments read it.

/** A piece of a declaration. A reference names a type. */
export interface Token {
  readonly kind: 'Content' | 'Reference'
  readonly text: string
  readonly canonicalReference?: string
}

interface TokenRange {
  readonly startIndex: number
  readonly endIndex: number
}

/** A declaration: an export, or a member of one. */
export interface ApiItem {
  readonly kind: string
  readonly canonicalReference: string
  readonly docComment: string
  readonly excerptTokens: readonly Token[]
  readonly name?: string
  readonly fileUrlPath?: string
  readonly overloadIndex?: number
  readonly isOptional?: boolean
  readonly isStatic?: boolean
  readonly isProtected?: boolean
  readonly members?: readonly ApiItem[]
  readonly propertyTypeTokenRange?: TokenRange
}

/** An entry point of a package: `path` is `.` or `./mcp`. */
export interface ApiEntry {
  /** The name of the package, such as `@millrace/runtime`. */
  readonly package: string
  readonly path: string
  readonly items: readonly ApiItem[]
  /** Declarations that are not exported. Exported interfaces may extend them. */
  readonly internals?: readonly ApiItem[]
  /** The API report, which has the names that the model leaves out: those of other packages. */
  readonly report: string
  /** The source text of a declaration, with the comments that the model leaves out. */
  readonly source?: (item: ApiItem) => string | undefined
}

/** What users import: `@millrace/runtime/mcp`. */
export const specifier = ({ package: name, path }: ApiEntry): string => `${name}${path.slice(1)}`

/** A parsed doc comment. */
export interface Comment {
  readonly summary: string
  readonly default?: string
  readonly throws: readonly string[]
  readonly params: readonly { readonly name: string; readonly text: string }[]
}

const TAG = /(?:^|\s)@(default|throws|param|returns)\b\s*/

/** Parses a comment. A `@default` after a `@param` belongs to the parameter. */
export function parseComment(docComment: string): Comment {
  const text = docComment
    .replace(/^\/\*\*\s?|\s*\*\/\s*$/g, '')
    .replace(/^ *\* ?/gm, '')
    .trim()
  // API Extractor adds this to constructors without a comment.
  const [summary = '', ...tags] = text.replace(/^Constructs a new instance of the `.*` class$/, '').split(TAG)
  const throws: string[] = []
  const params: { name: string; text: string }[] = []
  let own: string | undefined
  for (let n = 0; n < tags.length; n += 2) {
    const [tag, value = ''] = [tags[n], (tags[n + 1] ?? '').trim()]
    const param = params.at(-1)
    if (tag === 'throws') throws.push(value)
    else if (tag === 'param') {
      const [, name = '', about = ''] = /^(\S+)\s*(?:-\s*)?(.*)$/s.exec(value) ?? []
      params.push({ name, text: about })
    } else if (tag === 'default' && param) param.text = `${param.text} Default: ${value}.`.trim()
    else if (tag === 'default') own = value
  }
  return { summary: summary.trim(), ...(own !== undefined && { default: own }), throws, params }
}

export const textOf = (tokens: readonly Token[]): string => tokens.map(({ text }) => text).join('')

/** The name without the suffix that API Extractor adds to names that hide a global one: `Worker_2`. */
export const nameOf = ({ name = '' }: ApiItem): string => name.replace(/_\d+$/, '')

/** Whether an interface or a type holds options, so that each member needs a comment. */
export const isOptions = (item: ApiItem): boolean =>
  (item.kind === 'Interface' || item.kind === 'TypeAlias') &&
  /(Options|Definition|Settings|Limits|Callbacks|Props|Init|Budget|Backoff|Retry|Retention|Cors)$/.test(nameOf(item))

/** Whether a function narrows a type, such as `isError(chunk): chunk is ErrorChunk`. */
export const isGuard = (item: ApiItem): boolean =>
  /^is[A-Z]/.test(nameOf(item)) && /(=>|\):) \w+ is /.test(textOf(item.excerptTokens))

/** The type of the chunk that a type alias stands for: `ChunkOf<'error'>`. */
export const chunkTypeOf = (item: ApiItem): string | undefined =>
  /^export type \w+ = ChunkOf<'([\w-]+)'>;$/.exec(textOf(item.excerptTokens))?.[1]

/** The tokens of what an interface extends. */
export function basesOf({ kind, excerptTokens }: ApiItem): readonly Token[] {
  const at = kind === 'Interface' ? excerptTokens.findIndex(({ text }) => /(interface \w+|>) extends $/.test(text)) : -1
  return at === -1 ? [] : excerptTokens.slice(at + 1)
}

/** The members of an item, with those of interfaces that it extends and that are not exported. */
export function membersOf(entry: ApiEntry, item: ApiItem): readonly ApiItem[] {
  const own = (item.members ?? []).filter(member => !isNeverSet(member))
  const names = new Set(own.map(({ name }) => name))
  const inherited = hiddenBases(entry, item).flatMap(base => membersOf(entry, base))
  return [...own, ...inherited.filter(({ name }) => !names.has(name))].sort((a, b) =>
    (a.name ?? '') < (b.name ?? '') ? -1 : (a.name ?? '') > (b.name ?? '') ? 1 : 0,
  )
}

/** Whether a property only tells two interfaces apart: `agent?: undefined`, `guest?: never`. */
const isNeverSet = ({ excerptTokens, isOptional }: ApiItem): boolean =>
  isOptional === true && /\?: (undefined|never);$/.test(textOf(excerptTokens))

/** Whether users see a member: no types for inference, such as `'~types'`, no private marks, and none for subclasses of this project. */
export const isShown = (member: ApiItem): boolean => member.isProtected !== true && !/^["[]/.test(member.name ?? '')

/** The interfaces that are not exported and that an interface extends, or a type of options combines. */
export function hiddenBases(entry: ApiEntry, item: ApiItem): readonly ApiItem[] {
  const tokens = item.kind === 'TypeAlias' && isOptions(item) ? item.excerptTokens : basesOf(item)
  const names = new Set(outermost(tokens).map(({ canonicalReference }) => canonicalReference))
  return (entry.internals ?? []).filter(base => base.kind === 'Interface' && names.has(base.canonicalReference))
}

/** The tokens outside of brackets: no type arguments. */
function outermost(tokens: readonly Token[]): readonly Token[] {
  let depth = 0
  return tokens.filter(({ kind, text }) => {
    if (kind === 'Content') depth += (text.match(/[<{[]/g)?.length ?? 0) - (text.match(/[}\]]|(?<!=)>/g)?.length ?? 0)
    return kind === 'Reference' && depth === 0
  })
}

/** Gives methods and properties of a class the comments of the interface that it implements, if they have none. */
export function withInherited(entries: readonly ApiEntry[]): ApiEntry[] {
  const interfaces = entries.flatMap(({ items, internals = [] }) => [...items, ...internals])
  const commentOf = (name: string, member: ApiItem): string =>
    interfaces
      .filter(item => item.kind === 'Interface' && nameOf(item) === name)
      .flatMap(({ members = [] }) => members)
      .find(other => other.name === member.name && other.docComment !== '')?.docComment ?? ''
  const complete = (item: ApiItem): ApiItem => {
    const at = item.excerptTokens.findIndex(({ text }) => / implements $/.test(text))
    if (item.kind !== 'Class' || at === -1) return item
    const names = item.excerptTokens.slice(at + 1).map(({ text }) => text)
    const inherit = (member: ApiItem) => names.map(name => commentOf(name, member)).find(Boolean) ?? ''
    const members = item.members?.map(member => ({ ...member, docComment: member.docComment || inherit(member) })) ?? []
    return { ...item, members }
  }
  return entries.map(entry => ({ ...entry, items: entry.items.map(complete) }))
}
