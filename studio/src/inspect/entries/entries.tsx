import { useLogState } from '@millrace/react/log'
import { useInspected } from '../inspected.ts'
import { useTravel } from '../travel/travel.ts'

/** The entries of the log, a line each. */
export function Entries() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { count } = useLogState(log)
  return (
    <ol className="entries">
      {log.entries.slice(Math.max(0, count - 200)).map(({ sequence, chunk }) => (
        <li key={sequence}>
          <button type="button" aria-current={sequence === at} onClick={() => travel(sequence)}>
            {sequence} {chunk.type}
          </button>
        </li>
      ))}
    </ol>
  )
}
