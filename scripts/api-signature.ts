// Declarations of the doc model as TypeScript for the API pages.
import { type ApiItem, type Token, textOf } from './api-model.ts'

/** Width of a line in a code block, above which a signature is broken at its brackets. */
const MAX_WIDTH = 100

/** The declaration as users would write it; none for an interface whose heading says it all. */
export function signatureOf(item: ApiItem, source?: string): string | undefined {
  const bare = (source ?? textOf(item.excerptTokens))
    .replace(/^export (declare )?/, '')
    .replace(/;$/, '')
    .trim()
  if (item.kind === 'Interface') return /[<\s](extends|=) |</.test(bare) ? wrapped(bare) : undefined
  if (item.kind === 'Function') return wrapped(asFunction(bare.replace(/\s*\n\s*/g, ' ')))
  const declared = item.kind === 'Variable' && !bare.startsWith('const ') ? `const ${bare}` : bare
  return wrapped(declared).replace(/^(?: {4})+/gm, indent => indent.slice(indent.length / 2))
}

/** Writes a constant `name: (x: X) => Y` as `function name(x: X): Y`. */
function asFunction(text: string): string {
  if (text.startsWith('function ')) return text
  const [, name = '', type = ''] = /^(\w+): (.*)$/.exec(text) ?? []
  const params = bracketsOf(type).find(({ from }) => type[from - 1] === '(')
  const result = params && /^ => (.*)$/.exec(type.slice(params.to + 1))?.[1]
  return result === undefined ? `const ${text}` : `function ${name}${type.slice(0, (params?.to ?? 0) + 1)}: ${result}`
}

/**
 * Breaks a long line at the commas of its outermost brackets, the longest ones first, until each line fits.
 * A union without brackets is broken at its bars.
 */
function wrapped(text: string): string {
  if (text.length <= MAX_WIDTH || text.includes('\n')) return text
  const groups = bracketsOf(text)
    .filter(({ from, to }) => to > from)
    .sort((a, b) => b.to - b.from - (a.to - a.from))
  if (groups.length === 0) return text.replaceAll(' | ', '\n  | ')
  const broken: Brackets[] = []
  for (const group of groups) {
    broken.push(group)
    const lines = withBreaks(text, broken)
    if (lines.every(line => line.length <= MAX_WIDTH)) return lines.join('\n')
  }
  return withBreaks(text, groups).join('\n')
}

/** The outermost brackets of a text: the position after the opening one, of the closing one, and after each comma. */
interface Brackets {
  readonly from: number
  readonly to: number
  readonly commas: readonly number[]
}

function bracketsOf(text: string): Brackets[] {
  const found: Brackets[] = []
  let depth = 0
  let from = 0
  let commas: number[] = []
  for (const [at, letter] of [...text].entries()) {
    const isArrow = letter === '>' && text[at - 1] === '='
    if ('([{<'.includes(letter) && depth++ === 0) {
      from = at + 1
      commas = []
    } else if (')]}>'.includes(letter) && !isArrow && --depth === 0) found.push({ from, to: at, commas })
    else if (letter === ',' && depth === 1) commas.push(at + 1)
  }
  return found
}

function withBreaks(text: string, broken: readonly Brackets[]): string[] {
  const inner = new Set(broken.flatMap(({ from, commas }) => [from, ...commas]))
  const outer = new Set(broken.map(({ to }) => to))
  const cuts = [...inner, ...outer].sort((a, b) => a - b)
  return [0, ...cuts].map((cut, index) => `${inner.has(cut) ? '  ' : ''}${text.slice(cut, cuts[index]).trim()}`)
}

/** The name of a member as a table shows it: `close()`, `port?`. */
export function memberName(item: ApiItem): string {
  const name =
    item.kind === 'Constructor' ? 'constructor' : item.kind === 'IndexSignature' ? '[key]' : (item.name ?? '')
  const isCall = /^(Method|MethodSignature|Constructor)$/.test(item.kind)
  return `${item.isStatic ? 'static ' : ''}${name}${isCall ? '()' : ''}${item.isOptional ? '?' : ''}`
}

/** The type of a property, or the parameters and the result of a method. */
export function memberType(item: ApiItem): readonly Token[] {
  const { excerptTokens: tokens, propertyTypeTokenRange: range } = item
  if (range && range.endIndex > range.startIndex) return tokens.slice(range.startIndex, range.endIndex)
  const [first, ...rest] = tokens
  if (first === undefined) return []
  // `static name?<T>(`, `constructor(`, `readonly name = ` or `[key: `
  const start = {
    ...first,
    text: first.text.replace(/^(?:(?:static|readonly|get|abstract) )*(?:[\w$]+\??|\[[\w.]+\])(?: = )?(?=[(<]|$)/, ''),
  }
  const last = rest.at(-1)
  const end = last && { ...last, text: last.text.replace(/;$/, '') }
  if (end === undefined) return [{ ...start, text: start.text.replace(/;$/, '') }]
  return [start, ...rest.slice(0, -1), end]
}
