import { useLogState } from '@millrace/react/log'
import { useInspected } from '../inspected.ts'
import { useTravel } from './travel.ts'

/** Goes through the log: to the left is what was, at the right end what is. */
export function Slider() {
  const log = useInspected()
  const { at, travel } = useTravel()
  const { head } = useLogState(log)
  const first = log.base?.head ?? 0
  return (
    <label className="travel">
      <span>At</span>
      <input
        type="range"
        min={first}
        max={head}
        value={at ?? head}
        onChange={({ target }) => travel(target.valueAsNumber === head ? undefined : target.valueAsNumber)}
      />
      <output>{at ?? 'now'}</output>
    </label>
  )
}
