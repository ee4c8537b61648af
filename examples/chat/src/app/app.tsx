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
  const programs = usePrograms()
  const lines = useSessions()
  const title = lines.find(({ sessionId }) => sessionId === place.shown)?.title
  const [isListOpen, showList] = useState(false)
  const go = (session?: string) => {
    showList(false)
    open(session)
  }
  return (
    <div className="app" data-list={isListOpen ? 'open' : 'closed'}>
      <Sessions lines={lines} current={place.shown} onOpen={go} onClose={() => showList(false)} />
      <ChatProvider key={place.key} session={place.session} tools={tools}>
        <Conversation title={title} programs={programs} onSettle={settle} onList={() => showList(true)} />
      </ChatProvider>
    </div>
  )
}
