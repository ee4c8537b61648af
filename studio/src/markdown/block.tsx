import type { MarkedToken, Token, Tokens } from 'marked'
import { memo, type ReactNode } from 'react'
import { Code } from './code.tsx'
import { inline, keyOf } from './inline.tsx'
import type { Block } from './markdown-stream.ts'

/** Renders blocks, with a line break after each for copied text. */
export const blocks = (all: readonly Block[]): ReactNode[] =>
  all.flatMap((block, i) => [<OneBlock key={keyOf(i)} block={block} />, i < all.length - 1 && '\n'])

const inner = (tokens: readonly Token[]): ReactNode[] =>
  blocks((tokens as MarkedToken[]).filter(({ type }) => type !== 'space' && type !== 'def' && type !== 'checkbox'))

/** One block. The same object does not render again. */
const OneBlock = memo(function OneBlock({ block }: { readonly block: Block }): ReactNode {
  switch (block.type) {
    case 'paragraph':
      return <p>{inline(block.tokens)}</p>
    case 'heading': {
      // h1 to h3 are the page, the session and the agent.
      const Heading = `h${Math.min(6, Math.max(4, block.depth + 2))}` as 'h4' | 'h5' | 'h6'
      return <Heading data-depth={block.depth}>{inline(block.tokens)}</Heading>
    }
    case 'code':
      return <Code text={block.text} lang={block.lang} />
    case 'blockquote':
      return <blockquote>{inner(block.tokens)}</blockquote>
    case 'list':
      return <List list={block as Tokens.List} />
    case 'table':
      return <Table table={block as Tokens.Table} />
    case 'hr':
      return <hr />
    // An item of a tight list.
    case 'text':
      return block.tokens ? inline(block.tokens) : block.text
    case 'plain':
      return <p className="plain">{block.raw}</p>
    default:
      return <p className="plain">{block.raw}</p>
  }
})

function List({ list: { ordered, start, items } }: { readonly list: Tokens.List }) {
  const lines = items.flatMap((item, i) => [
    <li key={keyOf(i)} data-task={item.task ? '' : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked === true} disabled aria-label={item.checked ? 'Done' : 'To do'} />
      )}
      {inner(item.tokens)}
    </li>,
    '\n',
  ])
  return ordered ? <ol start={start === '' ? 1 : start}>{lines}</ol> : <ul>{lines}</ul>
}

function Table({ table: { header, rows, align } }: { readonly table: Tokens.Table }) {
  const styleOf = (column: number) => ({ textAlign: align[column] ?? undefined })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: wide tables scroll by keyboard
    <div className="table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, i) => (
              <th key={keyOf(i)} scope="col" style={styleOf(i)}>
                {inline(tokens)}{' '}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            <tr key={keyOf(i)}>
              {row.map(({ tokens }, column) => (
                <td key={keyOf(column)} style={styleOf(column)}>
                  {inline(tokens)}{' '}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
