// What a page tells of itself while answers come: when each token of each answer was on the screen, and which frames the screen had.

const { messages, conversations: given } = globalThis.plan

/** So many earlier messages of each conversation: ids, roles and texts. */
export const history = Array.from({ length: messages }, (_, i) => {
  return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', text: `What the mill said for the ${i}th time.` }
})

/** What there is to be shown, each with its number. */
export const conversations = given.map((conversation, number) => ({ ...conversation, number }))

const now = () => performance.timeOrigin + performance.now()
const root = document.getElementById('root')
const sheet = new CSSStyleSheet()
// Each conversation is a box of its own, so that none moves another's.
sheet.replaceSync(`
  #root { display: flex; flex-wrap: wrap; gap: 4px }
  ul { margin: 0; width: 300px; height: 300px; overflow: auto; contain: strict }
  #probe { position: fixed; height: 1px; contain: strict }
`)
document.adoptedStyleSheets = [sheet]

/** Of each answer: how many of its tokens are in the document, and when each was on the screen. */
const answers = conversations.map(() => ({ seen: 0, shown: [] }))
const changed = new Set()
const frames = []
const allShown = Promise.withResolvers()
let wanted = Number.POSITIVE_INFINITY

const LONGEST_TOKEN = 40

/** How many tokens a list shows of its answer: the number of the last, which is in its last characters. */
function seenIn(list) {
  const text = list.lastElementChild?.lastChild
  if (text?.nodeType !== Node.TEXT_NODE) return 0
  // All of a long text would be copied each time.
  const tail = text.substringData(Math.max(0, text.length - LONGEST_TOKEN), LONGEST_TOKEN)
  const end = tail.lastIndexOf('~')
  return end < 0 ? 0 : Number(tail.slice(tail.lastIndexOf('~', end - 1) + 1, end)) + 1
}

new MutationObserver(records => {
  const lists = new Set()
  for (const { target } of records) lists.add((target.parentElement ?? target).closest('ul') ?? target)
  for (const list of lists) {
    const answer = answers[list.dataset?.answer]
    const seen = answer ? seenIn(list) : 0
    if (!answer || seen <= answer.seen) continue
    answer.seen = seen
    changed.add(answer)
  }
}).observe(root, { subtree: true, childList: true, characterData: true })

// A frame has all that was in the document when its layout was done, also what a callback of the same frame put there: something system size is
// another in each frame says when that is. The frame is over when the page is told of a message that was sent then.
const probe = document.body.appendChild(document.createElement('div'))
probe.id = 'probe'
const painted = new MessageChannel()
/** What each frame has that was not told to be over yet: a busy page may have the next one before that. */
const painting = []
new ResizeObserver(() => {
  if (changed.size === 0) return
  painting.push([...changed].map(answer => ({ answer, seen: answer.seen })))
  changed.clear()
  painted.port2.postMessage('painted')
}).observe(probe)
painted.port1.onmessage = () => {
  const time = now()
  for (const { answer, seen } of painting.shift()) while (answer.shown.length < seen) answer.shown.push(time)
  if (answers.every(({ shown }) => shown.length >= wanted)) allShown.resolve()
}
const frame = () => {
  frames.push(now())
  probe.style.width = `${1 + (frames.length % 2)}px`
  requestAnimationFrame(frame)
}
requestAnimationFrame(frame)

const asking = []

/** A conversation says how its answer is asked for. */
export function ready({ number }, ask) {
  asking[number] = ask
}

globalThis.bench = {
  now,
  rows: () => root.querySelectorAll('li').length,
  /** Asks for all answers, of so many tokens, each by its number. */
  ask(tokens) {
    wanted = tokens
    for (const [number, ask] of asking.entries()) ask(String(number))
  },
  /** Tells of the answers when all their tokens were on the screen. */
  async shown() {
    await allShown.promise
    const lists = root.querySelectorAll('ul')
    return {
      shown: answers.map(({ shown }) => shown),
      texts: [...lists].map(list => list.lastElementChild.textContent),
      rows: root.querySelectorAll('li').length,
      frames,
    }
  },
}
