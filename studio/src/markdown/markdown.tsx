import { Fragment, type ReactNode, useState } from 'react'
import { blocks } from './block.tsx'
import { type Block, MarkdownStream } from './markdown-stream.ts'

interface MarkdownProps {
  readonly text: string
  /** Whether the text is still streaming. */
  readonly isOpen: boolean
}

/** Renders Markdown. Settled blocks of a growing text keep their elements. */
export function Markdown({ text, isOpen }: MarkdownProps) {
  const [renderer] = useState(() => new MarkdownRenderer())
  return <div className="text markdown">{renderer.render(text, isOpen)}</div>
}

/** Settled pieces per page. React compares every child of a list but skips an unchanged page. */
const PAGE = 32

/** Renders a growing text. Safe to call in a render that React repeats or drops. */
class MarkdownRenderer {
  #stream = new MarkdownStream()
  #pages: ReactNode[] = []
  #paged = 0
  #changed = 0

  render(text: string, isOpen: boolean): ReactNode {
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

  /** A page of settled pieces, followed by open blocks. A block keeps its element when it settles. */
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
