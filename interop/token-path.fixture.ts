// Prints the source files with code that runs at least once per token, from a model's stream to a React page, as a JSON array.
//
// Runs in its own process, on the built packages, because the coverage counters of V8 count per process. The model
// waits for each token to be on the page before it gives the next. So each token passes every layer alone, and a function on
// its path is called at least once per token.

import { mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Tokens before the count starts, and tokens that are counted. */
const WARM_UP = 20
const COUNTED = 40
/** Calls that put a function on the path. Timers call a function less often, and a token that shares an append counts once. */
const MIN_CALLS = 30

type Dom = new (html: string, options: { url: string }) => { window: Window & typeof globalThis }

// jsdom has no types.
const { JSDOM } = createRequire(import.meta.url)('jsdom') as { JSDOM: Dom }
const { window } = new JSDOM('<main></main>', { url: 'http://localhost/' })
const { document, MutationObserver, HTMLIFrameElement, sessionStorage } = window
Object.assign(globalThis, { window, document, HTMLIFrameElement, sessionStorage })
globalThis.requestAnimationFrame ??= callback => Number(setTimeout(callback, 16))
const page = document.querySelector('main') as HTMLElement

const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

// After the coverage has started, and after React finds a document.
const { createElement } = await import('react')
const { createRoot } = await import('react-dom/client')
const { ChatProvider, useChatActions, useMessage, useMessageIds } = await import('@millrace/react')
const { agent } = await import('@millrace/runtime')
const { millrace } = await import('@millrace/server')

type Model = Exclude<Parameters<typeof agent>[0]['model'], (...args: never) => unknown>

const appears = (text: string): Promise<void> =>
  new Promise(resolve => {
    const isShown = () => page.textContent?.includes(text)
    const observer = new MutationObserver(() => {
      if (!isShown()) return
      observer.disconnect()
      resolve()
    })
    observer.observe(page, { subtree: true, childList: true, characterData: true })
    if (isShown()) resolve()
  })

/** Calls since the last time, by file and function. */
async function takeCalls(): Promise<Map<string, number>> {
  const { result } = await inspector.post('Profiler.takePreciseCoverage')
  const calls = new Map<string, number>()
  for (const { url, functions } of result) {
    const [, name, path] = /packages\/([^/]+)\/dist\/(.*)\.js$/.exec(url) ?? []
    if (name === undefined) continue
    const max = Math.max(0, ...functions.map(({ ranges }) => ranges[0]?.count ?? 0))
    calls.set(`packages/${name}/src/${path}`, max)
  }
  return calls
}

let counted = new Map<string, number>()

async function* parts() {
  yield { type: 'stream-start', warnings: [] }
  yield { type: 'text-start', id: 't' }
  for (let token = 1; token <= WARM_UP + COUNTED; token++) {
    const delta = `w${token} `
    yield { type: 'text-delta', id: 't', delta }
    await appears(delta)
    if (token === WARM_UP) await takeCalls()
  }
  counted = await takeCalls()
  yield { type: 'text-end', id: 't' }
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: WARM_UP + COUNTED } }
  yield { type: 'finish', usage, finishReason: { unified: 'stop' } }
}

const stream = (): ReadableStream => {
  const iterator = parts()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await iterator.next()
      if (done) controller.close()
      else controller.enqueue(value)
    },
  })
}

const model = {
  specificationVersion: 'v4',
  provider: 'test',
  modelId: 'lockstep',
  supportedUrls: {},
  doStream: async () => ({ stream: stream() }),
} as unknown as Model

const Line = ({ id }: { id: string }) => {
  const message = useMessage(id)
  const text = message?.parts.map(part => ('text' in part ? part.text : '')).join('')
  return createElement('p', null, `${message?.status}: ${text}`)
}
const Lines = () => useMessageIds().map(id => createElement(Line, { key: id, id }))
const Sender = () => {
  const { sendMessage } = useChatActions()
  return createElement('button', { onClick: () => void sendMessage('Go') })
}

const folder = mkdtempSync(join(tmpdir(), 'token-path-'))
const logger = { warn() {}, error() {} }
const app = millrace({ store: `sqlite:${folder}/log.db`, agents: [agent({ name: 'lockstep', model })], logger })
const listening = await app.listen({ port: 0 })
const root = createRoot(page)
const children = [createElement(Lines, { key: 'lines' }), createElement(Sender, { key: 'sender' })]
root.render(createElement(ChatProvider, { api: `${listening.url}/api`, agent: 'lockstep', children }))
while (page.querySelector('button') === null) await new Promise(resolve => setTimeout(resolve, 5))
page.querySelector('button')?.click()
await appears(`w${WARM_UP + COUNTED} `)
while (counted.size === 0) await new Promise(resolve => setTimeout(resolve, 5))

console.log(JSON.stringify([...counted].flatMap(([file, calls]) => (calls >= MIN_CALLS ? [file] : [])).sort()))
root.unmount()
await listening.close()
rmSync(folder, { recursive: true })
process.exit(0)
