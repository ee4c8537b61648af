import { useMessageIds, useSelector } from '@millrace/react'
import { useEffect, useState } from 'react'
import { Composer } from '../composer/composer.tsx'
import { Pendings } from '../pending/pendings.tsx'
import { type Program, type ProgramList, programOf } from '../programs/use-programs.ts'
import { Welcome } from '../programs/welcome.tsx'
import { focusInput } from './focus.ts'
import { Header } from './header.tsx'
import { Transcript } from './transcript.tsx'

interface ConversationProps {
  /** Whether the session was created on this page and needs no load from the server. */
  readonly isNew: boolean
  readonly programList: ProgramList
  /** Called with the id of the session once it has a message. */
  readonly onFirstMessage: (session: string) => void
  readonly onOpenList: () => void
  readonly isInspected: boolean
  readonly onInspect: () => void
}

/** One session: messages, pending questions and the composer. */
export function Conversation({
  isNew,
  programList,
  onFirstMessage,
  onOpenList,
  isInspected,
  onInspect,
}: ConversationProps) {
  const sessionId = useSelector(({ state }) => state.sessionId)
  const title = useSelector(({ state }) => state.title)
  // A session without entries counts as new, even if it has an address.
  const isBlank = useSelector(({ state, store }) => !state.isLoading && !state.error && store.head === 0)
  const isEmpty = useMessageIds().length === 0
  const latest = useSelector(({ store }) => store.ledger.runs.at(-1)?.program)
  const [chosenProgram, setChosenProgram] = useState<Program>()
  const program = chosenProgram ?? programOf(latest) ?? programList.programs?.[0]
  useEffect(() => {
    if (!isEmpty && sessionId !== undefined) onFirstMessage(sessionId)
  }, [isEmpty, sessionId, onFirstMessage])
  useEffect(() => {
    if (isNew) focusInput()
  }, [isNew])
  return (
    <main className="conversation">
      <Header
        title={title ?? (isEmpty && isBlank ? 'New chat' : program?.name)}
        onOpenList={onOpenList}
        isInspected={isInspected}
        onInspect={onInspect}
      />
      {isEmpty && isBlank ? (
        <Welcome
          list={programList}
          chosen={program}
          onChoose={one => {
            setChosenProgram(one)
            focusInput()
          }}
        />
      ) : (
        <Transcript />
      )}
      <footer>
        <Pendings />
        <Composer
          programs={programList.programs ?? []}
          program={program}
          onChoose={setChosenProgram}
          isFirst={isEmpty}
        />
      </footer>
    </main>
  )
}
