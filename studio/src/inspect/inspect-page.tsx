import { type Recording, type SessionLog, useLog } from '@millrace/react/log'
import type { ReactNode } from 'react'
import { connection } from '../app/connection.ts'
import { chatUrl } from '../app/route.ts'
import { InspectedLogProvider } from './inspected-log.ts'
import { Inspector } from './inspector.tsx'
import { LogStatus } from './log-status.tsx'
import { OpenRecording } from './recording/open-recording.tsx'
import { RecordingButtons } from './recording/recording-buttons.tsx'
import { useRecording } from './recording/recording-state.ts'
import { Tabs } from './tabs.tsx'
import { PastConversation } from './travel/past-conversation.tsx'
import { State } from './travel/state.tsx'
import { TravelProvider, useTravelState } from './travel/travel.ts'

interface InspectPageProps {
  /** The session in the address; undefined to open a recording. */
  readonly session: string | undefined
  readonly onNavigate: (address: string) => void
}

/** The inspector of a session of the server, or of a recording. */
export function InspectPage({ session, onNavigate }: InspectPageProps) {
  return session === undefined ? (
    <RecordingPage onNavigate={onNavigate} />
  ) : (
    <LivePage session={session} onNavigate={onNavigate} />
  )
}

type NavigateProps = Pick<InspectPageProps, 'onNavigate'>

function LivePage({ session, onNavigate }: NavigateProps & { readonly session: string }) {
  return <Page log={useLog({ session, connection })} name={session} chat={chatUrl(session)} onNavigate={onNavigate} />
}

function RecordingPage({ onNavigate }: NavigateProps) {
  const { recording, name = '' } = useRecording()
  if (recording) return <OpenedRecording recording={recording} name={name} onNavigate={onNavigate} />
  return (
    <main className="inspect">
      <Bar name="" chat={chatUrl()} onNavigate={onNavigate} />
      <OpenRecording />
    </main>
  )
}

function OpenedRecording({
  recording,
  name,
  onNavigate,
}: NavigateProps & { readonly recording: Recording; readonly name: string }) {
  return <Page log={useLog({ recording })} name={name} chat={chatUrl()} onNavigate={onNavigate} />
}

interface BarProps extends NavigateProps {
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
  const travelState = useTravelState()
  const sides = [
    { name: 'Conversation', panel: <PastConversation key="Conversation" onNavigate={bar.onNavigate} /> },
    { name: 'State', panel: <State key="State" /> },
  ]
  return (
    <TravelProvider value={travelState}>
      <InspectedLogProvider value={log}>
        <main className="inspect">
          <Bar {...bar}>
            <LogStatus />
            <span className="space" />
            <RecordingButtons />
          </Bar>
          <Inspector side={<Tabs label="Session at this point" tabs={sides} />} />
        </main>
      </InspectedLogProvider>
    </TravelProvider>
  )
}
