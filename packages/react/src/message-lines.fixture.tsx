// Components that tests render.

import type { Message } from '@millrace/client'
import { useChatActions, useMessage, useMessageIds } from './index.ts'

const textOf = (message: Message | undefined): string =>
  message?.parts.map(part => ('text' in part ? part.text : '')).join('') ?? ''

const Line = ({ id }: { id: string }) => {
  const message = useMessage(id)
  return <p>{`${message?.role} ${message?.status}: ${textOf(message)}`}</p>
}

export const Lines = () => useMessageIds().map(id => <Line key={id} id={id} />)

export const Sender = () => {
  const { sendMessage } = useChatActions()
  return (
    <button type="button" onClick={() => sendMessage('Hello')}>
      Send
    </button>
  )
}
