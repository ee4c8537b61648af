// Turns the doc models of all entry points into the API pages of docs/reference/api.
import { slug } from '../docs/site/markdown.ts'
import {
  type ApiEntry,
  type ApiItem,
  basesOf,
  type Comment,
  chunkTypeOf,
  hiddenBases,
  isGuard,
  isOptions,
  isShown,
  membersOf,
  nameOf,
  parseComment,
  specifier,
  type Token,
} from './api-model.ts'
import { memberName, memberType, signatureOf } from './api-signature.ts'

/** A page and the entry points on it. The first one is the page's subject. */
export interface ApiPage {
  /** The name of the file without extension, such as `runtime` or `dialects-ai-sdk`. */
  readonly name: string
  readonly about: string
  readonly entries: readonly ApiEntry[]
}

const groups: readonly [title: string, holds: (item: ApiItem) => boolean][] = [
  ['Hooks', item => item.kind === 'Function' && /^use[A-Z]/.test(nameOf(item))],
  ['Guards', isGuard],
  ['Functions', item => item.kind === 'Function'],
  ['Classes', item => item.kind === 'Class'],
  ['Options', isOptions],
  ['Interfaces', item => item.kind === 'Interface'],
  ['Chunks', item => chunkTypeOf(item) !== undefined],
  ['Types', item => item.kind === 'TypeAlias'],
  ['Constants', () => true],
]
const order = ['Functions', 'Hooks', 'Classes', 'Options', 'Interfaces', 'Types', 'Constants', 'Chunks', 'Guards']

const groupOf = (item: ApiItem): string => groups.find(([, holds]) => holds(item))?.[0] ?? ''

/** The text of each page, by the page's name. */
export function apiPages(pages: readonly ApiPage[]): Map<string, string> {
  const outlines = pages.map(page => new Outline(page))
  // An item that several entry points of a package export is documented where it comes first.
  const first = new Map<string, Section>()
  for (const outline of outlines) outline.place(first)
  const links = new Links(outlines, first)
  return new Map(outlines.map(outline => [outline.page.name, new PageText(outline, links).text()]))
}

/** A heading with the items below it: overloads, or one. */
interface Section {
  readonly page: string
  readonly anchor: string
  readonly heading: string
  readonly items: Readonly<Overloads>
}

interface Group {
  readonly title: string
  readonly sections: readonly Section[]
}

/** An entry point on its page. */
interface EntryOutline {
  readonly entry: ApiEntry
  readonly heading: string | undefined
  groups: readonly Group[]
  /** Items that another entry point documents. */
  elsewhere: readonly Section[]
}

/** The headings of a page with their anchors. */
class Outline {
  readonly page: ApiPage
  readonly entries: readonly EntryOutline[]
  readonly #used = new Set<string>()

  constructor(page: ApiPage) {
    this.page = page
    this.entries = page.entries.map((entry, index) => ({
      entry,
      heading: index === 0 ? undefined : specifier(entry),
      groups: [],
      elsewhere: [],
    }))
  }

  /** Gives each item a heading. `first` has the sections of all pages so far, by package, file and name. */
  place(first: Map<string, Section>): void {
    this.#anchor(title(this.page))
    for (const outline of this.entries) {
      if (outline.heading) this.#anchor(outline.heading)
      const elsewhere: Section[] = []
      const byGroup = new Map<string, Overloads[]>()
      for (const items of overloads(outline.entry.items)) {
        const there = first.get(keyOf(outline.entry, items[0]))
        if (there) elsewhere.push(there)
        else byGroup.set(groupOf(items[0]), [...(byGroup.get(groupOf(items[0])) ?? []), items])
      }
      outline.elsewhere = elsewhere
      if (isSchemas(outline.entry)) continue
      outline.groups = order.flatMap(group => {
        const members = byGroup.get(group)
        if (members === undefined) return []
        if (outline.heading === undefined) this.#anchor(group)
        const sections = members.map(items => this.#section(outline.heading, group, items))
        for (const section of sections) first.set(keyOf(outline.entry, section.items[0]), section)
        return [{ title: group, sections }]
      })
    }
  }

  #section(below: string | undefined, group: string, items: Overloads): Section {
    const name = nameOf(items[0])
    const heading = items[0].kind === 'Function' ? `${name}()` : name
    // Guards and chunks share a table: their anchor is that of the group.
    const anchor = group === 'Guards' || group === 'Chunks' ? slug(below ?? group) : this.#anchor(heading)
    return { page: this.page.name, anchor, heading, items }
  }

  /** Like `anchorsOf` of the site: a name that is taken gets a number. */
  #anchor(heading: string): string {
    const name = slug(heading)
    let unique = name
    for (let n = 1; this.#used.has(unique); n++) unique = `${name}-${n}`
    this.#used.add(unique)
    return unique
  }
}

const title = ({ entries: [entry] }: ApiPage): string => `API of ${entry ? specifier(entry) : ''}`
const keyOf = (entry: ApiEntry, item: ApiItem): string =>
  `${entry.package} ${item.fileUrlPath} ${nameOf(item)} ${item.kind}`
/** Schemas are listed by name: their types are those of the entry point beside them. */
const isSchemas = ({ path }: ApiEntry): boolean => path.endsWith('/schemas')

/** A declaration with its overloads. */
type Overloads = [ApiItem, ...ApiItem[]]

function overloads(items: readonly ApiItem[]): Overloads[] {
  const all: Overloads[] = []
  for (const item of items) {
    if ((item.overloadIndex ?? 1) > 1) all.at(-1)?.push(item)
    else all.push([item])
  }
  return all
}

/** Finds the section of a name, and the place of an entry point. */
class Links {
  readonly #byName = new Map<string, Section>()
  readonly #imports = new Map<string, ReadonlyMap<string, string>>()
  readonly #places = new Map<string, string>()

  constructor(outlines: readonly Outline[], first: ReadonlyMap<string, Section>) {
    for (const { page, entries } of outlines) {
      for (const { entry, heading } of entries) {
        for (const item of entry.items) {
          const section = first.get(keyOf(entry, item))
          if (section) this.#byName.set(`${specifier(entry)}!${nameOf(item)}`, section)
        }
        this.#imports.set(specifier(entry), importsOf(entry.report))
        this.#places.set(specifier(entry), `${page.name}.md${heading ? `#${slug(heading)}` : ''}`)
      }
    }
  }

  /** The section of a name that an entry point exports, or imports from another package. */
  find(entry: ApiEntry, name: string): Section | undefined {
    return this.named(specifier(entry), name) ?? this.named(entry.package, name)
  }

  /** The section of a name by the specifier of its entry point. Follows re-exports. */
  named(from: string, name: string): Section | undefined {
    const next = this.#imports.get(from)?.get(name)
    return this.#byName.get(`${from}!${name}`) ?? (next === undefined ? undefined : this.named(next, name))
  }

  /** The page and the heading of an entry point. */
  place(name: string): string | undefined {
    return this.#places.get(name)
  }
}

/** The names that a report imports, with the packages that they come from. */
function importsOf(report: string): Map<string, string> {
  const imports = report.matchAll(/^import (?:type )?\{ (?:\w+ as )?(\w+) \} from '([^']+)';$/gm)
  return new Map([...imports].map(([, name = '', from = '']) => [name, from]))
}

class PageText {
  readonly #outline: Outline
  readonly #links: Links

  constructor(outline: Outline, links: Links) {
    this.#outline = outline
    this.#links = links
  }

  text(): string {
    const { page, entries } = this.#outline
    const lines = [
      `# ${title(page)}`,
      '<!-- Written by scripts/api.ts from the types and their comments: change those and run it again. -->',
      page.about,
      ...this.#contents(),
      ...entries.flatMap(entry => this.#entry(entry)),
    ]
    return `${lines.filter(Boolean).join('\n\n')}\n`
  }

  /** A table of all names on the page. */
  #contents(): string[] {
    const rows = this.#outline.entries.flatMap(({ heading, groups }) =>
      heading === undefined
        ? groups.map(({ title, sections }) => `| [${title}](#${slug(title)}) | ${this.#names(sections)} |`)
        : groups.length === 0
          ? []
          : [`| [${heading}](#${slug(heading)}) | ${this.#names(groups.flatMap(({ sections }) => sections))} |`],
    )
    return rows.length === 0 ? [] : [['| | |', '|---|---|', ...rows].join('\n')]
  }

  #names(sections: readonly Section[]): string {
    const names = new Set(sections.map(section => `[\`${nameOf(section.items[0])}\`](${this.#href(section)})`))
    return [...names].join(' ')
  }

  #href({ page, anchor }: Section): string {
    return `${page === this.#outline.page.name ? '' : `${page}.md`}#${anchor}`
  }

  #entry({ entry, heading, groups, elsewhere }: EntryOutline): string[] {
    return [
      ...(heading ? [`## ${heading}`] : []),
      ...(isSchemas(entry) ? [schemasText(entry)] : []),
      ...groups.flatMap(group => this.#group(entry, heading, group)),
      ...(elsewhere.length > 0 ? [`Also exports ${this.#names(elsewhere).replaceAll('] [', '], [')}.`] : []),
      ...this.#reExports(entry),
    ]
  }

  #group(entry: ApiEntry, heading: string | undefined, { title, sections }: Group): string[] {
    const head = heading ? [] : [`## ${title}`]
    if (title === 'Chunks') return [...head, chunksTable(sections)]
    if (title === 'Guards') return [...head, guardsText(sections)]
    return [...head, ...sections.flatMap(section => this.#section(entry, section))]
  }

  #section(entry: ApiEntry, { heading, items }: Section): string[] {
    const [item] = items
    const comment = parseComment(item.docComment)
    const code = items.map(item => signatureOf(item, entry.source?.(item))).filter(Boolean)
    return [
      `### ${heading}`,
      this.#prose(entry, comment.summary),
      ...(code.length > 0 ? [`\`\`\`ts\n${code.join('\n')}\n\`\`\``] : []),
      ...paramsText(comment, text => this.#prose(entry, text)),
      ...(item.kind === 'Interface' ? [] : this.#types(entry, items)),
      ...(item.kind === 'Interface' ? this.#extends(entry, item) : []),
      ...comment.throws.map(text => this.#throws(entry, text)),
      ...this.#table(entry, membersOf(entry, item)),
    ]
  }

  /** Links to the types in a signature, which a code block cannot have. */
  #types(entry: ApiEntry, items: readonly ApiItem[]): string[] {
    const found = new Map<string, Section>()
    for (const { text, kind } of items.flatMap(({ excerptTokens }) => excerptTokens)) {
      const section = kind === 'Reference' ? this.#links.find(entry, text) : undefined
      if (section && !items.includes(section.items[0])) found.set(text, section)
    }
    if (found.size === 0) return []
    return [`Types: ${[...found].map(([name, section]) => `[\`${name}\`](${this.#href(section)})`).join(', ')}`]
  }

  /** The exported types that an interface extends. Members of others are in its table. */
  #extends(entry: ApiEntry, item: ApiItem): string[] {
    const bases = basesOf(item)
    if (bases.length === 0 || hiddenBases(entry, item).length > 0) return []
    return [`Also has the members of ${this.#type(entry, bases)}.`]
  }

  #throws(entry: ApiEntry, text: string): string {
    const marked = text.replace(/^(?:an? )?[{`]?(\w+Error)[}`]?/, (_, name: string) => {
      const section = this.#links.find(entry, name)
      return section ? `[\`${name}\`](${this.#href(section)})` : `\`${name}\``
    })
    return `Throws ${this.#prose(entry, marked).replace(/([^.])$/, '$1.')}`
  }

  /** One row for each member. The columns of defaults and of descriptions are left out if they are empty. */
  #table(entry: ApiEntry, members: readonly ApiItem[]): string[] {
    const shown = overloads(members.filter(isShown))
    if (shown.length === 0) return []
    const rows = shown.map(items => this.#row(entry, items))
    const columns = (['name', 'type', 'default', 'about'] as const).filter(name => rows.some(row => row[name] !== ''))
    const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
    return [
      [
        line(columns.map(name => (name === 'about' ? 'description' : name))),
        `|${'---|'.repeat(columns.length)}`,
        ...rows.map(row => line(columns.map(name => row[name]))),
      ].join('\n'),
    ]
  }

  #row(entry: ApiEntry, items: Readonly<Overloads>) {
    const [item] = items
    const comment = parseComment(item.docComment)
    // The default of a method is that of its parameter.
    const isCall = /^Method/.test(item.kind)
    const about = [
      comment.summary || (item.kind === 'Constructor' ? 'Creates an instance.' : ''),
      ...(isCall && comment.default !== undefined ? [`Default: ${comment.default}.`] : []),
      ...comment.params.map(({ name, text }) => `\`${name}\`: ${text}`),
      ...comment.throws.map(text => this.#throws(entry, text)),
    ]
    return {
      name: `\`${memberName(item)}\``,
      type: items.map(item => this.#type(entry, memberType(item))).join('<br>'),
      default: isCall ? '' : defaultText(comment.default),
      about: cell(this.#prose(entry, about.filter(Boolean).join('\n\n'))),
    }
  }

  /** A type in one line, with links. Code in backticks cannot have links, so a type with some is in a tag. */
  #type(entry: ApiEntry, tokens: readonly Token[]): string {
    const parts = tokens.map(token => {
      const section = token.kind === 'Reference' ? this.#links.find(entry, token.text) : undefined
      return { text: token.text.replace(/\s+/g, ' '), href: section && this.#href(section) }
    })
    const text = parts
      .map(part => part.text)
      .join('')
      .trim()
    const [only] = parts
    if (only?.href && parts.length === 1) return `[\`${only.text}\`](${only.href})`
    if (parts.every(({ href }) => href === undefined) && !text.includes('`'))
      return text === '' ? '' : cell(`\`${text}\``)
    const marked = parts.map(part => (part.href ? `[${part.text}](${part.href})` : escaped(part.text)))
    return cell(`<code>${marked.join('').trim()}</code>`)
  }

  /** Text of a comment. Only text in backticks may have characters of HTML. */
  #prose(entry: ApiEntry, text: string): string {
    const linked = text.replace(/\{@link (\w+)\}/g, (_, name: string) => {
      const section = this.#links.find(entry, name)
      return section ? `[\`${name}\`](${this.#href(section)})` : `\`${name}\``
    })
    return linked
      .split(/(`[^`]*`)/)
      .map((part, index) => (index % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '{ {')))
      .join('')
  }

  /** The names that an entry point re-exports from other packages, with links to their pages. */
  #reExports(entry: ApiEntry): string[] {
    const imports = importsOf(entry.report)
    const named = [...entry.report.matchAll(/^export \{ (\w+) \}$/gm)].map(([, name = '']) => name)
    const all = [...entry.report.matchAll(/^export \* from "([^"]+)";$/gm)].map(([, from = '']) => from)
    const packages = [...new Set(named.map(name => imports.get(name) ?? ''))].sort()
    const tables = packages.map(from => {
      const names = named.filter(name => imports.get(name) === from)
      const sections = names.flatMap(name => this.#links.named(from, name) ?? [])
      const rows = order.flatMap(group => {
        const members = sections.filter(({ items: [item] }) => groupOf(item) === group)
        return members.length === 0 ? [] : [`| ${group} | ${this.#names(members)} |`]
      })
      return [`From \`${from}\`:`, ['| | |', '|---|---|', ...rows].join('\n')].join('\n\n')
    })
    return [...tables, ...all.map(from => `Also exports everything of [\`${from}\`](${this.#links.place(from)}).`)]
  }
}

const schemasText = (entry: ApiEntry): string =>
  `Zod schemas: ${[...new Set(entry.items.map(item => `\`${nameOf(item)}\``))].join(', ')}.`

function chunksTable(sections: readonly Section[]): string {
  const rows = sections.map(({ items: [item] }) => {
    const type = chunkTypeOf(item)
    return `| \`${nameOf(item)}\` | [\`${type}\`](../chunks.md#${type}) |`
  })
  return ['| type | chunk |', '|---|---|', ...rows].join('\n')
}

const guardsText = (sections: readonly Section[]): string =>
  `Each returns whether a value is of the type in its name: ${sections.map(({ heading }) => `\`${heading}\``).join(', ')}.`

/** The default as code if it is a value, else as text. */
function defaultText(value: string | undefined): string {
  if (value === undefined) return ''
  const plain = value.replace(/\.$/, '')
  return cell(
    /^(-?[\d_.]+|'.*'|`.*`|true|false|null|undefined|\[\]|\{\}|[\w.]+\(\)|[a-z]+[A-Z]\w*)$/.test(plain)
      ? `\`${plain.replaceAll('`', '')}\``
      : plain,
  )
}

const paramsText = ({ params }: Comment, prose: (text: string) => string): string[] =>
  params.length === 0 ? [] : [params.map(({ name, text }) => `- \`${name}\`: ${prose(text)}`).join('\n')]

/** Text for a cell of a table. */
const cell = (text: string): string =>
  text
    .replace(/\s*\n\s*- /g, '<br>• ')
    .replace(/\n\s*\n\s*/g, '<br>')
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')

/** Text between tags: no markup, and no interpolation of Vue. */
const escaped = (text: string): string =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('`', '&#96;')
    .replaceAll('{{', '{ {')
    .replaceAll('*', '\\*')
