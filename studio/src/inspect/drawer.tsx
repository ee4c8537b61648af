import { useChatInstance } from '@millrace/react'
import { useLog } from '@millrace/react/log'
import { type ReactNode, useEffect } from 'react'
import { connection } from '../app/connection.ts'
import { inspectorUrl } from '../app/route.ts'
import { recordChat } from './callbacks/calls.ts'
import { InspectedLogProvider } from './inspected-log.ts'
import { Inspector } from './inspector.tsx'
import { LogStatus } from './log-status.tsx'
import { RecordingButtons } from './recording/recording-buttons.tsx'
import { PastConversation } from './travel/past-conversation.tsx'
import { TravelProvider, useTravelState } from './travel/travel.ts'

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
  const travelState = useTravelState()
  const isTravelling = travelState.at !== undefined
  const chat = useChatInstance()
  useEffect(() => recordChat(chat), [chat])
  return (
    <TravelProvider value={travelState}>
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
  return <InspectedLogProvider value={useLog({ session, connection })}>{children}</InspectedLogProvider>
}
