import { InspectPage } from '../inspect/inspect-page.tsx'
import { ChatPage } from './chat-page.tsx'
import { GoProvider } from './go.ts'
import { usePlace } from './place.ts'

/** The page that the address names. */
export function App() {
  const { place, go, settle } = usePlace()
  return (
    <GoProvider value={go}>
      {place.page === 'inspect' ? (
        <InspectPage key={place.session} session={place.session} onGo={go} />
      ) : (
        <ChatPage place={place} onGo={go} onSettle={settle} />
      )}
    </GoProvider>
  )
}
