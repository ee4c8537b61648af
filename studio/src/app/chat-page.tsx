import { ChatProvider } from '@millrace/react'
import { useState } from 'react'
import { Conversation } from '../conversation/conversation.tsx'
import { SiblingsProvider } from '../conversation/siblings-provider.tsx'
import { recordingCallbacks } from '../inspect/callbacks/calls.ts'
import { Drawer } from '../inspect/drawer.tsx'
import { usePrograms } from '../programs/use-programs.ts'
import { Sessions } from '../sessions/sessions.tsx'
import { useSessions } from '../sessions/use-sessions.ts'
import { connection } from './connection.ts'
import { chatUrl, type Route } from './route.ts'
import { Shortcuts } from './shortcuts.tsx'
import { tools } from './tools.ts'

interface ChatPageProps {
  readonly route: Extract<Route, { page: 'chat' }>
  readonly onNavigate: (url: string) => void
  readonly onFirstMessage: (session: string) => void
}

/** The list of chats, the open chat, and its inspector. */
export function ChatPage({ route: { session, chat }, onNavigate, onFirstMessage }: ChatPageProps) {
  const programList = usePrograms()
  const sessions = useSessions()
  const [isListOpen, setListOpen] = useState(false)
  const [isInspected, setInspected] = useState(false)
  const open = (session?: string) => {
    setListOpen(false)
    onNavigate(chatUrl(session))
  }
  return (
    <>
      <a className="skip" href="#input">
        Skip to message input
      </a>
      <div className="app" data-list={isListOpen ? 'open' : 'closed'} data-drawer={isInspected ? 'open' : 'closed'}>
        <Sessions sessions={sessions} current={session} onOpen={open} onClose={() => setListOpen(false)} />
        <ChatProvider key={session} {...(chat ? { chat } : { session, tools, connection, ...recordingCallbacks() })}>
          <SiblingsProvider>
            <Drawer session={session} isOpen={isInspected} onClose={() => setInspected(false)} onNavigate={onNavigate}>
              <Conversation
                isNew={chat !== undefined}
                programList={programList}
                onFirstMessage={onFirstMessage}
                onOpenList={() => setListOpen(true)}
                isInspected={isInspected}
                onInspect={() => setInspected(!isInspected)}
              />
            </Drawer>
          </SiblingsProvider>
        </ChatProvider>
      </div>
      <Shortcuts />
    </>
  )
}
