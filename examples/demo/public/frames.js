import { h, keptAtEnd, pretty } from './element.js'

/** No more frames than this are shown at a time: the latest. */
const MOST = 300
const LONGEST = 160

/** The frames of a connection as they came. */
export class Frames {
  #pane
  #keepAtEnd
  #list
  #waiting = []
  #count = 0

  constructor(pane) {
    this.#pane = pane
    this.#keepAtEnd = keptAtEnd(pane)
    this.#list = pane.querySelector('ol')
  }

  clear() {
    this.#waiting = []
    this.#count = 0
    this.#list.replaceChildren()
    this.show()
  }

  /** Takes a frame in, to be shown. */
  add(frame) {
    this.#waiting.push(() => rowOf(frame))
  }

  /** Says what happened to the connection, among its frames. */
  mark(text) {
    this.#waiting.push(() => h('li', { class: 'mark' }, text))
  }

  /** Shows what came. */
  show() {
    this.#count += this.#waiting.length
    const rows = this.#waiting.splice(0).slice(-MOST)
    this.#list.append(...rows.map(row => row()))
    while (this.#list.children.length > MOST) this.#list.firstElementChild.remove()
    const hidden = this.#count - this.#list.children.length
    const earlier = this.#pane.querySelector('.earlier')
    earlier.hidden = hidden === 0
    earlier.textContent = `${hidden} earlier ones are not shown`
    this.#pane.querySelector('.empty').hidden = this.#count > 0
    this.#keepAtEnd()
  }
}

function rowOf(frame) {
  const { type, sequence, cursor, entries = [] } = frame
  const head = h(
    'summary',
    { title: 'Show its JSON' },
    h('span', { class: 'type' }, type),
    sequence === undefined ? undefined : h('span', { class: 'sequence', title: 'sequence' }, String(sequence)),
    cursor === undefined ? undefined : h('span', { class: 'cursor', title: `cursor ${cursor}` }, cursor),
  )
  const folded = h('details', {}, head)
  // Most are never looked at.
  folded.addEventListener('toggle', () => folded.append(h('pre', {}, pretty(frame))), { once: true })
  const said = entries.length === 0 ? h('p', { class: 'gist' }, gistOf(frame)) : h('ul', {}, ...entries.map(lineOf))
  return h('li', { class: 'frame', 'data-type': type }, folded, said)
}

function lineOf({ sequence, origin, chunk }) {
  const { type, ...fields } = chunk
  return h(
    'li',
    {},
    h('span', { class: 'sequence' }, String(sequence)),
    h('span', { class: 'chunk', title: origin ? laneOf(origin) : undefined }, type),
    h('span', { class: 'gist' }, gistOf(fields)),
  )
}

const laneOf = ({ guest, agentType, lane }) => (guest === undefined ? `${agentType}, lane ${lane}` : `guest ${guest}`)

/** What there is to say in a line. */
function gistOf({ type, sequence, cursor, ...fields }) {
  const { delta, message, status, reason, toolName, output, input, parts } = fields
  const [first] = [delta, parts?.[0]?.text, message, status, reason, output, toolName, input].filter(
    value => value !== undefined,
  )
  const said = typeof first === 'string' ? first : JSON.stringify(first ?? fields)
  return said === '{}' ? '' : said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said
}
