import { catalogue, type Entry, Fold, isData, type Report, type View } from '@millrace/protocol'

const REPORTS: { readonly [C in Report['code']]: string } = {
  repeated: 'its sequence was folded before',
  'after-end': 'its run or agent has ended',
  'foreign-draft': 'another lane has a draft there',
  'out-of-order': 'what it speaks of is not there, or not in a state for it',
  refused: 'it does not fit what is there',
}

/** Why an entry changed nothing of the view that was before it. */
export function whyNothing(entry: Entry, before: View): string {
  const { chunk } = entry
  if (entry.internal) return 'Nothing that clients see: it is internal.'
  const isOurs = Object.hasOwn(catalogue, chunk.type)
  if (!isOurs && !isData(chunk)) return 'Nothing: its type is not known to this version, and is passed on as it is.'
  if (isData(chunk) && chunk.transient) return 'Nothing: it is transient, and no view keeps it.'
  let report: Report | undefined
  const onReport = (one: Report) => {
    report = one
  }
  Fold.from(before, { onReport }).apply([entry])
  if (report) return `Nothing: it was dropped, because ${REPORTS[report.code]}.`
  if (chunk.type === 'checkpoint-created') return 'Nothing to be seen: its lane had no draft to seal.'
  return 'Nothing: it says what was so already, or what no view holds.'
}
