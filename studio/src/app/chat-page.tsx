import { ChatProvider } from '@millrace/react'
import { useState } from 'react'
import { Conversation } from '../conversation/conversation.tsx'
import { FamilyProvider } from '../conversation/family.tsx'
import { callbacksOf } from '../inspect/callbacks/calls.ts'
import { Drawer } from '../inspect/drawer.tsx'
import { usePrograms } from '../programs/use-programs.ts'
import { Sessions } from '../sessions/sessions.tsx'
import { useSessions } from '../sessions/use-sessions.ts'
import { connection } from './connection.ts'
import { chatOf, type Place } from './place.ts'
import { Shortcuts } from './shortcuts.tsx'
import { tools } from './tools.ts'

interface ChatPageProps {
  readonly place: Extract<Place, { page: 'chat' }>
  readonly onGo: (address: string) => void
  readonly onSettle: (session: string) => void
}

/** The list of chats, the open chat, and its inspector. */
export function ChatPage({ place: { session, chat }, onGo, onSettle }: ChatPageProps) {
  const programs = usePrograms()
  const lines = useSessions()
  const [isListOpen, showList] = useState(false)
  const [isInspected, inspect] = useState(false)
  const open = (session?: string) => {
    showList(false)
    onGo(chatOf(session))
  }
  return (
    <>
      <a className="skip" href="#input">
        Skip to message input
      </a>
      <div className="app" data-list={isListOpen ? 'open' : 'closed'} data-drawer={isInspected ? 'open' : 'closed'}>
        <Sessions lines={lines} current={session} onOpen={open} onClose={() => showList(false)} />
        <ChatProvider key={session} {...(chat ? { chat } : { session, tools, connection, ...callbacksOf() })}>
          <FamilyProvider>
            <Drawer session={session} isOpen={isInspected} onClose={() => inspect(false)} onGo={onGo}>
              <Conversation
                isNew={chat !== undefined}
                programs={programs}
                onSettle={onSettle}
                onList={() => showList(true)}
                isInspected={isInspected}
                onInspect={() => inspect(!isInspected)}
              />
            </Drawer>
          </FamilyProvider>
        </ChatProvider>
      </div>
      <Shortcuts />
    </>
  )
}
