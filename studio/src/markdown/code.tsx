import { useCopy } from '../use-copy.ts'

/** A code block with a copy button. */
export function Code({ text, lang }: { readonly text: string; readonly lang: string | undefined }) {
  const { result, copy } = useCopy()
  const language = /^\S{1,30}/.exec(lang ?? '')?.[0]
  return (
    <figure
      className="code"
      aria-label={language === undefined ? 'Code' : `Code: ${language}`}
      data-language={language}
    >
      {copy && (
        <button
          type="button"
          aria-label={result ?? 'Copy code'}
          data-label={result ?? 'Copy'}
          onClick={() => copy(text)}
        />
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: wide code scrolls by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
    </figure>
  )
}
