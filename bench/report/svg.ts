// SVG helpers of the charts. The background is white, because a page can be light or dark.

export const INK = '#1f2933'
export const FAINT = '#d5dbe1'
export const MUTED = '#5b6770'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes text for elements and attributes. */
const escaped = (text: string): string => text.replace(/[&<>"]/g, found => ESCAPES[found] ?? found)

/** Returns an element. */
export function element(name: string, attributes: Record<string, string | number>, content = ''): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(round(value)))}"`)
  return `<${name}${written.join('')}${content === '' ? '/>' : `>${content}</${name}>`}`
}

const round = (value: string | number) => (typeof value === 'number' ? Math.round(value * 10) / 10 : value)

/** Returns a text element. */
export function text(x: number, y: number, words: string, attributes: Record<string, string | number> = {}): string {
  return element('text', { x, y, fill: INK, ...attributes }, escaped(words))
}

/** Returns a complete drawing with a title for screen readers. */
export function drawing(width: number, height: number, title: string, content: readonly string[]): string {
  const background = element('rect', { width, height, rx: 8, fill: '#ffffff' })
  const attributes = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: 'img',
    'font-family': 'system-ui, sans-serif',
    'font-size': 13,
  }
  const name = `<title>${escaped(title)}</title>`
  return `${element('svg', attributes, `\n${[name, background, ...content].join('\n')}\n`)}\n`
}

/** Maps values to positions on a logarithmic scale. */
export function logScale([low, high]: readonly [number, number], [from, to]: readonly [number, number]) {
  const share = (value: number) => (Math.log(value) - Math.log(low)) / (Math.log(high) - Math.log(low))
  return (value: number): number => from + share(value) * (to - from)
}

/** Powers of ten that enclose all values. */
export function decades(values: readonly number[]): number[] {
  const [low, high] = [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)))]
  return Array.from({ length: Math.max(high, low + 1) - low + 1 }, (_, i) => 10 ** (low + i))
}
