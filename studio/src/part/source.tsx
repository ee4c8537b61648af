import type { Part } from '@millrace/client'

/** Where something is from. */
export function Source({ part }: { readonly part: Part }) {
  if (part.type === 'source-document') return <li>{part.title ?? part.filename ?? part.sourceId}</li>
  if (part.type !== 'source-url') return null
  const { url, title } = part
  // What a model names may be no address of a page.
  if (!/^https?:/.test(url)) return <li>{title ?? url}</li>
  return (
    <li>
      <a href={url} target="_blank" rel="noreferrer">
        {title ?? url}
      </a>
    </li>
  )
}
