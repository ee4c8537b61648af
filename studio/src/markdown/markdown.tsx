import { Fragment, type ReactNode, useState } from 'react'
import { blocks } from './block.tsx'
import { type Block, MarkdownStream } from './stream.ts'

interface MarkdownProps {
  readonly text: string
  /** Whether more of it may come. */
  readonly isOpen: boolean
}

/** An agent's words. Of a text that grows, what is settled keeps its elements. */
export function Markdown({ text, isOpen }: MarkdownProps) {
  const [reader] = useState(() => new Reader())
  return <div className="text markdown">{reader.read(text, isOpen)}</div>
}

/** How many pieces are one element: React looks at each child of a list, and at nothing in one that is the same. */
const PAGE = 32

/** The elements of a text as it is by now. It only ever knows more of one text, so that it may be asked twice, or in vain. */
class Reader {
  #stream = new MarkdownStream()
  #pages: ReactNode[] = []
  #paged = 0
  #changed = 0

  read(text: string, isOpen: boolean): ReactNode {
    if (!this.#stream.read(text, !isOpen)) {
      this.#stream = new MarkdownStream()
      this.#stream.read(text, !isOpen)
      this.#forget()
    }
    if (this.#stream.changed !== this.#changed) this.#forget()
    this.#changed = this.#stream.changed
    for (; this.#paged + PAGE <= this.#stream.count; this.#paged += PAGE) this.#pages.push(this.#page(PAGE))
    return [...this.#pages, this.#page(this.#stream.count - this.#paged, this.#stream.open)]
  }

  #forget(): void {
    this.#pages = []
    this.#paged = 0
  }

  /** The settled pieces from where the last page ended, and what may follow them: a block that settles stays the same element. */
  #page(length: number, open: readonly Block[] = []): ReactNode {
    const settled = Array.from({ length }, (_, i) => this.#stream.settled(this.#paged + i)).flat()
    return (
      <Fragment key={this.#paged}>
        {blocks([...settled, ...open])}
        {length === PAGE && '\n'}
      </Fragment>
    )
  }
}
