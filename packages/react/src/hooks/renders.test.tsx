// @vitest-environment jsdom
import type { Part } from '@millrace/client'
import { memo, Profiler, StrictMode, startTransition, useEffect, useState } from 'react'
import { flushSync } from 'react-dom'
import { describe, expect, test } from 'vitest'
import { mount, renders, waitUntil } from '../dom.fixture.tsx'
import {
  ChatProvider,
  useAgentState,
  useChat,
  useChatActions,
  useConnection,
  useMessage,
  useMessageIds,
  usePart,
  usePending,
  useSelector,
  useStructured,
  useStructuredStreams,
} from '../index.ts'
import { scriptedChat } from '../scripted-chat.fixture.ts'

const words = (text: string) => ({ type: 'text-delta', id: 't', delta: text }) as const
const textOf = (part: Part | undefined): string => (part && 'text' in part ? part.text : '')

const Row = memo(({ id }: { id: string }) => {
  renders.count(id)
  return <p>{useMessage(id)?.parts.map(textOf)}</p>
})

const List = () => {
  renders.count('list')
  return useMessageIds().map(id => <Row key={id} id={id} />)
}

const Actions = () => {
  renders.count('actions')
  const { sendMessage } = useChat()
  return typeof sendMessage
}

const OnlyActions = () => {
  renders.count('only actions')
  return typeof useChatActions().sendMessage
}

const Status = () => {
  renders.count('status')
  return useChat().status
}

const All = () => {
  renders.count('all')
  return useChat().messages.flatMap(({ parts }) => parts.map(textOf))
}

const Selected = () => {
  renders.count('selected')
  return useSelector(({ store }) => store.messages.length)
}

const Compared = () => {
  renders.count('compared')
  // A new array with equal numbers each time.
  const lengths = useSelector(
    ({ store }) => store.messages.map(({ parts }) => parts.length),
    (a, b) => a.join() === b.join(),
  )
  return `${lengths.length} lengths`
}

const Fresh = () => {
  renders.count('fresh')
  return useSelector(({ store, state }) => ({ count: store.messages.length, status: state.status })).status
}

const OnePart = () => {
  renders.count('part')
  return `[${textOf(usePart('run-1::run-1', 'text:t'))}]`
}

const Others = () => {
  renders.count('others')
  usePending()
  usePending('approval')
  useConnection()
  useStructuredStreams()
  const state = useAgentState<{ mood: string }>()
  return `${state?.mood} ${JSON.stringify(useStructured('draft')?.data)}`
}

describe('200 deltas in a conversation of 30 messages', () => {
  const TURNS = 15
  const DELTAS = 200

  function stream(more: React.ReactNode) {
    const { chat, turn, write } = scriptedChat({ streamFlushInterval: 0 })
    for (let n = 1; n <= TURNS; n++) turn(n)
    const page = mount(
      <ChatProvider chat={chat}>
        <List />
        {more}
      </ChatProvider>,
    )
    flushSync(() => write('run', { type: 'run-started', program: 'agent:writer@1' }, { type: 'text-start', id: 't' }))
    for (let n = 0; n < DELTAS; n++) flushSync(() => write('run', words('x')))
    expect(page.text).toContain('x'.repeat(DELTAS))
    return { page, write }
  }

  test('render an unchanged row once, and the list once per new message', () => {
    stream(undefined)
    for (let n = 1; n <= TURNS; n++) {
      expect(renders.of(`user-${n}`)).toBe(1)
      expect(renders.of(`run-${n}::run-${n}`)).toBe(1)
    }
    expect(renders.of('list')).toBe(2)
    // Once initially, and once for each delta.
    expect(renders.of('run::run')).toBe(1 + DELTAS)
  })

  test('rerender useChat only for fields that were read', () => {
    stream([<Actions key="1" />, <OnlyActions key="2" />, <Status key="3" />, <All key="4" />])
    expect(renders.of('actions')).toBe(1)
    expect(renders.of('only actions')).toBe(1)
    // Ready, then streaming.
    expect(renders.of('status')).toBe(2)
    expect(renders.of('all')).toBe(1 + 1 + DELTAS)
  })

  test('rerender a selector only when isEqual returns false', () => {
    const { page } = stream([<Selected key="1" />, <Compared key="2" />, <Fresh key="3" />])
    expect(renders.of('selected')).toBe(2)
    expect(renders.of('compared')).toBe(2)
    expect(page.text).toContain(`${2 * TURNS + 1} lengths`)
    // A new object each time rerenders once per change, without a loop.
    expect(renders.of('fresh')).toBeGreaterThanOrEqual(DELTAS)
    expect(renders.of('fresh')).toBeLessThanOrEqual(DELTAS + 3)
  })

  test('do not rerender hooks of parts, pendings, state, connection and structured objects', () => {
    const { page, write } = stream([<OnePart key="1" />, <Others key="2" />])
    expect(page.text).toContain('[Answer 1]')
    expect(renders.of('part')).toBe(1)
    expect(renders.of('others')).toBe(1)
    flushSync(() => write('run', { type: 'state-snapshot', state: { mood: 'calm' } }))
    expect(page.text).toContain('calm')
    expect(renders.of('others')).toBe(2)
    const chunk = { type: 'structured-data', streamId: 'draft', dataType: 'd', kind: 'set', path: 'a' } as const
    flushSync(() => write('run', { ...chunk, value: 1 }))
    expect(page.text).toContain('calm {"a":1}')
    expect(renders.of('others')).toBe(3)
    flushSync(() => write('run', { ...chunk, value: 2 }))
    expect(renders.of('others')).toBe(4)
    expect(renders.of('part')).toBe(1)
  })
})

test('renders thousands of entries in a frame once, and does not loop on thousands of frames', async () => {
  const { chat, write, turn } = scriptedChat({ streamFlushInterval: 0 })
  const page = mount(
    <ChatProvider chat={chat}>
      <All />
      <List />
    </ChatProvider>,
  )
  turn(1)
  write('run', ...Array.from({ length: 5000 }, () => words('x')))
  await waitUntil(() => page.text.endsWith('x'.repeat(5000)))
  expect(renders.of('all')).toBeLessThanOrEqual(3)
  for (let n = 0; n < 3000; n++) {
    write('run', words('y'))
    // As in a replay that is read frame by frame.
    if (n % 10 === 0) await null
  }
  await waitUntil(() => page.text.endsWith('y'.repeat(3000)))
})

let show = () => {}
const Later = () => {
  const chat = useChat()
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    show = () => setShown(true)
  })
  return isShown ? `${chat.messages.length} messages` : 'nothing'
}

test('rerenders for a field once the component starts to read it', () => {
  const { chat, turn } = scriptedChat({ streamFlushInterval: 0 })
  const page = mount(
    <ChatProvider chat={chat}>
      <Later />
    </ChatProvider>,
  )
  flushSync(() => turn(1))
  expect(page.text).toBe('nothing')
  flushSync(() => show())
  expect(page.text).toBe('2 messages')
  flushSync(() => turn(2))
  expect(page.text).toBe('4 messages')
})

const ROWS = Array.from({ length: 60 }, (_, n) => `row ${n}`)

const Slow = () => {
  const length = useSelector(({ store }) => textOf(store.messages.at(-1)?.parts[0]).length)
  const end = performance.now() + 1
  while (performance.now() < end);
  return <i>{length}</i>
}

let begin = () => {}
const Many = () => {
  const [isShown, setShown] = useState(false)
  useEffect(() => {
    begin = () => startTransition(() => setShown(true))
  })
  return isShown ? ROWS.map(name => <Slow key={name} />) : 'nothing'
}

test('shows one consistent state in all components of a transition', async () => {
  const { chat, write } = scriptedChat({ streamFlushInterval: 0 })
  write('run', words('x'))
  const commits: string[][] = []
  const page = mount(
    <ChatProvider chat={chat}>
      <Profiler id="page" onRender={() => queueMicrotask(() => commits.push(visibleTexts()))}>
        <Many />
      </Profiler>
    </ChatProvider>,
  )
  const visibleTexts = () => [
    ...new Set([...page.element.querySelectorAll('i')].map(({ textContent }) => textContent ?? '')),
  ]
  // React yields every few milliseconds. Entries arrive then.
  let came = 0
  const timer = setInterval(() => {
    if (came++ < 20) write('run', words('x'))
  })
  begin()
  await waitUntil(() => page.element.querySelectorAll('i').length === ROWS.length)
  clearInterval(timer)
  await Promise.resolve()
  expect(came).toBeGreaterThan(0)
  expect(commits.length).toBeGreaterThan(0)
  for (const commit of commits) expect(commit.length).toBeLessThanOrEqual(1)
})

test('causes no StrictMode warnings', () => {
  const { chat, turn } = scriptedChat({ streamFlushInterval: 0 })
  const page = mount(
    <StrictMode>
      <ChatProvider chat={chat}>
        <Status />
        <Selected />
        <Compared />
        <Others />
      </ChatProvider>
    </StrictMode>,
  )
  flushSync(() => turn(1))
  expect(page.text).toBe('ready22 lengthsundefined undefined')
})
