import { type Recording, type SessionLog, useLog } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { connection } from '../app/connection.ts'
import { chatUrl } from '../app/route.ts'
import { InspectedProvider } from './inspected.ts'
import { Inspector } from './inspector.tsx'
import { LogStatus } from './log-status.tsx'
import { OpenRecording } from './recording/open-recording.tsx'
import { RecordingButtons } from './recording/recording-buttons.tsx'
import { useRecording } from './recording/recording-state.ts'
import { Tabs } from './tabs.tsx'
import { PastConversation } from './travel/past-conversation.tsx'
import { State } from './travel/state.tsx'
import { TravelProvider, useTravelling } from './travel/travel.ts'

interface InspectPageProps {
  /** The session in the address; undefined to open a recording. */
  readonly session: string | undefined
  readonly onNavigate: (address: string) => void
}

/** The inspector of a session of the server, or of a recording. */
export function InspectPage({ session, onNavigate }: InspectPageProps) {
  return session === undefined ? (
    <Recorded onNavigate={onNavigate} />
  ) : (
    <Followed session={session} onNavigate={onNavigate} />
  )
}

type Onwards = Pick<InspectPageProps, 'onNavigate'>

function Followed({ session, onNavigate }: Onwards & { readonly session: string }) {
  return <Page log={useLog({ session, connection })} name={session} chat={chatUrl(session)} onNavigate={onNavigate} />
}

function Recorded({ onNavigate }: Onwards) {
  const { recording, name = '' } = useRecording()
  if (recording) return <Played recording={recording} name={name} onNavigate={onNavigate} />
  return (
    <main className="inspect">
      <Bar name="" chat={chatUrl()} onNavigate={onNavigate} />
      <OpenRecording />
    </main>
  )
}

function Played({ recording, name, onNavigate }: Onwards & { readonly recording: Recording; readonly name: string }) {
  return <Page log={useLog({ recording })} name={name} chat={chatUrl()} onNavigate={onNavigate} />
}

interface BarProps extends Onwards {
  readonly name: string
  /** Address of the chat. */
  readonly chat: string
  readonly children?: ReactNode
}

function Bar({ name, chat, onNavigate, children }: BarProps) {
  return (
    <header className="bar">
      <h1>Inspector</h1>
      <span className="name" title={name}>
        {name}
      </span>
      {children}
      <button type="button" onClick={() => onNavigate(chat)}>
        Back to chat
      </button>
    </header>
  )
}

function Page({ log, ...bar }: BarProps & { readonly log: SessionLog }) {
  const travelling = useTravelling()
  const sides = [
    { name: 'Conversation', panel: <PastConversation key="Conversation" onNavigate={bar.onNavigate} /> },
    { name: 'State', panel: <State key="State" /> },
  ]
  return (
    <TravelProvider value={travelling}>
      <InspectedProvider value={log}>
        <main className="inspect">
          <Bar {...bar}>
            <LogStatus />
            <span className="space" />
            <RecordingButtons />
          </Bar>
          <Inspector side={<Tabs label="Session at this point" tabs={sides} />} />
        </main>
      </InspectedProvider>
    </TravelProvider>
  )
}
