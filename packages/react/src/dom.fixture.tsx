// Mounts components as an application does, without `act`. Tests wait for changes of the document.

import type { ReactNode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot, hydrateRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, expect, vi } from 'vitest'

const roots: Root[] = []

const nextTask = () => new Promise(resolve => setTimeout(resolve))

beforeEach(({ onTestFinished }) => {
  // Runs last, after the test has closed its servers: an update in flight needs the window.
  onTestFinished(async () => {
    for (let tasks = 0; tasks < 3; tasks++) await nextTask()
  })
  // React reports errors there, also those of callbacks.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

afterEach(() => {
  for (const root of roots.splice(0)) root.unmount()
  document.body.replaceChildren()
  sessionStorage.clear()
  renders.clear()
  const logged = [...vi.mocked(console.error).mock.calls, ...vi.mocked(console.warn).mock.calls]
  vi.restoreAllMocks()
  // React 18 warns of this on a server that has a document, as in these tests.
  const isServerWarning = ([message]: unknown[]) =>
    String(message).includes('useLayoutEffect does nothing on the server')
  expect(logged.filter(call => !isServerWarning(call))).toEqual([])
})

export interface Mounted {
  readonly element: HTMLElement
  /** Text content. */
  readonly text: string
  render(node: ReactNode): void
  unmount(): void
}

function mounted(element: HTMLElement, root: Root): Mounted {
  roots.push(root)
  return {
    element,
    get text() {
      return element.textContent ?? ''
    },
    render: node => flushSync(() => root.render(node)),
    unmount: () => {
      roots.splice(roots.indexOf(root), 1)
      flushSync(() => root.unmount())
    },
  }
}

/** Mounts a component and runs its effects. It is unmounted at the end of the test. */
export function mount(node: ReactNode): Mounted {
  const element = document.body.appendChild(document.createElement('main'))
  const page = mounted(element, createRoot(element))
  page.render(node)
  return page
}

/** Hydrates HTML that a server has rendered. */
export function hydrate(html: string, node: ReactNode): Mounted {
  const element = document.body.appendChild(document.createElement('main'))
  element.innerHTML = html
  const onRecoverableError = (error: unknown) => console.error(error)
  return mounted(element, hydrateRoot(element, node, { onRecoverableError }))
}

/** Waits until `condition` returns true. Checks after every change of the document. */
export function waitUntil(condition: () => boolean): Promise<void> {
  if (condition()) return Promise.resolve()
  return new Promise(resolve => {
    const observer = new MutationObserver(() => {
      if (!condition()) return
      observer.disconnect()
      resolve()
    })
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
  })
}

/** Number of renders in this test, by the name of the component. */
class Renders {
  readonly #counts = new Map<string, number>()

  count(name: string): void {
    this.#counts.set(name, this.of(name) + 1)
  }

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  clear(): void {
    this.#counts.clear()
  }
}

export const renders = new Renders()
