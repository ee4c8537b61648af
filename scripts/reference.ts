// `node scripts/reference.ts [--check]`: writes docs/reference/chunks.md from the catalogue. With `--check` it fails if the page is stale.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ChunkGroup, catalogue, dataRow, groupOf, type Row } from '../packages/protocol/src/catalogue/catalogue.ts'
import { type FieldTypes, type NamedType, types } from '../packages/protocol/src/catalogue/field-types.ts'
import { entryFields, origins } from '../packages/protocol/src/entry/entry.ts'
import { frames } from '../packages/protocol/src/frame/frame.ts'
import { root } from './command.ts'

const page = 'docs/reference/chunks.md'
const source = (file: string): string => readFileSync(join(root, 'packages/protocol/src', file), 'utf8')
const tableSource = source('catalogue/catalogue.ts')
const typesSource = source('catalogue/field-types.ts')
const entrySource = source('entry/entry.ts')
const frameSource = source('frame/frame.ts')

const groups: Record<ChunkGroup, [title: string, about: string]> = {
  message: ['Messages', "Complete messages, such as those of users, and the start and end of an agent's message."],
  text: ['Text', 'Text of the agent, part by part.'],
  reasoning: ['Reasoning', 'Reasoning of the model before its answer, part by part.'],
  tool: ['Tools', 'A call, from the first character of its input to its outcome, with its approval.'],
  content: ['Content', 'Parts of a message besides text: sources, files, data of the application.'],
  structured: ['Structured objects', 'Objects that stream field by field.'],
  state: ['State', "The agent's shared state, and the result of the run."],
  step: [
    'Steps',
    'A step is one model call with its tools, or one execution of a node. It ends with a commit or a discard.',
  ],
  delegation: ['Delegation', 'Calls of sub-agents.'],
  workflow: ['Workflows', 'Workflows: questions to users, transitions, progress, and results of hooks.'],
  run: ['Runs', 'A run, from its request to its only end.'],
  error: ['Errors', 'Errors of a run.'],
}

const pascal = (type: string): string => type.replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The comment above a declaration or a property. */
function docOf(text: string, before: string, label: string): string {
  const at = text.indexOf(`*/\n${before}`)
  const from = text.lastIndexOf('/** ', at)
  if (at === -1 || from === -1) throw new Error(`${label} has no comment: add one above it`)
  return text.slice(from + 4, at).trim()
}

const propertyDoc = (text: string, name: string): string =>
  docOf(text, text.includes(`*/\n  '${name}': `) ? `  '${name}': ` : `  ${name}: `, name)

function section(text: string, from: string, to: string): string {
  const start = text.indexOf(from)
  return text.slice(start, text.indexOf(to, start))
}

/** A type as the page shows it. Named types are links. */
function typeText(type: string): string {
  const [, name = '', suffix = ''] = /^(\w+)([[\]{}]*)\??$/.exec(type) ?? []
  return name in types ? `[${name}](#type-${name.toLowerCase()})${suffix}` : `${name}${suffix}`
}

const fieldName = (name: string, type: string): string => `\`${name}${type.endsWith('?') ? '?' : ''}\``

/** All fields in one line. */
const fieldsLine = (fields: FieldTypes): string =>
  Object.entries(fields)
    .map(([name, type]) => `${fieldName(name, type)} ${typeText(type)}`)
    .join(' · ')

const kindsList = (on: string, kinds: { readonly [kind: string]: FieldTypes }): string =>
  Object.entries(kinds)
    .map(([kind, fields]) => `- \`${on}: '${kind}'\` with ${fieldsLine(fields)}`)
    .join('\n')

function chunkText(type: string, row: Row, doc: string): string {
  const by = row.guest ? 'the writer or a guest' : 'the writer'
  const written =
    row.draft === 'preliminary'
      ? 'In a draft if preliminary, else with a commit'
      : row.draft
        ? 'In a draft'
        : 'With a commit'
  const [guard, name] = type === 'data-*' ? ['isData', 'DataChunk'] : [`is${pascal(type)}`, `${pascal(type)}Chunk`]
  return [
    `### \`${type}\``,
    doc,
    fieldsLine(row.fields),
    ...(row.kinds ? [kindsList('kind', row.kinds)] : []),
    `*${written}, by ${by}. \`${guard}\`, \`${name}\`*`,
  ].join('\n\n')
}

function groupText(group: string, [title, about]: [string, string]): string {
  const rows: [string, Row, string][] = Object.entries<Row>(catalogue)
    .filter(([type]) => groupOf(type) === group)
    .map(([type, row]) => [type, row, propertyDoc(section(tableSource, 'export const catalogue', '\n}'), type)])
  if (group === 'content') rows.push(['data-*', dataRow, docOf(tableSource, 'export const dataRow', 'dataRow')])
  return [`## ${title}`, about, ...rows.map(([type, row, doc]) => chunkText(type, row, doc))].join('\n\n')
}

function namedText(name: string, type: NamedType): string {
  const doc = propertyDoc(section(typesSource, 'export const types', '\n}'), name)
  const body =
    'on' in type
      ? kindsList(type.on, type.kinds)
      : 'fields' in type
        ? fieldsLine(type.fields)
        : type.map(value => `\`${value}\``).join(' · ')
  return [`### type \`${name}\``, doc, body].join('\n\n')
}

/** The fields of an interface, with the comments of its properties. */
function fieldsList(
  fields: FieldTypes,
  text: string,
  name: string,
  shown: { readonly [field: string]: string } = {},
): string {
  const declaration = section(text, `export interface ${name}`, '\n}')
  const lines = Object.entries(fields).map(([field, type]) => {
    const [, about] = new RegExp(`/\\*\\* ([^*]+) \\*/\\n  ${field}\\??:`).exec(declaration) ?? []
    return `- ${fieldName(field, type)} ${shown[field] ?? typeText(type)}${about ? `: ${about}` : ''}`
  })
  return [docOf(text, `export interface ${name}`, name), lines.join('\n')].join('\n\n')
}

const entriesText = (): string =>
  [
    '## Entries',
    fieldsList(entryFields, entrySource, 'Entry', {
      origin: "[a writer's](#the-origin-of-a-writer) or [a guest's](#the-origin-of-a-guest)",
      chunk: 'a chunk',
    }),
    '### The origin of a writer',
    fieldsList(origins.writer, entrySource, 'WriterOrigin'),
    '### The origin of a guest',
    fieldsList(origins.guest, entrySource, 'GuestOrigin'),
  ].join('\n\n')

const framesText = (): string =>
  [
    '## Frames',
    'The messages of one connection. A frame omits the origin of an entry if the entry before it has the same origin.',
    ...Object.entries<FieldTypes>(frames).flatMap(([type, fields]) => [
      `### frame \`${type}\``,
      fieldsList(fields, frameSource, `${pascal(type)}Frame`, { entries: '[entries](#entries)' }),
    ]),
  ].join('\n\n')

function contents(): string {
  const lines = Object.entries(groups).map(([group, [title]]) => {
    const members = Object.entries(catalogue).filter(([type]) => groupOf(type) === group)
    const names = [...members.map(([type]) => type), ...(group === 'content' ? ['data-*'] : [])]
    const anchor = (type: string): string => (type === 'data-*' ? 'data-' : type)
    return `| [${title}](#${title.toLowerCase().replace(' ', '-')}) | ${names.map(type => `[\`${type}\`](#${anchor(type)})`).join(' ')} |`
  })
  return ['| group | types |', '|---|---|', ...lines].join('\n')
}

const ungrouped = Object.keys(catalogue).filter(type => !Object.hasOwn(groups, groupOf(type) ?? ''))
if (ungrouped.length > 0) {
  throw new Error(`these types have no group: ${ungrouped.join(', ')}. Add them to groups in catalogue/catalogue.ts`)
}

const text = `${[
  '# The chunks',
  '<!-- Written by scripts/reference.ts from the catalogue: change packages/protocol/src/catalogue/catalogue.ts and run it again. -->',
  `A chunk is one typed piece of payload: a plain JSON object, told apart by its \`type\`. There are ${Object.keys(catalogue).length} types and the open family \`data-*\`.`,
  'A type that is not on this page is legal everywhere: the log keeps it, readers get it, and the fold ignores it. The same holds for fields that are not listed.',
  contents(),
  '**Drafts.** Some chunks stream before their commit, in the draft of a lane, and a discard removes them. All others are written with a commit and stay.',
  '**Authors.** The writer drives the run. Every other author is a guest, which may append answers, claims, and requests to stop or to run.',
  '**Fields.** A field with a `?` may be missing. A number is finite. A count is a safe integer of at least 0, a sequence one of at least 1. `true` and `1` mean exactly these values. A json is any JSON value, and an object is a JSON object. `[]` is an array of such values, and `{}` is an object of such values under any keys. The other types are [below](#named-types).',
  ...Object.entries(groups).map(([group, about]) => groupText(group, about)),
  ['## Named types', ...Object.entries<NamedType>(types).map(([name, type]) => namedText(name, type))].join('\n\n'),
  entriesText(),
  framesText(),
].join('\n\n')}\n`

if (process.argv.includes('--check')) {
  const there = existsSync(join(root, page)) && readFileSync(join(root, page), 'utf8')
  if (there !== text) {
    console.error(`${page} is stale: run npm run generate and commit it`)
    process.exitCode = 1
  }
} else {
  writeFileSync(join(root, page), text)
}
