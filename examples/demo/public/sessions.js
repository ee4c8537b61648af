import { Connection } from './connection.js'
import { h } from './element.js'

/** The list of sessions, as it changes. */
export class Sessions {
  #pane
  #open
  #lines = new Map()
  #chosen
  #connection

  /** `open` is called with the id of the session that is picked. */
  constructor(pane, open) {
    this.#pane = pane
    this.#open = open
    // A browser holds few connections to a server, and a page that nobody looks at needs no list.
    document.addEventListener('visibilitychange', () => this.#follow())
    this.#follow()
  }

  /** Marks the session that is open. */
  choose(sessionId) {
    this.#chosen = sessionId
    for (const button of this.#pane.querySelectorAll('button')) {
      button.setAttribute('aria-current', String(button.dataset.session === sessionId))
    }
  }

  #follow() {
    this.#connection?.close()
    this.#connection = undefined
    if (document.hidden) return
    let isFirst = true
    this.#connection = new Connection(() => '/api/sessions/stream', {
      // The first frame of a connection has all of the list, the others what changed.
      state: state => {
        if (state === 'connecting') isFirst = true
      },
      frame: ({ type, sessions, removed }) => {
        if (type !== 'sessions') return
        if (isFirst) this.#lines.clear()
        isFirst = false
        for (const line of sessions) this.#lines.set(line.sessionId, line)
        for (const sessionId of removed) this.#lines.delete(sessionId)
        this.#show()
      },
    })
  }

  #show() {
    const list = this.#pane.querySelector('ul')
    const focused = document.activeElement?.dataset?.session
    const lines = [...this.#lines.values()].sort((a, b) => b.updated - a.updated)
    list.replaceChildren(...lines.map(line => h('li', {}, this.#buttonOf(line))))
    // Whoever walks through the list with the keyboard stays where they are.
    if (focused !== undefined) [...list.querySelectorAll('button')].find(b => b.dataset.session === focused)?.focus()
    this.#pane.querySelector('.empty').hidden = lines.length > 0
    this.choose(this.#chosen)
  }

  #buttonOf({ sessionId, title, line, status }) {
    return h(
      'button',
      { type: 'button', 'data-session': sessionId, click: () => this.#open(sessionId) },
      h('span', { class: 'name' }, title ?? sessionId),
      h(
        'span',
        { class: 'line' },
        h('span', { class: 'dot', 'data-state': status }),
        `${status}${line ? ` · ${line}` : ''}`,
      ),
    )
  }
}
