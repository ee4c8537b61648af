import { expect, test } from 'vitest'
import { anchorsOf, linksOf } from '../docs/site/markdown.ts'
import { commentGaps, defaultGaps } from './api-gaps.ts'
import { cafe, foreign, item, property, tea, water } from './api-model.fixture.ts'
import { parseComment, withInherited } from './api-model.ts'
import { apiPages } from './api-pages.ts'
import { signatureOf } from './api-signature.ts'

const entries = withInherited([tea, water, cafe])
const pages = apiPages(
  entries.map(entry => ({ name: entry.package.replace('@x/', ''), about: 'About.', entries: [entry] })),
)
const page = (name: string): string => pages.get(name) ?? ''
/** The text below a heading. */
const below = (name: string, heading: string): string =>
  page(name).split(`### ${heading}\n\n`)[1]?.split('\n\n##')[0] ?? ''

test('lists the names of a page by group, with links to headings that exist', () => {
  expect(page('tea')).toContain(
    '| [Functions](#functions) | [`brew`](#brew) |\n| [Classes](#classes) | [`Pot`](#pot) [`TeaError`](#teaerror) |',
  )
  for (const [name, text] of pages) {
    for (const { target } of linksOf(text)) {
      const [file, anchor] = target.split('#')
      if (target.includes('chunks.md')) continue
      const to = page(file === '' ? name : (file ?? '').replace('.md', ''))
      expect(to, target).not.toBe('')
      if (anchor) expect([...anchorsOf(to)]).toContain(anchor)
    }
  }
})

test('shows a function with summary, signature, types and errors', () => {
  expect(below('tea', 'brew()')).toBe(
    [
      'Brews tea. Needs `Map<string, Leaf>`, or &lt;any> leaves.',
      '```ts\nfunction brew(options: BrewOptions): Promise<Pot>\n```',
      'Types: [`BrewOptions`](#brewoptions), [`Pot`](#pot)',
      'Throws [`TeaError`](#teaerror) `cold` without hot water.',
    ].join('\n\n'),
  )
})

test('shows options in a table, with defaults, links, and the members of an interface that is not exported', () => {
  expect(below('tea', 'BrewOptions').split('\n\n').at(-1)).toBe(
    [
      '| name | type | default | description |',
      '|---|---|---|---|',
      '| `litres?` | `number` | `1.5` | Its size, in litres. |',
      "| `minutes?` | `number \\| 'long'` | `4` | Time to brew, in minutes. |",
      '| `water` | <code>Promise&lt;[Water](water.md#water)&gt;</code> |  | The water: [`Water`](water.md#water). |',
    ].join('\n'),
  )
})

test('leaves out the column of defaults without any', () => {
  expect(below('water', 'Water')).toContain(
    '| name | type | description |\n|---|---|---|\n| `degrees` | `number` | Temperature, in °C. |',
  )
})

test('leaves out the column of descriptions without any', () => {
  const text = apiPages([{ name: 'rain', about: '', entries: [foreign] }]).get('rain') ?? ''
  expect(text).toContain('| name | type |\n|---|---|\n| `height` | `number` |')
})

test('gives a method the comment of the interface that its class implements', () => {
  expect(below('tea', 'Pot')).toContain(
    '| `pour()` | `(cups?: number): void` | Fills cups.<br>`cups`: Number of cups. Default: 1. |',
  )
})

test('lists chunks with links to their page, and guards by name', () => {
  expect(page('tea')).toContain('| `ErrorChunk` | [`error`](../chunks.md#error) |')
  expect(page('tea')).toContain('in its name: `isPot()`.')
})

test('links names of other packages instead of repeating them', () => {
  expect(page('cafe')).toContain('| Functions | [`brew`](tea.md#brew) |\n| Classes | [`Pot`](tea.md#pot) |')
  expect(page('cafe')).toContain('Also exports everything of [`@x/water`](water.md).')
  expect(page('cafe')).not.toContain('Brews tea')
})

test('documents an item once that two entry points export', () => {
  const again = { ...water, path: './hot' }
  const text = apiPages([{ name: 'water', about: '', entries: [water, again] }]).get('water') ?? ''
  expect(text).toContain('## @x/water/hot\n\nAlso exports [`Water`](#water).')
  expect(text.match(/^### Water$/gm)).toHaveLength(1)
})

test('breaks a long signature at the longest brackets', () => {
  const long =
    'export declare function pour<Name extends string>(first: Record<string, number>, second: Record<string, number>, third: string): Promise<void>;'
  expect(signatureOf(item('Function', 'pour', '', long))).toBe(
    [
      'function pour<Name extends string>(',
      '  first: Record<string, number>,',
      '  second: Record<string, number>,',
      '  third: string',
      '): Promise<void>',
    ].join('\n'),
  )
  expect(signatureOf(item('Function', 'pour', '', 'pour: <T>(to: (cup: T) => void) => () => void'))).toBe(
    'function pour<T>(to: (cup: T) => void): () => void',
  )
})

test('parses the tags of a comment', () => {
  expect(
    parseComment('/**\n * Brews.\n *\n * @param cups - How many.  @default 2\n *\n * @throws\n *\n * `cold`.\n */\n'),
  ).toEqual({
    summary: 'Brews.',
    throws: ['`cold`.'],
    params: [{ name: 'cups', text: 'How many. Default: 2.' }],
  })
})

test('finds exports, methods and fields without a comment, but no guards, chunks or constructors', () => {
  expect(commentGaps(entries)).toEqual([])
  const bare = {
    ...water,
    items: [
      item('Function', 'boil', '', 'export declare function boil(): void;'),
      item('Interface', 'BoilOptions', 'Options.', 'export interface BoilOptions ', {
        members: [property('degrees', 'number', '@default 100'), property('litres', 'number', 'Size.')],
      }),
      item('Interface', 'Steam', 'Steam.', 'export interface Steam ', {
        members: [property('degrees', 'number', ''), property('ice', 'never', '')],
      }),
      item('Class', 'Boiler', 'Boils.', 'export declare class Boiler ', {
        members: [
          item('Constructor', '(constructor)', '', 'constructor();'),
          item('Method', 'start', '', 'start(): void;'),
          item('Property', 'name', '', 'name: string;'),
          item('Property', 'lid', '', 'lid: string;', { isProtected: true }),
        ],
      }),
    ],
  }
  const gaps = ['boil', 'BoilOptions.degrees', 'Steam.degrees', 'Boiler.name', 'Boiler.start']
  expect(commentGaps([bare])).toEqual(gaps.map(gap => `@x/water: ${gap}`))
  // Another system documents the fields of its own format.
  const foreignBare = { ...bare, package: '@millrace/dialects', path: './other' }
  expect(commentGaps([foreignBare])).toEqual(
    ['boil', 'BoilOptions.degrees', 'Boiler.name', 'Boiler.start'].map(gap => `@millrace/dialects/other: ${gap}`),
  )
})

test('finds optional fields of options without a default', () => {
  expect(defaultGaps(entries)).toEqual([])
  const members = [
    property('degrees', 'number', 'Temperature, in °C. @default 100'),
    property('litres', 'number', 'Size.'),
    property('leaves', 'string', 'Kind of the leaves.', false),
  ]
  const bare = {
    ...water,
    items: [
      item('Interface', 'BoilOptions', 'Options.', 'export interface BoilOptions ', { members }),
      item('Interface', 'Steam', 'Steam.', 'export interface Steam ', { members }),
    ],
  }
  expect(defaultGaps([bare])).toEqual(['@x/water: BoilOptions.litres'])
})
