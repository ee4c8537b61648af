import { h, keptAtEnd, pretty } from './element.js'

/** A text is cut into blocks of about this many characters, so that a browser lays out the last one alone when it grows. */
const BLOCK = 2000

/** What is said in a session, as it comes. */
export class Conversation {
  #pane
  #keepAtEnd
  #shown = new Map()

  constructor(pane) {
    this.#pane = pane
    this.#keepAtEnd = keptAtEnd(pane)
  }

  /** Shows nothing, but for these words. */
  clear(...words) {
    this.#shown.clear()
    this.#pane.replaceChildren(...words.map(word => h('p', { class: 'welcome' }, word)))
  }

  /** Shows what changed. */
  show(transcript) {
    const keys = transcript.take()
    if (keys.size === 0) return
    if (this.#shown.size === 0) this.#pane.replaceChildren()
    for (const key of keys) this.#update(key, transcript.items.get(key))
    this.#keepAtEnd()
  }

  #update(key, item) {
    const shown = this.#shown.get(key)
    if (item === undefined || (item.kind === 'value' && item.value === undefined)) {
      shown?.element.remove()
      this.#shown.delete(key)
      return
    }
    if (shown && grow(shown, item)) return
    const element = elementOf(item)
    element.classList.toggle('child', item.isChild)
    if (shown) shown.element.replaceWith(element)
    else this.#pane.append(element)
    this.#shown.set(key, { element, text: '' })
    grow(this.#shown.get(key), item)
  }
}

/** Adds what a text gained, if that is all that happened to it. */
function grow(shown, { kind, text }) {
  if ((kind !== 'text' && kind !== 'reasoning') || !text.startsWith(shown.text)) return false
  const body = shown.element.querySelector('.body')
  for (let from = shown.text.length; from < text.length; from += BLOCK) {
    const piece = text.slice(from, from + BLOCK)
    const last = body.lastElementChild
    if (last && last.textContent.length < BLOCK) last.append(piece)
    else {
      // A word is not cut in two, if it can be helped.
      const end = last ? piece.search(/\s\S/) + 1 : 0
      last?.append(piece.slice(0, end))
      body.append(h('p', {}, piece.slice(end)))
    }
  }
  shown.text = text
  return true
}

function elementOf(item) {
  const { kind, agent, text, role, tone, name, value, state, input, output, url } = item
  if (kind === 'note') return h('p', { class: `note ${tone}` }, text)
  if (kind === 'message') return h('article', { class: `message ${role}` }, h('p', {}, text))
  const who = h('h3', {}, kind === 'reasoning' ? `${agent} thinks` : (agent ?? ''))
  if (kind === 'text' || kind === 'reasoning') return h('article', { class: kind }, who, h('div', { class: 'body' }))
  if (kind === 'source') return h('p', { class: 'source' }, 'Source: ', linkOf(url, text))
  if (kind === 'value') return h('article', { class: 'card' }, h('h3', {}, name), ...fieldsOf(value))
  return h(
    'article',
    { class: 'card call' },
    h('h3', {}, h('code', {}, name), h('span', { class: 'badge', 'data-state': state }, state ?? '')),
    ...fieldsOf(input),
    ...(output === undefined ? [] : [h('div', { class: 'output' }, ...fieldsOf(output))]),
  )
}

/** A link to where it leads on the web, and to nowhere else. */
function linkOf(url, text) {
  return /^https?:\/\//i.test(url) ? h('a', { href: url, rel: 'noreferrer', target: '_blank' }, text) : text
}

/** A value: the fields of a plain object, and anything else as JSON. */
export function fieldsOf(value) {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [h('pre', {}, textOf(value))]
  const fields = Object.entries(value).flatMap(([name, field]) => [h('dt', {}, name), h('dd', {}, textOf(field))])
  return fields.length === 0 ? [] : [h('dl', {}, ...fields)]
}

function textOf(value) {
  if (typeof value === 'string') return value
  const isPlain = Array.isArray(value) && value.every(item => typeof item !== 'object')
  return isPlain ? value.join(', ') : pretty(value)
}
