import { useState } from 'react'

/** A code block with a copy button. */
export function Code({ text, lang }: { readonly text: string; readonly lang: string | undefined }) {
  const [copied, setCopied] = useState<string>()
  // Undefined on a page served over plain HTTP from another host.
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
          aria-label={isCopied ? 'Copied' : 'Copy code'}
          data-label={isCopied ? 'Copied' : 'Copy'}
          onClick={() =>
            clipboard.writeText(text).then(
              () => setCopied(text),
              () => setCopied(undefined),
            )
          }
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide code scrolls by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}
