import { useLog } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { connection } from '../app/connection.ts'
import { inspectorOf } from '../app/place.ts'
import { NoteChat } from './callbacks/note-chat.tsx'
import { InspectedProvider } from './inspected.ts'
import { Inspector } from './inspector.tsx'
import { RecordingButtons } from './recording/buttons.tsx'
import { Standing } from './standing.tsx'
import { Then } from './travel/then.tsx'
import { TravelProvider, useTravelling } from './travel/travel.ts'

interface DrawerProps {
  readonly session: string
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly onGo: (address: string) => void
  /** The chat that it stands beside. */
  readonly children: ReactNode
}

/** A chat, or how it was at another place of its log; and while it is open the inspector beside it. */
export function Drawer({ session, isOpen, onClose, onGo, children }: DrawerProps) {
  const travelling = useTravelling()
  const isElsewhere = travelling.at !== undefined
  return (
    <TravelProvider value={travelling}>
      <NoteChat />
      {/* It stays where it is, with what somebody has typed. */}
      <div className="beside" hidden={isElsewhere}>
        {children}
      </div>
      {(isOpen || isElsewhere) && (
        <Logged session={session}>
          {isElsewhere && <Then onGo={onGo} />}
          {isOpen && (
            <aside className="drawer" aria-label="Inspector">
              <header className="bar">
                <h2>Inspector</h2>
                <Standing />
                <span className="space" />
                <RecordingButtons />
                <button type="button" onClick={() => onGo(inspectorOf(session))}>
                  Whole page
                </button>
                <button type="button" aria-label="Close the inspector" onClick={onClose}>
                  ✕
                </button>
              </header>
              <Inspector />
            </aside>
          )}
        </Logged>
      )}
    </TravelProvider>
  )
}

function Logged({ session, children }: { readonly session: string; readonly children: ReactNode }) {
  return <InspectedProvider value={useLog({ session, connection })}>{children}</InspectedProvider>
}
