import { type Recording, useLog } from '@millrace/react/log'
import { useMemo, useState } from 'react'
import { connection } from '../app/connection.ts'
import { chatOf } from '../app/place.ts'
import { InspectedProvider } from './inspected.ts'
import { Inspector } from './inspector.tsx'
import { Then } from './travel/then.tsx'
import { TravelProvider } from './travel/travel.ts'

interface InspectPageProps {
  /** The session in the address; without one a recording is to be opened. */
  readonly session: string | undefined
  readonly onGo: (address: string) => void
}

/** The inspector of a session of the server, or of a recording. */
export function InspectPage({ session, onGo }: InspectPageProps) {
  const [recording] = useState<Recording>({ sessionId: '', entries: [] })
  const log = useLog(session === undefined ? { recording } : { session, connection })
  const [at, travel] = useState<number>()
  const travelling = useMemo(() => ({ at, travel: (at?: number) => travel(at) }), [at])
  return (
    <TravelProvider value={travelling}>
      <InspectedProvider value={log}>
        <main className="inspect">
          <header className="bar">
            <h1>Inspector</h1>
            <button type="button" onClick={() => onGo(chatOf(session))}>
              Chat
            </button>
          </header>
          <Inspector />
          <Then onGo={onGo} />
        </main>
      </InspectedProvider>
    </TravelProvider>
  )
}
