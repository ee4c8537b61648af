import { useChatInstance } from '@millrace/react'
import { useEffect } from 'react'
import { noteChat } from './calls.ts'

/** Has what the chat around tells noted, for as long as it is there. */
export function NoteChat() {
  const chat = useChatInstance()
  useEffect(() => noteChat(chat), [chat])
  return null
}
