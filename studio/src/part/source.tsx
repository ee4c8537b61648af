import type { Part } from '@millrace/client'

/** A source, as a link if it has a web address. */
export function Source({ part }: { readonly part: Part }) {
  if (part.type === 'source-document') return <li>{part.title ?? part.filename ?? part.sourceId}</li>
  if (part.type !== 'source-url') return null
  const { url, title } = part
  // Models may return addresses that are not http or https.
  if (!/^https?:/.test(url)) return <li>{title ?? url}</li>
  return (
    <li>
      <a href={url} target="_blank" rel="noreferrer">
        {title ?? url}
      </a>
    </li>
  )
}
