import type { Json } from '@millrace/protocol'
import { JsonTree } from '../entries/json-tree.tsx'
import { type Change, type Diff, pathText } from './diff.ts'

/** UUIDs, with or without hyphens. They are shown shortened. */
const UUIDS = /([0-9a-f]{8})(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24})/g

/** The changes of a view, one line per path. */
export function Changes({ diff }: { readonly diff: Diff }) {
  return (
    <>
      <ol className="changes">
        {diff.changes.map(change => (
          <li key={`${change.kind} ${pathText(change.path)}`} data-kind={change.kind}>
            <code className="path" title={pathText(change.path)}>
              {pathText(change.path).replace(UUIDS, '$1…')}
            </code>
            <ChangeDetails change={change} />
          </li>
        ))}
      </ol>
      {diff.isTruncated && <p className="quiet">More changes are not shown.</p>}
    </>
  )
}

/** Maximum length of a changed text, in characters. */
const MAX_TEXT = 600

function ChangeDetails({ change }: { readonly change: Change }) {
  switch (change.kind) {
    case 'added':
      return (
        <ins>
          <JsonTree value={change.after} open={1} />
        </ins>
      )
    case 'removed':
      return (
        <del>
          <JsonTree value={change.before} open={0} />
        </del>
      )
    case 'changed':
      return (
        <span className="both">
          <CollapsedJson as="del" value={change.before} />
          <span className="to"> → </span>
          <CollapsedJson as="ins" value={change.after} />
        </span>
      )
    case 'text':
      return (
        <span className="both text">
          {change.at > 0 && <span className="quiet">…</span>}
          {change.removed !== '' && <del>{cut(change.removed)}</del>}
          {change.inserted !== '' && <ins>{cut(change.inserted)}</ins>}
          <span className="quiet"> now {change.length.toLocaleString('en')} characters</span>
        </span>
      )
    case 'moved':
      return <span className="quiet">reordered</span>
  }
}

function CollapsedJson({ as: Tag, value }: { readonly as: 'ins' | 'del'; readonly value: Json }) {
  return (
    <Tag>
      <JsonTree value={value} open={0} />
    </Tag>
  )
}

const cut = (text: string): string => (text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)
