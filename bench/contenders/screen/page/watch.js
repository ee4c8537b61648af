// Measures a page while answers stream: when each token was painted, and all frames.

const { messages, conversations: planned } = globalThis.plan

/** Earlier messages of each conversation: ids, roles and texts. */
export const history = Array.from({ length: messages }, (_, i) => {
  return {
    id: `message-${i}`,
    role: i % 2 ? 'assistant' : 'user',
    text: `What the mill said for the ${i}th time.`,
  }
})

/** Conversations to show, with their numbers. */
export const conversations = planned.map((conversation, number) => ({ ...conversation, number }))

const now = () => performance.timeOrigin + performance.now()
const root = document.getElementById('root')
const sheet = new CSSStyleSheet()
// Each conversation has its own box, so that none changes the layout of another.
sheet.replaceSync(`
  #root { display: flex; flex-wrap: wrap; gap: 4px }
  ul { margin: 0; width: 300px; height: 300px; overflow: auto; contain: strict }
  #probe { position: fixed; height: 1px; contain: strict }
`)
document.adoptedStyleSheets = [sheet]

/** For each answer: number of tokens in the document, and the time at which each was painted. */
const answers = conversations.map(() => ({ shown: 0, times: [] }))
const changed = new Set()
const frames = []
const allShown = Promise.withResolvers()
let expectedTokens = Number.POSITIVE_INFINITY

const LONGEST_TOKEN = 40

/** Number of visible tokens of an answer: the number of the last token, which is in the last characters. */
function shownIn(list) {
  const text = list.lastElementChild?.lastChild
  if (text?.nodeType !== Node.TEXT_NODE) return 0
  // Reading the complete text would copy it each time.
  const tail = text.substringData(Math.max(0, text.length - LONGEST_TOKEN), LONGEST_TOKEN)
  const end = tail.lastIndexOf('~')
  return end < 0 ? 0 : Number(tail.slice(tail.lastIndexOf('~', end - 1) + 1, end)) + 1
}

new MutationObserver(records => {
  const lists = new Set()
  for (const { target } of records) lists.add((target.parentElement ?? target).closest('ul') ?? target)
  for (const list of lists) {
    const answer = answers[list.dataset?.answer]
    const shown = answer ? shownIn(list) : 0
    if (!answer || shown <= answer.shown) continue
    answer.shown = shown
    changed.add(answer)
  }
}).observe(root, { subtree: true, childList: true, characterData: true })

// A frame shows everything that was in the document at its layout, including changes from callbacks of the same frame. The probe changes its size
// in each frame, so its ResizeObserver fires right after layout. It posts a message, which arrives after the frame is painted.
const probe = document.body.appendChild(document.createElement('div'))
probe.id = 'probe'
const painted = new MessageChannel()
/** Frames that are laid out and not yet painted. A busy page can have several. */
const painting = []
new ResizeObserver(() => {
  if (changed.size === 0) return
  painting.push([...changed].map(answer => ({ answer, shown: answer.shown })))
  changed.clear()
  painted.port2.postMessage('painted')
}).observe(probe)
painted.port1.onmessage = () => {
  const time = now()
  for (const { answer, shown } of painting.shift()) while (answer.times.length < shown) answer.times.push(time)
  if (answers.every(({ times }) => times.length >= expectedTokens)) allShown.resolve()
}
const frame = () => {
  frames.push(now())
  probe.style.width = `${1 + (frames.length % 2)}px`
  requestAnimationFrame(frame)
}
requestAnimationFrame(frame)

const requests = []

/** Registers the function that requests the answer of a conversation. */
export function registerConversation({ number }, ask) {
  requests[number] = ask
}

globalThis.bench = {
  now,
  rows: () => root.querySelectorAll('li').length,
  /** Requests all answers of `tokens` tokens, each by its number. */
  ask(tokens) {
    expectedTokens = tokens
    for (const [number, ask] of requests.entries()) ask(String(number))
  },
  /** Resolves with the report when all tokens are painted. */
  async report() {
    await allShown.promise
    const lists = root.querySelectorAll('ul')
    return {
      times: answers.map(({ times }) => times),
      texts: [...lists].map(list => list.lastElementChild.textContent),
      rows: root.querySelectorAll('li').length,
      frames,
    }
  },
}
