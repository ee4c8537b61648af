import type { ReactNode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import { onTestFinished } from 'vitest'

/** Shows something on a page, until the test is over. */
export function show(node: ReactNode): HTMLElement {
  const place = document.createElement('div')
  document.body.append(place)
  const root = createRoot(place)
  flushSync(() => root.render(node))
  onTestFinished(() => {
    root.unmount()
    place.remove()
  })
  return place
}

/** Clicks on what has that title. */
export const click = (place: HTMLElement, title: string): void =>
  place.querySelector<HTMLElement>(`[title="${title}"]`)?.click()
