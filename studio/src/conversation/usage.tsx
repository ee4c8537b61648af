import { useSelector } from '@millrace/react'
import { formatUsage, type RunUsage } from './format-usage.ts'

/** The token usage of this session. */
export function SessionUsage() {
  const usage = useSelector(({ store }) => store.ledger.usage)
  return <Tokens usage={usage} scope="this chat" />
}

/** A token count, with details as its title. */
export function Tokens({ usage, scope }: { readonly usage: RunUsage | undefined; readonly scope: string }) {
  const counts = usage && formatUsage(usage)
  if (!counts) return null
  return (
    <span className="tokens" title={`Tokens in ${scope}: ${counts.long}`}>
      <span aria-hidden="true">{counts.short}</span>
      <span className="hidden">{`Tokens in ${scope}: ${counts.long}`}</span>
    </span>
  )
}
