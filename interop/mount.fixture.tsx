// Mounts components in the document of a test. Only for files with a DOM: they have their own worker, so the hooks below run once per file.

import { subscribe } from 'node:diagnostics_channel'
import { type ReactNode, StrictMode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { beforeEach, expect, onTestFinished } from 'vitest'

/** Requests of `fetch` without a complete response. */
const inFlight = new Map<object, string>()

const onRequest = (channel: string, listener: (request: { method: string; origin: string; path: string }) => void) =>
  subscribe(channel, message => listener((message as { request: never }).request))

onRequest('undici:request:create', request => {
  inFlight.set(request, `${request.method} ${request.origin}${request.path}`)
})
for (const end of ['trailers', 'error']) onRequest(`undici:request:${end}`, request => void inFlight.delete(request))

const nextTask = () => new Promise(resolve => setTimeout(resolve))

/**
 * A test that leaves a page mounted or a request in flight fails. Otherwise React would update a page after its window is gone, which
 * fails a later test, or the file after its last one.
 */
beforeEach(({ onTestFinished }) => {
  // Registered before the hooks of the test, so it runs after they have closed the servers and unmounted the pages.
  onTestFinished(async () => {
    // The end of one request may start the next.
    for (let quiet = 0; quiet < 3; quiet++) {
      if (inFlight.size > 0) {
        await expect.poll(() => [...inFlight.values()], { message: 'requests in flight after the test' }).toEqual([])
        quiet = 0
      }
      await nextTask()
    }
    const mounted = document.body.innerHTML
    document.body.replaceChildren()
    expect(mounted, 'left on the page by the test').toBe('')
  })
})

export interface Mounted {
  readonly element: HTMLElement
  render(node: ReactNode): void
  unmount(): void
}

/** Mounts a component. It is unmounted at the end of the test. */
export function mount(node: ReactNode, { isStrict = false } = {}): Mounted {
  const element = document.body.appendChild(document.createElement('main'))
  const root = createRoot(element)
  const render = (node: ReactNode) => flushSync(() => root.render(isStrict ? <StrictMode>{node}</StrictMode> : node))
  const unmount = () => {
    flushSync(() => root.unmount())
    element.remove()
  }
  onTestFinished(unmount)
  render(node)
  return { element, render, unmount }
}

/** Clicks the button with this title or text. */
export function click(element: HTMLElement, name: string): void {
  const button = [...element.querySelectorAll('button')].find(each => each.title === name || each.textContent === name)
  if (!button) throw new Error(`expected a button '${name}', found: ${element.innerHTML}`)
  button.click()
}
