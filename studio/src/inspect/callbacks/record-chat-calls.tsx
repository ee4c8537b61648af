import { useChatInstance } from '@millrace/react'
import { useEffect } from 'react'
import { noteChat } from './calls.ts'

/** Records the callbacks of the surrounding chat while mounted. */
export function RecordChatCalls() {
  const chat = useChatInstance()
  useEffect(() => noteChat(chat), [chat])
  return null
}
