// A page of a test: components are mounted as an application does it, React works when it likes, and tests wait for what is seen.

import type { ReactNode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot, hydrateRoot, type Root } from 'react-dom/client'
import { afterEach, beforeEach, expect, vi } from 'vitest'

const roots: Root[] = []

beforeEach(() => {
  // React says there what is wrong, a callback that threw too.
  vi.spyOn(console, 'error').mockImplementation(() => {})
  vi.spyOn(console, 'warn').mockImplementation(() => {})
})

afterEach(() => {
  for (const root of roots.splice(0)) root.unmount()
  document.body.replaceChildren()
  sessionStorage.clear()
  renders.clear()
  const said = [...vi.mocked(console.error).mock.calls, ...vi.mocked(console.warn).mock.calls]
  vi.restoreAllMocks()
  // A real server has no document, and there React 18 has no reason to say this.
  const isOfServer = ([what]: unknown[]) => String(what).includes('useLayoutEffect does nothing on the server')
  expect(said.filter(one => !isOfServer(one))).toEqual([])
})

export interface Mounted {
  readonly element: HTMLElement
  /** What a person reads. */
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

/** Puts a component on the page, with all its effects. */
export function mount(node: ReactNode): Mounted {
  const element = document.body.appendChild(document.createElement('main'))
  const page = mounted(element, createRoot(element))
  page.render(node)
  return page
}

/** Takes over what a server has rendered. */
export function hydrate(html: string, node: ReactNode): Mounted {
  const element = document.body.appendChild(document.createElement('main'))
  element.innerHTML = html
  const onRecoverableError = (error: unknown) => console.error(error)
  return mounted(element, hydrateRoot(element, node, { onRecoverableError }))
}

/** Waits until the page shows it: looks whenever something on it has changed. */
export function seen(isSeen: () => boolean): Promise<void> {
  if (isSeen()) return Promise.resolve()
  return new Promise(resolve => {
    const observer = new MutationObserver(() => {
      if (!isSeen()) return
      observer.disconnect()
      resolve()
    })
    observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
  })
}

/** How often components were rendered in this test, by what they call themselves. */
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
