import { useLog } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { connection } from '../app/connection.ts'
import { inspectorUrl } from '../app/route.ts'
import { RecordChatCalls } from './callbacks/record-chat-calls.tsx'
import { InspectedProvider } from './inspected.ts'
import { Inspector } from './inspector.tsx'
import { LogStatus } from './log-status.tsx'
import { RecordingButtons } from './recording/recording-buttons.tsx'
import { PastConversation } from './travel/past-conversation.tsx'
import { TravelProvider, useTravelling } from './travel/travel.ts'

interface DrawerProps {
  readonly session: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onNavigate: (address: string) => void
  /** The chat beside the inspector. */
  readonly children: ReactNode
}

/** A chat, or its past state, with the inspector beside it while that is open. */
export function Drawer({ session, isOpen, onClose, onNavigate, children }: DrawerProps) {
  const travelling = useTravelling()
  const isTravelling = travelling.at !== undefined
  return (
    <TravelProvider value={travelling}>
      <RecordChatCalls />
      {/* Stays mounted, so that the draft in the composer is kept. */}
      <div className="beside" hidden={isTravelling}>
        {children}
      </div>
      {(isOpen || isTravelling) && (
        <LogProvider session={session}>
          {isTravelling && <PastConversation onNavigate={onNavigate} />}
          {isOpen && (
            <aside className="drawer" aria-label="Inspector">
              <header className="bar">
                <h2>Inspector</h2>
                <LogStatus />
                <span className="space" />
                <RecordingButtons />
                <button type="button" onClick={() => onNavigate(inspectorUrl(session))}>
                  Full page
                </button>
                <button type="button" aria-label="Close inspector" onClick={onClose}>
                  ✕
                </button>
              </header>
              <Inspector />
            </aside>
          )}
        </LogProvider>
      )}
    </TravelProvider>
  )
}

function LogProvider({ session, children }: { readonly session: string; readonly children: ReactNode }) {
  return <InspectedProvider value={useLog({ session, connection })}>{children}</InspectedProvider>
}
