import fc from 'fast-check'

const hex = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b', ' ', 'é', '漢', '{', ']', ',', ':', '.', '\u2028', '\u007f') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('😀', '\ud83d', '\ude00', '\\ud83d\\ude00', '\\uD83D', '\\udE00', '\ud83d\\ude00'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\u0000', '\\u00e9'),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 3 }).map(text => JSON.stringify(text).slice(1, -1)) },
  {
    weight: 1,
    arbitrary: fc
      .string({ maxLength: 2 })
      .map(text => Array.from({ length: text.length }, (_, i) => hex(text[i] as string)).join('')),
  },
)

const stringText = fc.array(piece, { maxLength: 8 }).map(pieces => `"${pieces.join('')}"`)

const numberText = fc.oneof(
  fc.constantFrom('0', '-0', '-1', '10', '1e5', '1E+2', '-1.5e-3', '0.0', '12345678901234567890', '1e400', '5e-324'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(number => JSON.stringify(number)),
)

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r ')

// Once V8 has parsed an object with a backslash in a key, it may take another escaped key for that one
// (nodejs/node#63785). With such texts JSON.parse would be no valid reference.
const isSafe = (text: string) => !/"([^"\\]|\\.)*(\\\\|\\u005c)([^"\\]|\\.)*"\s*:/i.test(text)

/** Texts of JSON documents with all variants of the syntax. With few `keys`, objects repeat them. */
export function jsonText(keys: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const key = fc.oneof(
    { weight: 4, arbitrary: keys.map(name => JSON.stringify(name)) },
    { weight: 1, arbitrary: stringText },
  )
  const { value } = fc.letrec<{ value: string; array: string; object: string }>(tie => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'large', withCrossShrink: true },
      { weight: 3, arbitrary: stringText },
      { weight: 2, arbitrary: numberText },
      { weight: 1, arbitrary: fc.constantFrom('true', 'false', 'null') },
      { weight: 3, arbitrary: tie('array') },
      { weight: 4, arbitrary: tie('object') },
    ),
    array: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 5 })
      .map(items => `[${items.map(i => i.join('')).join(',')}]`),
    object: fc
      .array(fc.tuple(space, key, space, tie('value'), space), { maxLength: 5 })
      .map(fields => `{${fields.map(([a, name, b, child, c]) => `${a}${name}${b}:${b}${child}${c}`).join(',')}}`),
  }))
  return fc
    .tuple(space, value, space)
    .map(parts => parts.join(''))
    .filter(isSafe)
}

/** Keys that parsers often handle wrongly; few, so that they repeat. */
export const trickyKeys = fc.constantFrom(
  'a',
  'b',
  'c',
  '',
  '__proto__',
  'constructor',
  'toString',
  '0',
  '1',
  '2025',
  'x.y',
  '*',
)

/** Splits a text into pieces of the given lengths, and the rest. */
export function splitAt(text: string, lengths: readonly number[]): string[] {
  const pieces: string[] = []
  let start = 0
  for (const length of lengths) {
    pieces.push(text.slice(start, start + length))
    start += length
  }
  pieces.push(text.slice(start))
  return pieces
}

export const cutLengths = fc.array(fc.integer({ min: 0, max: 7 }), { maxLength: 60 })

/** Texts that differ from valid ones in at most two positions. */
export const corruptedText = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  const insert = fc.constantFrom(...',:[]{}"\\0123-+.eEuntf\n\u0000 x/', '', '', '😀', '//', '00')
  const edits = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 2 }), insert), { maxLength: 2 })
  return fc
    .tuple(text, edits)
    .map(([good, list]) =>
      list.reduce((now, [at, remove, add]) => {
        const index = at % (now.length + 1)
        return now.slice(0, index) + add + now.slice(index + remove)
      }, good),
    )
    .filter(isSafe)
}
