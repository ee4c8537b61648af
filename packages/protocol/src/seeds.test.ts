import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { catalogue, dataRow, type Row } from './catalogue/catalogue.ts'
import { type FieldTypes, type NamedType, types } from './catalogue/field-types.ts'
import { entryFields, origins } from './entry/entry.ts'
import { frames } from './frame/frame.ts'
import * as exported from './index.ts'
import * as schemas from './schemas.ts'
import { names } from './seeds.fixture.ts'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')

interface SeedRow {
  page: string
  line: number
  feature: string
  here: string
  where: string
  state: string
  text: string
}

const rows: SeedRow[] = []
let page = ''
for (const [i, text] of read('../../../docs/reference/seeds.md').split('\n').entries()) {
  if (text.startsWith('## ')) page = text.slice(3)
  if (!text.startsWith('| ') || text.startsWith('| what |')) continue
  const [feature = '', here = '', where = '', state = ''] = text
    .slice(1)
    .split('|')
    .map(cell => cell.trim())
  rows.push({ page, line: i + 1, feature, here, where, state, text })
}

const quoted = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string)
const has = (object: object, key: string): boolean => Object.hasOwn(object, key)
const anyHas = (objects: readonly object[], key: string): boolean => objects.some(object => has(object, key))

function hasChunk(type: string, field?: string, kind?: string): boolean {
  const row: Row | undefined = { ...catalogue, 'data-*': dataRow }[type as keyof typeof catalogue]
  if (row === undefined) return false
  const kinds = row.kinds ?? {}
  if (kind !== undefined) return has(kinds, kind)
  if (field === undefined) return true
  return anyHas([row.fields, ...Object.values(kinds)], field) || (field === 'kind' && row.kinds !== undefined)
}

function hasType(name: string, field?: string, value?: string): boolean {
  const type: NamedType | undefined = types[name as keyof typeof types]
  if (type === undefined) return false
  if (value !== undefined) return 'on' in type ? has(type.kinds, value) : !('fields' in type) && type.includes(value)
  if (field === undefined) return true
  if ('on' in type) return field === type.on || anyHas(Object.values(type.kinds), field)
  return 'fields' in type && has(type.fields, field)
}

/** The names that `index.ts` exports only as types, which do not exist at run time. */
function exportedTypes(): Set<string> {
  const found: string[] = []
  for (const [, list = '', file = ''] of read('./index.ts').matchAll(/^export ([^']+?) from '([^']+)'$/gm)) {
    const declared = [...read(file).matchAll(/^export (?:interface|type) (\w+)/gm)].map(([, name]) => name as string)
    found.push(...(list.endsWith('*') ? declared : declared.filter(name => new RegExp(`\\b${name}\\b`).test(list))))
  }
  return new Set(found)
}
const typeNames = exportedTypes()

const declarations = new Map(
  read('./fold/view.ts')
    .split(/^(?=export )/m)
    .map(text => [/^export (?:interface|type) (\w+)/.exec(text)?.[1], text] as const),
)

function hasView(name: string, field?: string, value?: string): boolean {
  const text = declarations.get(name)
  if (text === undefined) return false
  return value !== undefined
    ? text.includes(`'${value}'`)
    : field === undefined || new RegExp(`\\b${field}\\??:`).test(text)
}

const log = '../../log/src/'
const logFiles = [
  'index',
  'store/log-error',
  'manager/stream-manager',
  'write/writer',
  'read/batch-reader',
  'read/reading',
  'stores/memory/memory-store',
  'stores/sqlite/index',
  'stores/redis/index',
  'contract/index',
]
const logText = logFiles.map(file => read(`${log}${file}.ts`)).join('\n')

/** A name of the log package. This package may not import it, so the source text is searched. */
function hasLog(name: string, member?: string): boolean {
  const isThere = new RegExp(
    `^export (?:const|class|function) ${name}\\b|^export (?:type )?\\{[^}]*\\b${name}\\b`,
    'm',
  ).test(logText)
  return isThere && (member === undefined || new RegExp(`^  (?:async |get )?${member}[<(]`, 'm').test(logText))
}

/** The text of the file that declares a name in the index of a package. This package may not import it, so the source text is searched. */
function declaringFile(name: string, index: string): string | undefined {
  const folder = index.slice(0, index.lastIndexOf('/') + 1)
  const seedText = read(index)
  if (new RegExp(`^export (?:const|class|(?:async )?function|interface|type) ${name}\\b`, 'm').test(seedText))
    return seedText
  for (const [, list = '', file = ''] of seedText.matchAll(/^export ([^']+?) from '(\.[^']+)'$/gm)) {
    if (list.endsWith('*') && file.endsWith('/index.ts')) {
      const deeper = declaringFile(name, `${folder}${file}`)
      if (deeper !== undefined) return deeper
    }
    const isNamed = list.endsWith('*') || new RegExp(`\\b${name}\\b`).test(list)
    const text = isNamed ? read(`${folder}${file}`) : ''
    if (new RegExp(`^export (?:const|class|(?:async )?function|interface|type) ${name}\\b`, 'm').test(text)) return text
    const [, original] = new RegExp(`\\b(\\w+) as ${name}\\b`).exec(list) ?? []
    if (original !== undefined) return read(`${folder}${file}`).replaceAll(new RegExp(`\\b${original}\\b`, 'g'), name)
  }
  return undefined
}

/** Whether a dialect exports a name, or its schemas do. */
const inDialect = (name: string) => {
  const [words, schemas] = ['index', 'schemas'].map(file => exportedBy(`../../dialects/src/${name}/${file}.ts`))
  return (symbol: string, member?: string): boolean => Boolean(words?.(symbol, member) || schemas?.(symbol, member))
}

const inPackage = (folder: string) => exportedBy(`../../${folder}/src/index.ts`)

/** Whether a file exports a name, with a method, property or key of it. */
function exportedBy(index: string) {
  return (name: string, member?: string): boolean => {
    const declared = declaringFile(name, index)
      ?.split(/^(?=export )/m)
      .find(part => new RegExp(`^export (?:async )?\\w+ ${name}\\b`).test(part))
    if (declared === undefined || member === undefined) return declared !== undefined
    return new RegExp(`^  (?:async |get |readonly )?${member}\\??[<(:]`, 'm').test(declared)
  }
}

const codes = read('./error/protocol-error.ts')
const resolvers: Record<string, (name: string, field?: string, value?: string) => boolean> = {
  chunk: hasChunk,
  type: hasType,
  entry: name => has(entryFields, name),
  origin: name => anyHas(Object.values(origins), name),
  frame: (name, field) =>
    has(frames, name) && (field === undefined || has((frames as Record<string, FieldTypes>)[name] ?? {}, field)),
  export: name => name in exported || typeNames.has(name),
  schema: name => name in schemas,
  view: hasView,
  error: code => codes.includes(`| '${code}'`),
  log: hasLog,
  runtime: inPackage('runtime'),
  server: inPackage('server'),
  client: inPackage('client'),
  helix: inDialect('helix'),
  kortyx: inDialect('kortyx'),
  mui: inDialect('mui'),
  tanstack: inDialect('tanstack'),
  react: inPackage('react'),
}

/** The references of a row. A dot separates a field, an equals sign a kind or a value. */
const references = ({ text }: SeedRow): [reference: string, exists: boolean][] =>
  quoted(text)
    .map(name => [name, /^(\w+):(?! )([^.=]+)(?:\.(\w+)|=(.+))?$/.exec(name)] as const)
    .flatMap(([reference, match]) => {
      const resolve = resolvers[match?.[1] ?? '']
      return resolve && match ? [[reference, resolve(match[2] as string, match[3], match[4])]] : []
    })

describe('the table of seeds', () => {
  const packages = ['log', 'runtime', 'server', 'client', 'react', 'millrace', 'dialects']

  it('has rows for each of the five pages', () => {
    expect([...new Set(rows.map(row => row.page))]).toEqual(Object.keys(names))
    expect(rows.length).toBeGreaterThan(600)
  })

  it('has a status for each row', () => {
    for (const { line, feature, here, state, text } of rows) {
      expect(text.split('|').length, `line ${line}`).toBe(7)
      expect(feature, `line ${line}`).not.toBe('')
      expect(['kept', 'renamed', 'changed', 'left out'], `line ${line}`).toContain(here)
      const states = here === 'left out' ? ['—'] : ['now', ...packages.map(name => `planned: ${name}`)]
      expect(states, `line ${line}`).toContain(state)
    }
  })

  it('has a reference for every implemented row', () => {
    const bare = rows.filter(row => row.state === 'now' && !references({ ...row, text: row.where }).length)
    expect(bare.map(row => `${row.line}: ${row.feature}`)).toEqual([])
  })

  it('refers to behaviour or the view, not only to a type, for every implemented rule', () => {
    const isRule = ({ feature }: SeedRow) => /\w/.test(feature.replace(/`[^`]*`|\b(?:and|or|of|with)\b/g, ''))
    const keeper = /^(?:export|schema|view|error|log|runtime|server|client|react|helix|kortyx|mui|tanstack):/
    const withoutReference = rows.filter(
      row => row.state === 'now' && isRule(row) && !quoted(row.where).some(ref => keeper.test(ref)),
    )
    expect(withoutReference.map(row => `${row.line}: ${row.feature}`)).toEqual([])
  })

  it('refers only to existing names', () => {
    const dangling = rows.flatMap(row =>
      references(row)
        .filter(([, exists]) => !exists)
        .map(([reference]) => `${row.line}: ${reference}`),
    )
    expect(dangling).toEqual([])
  })

  it('has only valid references', () => {
    const strange = rows.flatMap(row =>
      quoted(row.where)
        .filter(name => !((name.split(':')[0] as string) in resolvers))
        .map(name => `${row.line}: ${name}`),
    )
    expect(strange).toEqual([])
  })

  it.each(Object.keys(names))('lists every name: %s', title => {
    const all = (names[title] as string).split('\n').flatMap(line => {
      const [, owner, fields] = /^\s*(\S+): (.+)$/.exec(line) ?? []
      return owner && fields ? [owner, ...fields.split(' ').map(field => `${owner}.${field}`)] : line.split(/\s+/)
    })
    const documented = new Set(rows.filter(row => row.page === title).flatMap(row => quoted(row.feature)))
    expect(all.filter(name => name !== '' && !documented.has(name))).toEqual([])
  })

  it('detects missing names', () => {
    const dangling = [
      'chunk:text-glow',
      'chunk:text-delta.glow',
      'chunk:structured-data=glow',
      'type:usage.glow',
      'type:role=glow',
    ]
    const more = [
      'entry:glow',
      'origin:glow',
      'frame:glow',
      'frame:end.glow',
      'export:glow',
      'schema:glow',
      'view:Glow',
      'view:Message.glow',
      'view:ToolState=glow',
      'error:glow',
      'log:glow',
      'log:StreamManager.glow',
      'runtime:glow',
      'runtime:Runtime.glow',
      'runtime:errorCodes.glow',
      // It has another name there, or is internal to the package.
      'runtime:Run.emit',
      'runtime:RunHost',
      'server:glow',
      'server:App.glow',
      'server:Gate',
      'client:glow',
      'client:Chat.glow',
      'client:Line',
      'react:glow',
      'react:StructuredHook.glow',
      'react:useTopic',
    ]
    const text = [...dangling, ...more].map(reference => `\`${reference}\``).join(' ')
    expect(references({ ...(rows[0] as SeedRow), text }).map(([, exists]) => exists)).toEqual(
      [...dangling, ...more].map(() => false),
    )
  })
})
