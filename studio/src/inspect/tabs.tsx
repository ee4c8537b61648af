import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react'

interface TabsProps {
  readonly label: string
  readonly tabs: readonly { readonly name: string; readonly panel: ReactNode }[]
}

/** Tabs with panels. The arrow keys switch between them. */
export function Tabs({ label, tabs }: TabsProps) {
  const [name, show] = useState(tabs[0]?.name)
  const id = useId()
  const list = useRef<HTMLDivElement>(null)
  const index = Math.max(
    0,
    tabs.findIndex(tab => tab.name === name),
  )
  const keys = (event: KeyboardEvent) => {
    const moves: { readonly [key: string]: number } = {
      ArrowLeft: index - 1,
      ArrowRight: index + 1,
      Home: 0,
      End: tabs.length - 1,
    }
    const to = moves[event.key]
    if (to === undefined) return
    event.preventDefault()
    const next = (to + tabs.length) % tabs.length
    show(tabs[next]?.name)
    list.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div className="tabbed">
      <div className="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={keys}>
        {tabs.map((tab, i) => (
          <button
            key={tab.name}
            type="button"
            role="tab"
            id={`${id}${tab.name}`}
            aria-selected={i === index}
            aria-controls={`${id}panel`}
            tabIndex={i === index ? 0 : -1}
            onClick={() => show(tab.name)}
          >
            {tab.name}
          </button>
        ))}
      </div>
      <div
        className="tab-panel"
        role="tabpanel"
        id={`${id}panel`}
        aria-labelledby={`${id}${tabs[index]?.name}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a panel may scroll and hold no focusable element
        tabIndex={0}
      >
        {tabs[index]?.panel}
      </div>
    </div>
  )
}
