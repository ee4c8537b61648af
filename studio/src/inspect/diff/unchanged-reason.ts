import { catalogue, type Entry, Fold, type FoldReport, isData, type View } from '@millrace/protocol'

const REPORTS: { readonly [C in FoldReport['code']]: string } = {
  repeated: 'its sequence was already applied',
  'after-end': 'its run or agent has ended',
  'foreign-draft': 'another lane has a draft of this part',
  'out-of-order': 'its target is missing or in the wrong state',
  refused: 'it does not match the current view',
}

/** The reason why an entry did not change the view. */
export function unchangedReason(entry: Entry, before: View): string {
  const { chunk } = entry
  if (entry.internal) return 'No visible change: the entry is internal.'
  const isKnownType = Object.hasOwn(catalogue, chunk.type)
  if (!isKnownType && !isData(chunk)) return 'No change: this version of the studio does not know the chunk type.'
  if (isData(chunk) && chunk.transient) return 'No change: transient data is not stored in the view.'
  let report: FoldReport | undefined
  const onReport = (latest: FoldReport) => {
    report = latest
  }
  Fold.from(before, { onReport }).apply([entry])
  if (report) return `No change: the entry was dropped because ${REPORTS[report.code]}.`
  if (chunk.type === 'checkpoint-created') return 'No change: the lane had no draft to commit.'
  return 'No change: the view already had this, or does not store it.'
}
