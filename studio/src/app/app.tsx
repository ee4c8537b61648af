import { ChatProvider } from '@millrace/react'
import { useState } from 'react'
import { Conversation } from '../conversation/conversation.tsx'
import { usePrograms } from '../programs/use-programs.ts'
import { Sessions } from '../sessions/sessions.tsx'
import { useSessions } from '../sessions/use-sessions.ts'
import { usePlace } from './place.ts'
import { tools } from './tools.ts'

/** The page: the sessions, and the one that is open. */
export function App() {
  const { place, open, settle } = usePlace()
  const { session, chat } = place
  const programs = usePrograms()
  const lines = useSessions()
  const [isListOpen, showList] = useState(false)
  const go = (session?: string) => {
    showList(false)
    open(session)
  }
  return (
    <div className="app" data-list={isListOpen ? 'open' : 'closed'}>
      <Sessions lines={lines} current={session} onOpen={go} onClose={() => showList(false)} />
      <ChatProvider key={session} {...(chat ? { chat } : { session, tools })}>
        <Conversation isNew={chat !== undefined} programs={programs} onSettle={settle} onList={() => showList(true)} />
      </ChatProvider>
    </div>
  )
}
