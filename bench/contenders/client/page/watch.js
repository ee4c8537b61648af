// Measures a page while an answer streams: arrival of bytes and of their words in the document, React commits, rendered rows and screen frames.

const counts = { commits: 0, renders: 0, frames: 0 }
/** Arrival time of each word by its number. `visibleWords` is the number of words in the document. */
const arrivals = []
const latencies = []
let visibleWords = 0
let expectedWords = Number.POSITIVE_INFINITY
let done = () => {}

globalThis.__REACT_DEVTOOLS_GLOBAL_HOOK__ = {
  supportsFiber: true,
  renderers: new Map(),
  inject: () => 1,
  onCommitFiberRoot: () => {
    counts.commits++
  },
  onCommitFiberUnmount: () => {},
  onPostCommitFiberRoot: () => {},
}

/** Called by a row when it renders. */
export function rendered() {
  counts.renders++
}

const frame = () => {
  counts.frames++
  requestAnimationFrame(frame)
}
requestAnimationFrame(frame)

const originalFetch = globalThis.fetch
globalThis.fetch = async (...args) => {
  const reply = await originalFetch(...args)
  if (!reply.body || !reply.headers.get('content-type')?.startsWith('text/event-stream')) return reply
  const reader = reply.body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  const body = new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      const now = performance.now()
      rest += decoder.decode(value, { stream: true })
      for (const [, number] of rest.matchAll(/~(\d+)~/g)) arrivals[Number(number)] ??= now
      rest = rest.slice(rest.lastIndexOf('~') + 1)
      controller.enqueue(value)
    },
    cancel: reason => reader.cancel(reason),
  })
  return new Response(body, { status: reply.status, headers: reply.headers })
}

const root = document.getElementById('root')
const last = () => root.querySelector('li:last-child')?.textContent ?? ''

new MutationObserver(() => {
  const now = performance.now()
  const text = last()
  const end = text.lastIndexOf('~')
  if (end < 0) return
  const number = Number(text.slice(text.lastIndexOf('~', end - 1) + 1, end))
  for (; visibleWords <= number; visibleWords++) latencies.push(now - arrivals[visibleWords])
  if (visibleWords >= expectedWords) done()
}).observe(root, { subtree: true, childList: true, characterData: true })

/** Earlier messages: ids, roles and texts. */
export const history = Array.from({ length: Number(new URLSearchParams(location.search).get('messages')) }, (_, i) => {
  return { id: `message-${i}`, role: i % 2 ? 'assistant' : 'user', text: `What the mill said for the ${i}th time.` }
})

/** Registers the function that requests an answer. */
export function registerPage(send) {
  globalThis.bench = {
    rows: () => root.querySelectorAll('li').length,
    /** Requests an answer of `count` words and resolves with the measurements when it is complete. */
    async answer(words) {
      const before = { ...counts }
      const since = performance.now()
      await new Promise(resolve => {
        expectedWords = words
        done = resolve
        send()
      })
      // The commit with the last word is still running when the document changes.
      await new Promise(resolve => setTimeout(resolve))
      return {
        latencies,
        ms: performance.now() - since,
        commits: counts.commits - before.commits,
        renders: counts.renders - before.renders,
        frames: counts.frames - before.frames,
        text: last(),
        rows: root.querySelectorAll('li').length,
      }
    },
  }
}
