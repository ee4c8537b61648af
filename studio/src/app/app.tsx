import { InspectPage } from '../inspect/inspect-page.tsx'
import { ChatPage } from './chat-page.tsx'
import { usePlace } from './place.ts'

/** The page that the address names. */
export function App() {
  const { place, go, settle } = usePlace()
  return place.page === 'inspect' ? (
    <InspectPage key={place.session} session={place.session} onGo={go} />
  ) : (
    <ChatPage place={place} onGo={go} onSettle={settle} />
  )
}
