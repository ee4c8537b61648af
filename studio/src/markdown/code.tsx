import { useState } from 'react'

/** Code, with what it is written in, and the way to have it. */
export function Code({ text, lang }: { readonly text: string; readonly lang: string | undefined }) {
  const [copied, setCopied] = useState<string>()
  // There is none on a page that came unencrypted over a network.
  const { clipboard } = navigator as { clipboard?: Clipboard }
  const language = /^\S{1,30}/.exec(lang ?? '')?.[0]
  const isCopied = copied === text
  return (
    <figure
      className="code"
      aria-label={language === undefined ? 'Code' : `Code: ${language}`}
      data-language={language}
    >
      {clipboard !== undefined && (
        <button
          type="button"
          aria-label={isCopied ? 'Copied' : 'Copy the code'}
          data-label={isCopied ? 'Copied' : 'Copy'}
          onClick={() =>
            clipboard.writeText(text).then(
              () => setCopied(text),
              () => setCopied(undefined),
            )
          }
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what is wider than its place is scrolled by the keyboard, too */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}
