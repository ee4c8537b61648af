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

/** Decodes character references. Unknown ones stay as they are. */
export const decodeText = (text: string): string =>
  text.includes('&') ? text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|(\w{1,31}));/g, characterOf) : text

function characterOf(reference: string, decimal?: string, hex?: string, name = ''): string {
  if (decimal === undefined && hex === undefined)
    return Object.hasOwn(NAMED, name) ? (NAMED[name] as string) : reference
  const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number(decimal)
  const isNone = code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
  return isNone ? '\ufffd' : String.fromCodePoint(code)
}

/** The address of an http, https or mailto link; undefined for any other. */
export function safeUrl(href: string): string | undefined {
  const address = decodeText(href).trim()
  if (!/^(?:https?:\/\/|mailto:)/i.test(address)) return undefined
  try {
    return new URL(address).href
  } catch {
    return undefined
  }
}
