// Draws a Mermaid sequence diagram as SVG when the site is built, in the colours of the page. GitHub draws the same text itself. Mermaid
// needs a browser to measure text, so every reader would have to load and run it. The pages use a small part of its language.

interface Participant {
  readonly id: string
  readonly lines: readonly string[]
}

interface Step {
  readonly kind: 'message' | 'note'
  readonly from: number
  readonly to: number
  readonly text: string
  readonly isDashed: boolean
  /** Ends in a cross: the message is refused. */
  readonly isRefused: boolean
}

interface Diagram {
  readonly title: string
  readonly isNumbered: boolean
  readonly participants: readonly Participant[]
  readonly steps: readonly Step[]
}

const PARTICIPANT = /^(?:participant|actor) (\w+)(?: as (.+))?$/
const MESSAGE = /^(\w+) ?(-{1,2})(>>|x) ?(\w+): ?(.+)$/
const NOTE = /^Note (?:over|right of|left of) (\w+)(?:, ?(\w+))?: ?(.+)$/
const BREAK = /<br ?\/?>/

/** Width of the drawing, and of one character of a label, in pixels. */
const WIDTH = 736
const CHARACTER = 6.1
const LINE = 15
const GAP = 14
const LOOP = 34

/** Whether a block of code is a sequence diagram. */
export const isSequence = (text: string): boolean => text.trimStart().startsWith('sequenceDiagram')

/**
 * Reads a sequence diagram.
 * @throws Error for a line that this part of the language does not have
 */
export function parseSequence(text: string): Diagram {
  let title = 'Sequence diagram'
  let isNumbered = false
  const participants: Participant[] = []
  const steps: Step[] = []
  const indexOf = (id: string): number => {
    const index = participants.findIndex(participant => participant.id === id)
    if (index < 0) throw new Error(`sequence diagram: ${id} is no participant`)
    return index
  }
  for (const line of text.split('\n').map(each => each.trim())) {
    const [, id, name = id] = PARTICIPANT.exec(line) ?? []
    const [, from, dashes, head, to, messageText] = MESSAGE.exec(line) ?? []
    const [, over, until = over, note] = NOTE.exec(line) ?? []
    if (line === '' || line === 'sequenceDiagram' || line.startsWith('%%')) continue
    else if (line === 'autonumber') isNumbered = true
    else if (line.startsWith('accTitle:')) title = line.slice('accTitle:'.length).trim()
    else if (id !== undefined && name !== undefined) participants.push({ id, lines: name.split(BREAK) })
    else if (from !== undefined && to !== undefined && messageText !== undefined) {
      const about = { isDashed: dashes === '--', isRefused: head === 'x' }
      steps.push({ kind: 'message', from: indexOf(from), to: indexOf(to), text: messageText, ...about })
    } else if (over !== undefined && until !== undefined && note !== undefined) {
      const about = { isDashed: false, isRefused: false }
      steps.push({ kind: 'note', from: indexOf(over), to: indexOf(until), text: note, ...about })
    } else throw new Error(`sequence diagram: the site cannot draw the line: ${line}`)
  }
  return { title, isNumbered, participants, steps }
}

/** Draws a sequence diagram. `name` makes its ids unique on the page. */
export function drawSequence(text: string, name: string): string {
  const { title, isNumbered, participants, steps } = parseSequence(text)
  const column = WIDTH / participants.length
  const x = (index: number): number => Math.round(column * (index + 0.5))
  const headHeight = 18 + LINE * Math.max(...participants.map(({ lines }) => lines.length))
  const shapes: string[] = []
  let y = headHeight + GAP + 4
  let number = 0
  for (const step of steps) {
    const isOwn = step.from === step.to
    const span = Math.abs(x(step.to) - x(step.from))
    const room = step.kind === 'note' ? span + column - 24 : isOwn ? column * 1.6 : Math.max(span - 12, column * 1.1)
    const lines = wrap(step.text, Math.floor(room / CHARACTER))
    const widest = Math.max(...lines.map(line => line.length)) * CHARACTER
    const middle = (x(step.from) + x(step.to)) / 2
    const center = Math.min(Math.max(middle, widest / 2 + 4), WIDTH - widest / 2 - 4)
    if (step.kind === 'note') {
      const height = lines.length * LINE + 10
      const width = Math.max(widest, span) + 20
      const left = Math.min(Math.max(middle - width / 2, 1), WIDTH - width - 1)
      shapes.push(`<rect x="${left}" y="${y}" width="${width}" height="${height}" rx="5" class="light"/>`)
      shapes.push(label(lines, left + width / 2, y + 16, 'mid'))
      y += height + GAP
      continue
    }
    if (isNumbered) number++
    if (isOwn) {
      const height = Math.max(lines.length * LINE, 22)
      // At the right edge there is no room for a label beside the line.
      const isLeft = x(step.from) + LOOP + widest > WIDTH
      const side = isLeft ? -1 : 1
      const start = x(step.from)
      shapes.push(label(lines, start + side * (LOOP + 6), y + 11, isLeft ? 'end' : ''))
      const path = `M${start} ${y}h${side * LOOP}v${height}h${-side * (LOOP - 2)}`
      shapes.push(arrow(path, step, name, start + side * 2, y + height))
      if (isNumbered) shapes.push(badge(start, y, number))
      y += height + GAP
      continue
    }
    shapes.push(label(lines, center, y + 11, 'mid'))
    y += lines.length * LINE + 8
    const side = step.to > step.from ? 1 : -1
    const end = x(step.to) - side * (step.isRefused ? 10 : 2)
    shapes.push(arrow(`M${x(step.from)} ${y}H${end}`, step, name, end, y))
    if (isNumbered) shapes.push(badge(x(step.from), y, number))
    y += GAP + 4
  }
  const heads = participants.flatMap(({ lines }, index) => {
    const width = Math.min(column - 8, Math.max(...lines.map(line => line.length)) * 7 + 24)
    const box = `<rect x="${x(index) - width / 2}" y="1" width="${width}" height="${headHeight}" rx="6" class="box"/>`
    return [`<path d="M${x(index)} ${headHeight}V${y}" class="axis"/>`, box, label(lines, x(index), 20, 'mid strong')]
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 4}" role="img" aria-labelledby="${name}-title">`,
    `<title id="${name}-title">${escaped(title)}</title>`,
    `<defs><marker id="${name}-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0l8 4l-8 4z" class="head"/></marker></defs>`,
    ...heads,
    ...shapes,
    '</svg>',
  ].join('\n')
}

/** The lines of a label: at its breaks, and where it would be longer than so many characters. */
const wrap = (text: string, max: number): string[] => text.split(BREAK).flatMap(part => balanced(part.trim(), max))

/** As few lines as fit, of about the same length. */
function balanced(text: string, max: number): string[] {
  const lines = filled(text, max)
  for (let less = max - 1; less > 0; less--) {
    const shorter = filled(text, less)
    if (shorter.length > lines.length) return filled(text, less + 1)
  }
  return lines
}

function filled(text: string, max: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > max) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}

function label(lines: readonly string[], x: number, y: number, classes: string): string {
  const texts = lines.map((line, index) => {
    return `<text x="${Math.round(x)}" y="${y + index * LINE}" class="small halo ${classes}">${escaped(line)}</text>`
  })
  return texts.join('\n')
}

function arrow(path: string, { isDashed, isRefused }: Step, name: string, x: number, y: number): string {
  const dash = isDashed ? ' stroke-dasharray="5 4"' : ''
  if (!isRefused) return `<path d="${path}" class="way"${dash} marker-end="url(#${name}-head)"/>`
  return `<path d="${path}" class="way"${dash}/>\n<path d="M${x - 5} ${y - 5}l10 10m0 -10l-10 10" class="cut"/>`
}

const badge = (x: number, y: number, number: number): string =>
  `<circle cx="${x}" cy="${y}" r="8" class="solid"/>\n<text x="${x}" y="${y + 4}" class="tiny mid on">${number}</text>`

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
