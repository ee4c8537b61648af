import { ask, pathOf } from './api.js'
import { Connection } from './connection.js'
import { Conversation } from './conversation.js'
import { h } from './element.js'
import { Frames } from './frames.js'
import { hints } from './hints.js'
import { Pendings } from './pendings.js'
import { Sessions } from './sessions.js'
import { Transcript } from './transcript.js'

const byId = id => document.getElementById(id)
const input = byId('input')
const main = document.querySelector('main')
const conversation = new Conversation(byId('conversation'))
const frames = new Frames(byId('frames'))
const pendings = new Pendings(byId('pendings'), answer)
const sessions = new Sessions(byId('sessions'), sessionId => open(sessionId))

/** What can be started: `{ agent: name }` or `{ workflow: id }`, by name. */
const programs = new Map()
let program
let sessionId
let connection
let transcript = new Transcript()
let isDue = false
/** Is called when the connection is there, or there is no use in waiting for it. */
let onConnected = () => {}

/** Shows what came, once for all that came since the browser last drew. */
function showSoon() {
  if (isDue) return
  isDue = true
  // A page in the background draws nothing, but is to be right when somebody looks.
  if (document.hidden) setTimeout(show, 200)
  else requestAnimationFrame(show)
}

function show() {
  isDue = false
  frames.show()
  conversation.show(transcript)
  pendings.show(transcript.pendings)
  const { run } = transcript
  const badge = byId('run')
  badge.hidden = run === undefined
  badge.textContent = run ?? ''
  badge.dataset.state = run ?? ''
  byId('stop').disabled = !['requested', 'running', 'waiting'].includes(run)
  if (transcript.program && transcript.program !== program) choose(transcript.program)
}

function tell(text = '') {
  byId('notice').textContent = text
  byId('notice').hidden = text === ''
}

function showConnection(state, detail) {
  const badge = byId('connection')
  badge.dataset.state = state
  badge.textContent =
    state === 'offline' ? `offline, again in ${(detail / 1000).toFixed(1)} s` : state.replace('-', ' ')
  if (state !== 'connecting' && state !== 'catching-up') onConnected()
  byId('drop').disabled = state !== 'live' && state !== 'catching-up'
  if (state === 'offline') frames.mark('The connection is gone. It comes back by its cursor.')
  if (state === 'closed') tell(detail)
  showSoon()
}

/** Names the program that is spoken to. */
function choose(name) {
  program = name
  const [about = '', example = 'Say something'] = hints.get(name) ?? []
  byId('program').textContent = name
  byId('hint').textContent = about
  input.placeholder = example
  for (const button of document.querySelectorAll('aside button[data-program]')) {
    button.setAttribute('aria-current', String(button.dataset.program === name))
  }
}

/** Leaves the session for one that is not made yet. */
function leave() {
  connection?.close()
  connection = undefined
  sessionId = undefined
  transcript = new Transcript()
  frames.clear()
  conversation.clear('Say something, and watch it come.')
  tell()
  showConnection('idle')
  show()
  sessions.choose(undefined)
}

/** Follows a session from its beginning. */
function open(id) {
  leave()
  sessionId = id
  conversation.clear()
  sessions.choose(id)
  if (decodeURIComponent(location.hash.slice(1)) !== id) history.pushState(null, '', `#${encodeURIComponent(id)}`)
  const opened = new Connection(cursor => pathOf(id, `/stream?after=${encodeURIComponent(cursor ?? '0')}`), {
    state: (state, detail) => connection === opened && showConnection(state, detail),
    frame(frame) {
      frames.add(frame)
      let origin
      for (const entry of frame.entries ?? []) {
        // Who wrote an entry is left out where it is who wrote the one before.
        origin = entry.origin ?? origin
        transcript.add({ ...entry, origin })
      }
      showSoon()
    },
    reset() {
      transcript = new Transcript()
      conversation.clear()
      frames.mark('The log is another. All of it comes again.')
    },
  })
  connection = opened
}

/** Asks the server for something, and says why where it will not. */
async function attempt(work) {
  tell()
  try {
    return await work()
  } catch (error) {
    tell(error.message)
    throw error
  }
}

function answer(body) {
  return attempt(() => ask('POST', pathOf(sessionId, '/answers'), body)).then(() => input.focus())
}

async function send(text) {
  const start = programs.get(program)
  const to = sessionId ?? (await begin(`${program}: ${text}`))
  await ask('POST', pathOf(to, '/runs'), { ...start, input: text })
}

/** Makes a session and follows it: what is said in it is seen from the first word on, also what is taken back later. */
async function begin(title) {
  const made = await ask('POST', '/api/sessions', { title: title.slice(0, 100) })
  open(made.sessionId)
  await new Promise(resolve => {
    onConnected = resolve
  })
  return made.sessionId
}

byId('composer').addEventListener('submit', event => {
  event.preventDefault()
  const text = input.value
  input.value = ''
  attempt(() => send(text)).catch(() => {
    // What was not taken is not lost.
    input.value ||= text
  })
})
input.addEventListener('keydown', event => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  byId('composer').requestSubmit()
})
byId('stop').addEventListener('click', () => {
  attempt(() => ask('POST', pathOf(sessionId, '/stop'), { mode: 'interrupt' })).catch(() => {})
})
byId('drop').addEventListener('click', () => connection?.drop())
for (const button of document.querySelectorAll('button[data-pane]')) {
  button.addEventListener('click', () => {
    main.dataset.pane = button.dataset.pane
    for (const other of document.querySelectorAll('button[data-pane]')) {
      other.setAttribute('aria-pressed', String(other === button))
    }
  })
}
addEventListener('popstate', openNamed)

/** Opens the session that the address names, or none. */
function openNamed() {
  const named = decodeURIComponent(location.hash.slice(1))
  if (named) open(named)
  else leave()
}

function list(pane, items) {
  for (const [name, start] of items) {
    programs.set(name, start)
    const pick = () => {
      choose(name)
      if (sessionId !== undefined) history.pushState(null, '', location.pathname)
      leave()
      input.focus()
    }
    pane.append(h('li', {}, h('button', { type: 'button', 'data-program': name, click: pick }, name)))
  }
}

openNamed()
const known = await attempt(() => ask('GET', '/api/agents'))
list(
  document.querySelector('#agents ul'),
  known.agents.map(({ name }) => [name, { agent: name }]),
)
list(
  document.querySelector('#workflows ul'),
  known.workflows.map(({ id }) => [id, { workflow: id }]),
)
choose(program ?? [...programs.keys()][0])
