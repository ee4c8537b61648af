// A small doc model: a package with a function, a class, options and a guard, and one that passes names on.
import type { ApiEntry, ApiItem, Token } from './api-model.ts'

/** Tokens of a declaration. `«Name»` is a reference. */
const tokens = (text: string, home = '@x/tea'): Token[] =>
  text.split(/(«\w+»)/).map(part => {
    const [, name] = /^«(\w+)»$/.exec(part) ?? []
    return name === undefined
      ? { kind: 'Content', text: part }
      : { kind: 'Reference', text: name, canonicalReference: `${home}!${name}:interface` }
  })

const comment = (text: string): string => (text === '' ? '' : `/**\n * ${text.replaceAll('\n', '\n * ')}\n */\n`)

export function item(kind: string, name: string, about: string, text: string, more: Partial<ApiItem> = {}): ApiItem {
  const canonicalReference = `@x/tea!${name}:${kind.toLowerCase()}`
  return { kind, name, canonicalReference, docComment: comment(about), excerptTokens: tokens(text), ...more }
}

/** A property: `readonly cups?: number;`. */
export function property(name: string, type: string, about: string, isOptional = true): ApiItem {
  const excerptTokens = [
    ...tokens(`readonly ${name}${isOptional ? '?' : ''}: `),
    ...tokens(type),
    ...tokens(';'),
  ] satisfies Token[]
  const propertyTypeTokenRange = { startIndex: 1, endIndex: excerptTokens.length - 1 }
  return { ...item('PropertySignature', name, about, ''), excerptTokens, isOptional, propertyTypeTokenRange }
}

const method = (name: string, about: string, text: string): ApiItem => item('Method', name, about, text)

const kettle = item('Interface', 'Kettle', 'A kettle.', 'interface Kettle ', {
  canonicalReference: '@x/tea!~Kettle:interface',
  members: [property('litres', 'number', 'Its size, in litres. @default 1.5')],
})

export const tea: ApiEntry = {
  package: '@x/tea',
  path: '.',
  report: "import { Water } from '@x/water';\n",
  internals: [kettle],
  items: [
    item(
      'Function',
      'brew',
      'Brews tea. Needs `Map<string, Leaf>`, or <any> leaves.\n\n@throws\n\n{TeaError} `cold` without hot water.',
      'export declare function brew(options: «BrewOptions»): Promise<«Pot»>;',
      { overloadIndex: 1 },
    ),
    item('Function', 'isPot', '', 'isPot: (value: unknown) => value is «Pot»', { overloadIndex: 1 }),
    item('Class', 'Pot', 'A pot of tea.', 'export declare class Pot implements «Vessel» ', {
      members: [method('pour', '', 'pour(cups?: number): void;')],
    }),
    item('Class', 'TeaError', 'The tea cannot be brewed.', 'export declare class TeaError extends Error '),
    item('Interface', 'Vessel', 'Holds a drink.', 'export interface Vessel ', {
      members: [
        item(
          'MethodSignature',
          'pour',
          'Fills cups. @param cups - Number of cups. @default 1',
          'pour(cups?: number): void;',
        ),
      ],
    }),
    item('Interface', 'BrewOptions', 'Options of `brew`.', 'export interface BrewOptions extends «Kettle» ', {
      excerptTokens: [
        { kind: 'Content', text: 'export interface BrewOptions extends ' },
        { kind: 'Reference', text: 'Kettle', canonicalReference: '@x/tea!~Kettle:interface' },
      ],
      members: [
        property('minutes', "number | 'long'", 'Time to brew, in minutes. @default 4'),
        property('water', 'Promise<«Water»>', 'The water: {@link Water}.', false),
        property('never', 'undefined', ''),
      ],
    }),
    item('TypeAlias', 'ErrorChunk', '', "export type ErrorChunk = ChunkOf<'error'>;"),
  ],
}

export const water: ApiEntry = {
  package: '@x/water',
  path: '.',
  report: '',
  items: [
    item('Interface', 'Water', 'Water.', 'export interface Water ', {
      members: [property('degrees', 'number', 'Temperature, in °C.', false)],
    }),
  ],
}

/** The format of another system, which documents its fields. */
export const foreign: ApiEntry = {
  package: '@millrace/dialects',
  path: './rain',
  report: '',
  items: [
    item('Interface', 'Cloud', '', 'export interface Cloud ', {
      members: [property('height', 'number', '', false)],
    }),
  ],
}

/** Exports the names of another package. */
export const cafe: ApiEntry = {
  package: 'cafe',
  path: '.',
  report:
    "import { brew } from '@x/tea';\nimport { Pot } from '@x/tea';\n\nexport { brew }\n\nexport { Pot }\n\nexport * from \"@x/water\";\n",
  items: [],
}
