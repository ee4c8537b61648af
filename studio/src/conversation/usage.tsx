import { useSelector } from '@millrace/react'
import { type Used, usageWords } from './tokens.ts'

/** What models read and wrote for this session; what that costs nobody here knows. */
export function SessionUsage() {
  const usage = useSelector(({ store }) => store.ledger.usage)
  return <Tokens usage={usage} of="this session" />
}

/** Of one answer. */
export function Tokens({ usage, of }: { readonly usage: Used | undefined; readonly of: string }) {
  const words = usage && usageWords(usage)
  if (!words) return null
  return (
    <span className="tokens" title={`Tokens of ${of}: ${words.long}`}>
      <span aria-hidden="true">{words.short}</span>
      <span className="hidden">{`Tokens of ${of}: ${words.long}`}</span>
    </span>
  )
}
