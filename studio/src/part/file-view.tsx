import type { Part } from '@millrace/client'
import { useSelector } from '@millrace/react'

/** A file: images are shown, other types are links. */
export function FileView({ part }: { readonly part: Extract<Part, { type: 'file' }> }) {
  const sessionId = useSelector(({ state }) => state.sessionId) ?? ''
  const { url, mediaType, filename } = part
  const upload = /^upload:(.+)$/.exec(url)?.[1]
  const address = upload ? `/api/sessions/${encodeURIComponent(sessionId)}/uploads/${encodeURIComponent(upload)}` : url
  const name = filename ?? mediaType
  // An inline file is downloaded from its data URL.
  if (url.startsWith('data:')) {
    return (
      <a className="file" href={url} download={filename ?? `file.${/\/(\w+)/.exec(mediaType)?.[1] ?? 'bin'}`}>
        {mediaType.startsWith('image/') ? <img src={url} alt={name} /> : name}
      </a>
    )
  }
  if (!upload && !/^https?:/.test(url)) return <p className="file">{name}</p>
  return (
    <a className="file" href={address} target="_blank" rel="noreferrer">
      {upload && mediaType.startsWith('image/') ? <img src={address} alt={name} /> : name}
    </a>
  )
}
