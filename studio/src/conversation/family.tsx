import { useChatInstance, useSelector } from '@millrace/react'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { type Family, NO_FAMILY, siblingsOf } from './siblings.ts'

const Context = createContext(NO_FAMILY)

/** Around a session's chat, and around what shows how it was: also there it is known what came later. */
export function FamilyProvider({ children }: { readonly children: ReactNode }) {
  const { store } = useChatInstance()
  const begun = useSelector(({ store }) => store.ledger.runs.length)
  const requests = useSelector(({ store }) => store.ledger.requests)
  // biome-ignore lint/correctness/useExhaustiveDependencies: what runs do meanwhile makes no siblings, only that one has begun
  const family = useMemo(() => siblingsOf(store.ledger), [store, begun, requests])
  return <Context value={family}>{children}</Context>
}

/** In which ways the turns of the session around were done. */
export const useFamily = (): Family => useContext(Context)
