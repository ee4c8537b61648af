import { type Recording, type SessionLog, useLog } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { connection } from '../app/connection.ts'
import { chatOf } from '../app/place.ts'
import { InspectedProvider } from './inspected.ts'
import { Inspector } from './inspector.tsx'
import { RecordingButtons } from './recording/buttons.tsx'
import { OpenRecording } from './recording/open-recording.tsx'
import { useRecording } from './recording/opened.ts'
import { Standing } from './standing.tsx'
import { Tabs } from './tabs.tsx'
import { State } from './travel/state.tsx'
import { Then } from './travel/then.tsx'
import { TravelProvider, useTravelling } from './travel/travel.ts'

interface InspectPageProps {
  /** The session in the address; without one a recording is to be opened. */
  readonly session: string | undefined
  readonly onGo: (address: string) => void
}

/** The inspector of a session of the server, or of a recording. */
export function InspectPage({ session, onGo }: InspectPageProps) {
  return session === undefined ? <Recorded onGo={onGo} /> : <Followed session={session} onGo={onGo} />
}

type Onwards = Pick<InspectPageProps, 'onGo'>

function Followed({ session, onGo }: Onwards & { readonly session: string }) {
  return <Page log={useLog({ session, connection })} name={session} chat={chatOf(session)} onGo={onGo} />
}

function Recorded({ onGo }: Onwards) {
  const { recording, name = '' } = useRecording()
  if (recording) return <Played recording={recording} name={name} onGo={onGo} />
  return (
    <main className="inspect">
      <Bar name="" chat={chatOf()} onGo={onGo} />
      <OpenRecording />
    </main>
  )
}

function Played({ recording, name, onGo }: Onwards & { readonly recording: Recording; readonly name: string }) {
  return <Page log={useLog({ recording })} name={name} chat={chatOf()} onGo={onGo} />
}

interface BarProps extends Onwards {
  readonly name: string
  /** Where its chat is. */
  readonly chat: string
  readonly children?: ReactNode
}

function Bar({ name, chat, onGo, children }: BarProps) {
  return (
    <header className="bar">
      <h1>Inspector</h1>
      <span className="name" title={name}>
        {name}
      </span>
      {children}
      <button type="button" onClick={() => onGo(chat)}>
        Chat
      </button>
    </header>
  )
}

function Page({ log, ...bar }: BarProps & { readonly log: SessionLog }) {
  const travelling = useTravelling()
  const sides = [
    { name: 'Conversation', panel: <Then key="Conversation" onGo={bar.onGo} /> },
    { name: 'State', panel: <State key="State" /> },
  ]
  return (
    <TravelProvider value={travelling}>
      <InspectedProvider value={log}>
        <main className="inspect">
          <Bar {...bar}>
            <Standing />
            <span className="space" />
            <RecordingButtons />
          </Bar>
          <Inspector side={<Tabs label="What it amounted to" tabs={sides} />} />
        </main>
      </InspectedProvider>
    </TravelProvider>
  )
}
