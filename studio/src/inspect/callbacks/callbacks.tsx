import { memo, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { type Call, callsSoFar, clearCalls, subscribeToCalls } from './calls.ts'
import { excerptOf, preview } from './preview.ts'

/** The callbacks of the chat in this tab, with changes of its status and connection. */
export function Callbacks() {
  const { calls, chat, dropped } = useSyncExternalStore(subscribeToCalls, callsSoFar, callsSoFar)
  const list = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  const last = calls.at(-1)?.id
  useEffect(() => {
    if (last !== undefined && isAtEnd.current && list.current) list.current.scrollTop = list.current.scrollHeight
  }, [last])
  if (!chat) {
    return (
      <p className="panel quiet">
        No chat is open in this tab. Open the chat of this session and click Inspect there to see its callbacks.
      </p>
    )
  }
  const first = calls[0]?.time ?? 0
  return (
    <div className="panel callbacks">
      <div className="row">
        <h3>Callbacks</h3>
        <span className="quiet">
          {calls.length} {calls.length === 1 ? 'call' : 'calls'}
          {dropped > 0 && `, ${dropped.toLocaleString('en')} older ones dropped`}
        </span>
        <span className="space" />
        <button type="button" disabled={calls.length === 0} onClick={clearCalls}>
          Clear
        </button>
      </div>
      {calls.length === 0 ? (
        <p className="quiet">No callbacks yet. Send a message to see them.</p>
      ) : (
        <ol
          ref={list}
          onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
            isAtEnd.current = scrollTop + clientHeight > scrollHeight - 24
          }}
        >
          {calls.map(call => (
            <Line key={call.id} call={call} sinceMs={call.time - first} />
          ))}
        </ol>
      )}
    </div>
  )
}

const Line = memo(function Line({ call, sinceMs }: { readonly call: Call; readonly sinceMs: number }) {
  const [isOpen, open] = useState(false)
  const { kind, name } = call
  const excerpt = excerptOf(call)
  return (
    <li data-kind={kind} data-name={name}>
      <details onToggle={({ currentTarget }) => open(currentTarget.open)}>
        <summary>
          <time>+{(sinceMs / 1000).toFixed(3)} s</time>
          <span className="name">{kind === 'callback' ? name : `${kind} ${name.replace('-', ' ')}`}</span>
          <span className="excerpt">{excerpt}</span>
        </summary>
        {isOpen && <pre>{JSON.stringify(preview(call.value), null, 2)}</pre>}
      </details>
    </li>
  )
})
