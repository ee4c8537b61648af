import { InspectPage } from '../inspect/inspect-page.tsx'
import { ChatPage } from './chat-page.tsx'
import { NavigateProvider } from './navigate.ts'
import { useRoute } from './route.ts'

/** The page that the URL names. */
export function App() {
  const { route, navigate, setSession } = useRoute()
  return (
    <NavigateProvider value={navigate}>
      {route.page === 'inspect' ? (
        <InspectPage key={route.session} session={route.session} onNavigate={navigate} />
      ) : (
        <ChatPage route={route} onNavigate={navigate} onFirstMessage={setSession} />
      )}
    </NavigateProvider>
  )
}
