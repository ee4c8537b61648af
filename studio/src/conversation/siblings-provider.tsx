import { useChatInstance, useSelector } from '@millrace/react'
import { createContext, type ReactNode, useContext, useMemo } from 'react'
import { NO_SIBLINGS, type SiblingIndex, siblingsOf } from './siblings.ts'

const Context = createContext(NO_SIBLINGS)

/** Provides the versions of all turns, to the live chat and to views of its past. */
export function SiblingsProvider({ children }: { readonly children: ReactNode }) {
  const { store } = useChatInstance()
  const begun = useSelector(({ store }) => store.ledger.runs.length)
  const requests = useSelector(({ store }) => store.ledger.requests)
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new run or request adds a version
  const index = useMemo(() => siblingsOf(store.ledger), [store, begun, requests])
  return <Context value={index}>{children}</Context>
}

/** The versions of the turns of this session. */
export const useSiblings = (): SiblingIndex => useContext(Context)
