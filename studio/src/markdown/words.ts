const NAMED: { readonly [name: string]: string } = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  bull: '•',
  middot: '·',
  times: '×',
  divide: '÷',
  deg: '°',
  euro: '€',
  pound: '£',
  larr: '←',
  rarr: '→',
  uarr: '↑',
  darr: '↓',
  le: '≤',
  ge: '≥',
  ne: '≠',
}

/** The characters that references in a text stand for; one that nobody knows stays as it is. */
export const wordsIn = (text: string): string =>
  text.includes('&') ? text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{1,31}));/g, characterOf) : text

function characterOf(whole: string, decimal?: string, hex?: string, name = ''): string {
  if (decimal === undefined && hex === undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : whole
  const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal)
  const isNone = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
  return isNone ? '\ufffd' : String.fromCodePoint(code)
}

/** Where a link may lead: to pages and to people. Undefined for all else, which is text. */
export function addressOf(href: string): string | undefined {
  const address = wordsIn(href).trim()
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined
  try {
    return new URL(address).href
  } catch {
    return undefined
  }
}
